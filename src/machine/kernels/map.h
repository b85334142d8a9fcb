/* Elementwise expressions: what a map needs besides its operands. */
#ifndef MACHINE_MAP_H
#define MACHINE_MAP_H

#include "machine/kernels/kernels.h"

/* Bytes of scratch per thread, whole pages. */
size_t map_scratch_bytes(const instr *i);

#endif

/* Which collectives NCCL carries out in one call. */
#ifndef CUDA_KNOWN_NCCL_COLLECTIVES_H
#define CUDA_KNOWN_NCCL_COLLECTIVES_H

#include "program/site.h"

extern const collective_library nccl_collectives;

bool nccl_reduces(const instr *i);
bool nccl_reduce_scatters(const mesh *m, int me, const instr *i); /* of processor `me` */
/* Is it a gather of equal parts, in the order of the members? */
bool nccl_gathers(const mesh *m, int me, const instr *i);

#endif

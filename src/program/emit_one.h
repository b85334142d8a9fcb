/* Appends instructions; for emitters only. */
#ifndef PROGRAM_EMIT_ONE_H
#define PROGRAM_EMIT_ONE_H

#include "program/emitter.h"

/* Appends an instruction with loops over `loops`; NULL after an error. */
instr *emit_instr(emitter *e, instr_kind kind, int nout, int nin, const mtf_shape *loops);

#endif

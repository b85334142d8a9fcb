/* Appends instructions; for emitters only. */
#include "program/emit_one.h"

instr *emit_instr(emitter *e, instr_kind kind, int nout, int nin, const mtf_shape *loops)
{
    program *p = e->program;
    if (!mtf_ok(p->session)) return NULL;
    if (loops && (loops->ndims < 0 || loops->ndims > MAX_LOOPS)) { /* a union that is too large */
        fail(&p->session->fault, ERR_INTERNAL, "%s for \"%s\" has more than %d loops",
             instr_name(kind), mtf_name_of_tensor(e->cause), MAX_LOOPS);
        return NULL;
    }
    access *accesses = arena_array(&p->arena, access, nout + nin);
    if (!accesses || !arena_push(&p->arena, p->instrs, p->ninstrs, p->instrs_room)) return NULL;
    instr *i = &p->instrs[p->ninstrs++];
    *i = (instr){.kind = kind,
                 .nout = nout,
                 .nin = nin,
                 .out = accesses,
                 .in = accesses + nout,
                 .cause = e->cause};
    for (int d = 0; loops && d < loops->ndims; d++) i->size[i->nloops++] = loops->dims[d].size;
    return i;
}

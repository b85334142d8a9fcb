/* Updates in place: copy and original share a buffer.
 *
 * An update is lowered as a copy of the old value, into which some positions are
 * written.  If the old value is not read after the copy, or only after the copy
 * was moved back to it, as for variables and loop-carried values, both share one
 * buffer, and no move is needed.
 */
#include <string.h>

#include "plan/passes.h"

/* For each instruction the index of the innermost LOOP around it, -1: none. */
static void find_loops(const program *p, int *loop)
{
    int stack[MAX_NESTING + 1] = {-1}, depth = 0;
    for (int k = 0; k < p->ninstrs; k++) {
        if (p->instrs[k].kind == INSTR_LOOP && depth < MAX_NESTING) stack[++depth] = k;
        loop[k] = stack[depth];
        if (p->instrs[k].kind == INSTR_AGAIN && depth > 0) depth--;
    }
}

/* Does i copy all of one buffer to all of another, element by element? */
static bool copies_all(const program *p, const instr *i)
{
    const access *in = &i->in[0], *out = &i->out[0];
    if (i->kind != INSTR_MOVE || in->type != out->type || in->offset != out->offset) return false;
    for (int d = 0; d < i->nloops; d++)
        if (i->size[d] > 1 && in->stride[d] != out->stride[d]) return false;
    int64_t bytes = instr_elements(i) * (int64_t)mtf_dtype_bytes(in->type);
    return in->buffer != out->buffer && bytes > 0 && p->buffers[in->buffer].bytes == bytes &&
           p->buffers[out->buffer].bytes == bytes;
}

static bool is_move(const program *p, const instr *i, int from, int to)
{
    return copies_all(p, i) && i->in[0].buffer == from && i->out[0].buffer == to;
}

/* Are some positions of the copy written after it was created? */
static bool is_updated(const program *p, int first, int copy)
{
    for (int k = first + 1; k < p->ninstrs; k++)
        if (p->instrs[k].kind == INSTR_SCATTER && instr_writes(&p->instrs[k], copy)) return true;
    return false;
}

/* May the copy of instruction k share the buffer of the original?  `*back`: the instruction that
 * moves it back, -1: none. */
static bool may_share(const program *p, const int *loop, const bool *gone, int k, int *back)
{
    int  old = p->instrs[k].in[0].buffer, copy = p->instrs[k].out[0].buffer;
    int  kind = p->buffers[old].kind;
    bool here = kind == BUFFER_TEMPORARY || kind == BUFFER_FETCH;
    *back = -1;
    if (p->buffers[copy].kind != BUFFER_TEMPORARY || (!here && kind != BUFFER_VARIABLE) ||
        !is_updated(p, k, copy))
        return false;
    for (int j = 0; j < k; j++)
        if (!gone[j] && (instr_writes(&p->instrs[j], copy) || instr_reads(&p->instrs[j], copy)))
            return false;
    for (int j = k + 1; j < p->ninstrs; j++) {
        const instr *i = &p->instrs[j];
        if (gone[j]) continue;
        if (*back < 0 && is_move(p, i, copy, old)) {
            *back = j;
        } else if (*back < 0 ? instr_reads(i, old) || instr_writes(i, old)
                             : instr_writes(i, old) || instr_writes(i, copy)) {
            return false; /* the old value is still needed, or both would differ again */
        }
    }
    if (kind == BUFFER_FETCH && *back < 0) return false; /* read after the step */
    /* Stored state may only change by its final move; a loop-carried value must be as the iteration
     * before left it. */
    if (kind == BUFFER_VARIABLE && (*back < 0 || loop[k] != loop[*back])) return false;
    if (loop[k] >= 0 && (*back < 0 || loop[*back] != loop[k])) {
        for (int j = 0; j < loop[k]; j++)
            if (instr_writes(&p->instrs[j], old)) return false;
        if (!here) return false;
    }
    return true;
}

static void replace(program *p, int from, int to)
{
    for (int k = 0; k < p->ninstrs; k++) {
        instr *i = &p->instrs[k];
        for (int o = 0; o < i->nin; o++)
            if (i->in[o].buffer == from) i->in[o].buffer = to;
        for (int o = 0; o < i->nout; o++)
            if (i->out[o].buffer == from) i->out[o].buffer = to;
    }
}

bool update_in_place(program *p, arena *scratch)
{
    bool some = false;
    for (int k = 0; k < p->ninstrs && !some; k++)
        some = p->instrs[k].kind == INSTR_SCATTER && p->instrs[k].gather.set;
    if (!some) return true;
    int *loop = arena_array(scratch, int, p->ninstrs + 1),
        *at = arena_array(scratch, int, p->ninstrs + 1);
    bool *gone = arena_array(scratch, bool, p->ninstrs + 1);
    TRY(loop && at && gone);
    memset(gone, 0, sizeof *gone * (size_t)(p->ninstrs + 1));
    find_loops(p, loop);
    for (int k = 0; k < p->ninstrs; k++) {
        int back, old, copy;
        if (gone[k] || !copies_all(p, &p->instrs[k]) || !may_share(p, loop, gone, k, &back))
            continue;
        old = p->instrs[k].in[0].buffer;
        copy = p->instrs[k].out[0].buffer;
        gone[k] = true;
        if (back >= 0) gone[back] = true;
        replace(p, copy, old);
    }
    program_remove(p, gone, at);
    return true;
}

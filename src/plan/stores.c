/* Updates in place: the last writer writes into the variable.
 *
 * Lowering ends with moves of new values into their variables.  Where the old
 * value has no reader after the instruction that computes the new one, that
 * instruction writes into the variable itself and the move disappears.
 */
#include <string.h>

#include "plan/passes.h"

typedef struct use {
    int writer, writers; /* an instruction that writes the buffer; how many do */
    int last;            /* the last instruction that reads or writes it, except the final move */
    int readers;
} use;

static void count(const program *p, use *uses)
{
    for (int b = 0; b < p->nbuffers; b++) uses[b] = (use){.writer = -1, .last = -1};
    for (int k = 0; k < p->ninstrs; k++) {
        const instr *i = &p->instrs[k];
        for (int o = 0; o < i->nout; o++) {
            use *u = &uses[i->out[o].buffer];
            bool stores =
                i->kind == INSTR_MOVE && p->buffers[i->out[o].buffer].kind == BUFFER_VARIABLE;
            u->writer = stores ? u->writer : k;
            u->writers += !stores;
            if (!stores) u->last = k;
        }
        for (int o = 0; o < i->nin; o++) {
            uses[i->in[o].buffer].readers++;
            uses[i->in[o].buffer].last = k;
        }
    }
}

static bool same_place(const instr *i, const access *a, const access *b)
{
    if (a->offset != b->offset || a->type != b->type) return false;
    for (int d = 0; d < i->nloops; d++)
        if (i->size[d] > 1 && a->stride[d] != b->stride[d]) return false;
    return true;
}

/* May `writer` write into buffer w instead, even if it reads it itself? */
static bool can_write(const instr *writer, int out, int w)
{
    for (int o = 0; o < writer->nin; o++) {
        if (writer->in[o].buffer != w) continue;
        if (writer->kind != INSTR_MAP || !same_place(writer, &writer->in[o], &writer->out[out]))
            return false;
    }
    return true;
}

static bool redirect(program *p, const use *uses, int k, const bool *in_loop)
{
    instr *move = &p->instrs[k];
    int    value = move->in[0].buffer, w = move->out[0].buffer;
    if (move->kind != INSTR_MOVE || p->buffers[w].kind != BUFFER_VARIABLE) return false;
    const use *u = &uses[value];
    if (p->buffers[value].kind != BUFFER_TEMPORARY || u->readers != 1 || u->writers != 1 ||
        in_loop[u->writer])
        return false;
    if (uses[w].last > u->writer || !same_place(move, &move->in[0], &move->out[0])) return false;
    if (p->buffers[value].bytes != p->buffers[w].bytes) return false;
    instr *writer = &p->instrs[u->writer];
    for (int o = 0; o < writer->nout; o++)
        if (writer->out[o].buffer == value) {
            if (!can_write(writer, o, w)) return false;
            writer->out[o].buffer = w;
        }
    return true;
}

bool store_in_place(program *p)
{
    use  *uses = arena_array(&p->arena, use, p->nbuffers + 1);
    bool *in_loop = arena_array(&p->arena, bool, p->ninstrs + 1);
    TRY(uses && in_loop);
    count(p, uses);
    int depth = 0, kept = 0, first_store = p->ninstrs;
    for (int k = 0; k < p->ninstrs; k++) {
        if (p->instrs[k].kind == INSTR_LOOP) depth++;
        in_loop[k] = depth > 0;
        if (p->instrs[k].kind == INSTR_AGAIN) depth--;
    }
    while (first_store > 0 && p->instrs[first_store - 1].kind == INSTR_MOVE) first_store--;
    kept = first_store;
    for (int k = first_store; k < p->ninstrs; k++) {
        if (redirect(p, uses, k, in_loop)) continue;
        p->instrs[kept++] = p->instrs[k]; /* only the tail moves: loop indices stay valid */
    }
    p->ninstrs = kept;
    return true;
}

/* Reuse: bytes accessed between two uses of the same memory. */
#include "price/reuse.h"

#include <math.h>

static const access *operand(const instr *i, int k)
{
    return k < i->nout ? &i->out[k] : &i->in[k - i->nout];
}

/* Operands that share a place are counted once. */
static bool is_repeated(const reuse *x, const instr *i, int k)
{
    for (int other = 0; other < k; other++)
        if (x->place[operand(i, other)->buffer] == x->place[operand(i, k)->buffer]) return true;
    return false;
}

/* Bytes that a collective reads from other processors' memory: all terms of a sum, or all parts of
 * a gather. */
static double fetched(const instr *i)
{
    double in = (double)instr_operand_bytes(i, i->nout), out = (double)instr_operand_bytes(i, 0);
    return i->kind == INSTR_REDUCE ? in + out : fmax(in, out);
}

void reuse_pass(reuse *x, const instr *i)
{
    for (int k = 0; k < i->nout + i->nin; k++) x->last[x->place[operand(i, k)->buffer]] = x->now;
    for (int k = 0; k < i->nout + i->nin; k++)
        if (!is_repeated(x, i, k)) x->now.touched += (double)instr_operand_bytes(i, k);
    if (instr_is_collective(i)) x->now.fetched += fetched(i);
}

/* For places in the slab that several buffers use in turn, only the last use is known: the distance
 * is at most the size of the slab. */
double reuse_of(const reuse *x, const instr *i, int k)
{
    int         b = operand(i, k)->buffer;
    reuse_count then = x->last[x->place[b]];
    bool        own = x->program->buffers[b].kind == BUFFER_VARIABLE;
    double      most = own ? x->memory : (double)x->program->slab_bytes;
    double      ago = fmin(x->now.touched - then.touched, most) + x->now.fetched - then.fetched;
    return fmax(fmin(ago, x->memory), (double)instr_operand_bytes(i, k));
}

bool reuse_begin(reuse *x, const program *p, double beyond, arena *a)
{
    *x = (reuse){.program = p, .memory = (double)p->slab_bytes + beyond};
    x->place = arena_array(a, int, p->nbuffers + 1);
    x->last = arena_array(a, reuse_count, p->nbuffers + 1);
    TRY(x->place && x->last);
    for (int b = 0; b < p->nbuffers; b++) {
        const buffer *y = &p->buffers[b];
        if (y->kind == BUFFER_VARIABLE) x->memory += (double)y->bytes;
        for (x->place[b] = b; p->buffers[x->place[b]].shares != x->place[b];)
            x->place[b] = p->buffers[x->place[b]].shares;
    }
    for (int k = 0; k < p->ninstrs; k++) reuse_pass(x, &p->instrs[k]);
    x->now.touched += beyond;
    return true;
}

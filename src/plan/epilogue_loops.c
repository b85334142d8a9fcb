/* Epilogues: matches loops of maps and folds with a product's.
 *
 * A product has one loop for dimensions that lie one after another in memory, where
 * other instructions have several.
 */
#include "plan/epilogues.h"

#include "base/dtype.h"

static bool moves(const instr *i, const access *a, int loop)
{
    return i->size[loop] > 1 && a->stride[loop] != 0;
}

/* The loop of the product of which a loop with this stride and size is a part; -1: none. */
static int loop_around(const instr *p, const access *a, int64_t stride, int64_t size)
{
    for (int q = 0; q < p->nloops; q++) {
        int64_t step = a->stride[q];
        if (moves(p, a, q) && step > 0 && stride % step == 0 && stride / step * size <= p->size[q])
            return q;
    }
    return -1;
}

/* Do the parts of a loop, from the innermost on, make up all of it? */
static bool is_covered(const instr *p, int q, const instr *other, const loop_parts *parts)
{
    int64_t done = 1;
    int     left = 0;
    for (int d = 0; d < other->nloops; d++) left += parts->of[d] == q;
    while (left > 0) {
        int d = 0;
        while (d < other->nloops && (parts->of[d] != q || parts->steps[d] != done)) d++;
        if (d == other->nloops) return false;
        done *= other->size[d];
        left--;
    }
    return done == p->size[q];
}

bool epilogue_align(const instr *product, const access *of_product, const instr *other,
                    const access *of_other, loop_parts *to)
{
    if (of_product->buffer != of_other->buffer || of_product->offset != of_other->offset ||
        of_product->type != of_other->type)
        return false;
    for (int d = 0; d < other->nloops; d++) {
        int64_t stride = of_other->stride[d];
        to->of[d] = -1;
        if (other->size[d] == 1) continue;
        if (stride <= 0) return false;
        int q = to->of[d] = loop_around(product, of_product, stride, other->size[d]);
        if (q < 0) return false;
        to->steps[d] = stride / of_product->stride[q];
    }
    for (int q = 0; q < product->nloops; q++)
        if (moves(product, of_product, q) && !is_covered(product, q, other, to)) return false;
    return true;
}

bool epilogue_carry(const instr *product, const instr *other, const loop_parts *parts,
                    const access *a, access *to)
{
    *to = (access){.buffer = a->buffer, .type = a->type, .offset = a->offset};
    (void)product;
    for (int d = 0; d < other->nloops; d++)
        if (parts->of[d] >= 0 && parts->steps[d] == 1) to->stride[parts->of[d]] = a->stride[d];
    for (int d = 0; d < other->nloops; d++)
        if (parts->of[d] >= 0 && a->stride[d] != to->stride[parts->of[d]] * parts->steps[d])
            return false;
    return true;
}

bool epilogue_may_skip(const scalar_step *s, mtf_dtype type)
{
    return s->fn == FN_CAST && dtype_compute(s->type) == dtype_compute(s->from) &&
           (s->type == type || s->type == dtype_compute(s->from));
}

bool epilogue_may_have(const program *p, const instr *i)
{
    int       m = i->nloops - 3, n = m + 1, slim = p->session->can.slim;
    mtf_dtype type = i->out[0].type;
    int       row = epilogue_row(i);
    bool      one = instr_elements(i) > 0 && i->size[m] > slim && i->size[n] > slim;
    for (int d = 0; d < i->nloops - 3; d++) one = one && i->size[d] == 1;
    return one && (i->size[row] == 1 || i->out[0].stride[row] == 1) &&
           (type == MTF_F32 || dtype_is_short(type));
}

bool epilogue_undisturbed(const epilogue_pass *e, const instr *i, int first, int last)
{
    for (int k = first + 1; k < last; k++)
        for (int n = 0; n < i->nin && !e->gone[k]; n++)
            if (instr_writes(&e->program->instrs[k], i->in[n].buffer)) return false;
    return true;
}

/* ---- operands ---- */

static bool append(program *p, access **list, int n, const access *a)
{
    access *longer = arena_array(&p->arena, access, n + 1);
    TRY(longer != NULL);
    for (int k = 0; k < n; k++) longer[k] = (*list)[k];
    longer[n] = *a;
    *list = longer;
    return true;
}

int epilogue_add_input(program *p, instr *i, const access *a)
{
    return append(p, &i->in, i->nin, a) ? i->nin++ : -1;
}

int epilogue_add_output(program *p, instr *i, const access *a)
{
    return append(p, &i->out, i->nout, a) ? i->nout++ : -1;
}

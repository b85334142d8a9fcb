/* Epilogues: sums along loops of products become part of them.
 *
 * The gradient of a bias is a sum over all rows of a matrix that a product has just
 * computed, or that is a factor of the product which computes a weight's gradient.
 */
#include "plan/epilogues.h"

typedef struct place {
    int      at; /* the product */
    total_of of;
    access   total;
} place;

static const access *summed(const instr *product, total_of of)
{
    return of == TOTAL_OF_C ? &product->out[0] : &product->in[of == TOTAL_OF_B];
}

/* Does the fold keep loop `keep` of the product and sum over all others that the operand has? */
static bool fits(const instr *product, const instr *fold, place *p, int keep)
{
    loop_parts    parts;
    const access *a = summed(product, p->of);
    instr         kept = *fold;
    if (!epilogue_align(product, a, fold, &fold->in[0], &parts)) return false;
    for (int d = 0; d < fold->nloops; d++)
        if (parts.of[d] >= 0 && (parts.of[d] == keep) != (d < fold->fold.nkept)) return false;
    kept.nloops = fold->fold.nkept;
    if (!epilogue_carry(product, &kept, &parts, &fold->out[0], &p->total)) return false;
    return product->size[keep] == 1 || p->total.stride[keep] == 1;
}

static bool suits(const epilogue_pass *e, const instr *fold, place *p)
{
    const instr *i = &e->program->instrs[p->at];
    int          m = i->nloops - 3, n = m + 1;
    if (i->kind != INSTR_CONTRACT || e->gone[p->at] || i->contract.total ||
        !epilogue_may_have(e->program, i) || fold->out[0].type != i->out[0].type ||
        fold->in[0].type != i->out[0].type)
        return false;
    if (p->of == TOTAL_OF_C)
        return i->contract.activation == FN_gelu_grad && fits(i, fold, p, epilogue_row(i));
    return !epilogue_is_any(i) && fits(i, fold, p, p->of == TOTAL_OF_A ? m : n);
}

/* Can the sum be computed by the product at `at` instead?  Nothing may read or write it before it was
 * computed, nor what is summed be written in between. */
static bool can_move(const epilogue_pass *e, int from, int at)
{
    const instr *fold = &e->program->instrs[from];
    int          b = fold->out[0].buffer, first = from < at ? from : at;
    buffer_kind  kind = e->program->buffers[b].kind;
    int          last = from < at ? at : from;
    return e->readers.stretch[from] == e->readers.stretch[at] && e->readers.writers[b] == 1 &&
           (kind == BUFFER_TEMPORARY || kind == BUFFER_FETCH) &&
           (readers_count(&e->readers, b) == 0 || readers_of(&e->readers, b)[0] > last) &&
           epilogue_undisturbed(e, fold, first, last);
}

/* The instruction that wrote the buffer before instruction k; -1: none. */
static int writer_of(const program *p, int b, int k)
{
    do k--;
    while (k >= 0 && !instr_writes(&p->instrs[k], b));
    return k;
}

static bool find_place(const epilogue_pass *e, int k, place *p)
{
    const instr *fold = &e->program->instrs[k];
    int          b = fold->in[0].buffer;
    *p = (place){.at = writer_of(e->program, b, k), .of = TOTAL_OF_C};
    if (p->at >= 0 && suits(e, fold, p) && can_move(e, k, p->at)) return true;
    for (int r = 0; r < readers_count(&e->readers, b); r++)
        for (p->of = TOTAL_OF_A; p->of <= TOTAL_OF_B; p->of++) {
            p->at = readers_of(&e->readers, b)[r];
            if (suits(e, fold, p) && can_move(e, k, p->at)) return true;
        }
    return false;
}

bool epilogues_of_folds(epilogue_pass *e)
{
    program *p = e->program;
    for (int k = 0; k < p->ninstrs; k++) {
        place to;
        if (p->instrs[k].kind != INSTR_FOLD || p->instrs[k].fold.kind != FOLD_SUM ||
            instr_elements(&p->instrs[k]) == 0 || !find_place(e, k, &to))
            continue;
        instr *i = &p->instrs[to.at];
        int    total = epilogue_add_output(p, i, &to.total);
        TRY(total > 0);
        i->contract.total = total;
        i->contract.total_of = to.of;
        e->gone[k] = true;
    }
    return true;
}

/* The exact device: instructions on residues, element by element. */
#include "verify/exact.h"

static exact_kernel *const kernels[INSTR_KINDS] = {
    [INSTR_MAP] = exact_map,
    [INSTR_MOVE] = exact_move,
    [INSTR_ADD_INTO] = exact_add_into,
    [INSTR_FOLD] = exact_fold,
    [INSTR_CONTRACT] = exact_contract,
    [INSTR_GROUPED] = exact_grouped,
    [INSTR_GATHER] = exact_gather,
    [INSTR_SCATTER] = exact_scatter,
    [INSTR_SCAN] = exact_scan,
    [INSTR_ORDER] = exact_sort,
    [INSTR_NUCLEUS] = exact_nucleus,
    [INSTR_WINDOW] = exact_window,
    [INSTR_DRAW] = exact_draw,
    [INSTR_ATTENTION] = exact_attention,
    [INSTR_ATTENTION_JOIN] = exact_attention_join,
    [INSTR_ATTENTION_GRAD] = exact_attention_grad,
};

bool exact_run(exact *x, const instr *i)
{
    if (instr_elements(i) == 0) return true;
    if (kernels[i->kind]) return kernels[i->kind](x, i);
    return fail(&x->session->fault, ERR_USAGE,
                "\"%s\" is computed by the instruction %s, which has no exact form: it cannot be "
                "verified",
                mtf_name_of_tensor(i->cause), instr_name(i->kind));
}

operand_view view_of(const exact *x, const instr *i, const access *a)
{
    int64_t      step = (int64_t)mtf_dtype_bytes(a->type) / x->unit;
    operand_view v;
    v.at = x->base[a->buffer] + a->offset * step;
    v.type = a->type;
    v.step = step;
    for (int d = 0; d < i->nloops; d++) v.stride[d] = a->stride[d] * step;
    return v;
}

cell *exact_tile(exact *x, size_t cells)
{
    if (cells <= x->tile_cells) return x->tile;
    x->tile_cells = 0;
    x->tile =
        block_renew(&x->session->allocator, &x->session->fault, x->tile, cells * sizeof(cell));
    if (x->tile) x->tile_cells = cells;
    return x->tile;
}

/* ---- walks ---- */

iterations iterations_begin(const instr *i, int first, int end, const operand_view *a,
                            const operand_view *b, const operand_view *c)
{
    static const int64_t nowhere[MAX_LOOPS];
    const operand_view  *views[WALKED] = {a, b, c};
    iterations           t = {.first = first, .end = end, .size = i->size};
    for (int k = 0; k < WALKED; k++) t.stride[k] = views[k] ? views[k]->stride : nowhere;
    for (int d = first; d < end; d++) t.done = t.done || i->size[d] == 0;
    return t;
}

iterations iterations_at(const instr *i, int end, int64_t number, const operand_view *a)
{
    iterations t = iterations_begin(i, 0, end, a, NULL, NULL);
    for (int d = end - 1; d >= 0 && !t.done; d--) {
        t.index[d] = number % i->size[d];
        t.at[0] += t.index[d] * t.stride[0][d];
        number /= i->size[d];
    }
    return t;
}

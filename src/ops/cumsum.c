/* Running sums along a dimension. */
#include "ops/call.h"
#include "ops/lowering.h"
#include "ops/reach.h"
#include "ops/splits.h"
#include "ops/tape.h"

enum { DIM, EXCLUSIVE, REVERSE };

static bool infer(node *n)
{
    mtf_dim dim;
    TRY(call_dim(n->op, n->in[0], n->attrs[DIM].text, &dim));
    if (n->in[0]->type == MTF_BOOL)
        return node_fail(n, ERR_TYPE, "\"%s\" is bool; cast it to a number", tensor_name(n->in[0]));
    return node_output(n, n->in[0]->type, &n->in[0]->shape);
}

/* The transpose of a sum over earlier elements is a sum over later ones. */
static void grad(tape *t, const node *n, mtf_tensor *const *dy)
{
    mtf_dim dim = mtf_shape_dim(n->in[0]->shape, n->attrs[DIM].text);
    tape_give(t, n->in[0], mtf_cumsum(dy[0], dim, n->attrs[EXCLUSIVE].b, !n->attrs[REVERSE].b));
}

/* On a cut dimension: the total of every part is gathered by all processors along its axes; each
 * adds the totals before its own part (after it, in reverse) to its own running sums. */
static bool add_before(emitter *e, const node *n, const slice *in, const slice *own, slice *out)
{
    const char        *dim = n->attrs[DIM].text;
    const layout_rule *rule = layout_find(e->layout, dim);
    slice              totals = *in;
    int64_t            parts = cut_parts(e->layout->mesh, &rule->cut),
            mine = cut_part(e->layout->mesh, &rule->cut, &e->here);
    TRY(reach_totals(e, n->in[0], dim, FOLD_SUM, &totals));
    int64_t first = n->attrs[REVERSE].b ? mine + 1 : 0,
            count = n->attrs[REVERSE].b ? parts - mine - 1 : mine;
    slice     others = slice_cut(&totals, PARTS_DIM, first, count, 1);
    mtf_shape rest = slice_drop(&totals, PARTS_DIM).shape;
    slice     before = emit_fresh(e, totals.type, &rest);
    TRY(emit_fold(e, FOLD_SUM, &others, &before));
    *out = emit_fresh(e, out->type, &own->shape);
    return emit_scalar(e, FN_add, 2, (slice[]){*own, before}, out);
}

static bool lower(emitter *e, const node *n, const slice *in, slice *out)
{
    const char *dim = n->attrs[DIM].text;
    slice       x = *in;
    bool        cut = reach_is_cut(in, dim);
    /* A part's own sums are not the result yet, and so not rounded to a short float. */
    slice sums = emit_fresh(e, cut ? dtype_compute(out[0].type) : out[0].type, &out[0].shape);
    TRY(emit_scan(e, &x, dim, n->attrs[EXCLUSIVE].b, n->attrs[REVERSE].b, &sums));
    if (cut) return add_before(e, n, in, &sums, &out[0]);
    out[0] = sums;
    return true;
}

const op op_cumsum = {.name = "cumsum",
                      .says = "sum of all elements up to this one along dim",
                      .args = "x",
                      .attrs =
                          (const attr_spec[]){{"dim", ATTR_WORD, NULL, "the dimension"},
                                              {"exclusive", ATTR_BOOL, "false", "without this one"},
                                              {"reverse", ATTR_BOOL, "false", "from the end"},
                                              {0}},
                      .infer = infer,
                      .grad = grad,
                      .lower = lower,
                      .split = split_own_first,
                      .debt = debt_sum};

mtf_tensor *mtf_cumsum(mtf_tensor *x, mtf_dim dim, bool exclusive, bool reverse)
{
    return node_unary(&op_cumsum, x,
                      (attr[]){{.text = dim.name}, {.b = exclusive}, {.b = reverse}});
}

/* Running sums along a dimension. */
#include "ops/call.h"
#include "ops/lowering.h"
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

/* The transpose of summing what lies before is summing what lies behind. */
static void grad(tape *t, const node *n, mtf_tensor *const *dy)
{
    mtf_dim dim = mtf_shape_dim(n->in[0]->shape, n->attrs[DIM].text);
    tape_give(t, n->in[0], mtf_cumsum(dy[0], dim, n->attrs[EXCLUSIVE].b, !n->attrs[REVERSE].b));
}

static bool lower(emitter *e, const node *n, const slice *in, slice *out)
{
    out[0] = emit_fresh(e, out[0].type, &out[0].shape);
    return emit_scan(e, in, n->attrs[DIM].text, n->attrs[EXCLUSIVE].b, n->attrs[REVERSE].b, &out[0]);
}

const op op_cumsum = {
    .name = "cumsum", .says = "sum of all elements up to this one along dim", .args = "x",
    .attrs = (const attr_spec[]){{"dim", ATTR_WORD, NULL, "the dimension"},
                                 {"exclusive", ATTR_BOOL, "false", "without this one"},
                                 {"reverse", ATTR_BOOL, "false", "from the end"}, {0}},
    .infer = infer, .grad = grad, .lower = lower, .split = split_but_first, .debt = debt_sum};

mtf_tensor *mtf_cumsum(mtf_tensor *x, mtf_dim dim, bool exclusive, bool reverse)
{
    return node_unary(&op_cumsum, x, (attr[]){{.text = dim.name}, {.b = exclusive}, {.b = reverse}});
}

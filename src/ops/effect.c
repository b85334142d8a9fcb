/* Order and effects: identities that do something besides. */
#include "ops/lowering.h"
#include "ops/splits.h"
#include "ops/tape.h"

static bool infer_same(node *n)
{
    return node_output(n, n->in[0]->type, &n->in[0]->shape);
}

static bool lower_same(emitter *e, const node *n, const slice *in, slice *out)
{
    (void)e, (void)n;
    out[0] = in[0];
    return true;
}

static void grad_same(tape *t, const node *n, mtf_tensor *const *dy)
{
    tape_give(t, n->in[0], dy[0]);
}

/* ---- stop_gradient ---- */

const op op_stop_gradient = {.name = "stop_gradient",
                             .says = "x, but no gradient flows through",
                             .args = "x",
                             .flags = OP_MOVES | OP_F8,
                             .infer = infer_same,
                             .lower = lower_same,
                             .split = split_free,
                             .debt = debt_sum};

mtf_tensor *mtf_stop_gradient(mtf_tensor *x)
{
    return node_unary(&op_stop_gradient, x, NULL);
}

/* ---- depend ---- */

const op op_depend = {.name = "depend",
                      .says = "x, computed after the other inputs",
                      .args = "x, after...",
                      .flags = OP_DIRECT | OP_F8,
                      .infer = infer_same,
                      .grad = grad_same,
                      .lower = lower_same};

mtf_tensor *mtf_depend(mtf_tensor *x, int n, mtf_tensor *const *after)
{
    mtf_graph *g = graph_of(x);
    if (!g) return NULL;
    mtf_tensor **in = arena_array(&g->arena, mtf_tensor *, n + 1);
    if (!in) return NULL;
    in[0] = x;
    for (int i = 0; i < n; i++) in[i + 1] = after[i];
    return node_one(&op_depend, n + 1, in, NULL);
}

/* ---- print and scalar_summary ---- */

static bool lower_print(emitter *e, const node *n, const slice *in, slice *out)
{
    out[0] = in[0];
    return emit_say(e, &(say_args){.message = n->attrs[0].text}, &in[0]);
}

static bool infer_summary(node *n)
{
    if (n->in[0]->shape.ndims)
        return node_fail(n, ERR_SHAPE, "\"%s\" is not a scalar; reduce it first",
                         tensor_name(n->in[0]));
    return infer_same(n);
}

static bool lower_summary(emitter *e, const node *n, const slice *in, slice *out)
{
    out[0] = in[0];
    return emit_say(e, &(say_args){.message = n->attrs[0].text, .summary = true}, &in[0]);
}

const op op_print = {
    .name = "print",
    .says = "x; prints its value when computed",
    .args = "x",
    .attrs = (const attr_spec[]){{"message", ATTR_TEXT, "\"\"", "stands before the value"}, {0}},
    .flags = OP_EFFECT | OP_IDENTITY,
    .infer = infer_same,
    .grad = grad_same,
    .lower = lower_print};
const op op_scalar_summary = {.name = "scalar_summary",
                              .says = "x; records its value under a name",
                              .args = "x",
                              .attrs =
                                  (const attr_spec[]){{"name", ATTR_TEXT, NULL, "the name"}, {0}},
                              .flags = OP_EFFECT | OP_IDENTITY,
                              .infer = infer_summary,
                              .grad = grad_same,
                              .lower = lower_summary};

mtf_tensor *mtf_print_tensor(mtf_tensor *x, const char *message)
{
    return node_unary(&op_print, x, &(attr){.text = message ? message : ""});
}

mtf_tensor *mtf_scalar_summary(const char *name, mtf_tensor *x)
{
    return node_unary(&op_scalar_summary, x, &(attr){.text = name});
}

/* The best of the most probable: what sampling takes with top-k and top-p. */
#include <string.h>

#include "ops/call.h"
#include "ops/lowering.h"
#include "ops/splits.h"

enum { SCORES, LOGITS, K, P };

static bool types_fit(const node *n)
{
    static const mtf_dtype types[] = {MTF_F32, MTF_F32, MTF_I32, MTF_F32};
    for (int k = 0; k < n->nargs; k++)
        if (n->in[k]->type != types[k])
            return node_fail(n, ERR_TYPE, "\"%s\" is %s; it must be %s: cast it",
                             tensor_name(n->in[k]), mtf_dtype_name(n->in[k]->type),
                             mtf_dtype_name(types[k]));
    return true;
}

static bool infer(node *n)
{
    mtf_dim   dim, same;
    char      text[SHAPE_TEXT];
    mtf_shape one;
    TRY(types_fit(n) && node_sizes_agree(n));
    TRY(call_dim(n->op, n->in[SCORES], n->attrs[0].text, &dim) &&
        call_dim(n->op, n->in[LOGITS], n->attrs[0].text, &same));
    TRY(call_positions(n->op, n->graph, dim.size));
    mtf_shape rest = mtf_shape_minus(n->in[SCORES]->shape, one = mtf_shape(dim));
    for (int k = LOGITS; k <= P; k++) {
        mtf_shape own = mtf_shape_minus(n->in[k]->shape, k == LOGITS ? one : mtf_shape());
        if (!shape_within(&own, &rest))
            return node_fail(n, ERR_SHAPE,
                             "\"%s\" is %s; \"%s\" lacks some of its dimensions, or it has \"%s\"",
                             tensor_name(n->in[k]), shape_text(&n->in[k]->shape, text),
                             tensor_name(n->in[SCORES]), dim.name);
    }
    return node_output(n, MTF_I32, &rest);
}

static bool lower(emitter *e, const node *n, const slice *in, slice *out)
{
    out[0] = emit_fresh(e, MTF_I32, &out[0].shape);
    return emit_nucleus(e, &in[SCORES], &in[LOGITS], &in[K], &in[P], n->attrs[0].text, &out[0]);
}

const op op_nucleus_argmax = {
    .name = "nucleus_argmax",
    .says = "the i32 index of the largest score along dim among the k most probable by their "
            "logits, and of "
            "these the fewest that have a share of p of their probability; k = 0, p = 0 or 1: all; "
            "of equal "
            "ones the lowest index comes first",
    .args = "scores, logits, k, p",
    .attrs = (const attr_spec[]){{"dim", ATTR_WORD, NULL, "the dimension"}, {0}},
    .infer = infer,
    .lower = lower,
    .split = split_but_first};

mtf_tensor *mtf_nucleus_argmax(mtf_tensor *scores, mtf_tensor *logits, mtf_tensor *k, mtf_tensor *p,
                               mtf_dim dim)
{
    return node_one(&op_nucleus_argmax, 4, (mtf_tensor *[]){scores, logits, k, p},
                    (attr[]){{.text = dim.name}});
}

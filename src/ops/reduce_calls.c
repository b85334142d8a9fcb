/* Reductions as they are called, from C and from text. */
#include "base/dtype.h"
#include "ops/catalogue.h"
#include "ops/lowering.h"
#include "ops/reduce.h"

/* ---- from C ---- */

static mtf_tensor *reduce(const op *o, mtf_tensor *x, const mtf_shape *over, const mtf_shape *kept)
{
    const char *names[MTF_SHAPE_ROOM];
    bool        broken = over && over->ndims < 0;
    for (int i = 0; graph_of(x) && over && i < over->ndims; i++) {
        mtf_dim d = mtf_shape_dim(x->shape, over->dims[i].name);
        if (d.name && d.size != over->dims[i].size) {
            fail(&graph_of(x)->session->fault, ERR_SHAPE,
                 "%s: dimension \"%s\" is %lld in \"%s\", not %lld", o->name, d.name,
                 (long long)d.size, tensor_name(x), (long long)over->dims[i].size);
            return NULL;
        }
    }
    for (int i = 0; over && i < over->ndims; i++) names[i] = over->dims[i].name;
    attr attrs[] = {[REDUCE_OVER] = {.names = {over && !broken ? over->ndims : 0, names}},
                    [REDUCE_SHAPE] = {.shape = broken ? over : kept}};
    return node_unary(o, x, attrs);
}

#define ENTRANCE(name)                                                                             \
    mtf_tensor *mtf_##name(mtf_tensor *x, mtf_shape over)                                          \
    {                                                                                              \
        return reduce(&op_##name, x, &over, NULL);                                                 \
    }
ENTRANCE(reduce_sum)
ENTRANCE(reduce_max)
ENTRANCE(reduce_min)
ENTRANCE(reduce_prod)
ENTRANCE(reduce_all)
ENTRANCE(reduce_any)

mtf_tensor *mtf_reduce_sum_to(mtf_tensor *x, mtf_shape kept)
{
    return reduce(&op_reduce_sum, x, NULL, &kept);
}

mtf_tensor *mtf_reduce_max_to(mtf_tensor *x, mtf_shape kept)
{
    return reduce(&op_reduce_max, x, NULL, &kept);
}

/* Divides, so that the mean of ones is 1.  Where the type cannot hold the count exactly, it
 * multiplies by 1 / count, which is as exact, and f16 does not divide by infinity. */
mtf_tensor *mean_of_sum(mtf_tensor *sum, double count)
{
    if (!sum) return NULL;
    if (dtype_real(sum->type, number_as(sum->type, (attr_number){.r = count})) != count)
        return mtf_scale(sum, 1 / count);
    return mtf_divide(sum, mtf_constant(graph_of(sum), count, sum->type, mtf_shape()));
}

/* The mean of what `sum` summed. */
static mtf_tensor *mean_of(mtf_tensor *x, mtf_tensor *sum)
{
    if (!x || !sum) return NULL;
    if (!dtype_is_float(x->type)) {
        node_fail(sum->node, ERR_TYPE, "the mean of \"%s\" needs a floating type, not %s: cast it",
                  tensor_name(x), mtf_dtype_name(x->type));
        return NULL;
    }
    return mean_of_sum(sum, (double)shape_size(&x->shape) / (double)shape_size(&sum->shape));
}

mtf_tensor *mtf_reduce_mean(mtf_tensor *x, mtf_shape over)
{
    return mean_of(x, mtf_reduce_sum(x, over));
}

mtf_tensor *mtf_reduce_mean_to(mtf_tensor *x, mtf_shape kept)
{
    return mean_of(x, mtf_reduce_sum_to(x, kept));
}

mtf_tensor *mtf_argmax(mtf_tensor *x, mtf_dim dim)
{
    mtf_shape over = mtf_shape(dim);
    return reduce(&op_argmax_over, x, &over, NULL);
}

/* ---- from text: what is made of others ---- */

static void expand_mean(op_call *c)
{
    mtf_shape *kept = (mtf_shape *)c->shape;
    node      *n =
        node_new(c->graph, &op_reduce_sum, 1, c->in,
                 (attr[]){[REDUCE_OVER] = c->attrs[0], [REDUCE_SHAPE] = {.shape = kept}}, NULL);
    c->out[0] = mean_of(c->in[0], n ? n->out[0] : NULL);
}

static void expand_arg(op_call *c, const op *o)
{
    const char *dim = c->attrs[0].text;
    attr        attrs[] = {[REDUCE_OVER] = {.names = {1, &dim}}, [REDUCE_SHAPE] = {.shape = NULL}};
    c->out[0] = node_unary(o, c->in[0], attrs);
}

static void expand_argmax(op_call *c)
{
    expand_arg(c, &op_argmax_over);
}

static void expand_argmin(op_call *c)
{
    expand_arg(c, &op_argmin_over);
}

const op op_reduce_mean = {
    .name = "reduce_mean",
    .says = "mean over dimensions",
    .args = "x",
    .attrs = (const attr_spec[]){{"over", ATTR_NAMES, "()",
                                  "dimensions to reduce; none given, and no output shape: all"},
                                 {0}},
    .expand = expand_mean};
const op op_argmax = {.name = "argmax",
                      .says = "i32 index of the largest element along dim; ties go to the first",
                      .args = "x",
                      .attrs = (const attr_spec[]){{"dim", ATTR_WORD, NULL, "the dimension"}, {0}},
                      .expand = expand_argmax};
const op op_argmin = {.name = "argmin",
                      .says = "i32 index of the smallest element along dim; ties go to the first",
                      .args = "x",
                      .attrs = (const attr_spec[]){{"dim", ATTR_WORD, NULL, "the dimension"}, {0}},
                      .expand = expand_argmin};

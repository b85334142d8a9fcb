/* Dense layers: products with a kernel, bias, activation. */
#include "base/textbuf.h"
#include "nn/layer.h"

static const char default_init[] = "variance_scaling(1, fan_in, normal)";

/* x must have the reduced dimensions, and the new ones only where they are reduced. */
static bool check_dense(const mtf_tensor *x, const mtf_shape *reduced, const mtf_shape *new_dims)
{
    fault *f = &x->node->graph->session->fault;
    char   a[SHAPE_TEXT], b[SHAPE_TEXT];
    TRY(shape_check(reduced, "dense", f) && shape_check(new_dims, "dense", f));
    for (int i = 0; i < reduced->ndims; i++)
        if (mtf_shape_find(x->shape, reduced->dims[i].name) < 0)
            return fail(f, ERR_SHAPE, "dense: \"%s\" is %s; it has no dimension \"%s\" to reduce",
                        tensor_name(x), shape_text(&x->shape, a), reduced->dims[i].name);
    for (int i = 0; i < new_dims->ndims; i++) {
        const char *name = new_dims->dims[i].name;
        if (mtf_shape_find(x->shape, name) >= 0 && mtf_shape_find(*reduced, name) < 0)
            return fail(f, ERR_SHAPE,
                        "dense: \"%s\" is %s and has the new dimension \"%s\" already; reduce it "
                        "(now %s), or give it another name",
                        tensor_name(x), shape_text(&x->shape, a), name, shape_text(reduced, b));
    }
    return true;
}

/* Rows by expert have what a product of them has: each expert's bias would have to be gathered. */
static bool check_rows(const mtf_graph *g, const mtf_dense_opts *o)
{
    if (!o->ends || (o->no_bias && !o->f8)) return true;
    return fail(&g->session->fault, ERR_VALUE, "dense: rows that are sorted by expert have %s; %s",
                o->f8 ? "no product in f8" : "no bias", o->f8 ? "leave f8 out" : "set no_bias");
}

/* Dimensions that are both reduced and new get another name in x; sizes are x's. */
static mtf_tensor *set_apart(mtf_tensor *x, mtf_shape *reduced, const mtf_shape *new_dims,
                             const mtf_shape *experts)
{
    for (int i = 0; i < reduced->ndims && x; i++) {
        const char *name = reduced->dims[i].name;
        reduced->dims[i] = mtf_shape_dim(x->shape, name);
        if (mtf_shape_find(*new_dims, name) < 0) continue;
        mtf_shape   beside = mtf_shape_plus(mtf_shape_plus(x->shape, *new_dims), *experts);
        const char *other = layer_other_name(graph_of(x), name, &beside);
        if (!other) return NULL;
        reduced->dims[i].name = other;
        x = mtf_rename_dimension(x, name, other);
    }
    return x;
}

mtf_tensor *layer_dense(mtf_tensor *x, mtf_shape reduced, mtf_shape new_dims,
                        const mtf_dense_opts *o)
{
    mtf_graph *g = graph_of(x);
    if (!g || !check_dense(x, &reduced, &new_dims) || !check_rows(g, o)) return NULL;
    x = set_apart(x, &reduced, &new_dims, &o->experts);
    if (!x) return NULL;
    mtf_tensor *w = o->kernel;
    if (!w) {
        layer_kernel how = {"dense", o->kernel_init ? o->kernel_init : default_init,
                            (double)mtf_shape_size(reduced), (double)mtf_shape_size(new_dims)};
        mtf_shape    shape = mtf_shape_plus(mtf_shape_plus(o->experts, reduced), new_dims);
        w = layer_kernel_weight(g, o->context, x->type, shape, &how);
    }
    mtf_shape   kept = mtf_shape_plus(mtf_shape_minus(x->shape, reduced), new_dims);
    mtf_shape   output = mtf_shape_plus(mtf_shape_minus(o->experts, kept), kept);
    mtf_tensor *y = o->ends ? layer_rows_product(o, kept, x, w)
                            : layer_product(o->context, o->f8, output, x, w);
    if (!o->no_bias)
        y = mtf_add(y, layer_weight(g, o->context, "bias", x->type,
                                    mtf_shape_plus(o->experts, new_dims), "zeros"));
    return mtf_activate(y, o->activation);
}

mtf_tensor *mtf_dense(mtf_tensor *x, mtf_shape new_dims, const mtf_dense_opts *opts)
{
    mtf_dense_opts o = opts ? *opts : (mtf_dense_opts){0};
    mtf_graph     *g = graph_of(x);
    mtf_dim        last;
    if (!g) return NULL;
    if (!o.reduced.ndims) {
        if (!layer_last(x, "dense", 0, &last)) return NULL;
        o.reduced = mtf_shape(last);
    }
    const char *outside = layer_enter(g, o.name, "dense");
    if (!outside) return NULL;
    mtf_tensor *y = layer_dense(x, o.reduced, new_dims, &o);
    layer_leave(g, outside);
    return y;
}

mtf_tensor *mtf_dense_product(mtf_tensor *x, mtf_shape new_dims, const char *const *activations,
                              const mtf_dense_opts *opts)
{
    mtf_dense_opts o = opts ? *opts : (mtf_dense_opts){0};
    mtf_graph     *g = graph_of(x);
    mtf_tensor    *product = NULL;
    if (!g || !activations || !activations[0] || !activations[1]) {
        o.activation = activations ? activations[0] : NULL;
        return g ? mtf_dense(x, new_dims, &o) : NULL;
    }
    const char *name = o.name ? o.name : layer_unique(g, "dense_product");
    if (!name) return NULL;
    for (int i = 0; activations[i]; i++) {
        textbuf t = {.arena = &g->arena};
        text_add(&t, "%s_%d", name, i);
        o.name = text_done(&t);
        o.activation = activations[i];
        mtf_tensor *y = o.name ? mtf_dense(x, new_dims, &o) : NULL;
        product = i ? mtf_multiply(product, y) : y;
    }
    return product;
}

mtf_tensor *mtf_dense_relu_dense(mtf_tensor *x, mtf_dim hidden,
                                 const mtf_dense_relu_dense_opts *opts)
{
    mtf_dense_relu_dense_opts o = opts ? *opts : (mtf_dense_relu_dense_opts){0};
    mtf_graph                *g = graph_of(x);
    mtf_dim                   channels;
    if (!g || !layer_last(x, "dense_relu_dense", 0, &channels)) return NULL;
    const char *outside = layer_enter(g, o.name, "dense_relu_dense");
    if (!outside) return NULL;
    mtf_dense_opts in = {.no_bias = true, .f8 = o.f8, .context = o.context}, out = in;
    in.name = "wi", in.activation = "relu";
    out.name = "wo", out.reduced = mtf_shape(hidden);
    mtf_tensor *h = mtf_dense(x, mtf_shape(hidden), &in);
    h = layer_dropout(o.context, h, o.dropout, o.dropout_broadcast);
    mtf_tensor *y = mtf_dense(h, mtf_shape(channels), &out);
    layer_leave(g, outside);
    return y;
}

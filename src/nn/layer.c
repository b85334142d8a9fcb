/* What layers share: scopes, weights, products, dropout. */
#include "nn/layer.h"

#include <math.h>
#include <string.h>

#include "base/dtype.h"
#include "base/textbuf.h"
#include "graph/initializer.h"

/* ---- scopes and names ---- */

const char *layer_unique(mtf_graph *g, const char *wish)
{
    const char *unique = graph_unique_name(g, wish);
    return unique ? unique + strlen(g->scope) : NULL;
}

const char *layer_enter(mtf_graph *g, const char *name, const char *otherwise)
{
    const char *outside = g->scope;
    if (!name) name = layer_unique(g, otherwise);
    if (!name) return NULL;
    mtf_scope_push(g, name);
    return mtf_ok(g->session) ? outside : NULL;
}

void layer_leave(mtf_graph *g, const char *outside)
{
    g->scope = outside;
}

const char *layer_other_name(mtf_graph *g, const char *name, const mtf_shape *beside)
{
    do {
        textbuf t = {.arena = &g->arena};
        text_add(&t, "_%s", name);
        name = text_done(&t);
    } while (name && shape_find(beside, name) >= 0);
    return name ? graph_intern(g, name) : NULL;
}

bool layer_last(const mtf_tensor *x, const char *layer, int skip, mtf_dim *dim)
{
    char text[SHAPE_TEXT];
    int  at = x->shape.ndims - 1 - skip;
    if (at < 0)
        return fail(&x->node->graph->session->fault, ERR_SHAPE,
                    "%s: \"%s\" is %s; it needs %d dimension%s or more", layer, tensor_name(x),
                    shape_text(&x->shape, text), skip + 1, skip ? "s" : "");
    *dim = x->shape.dims[at];
    return true;
}

/* ---- weights ---- */

mtf_tensor *layer_weight(mtf_graph *g, const mtf_layer_context *context, const char *name,
                         mtf_dtype type, mtf_shape shape, const char *init)
{
    mtf_dtype   stored = context && context->short_weights ? type : dtype_compute(type);
    mtf_tensor *w =
        mtf_variable(g, name, shape,
                     &(mtf_variable_opts){
                         .type = stored, .init = init, .untrainable = context && context->frozen});
    return stored == type ? w : mtf_cast(w, type);
}

void layer_is_state(const mtf_tensor *w)
{
    mtf_session *s = w->node->graph->session;
    const char  *name = arena_text(&s->arena, tensor_name(w));
    s->model_state.arena = &s->arena;
    if (name) names_put(&s->model_state, name, s);
}

mtf_tensor *layer_state(mtf_graph *g, const char *name, mtf_dtype type, mtf_shape shape,
                        const char *init)
{
    mtf_tensor *w = mtf_variable(
        g, name, shape, &(mtf_variable_opts){.type = type, .init = init, .untrainable = true});
    if (w) layer_is_state(w);
    return w;
}

mtf_tensor *layer_kernel_weight(mtf_graph *g, const mtf_layer_context *context, mtf_dtype type,
                                mtf_shape shape, const layer_kernel *how)
{
    initializer i;
    char        text[INIT_TEXT];
    const char *init = how->init;
    if (initializer_parse(init, &i) && i.kind == INIT_SCALED) {
        bool unit = context && context->unit_scaling;
        if (unit && i.fan != FAN_IN) {
            fail(&g->session->fault, ERR_VALUE,
                 "%s: with unit scaling the initialiser goes by fan_in, unlike \"%s\"", how->layer,
                 init);
            return NULL;
        }
        initializer_write(initializer_for_fans(i, unit ? 1 : how->in, how->out), text);
        init = text;
    }
    return layer_weight(g, context, "kernel", type, shape, init);
}

/* ---- products, activations ---- */

/* The product y of xs, divided by the square root of its number of terms with unit scaling. */
static mtf_tensor *unit_scaled(const mtf_layer_context *context, mtf_tensor *y, mtf_shape output,
                               int n, mtf_tensor *const *xs)
{
    if (!y || !context || !context->unit_scaling) return y;
    mtf_shape all = mtf_shape();
    for (int i = 0; i < n; i++) all = mtf_shape_plus(all, xs[i]->shape);
    double terms = (double)mtf_shape_size(mtf_shape_minus(all, output));
    return terms > 1 ? mtf_scale(y, 1 / sqrt(terms)) : y;
}

mtf_tensor *mtf_us_einsum(const mtf_layer_context *context, mtf_shape output, int n,
                          mtf_tensor *const *xs)
{
    return unit_scaled(context, mtf_einsum_n(output, n, xs), output, n, xs);
}

mtf_tensor *layer_product(const mtf_layer_context *context, bool f8, mtf_shape output,
                          mtf_tensor *x, mtf_tensor *w)
{
    mtf_tensor *xs[] = {x, w};
    mtf_tensor *y = f8 ? mtf_einsum_f8(output, x, w) : mtf_einsum_n(output, 2, xs);
    return unit_scaled(context, y, output, 2, xs);
}

mtf_tensor *layer_rows_product(const mtf_dense_opts *o, mtf_shape output, mtf_tensor *x,
                               mtf_tensor *w)
{
    mtf_tensor *y = mtf_grouped_einsum(output, x, w, o->ends, o->rows);
    return unit_scaled(o->context, y, mtf_shape_plus(output, o->experts), 2,
                       (mtf_tensor *[]){x, w});
}

/* Can this elementwise operation be an activation? */
static bool activates(const op *o)
{
    return strcmp(o->args, "x") == 0 && (!o->attrs || !o->attrs[0].name) && !o->expand && o->grad;
}

static const op *find_activation(const char *activation)
{
    const char *name = strcmp(activation, "swish") == 0 ? "silu" : activation; /* one function */
    for (int i = 0; op_catalogue[i]; i++)
        if (strcmp(op_catalogue[i]->name, name) == 0 && activates(op_catalogue[i]))
            return op_catalogue[i];
    return NULL;
}

const char *activation_nth(int n)
{
    static const char *const others[] = {"linear", "swish"};
    if (n < 2) return others[n];
    n -= 2;
    for (int i = 0; op_catalogue[i]; i++)
        if (activates(op_catalogue[i]) && n-- == 0) return op_catalogue[i]->name;
    return NULL;
}

bool activation_exists(const char *name)
{
    return strcmp(name, "linear") == 0 || find_activation(name) != NULL;
}

mtf_tensor *mtf_activate(mtf_tensor *x, const char *activation)
{
    mtf_graph *g = graph_of(x);
    if (!g || !activation || strcmp(activation, "linear") == 0) return g ? x : NULL;
    const op *found = find_activation(activation);
    if (found) return node_unary(found, x, NULL);
    fail(&g->session->fault, ERR_NAME,
         "no activation is called \"%s\"; there are linear, relu, gelu, silu, sigmoid, tanh and "
         "the other operations of one tensor alone",
         activation);
    return NULL;
}

/* ---- dropout ---- */

mtf_tensor *layer_drop(mtf_tensor *x, mtf_tensor *kept, mtf_shape noise)
{
    mtf_graph *g = graph_of(x);
    if (!g || !kept) return NULL;
    mtf_tensor *u = mtf_random_uniform(g, MTF_F32, noise, 0, 1);
    mtf_tensor *stays = mtf_less(u, mtf_cast(kept, MTF_F32));
    mtf_tensor *scaled = mtf_divide(x, mtf_cast(kept, x->type));
    mtf_tensor *zero = mtf_constant(g, 0, x->type, mtf_shape());
    return mtf_transpose(mtf_where(stays, scaled, zero), x->shape);
}

mtf_tensor *layer_dropout(const mtf_layer_context *context, mtf_tensor *x, double rate,
                          mtf_shape broadcast)
{
    mtf_graph *g = graph_of(x);
    if (!g || rate == 0 || (context && context->inference)) return g ? x : NULL;
    mtf_shape noise = mtf_shape_minus(x->shape, broadcast);
    if (noise.ndims || !x->shape.ndims) return mtf_dropout(x, rate, noise);
    return layer_drop(x, mtf_constant(g, 1 - rate, MTF_F32, mtf_shape()), noise);
}

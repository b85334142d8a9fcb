/* U-Nets: labels for every element of an image or a volume.
 *
 * Ronneberger, Fischer, Brox, 2015.  All channels are called "filters", so that a layout may cut them
 * at every level.
 */
#include <stdio.h>

#include "nn/layer.h"

typedef struct unet_call {
    mtf_unet_opts o;
    int           spatial;
    int64_t       made; /* convolutions so far */
} unet_call;

static mtf_unet_opts unet_defaults(const mtf_unet_opts *opts)
{
    mtf_unet_opts o = opts ? *opts : (mtf_unet_opts){0};
    if (o.levels == 0) o.levels = 4;
    if (o.convs == 0) o.convs = 2;
    if (o.filters == 0) o.filters = 32;
    if (o.slope == 0) o.slope = 0.1;
    return o;
}

/* ---- checks ---- */

static bool unet_counts_right(fault *f, const mtf_unet_opts *o)
{
    if (o->levels < 1 || o->levels > 20 || o->convs < 1 || o->filters < 1)
        return fail(f, ERR_VALUE,
                    "unet: %lld levels of %lld convolutions, %lld filters; levels go from 1 to 20, "
                    "the others from 1",
                    (long long)o->levels, (long long)o->convs, (long long)o->filters);
    if (!(o->dropout >= 0 && o->dropout < 1))
        return fail(f, ERR_VALUE, "unet: dropout takes a share from 0 to below 1, not %g",
                    o->dropout);
    return true;
}

/* Each level has half the size of the one before. */
static bool unet_sizes_right(const unet_call *c, const mtf_tensor *x)
{
    int64_t smallest = (int64_t)1 << (c->o.levels - 1);
    mtf_dim first;
    TRY(layer_last(x, "unet", c->spatial, &first));
    for (int i = c->spatial; i >= 1; i--) {
        mtf_dim d = x->shape.dims[x->shape.ndims - 1 - i];
        if (d.size % smallest == 0) continue;
        return fail(&x->node->graph->session->fault, ERR_SHAPE,
                    "unet: %lld levels halve \"%s\", %lld elements, %lld times; its size must be a "
                    "multiple of %lld",
                    (long long)c->o.levels, d.name, (long long)d.size, (long long)c->o.levels - 1,
                    (long long)smallest);
    }
    return true;
}

/* ---- layers ---- */

static mtf_tensor *unet_filter(const unet_call *c, mtf_tensor *x, mtf_dim output, int64_t taps)
{
    mtf_conv_layer_opts o = {.filter = {taps, taps, taps}, .context = c->o.context};
    return c->spatial == 2 ? mtf_conv2d_layer(x, output, &o) : mtf_conv3d_layer(x, output, &o);
}

/* What a level does so many times. */
static mtf_tensor *unet_step(unet_call *c, mtf_tensor *x, int64_t filters)
{
    x = unet_filter(c, x, (mtf_dim){"filters", filters}, 3);
    if (!c->o.no_batch_norm)
        x = mtf_batch_norm(x, &(mtf_batch_norm_opts){.epsilon = 1e-6, .context = c->o.context});
    x = mtf_leaky_relu(x, c->o.slope);
    return c->made++ == 0 ? x : layer_dropout(c->o.context, x, c->o.dropout, mtf_shape());
}

static mtf_tensor *unet_level(unet_call *c, mtf_tensor *x, int64_t level, const char *way)
{
    char name[40];
    if (!graph_of(x)) return NULL;
    snprintf(name, sizeof name, "%s_%lld", way, (long long)level);
    const char *outside = layer_enter(graph_of(x), name, name);
    for (int64_t k = 0; outside && k < c->o.convs; k++) x = unet_step(c, x, c->o.filters << level);
    if (!outside) return NULL;
    if (x) layer_leave(graph_of(x), outside);
    return x;
}

static mtf_tensor *unet_halved(const unet_call *c, mtf_tensor *x)
{
    return c->spatial == 2 ? mtf_max_pool2d(x, 2, 2) : mtf_max_pool3d(x, 2, 2, 2);
}

static mtf_tensor *unet_doubled(const unet_call *c, mtf_tensor *x, int64_t filters)
{
    mtf_dim             output = {"filters", filters};
    mtf_conv_layer_opts o = {.context = c->o.context};
    return c->spatial == 2 ? mtf_conv2d_transpose_layer(x, output, &o)
                           : mtf_conv3d_transpose_layer(x, output, &o);
}

/* The level and all smaller ones. */
static mtf_tensor *unet_from(unet_call *c, mtf_tensor *x, int64_t level)
{
    mtf_tensor *seen = unet_level(c, x, level, "down");
    if (level == c->o.levels - 1) return seen;
    mtf_tensor *below = unet_from(c, unet_halved(c, seen), level + 1);
    mtf_tensor *both[] = {unet_doubled(c, below, c->o.filters << level), seen};
    return unet_level(c, mtf_concat("filters", 2, both), level, "up");
}

static mtf_tensor *unet(mtf_tensor *x, mtf_dim classes, const mtf_unet_opts *opts, int spatial)
{
    unet_call  c = {.o = unet_defaults(opts), .spatial = spatial};
    mtf_graph *g = graph_of(x);
    if (!g || !unet_counts_right(&g->session->fault, &c.o) || !unet_sizes_right(&c, x)) return NULL;
    const char *outside = layer_enter(g, c.o.name, "unet");
    if (!outside) return NULL;
    mtf_tensor *y = unet_filter(&c, unet_from(&c, x, 0), classes, 1);
    layer_leave(g, outside);
    return y;
}

mtf_tensor *mtf_unet2d(mtf_tensor *x, mtf_dim classes, const mtf_unet_opts *opts)
{
    return unet(x, classes, opts, 2);
}

mtf_tensor *mtf_unet3d(mtf_tensor *x, mtf_dim classes, const mtf_unet_opts *opts)
{
    return unet(x, classes, opts, 3);
}

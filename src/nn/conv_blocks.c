/* Convolutions of images that are divided into blocks.
 *
 * [.., blocks, .., size, ..] represents a dimension of blocks * size.  Each
 * block takes from its neighbours just the margins that SAME padding of the
 * whole image needs, so that any stride gives the result of the whole image.
 */
#include "base/whole.h"
#include "nn/conv_layer.h"

/* What a spatial dimension needs around a block, and how the result is padded. */
typedef struct margin {
    int64_t left, right;   /* elements of the neighbours */
    int64_t before, after; /* padding of the convolution */
    int64_t missing;       /* transposed: zeros after its result */
} margin;

/* Output o reads from o * stride - before on, and blocks begin at multiples of the stride. */
static margin forward_margin(int64_t size, int64_t taps, int64_t stride, bool blocked)
{
    int64_t outputs = ceil_div(size, stride);
    int64_t total = max_of(0, (outputs - 1) * stride + taps - size);
    int64_t before = total / 2;
    return blocked ? (margin){.left = before, .right = total - before}
                   : (margin){.before = before, .after = total - before};
}

/* Element i writes from i * stride - p on, where p is what SAME padding removes: a block's outputs
 * depend on `left` elements before it and `right` after it. */
static margin backward_margin(int64_t taps, int64_t stride, bool blocked)
{
    int64_t p = max_of(0, taps - stride) / 2;
    margin  m = {0};
    if (blocked) {
        m.left = (taps - 1 - p) / stride;
        m.right = ceil_div(p, stride);
    }
    int64_t after = (m.right - 1) * stride + taps - p;
    m.before = p + m.left * stride;
    m.after = max_of(0, after);
    m.missing = max_of(0, -after);
    return m;
}

static mtf_tensor *with_neighbours(mtf_tensor *x, mtf_dim blocks, mtf_dim size, const margin *m)
{
    int64_t halo = m->left > m->right ? m->left : m->right;
    if (halo == 0) return x;
    if (m->right == 0) return mtf_left_halo_exchange(x, blocks, size, halo, false);
    mtf_tensor *wide = mtf_halo_exchange(x, blocks, size, halo, false);
    if (m->left == m->right) return wide;
    return mtf_slice(wide, size.name, halo - m->left, m->left + size.size + m->right, 1);
}

static bool check_blocks(const conv_call *c, const mtf_conv_layer_opts *o)
{
    fault *f = &c->x->node->graph->session->fault;
    char   text[SHAPE_TEXT];
    if (o->padding != MTF_SAME)
        return fail(f, ERR_VALUE, "%s: blocks need MTF_SAME as padding", c->layer);
    for (int i = 0; i < c->ndims; i++) {
        const char *blocks = o->blocks[i].name;
        if (!blocks) continue;
        int     at = mtf_shape_find(c->x->shape, blocks);
        mtf_dim size = c->x->shape.dims[conv_place(c, i)];
        if (at < 0 || at >= conv_place(c, 0))
            return fail(f, ERR_SHAPE,
                        "%s: \"%s\" is %s; \"%s\" must be one of its batch dimensions to count "
                        "blocks of \"%s\"",
                        c->layer, tensor_name(c->x), shape_text(&c->x->shape, text), blocks,
                        size.name);
        if (!c->transposed && size.size % c->stride[i])
            return fail(f, ERR_SHAPE,
                        "%s: blocks of %lld along \"%s\" are not a multiple of the stride %lld",
                        c->layer, (long long)size.size, size.name, (long long)c->stride[i]);
    }
    return true;
}

static mtf_tensor *convolve_blocks(conv_call *c, const mtf_conv_layer_opts *o)
{
    mtf_conv_opts how = {.padding = MTF_EXPLICIT};
    int64_t       missing[3] = {0};
    mtf_tensor   *x = c->x;
    for (int i = 0; i < c->ndims; i++) {
        mtf_dim size = x->shape.dims[conv_place(c, i)];
        bool    blocked = o->blocks[i].name != NULL;
        margin  m = c->transposed ? backward_margin(c->taps[i], c->stride[i], blocked)
                                  : forward_margin(size.size, c->taps[i], c->stride[i], blocked);
        if (blocked) c->x = with_neighbours(c->x, o->blocks[i], size, &m);
        if (!c->x) return NULL;
        how.before[i] = m.before;
        how.after[i] = m.after;
        missing[i] = m.missing;
    }
    mtf_tensor *y = conv_apply(c, how);
    for (int i = 0; i < c->ndims; i++)
        if (missing[i])
            y = mtf_pad(y, x->shape.dims[conv_place(c, i)].name,
                        &(mtf_pad_opts){.after = missing[i]});
    return y;
}

static mtf_tensor *convolve(mtf_tensor *x, mtf_dim output, const mtf_conv_layer_opts *opts,
                            int ndims, bool transposed, const char *layer)
{
    mtf_conv_layer_opts o = opts ? *opts : (mtf_conv_layer_opts){0};
    conv_call           c = {.layer = layer, .ndims = ndims, .transposed = transposed, .x = x};
    mtf_graph          *g = graph_of(x);
    const char         *outside = g ? layer_enter(g, o.name, layer) : NULL;
    if (!outside) return NULL;
    mtf_tensor *y =
        conv_prepare(&c, output, &o) && check_blocks(&c, &o) ? convolve_blocks(&c, &o) : NULL;
    layer_leave(g, outside);
    return y;
}

#define LAYER(NAME, NDIMS, TRANSPOSED)                                                             \
    mtf_tensor *mtf_##NAME(mtf_tensor *x, mtf_dim output, const mtf_conv_layer_opts *opts)         \
    {                                                                                              \
        return convolve(x, output, opts, NDIMS, TRANSPOSED, #NAME);                                \
    }
LAYER(conv2d_with_blocks, 2, false)
LAYER(conv3d_with_blocks, 3, false)
LAYER(conv2d_transpose_with_blocks, 2, true)
LAYER(conv3d_transpose_with_blocks, 3, true)

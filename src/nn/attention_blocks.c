/* Attention inside blocks of an image and to neighbouring blocks. */
#include "base/textbuf.h"
#include "nn/attention.h"
#include "nn/masks.h"

/* A spatial dimension of x, the dimension of its blocks, and its name in the memory. */
typedef struct side {
    mtf_dim blocks; /* {0}: there is one block */
    mtf_dim size, memory;
} side;

static bool find_side(const mtf_tensor *x, const char *layer, int skip, mtf_dim blocks, side *s)
{
    mtf_graph *g = x->node->graph;
    textbuf    t = {.arena = &g->arena};
    char       shape[SHAPE_TEXT];
    *s = (side){.blocks = blocks};
    TRY(layer_last(x, layer, skip, &s->size));
    if (blocks.name) {
        int at = mtf_shape_find(x->shape, blocks.name);
        if (at < 0)
            return fail(&g->session->fault, ERR_SHAPE,
                        "%s: \"%s\" is %s; it has no dimension \"%s\" that counts blocks", layer,
                        tensor_name(x), shape_text(&x->shape, shape), blocks.name);
        s->blocks = x->shape.dims[at];
    }
    text_add(&t, "memory_%s", s->size.name);
    s->memory = (mtf_dim){text_done(&t), s->size.size};
    return s->memory.name != NULL;
}

/* x with the block before, and the block after it unless later positions are masked. */
static mtf_tensor *with_neighbours(mtf_tensor *x, const side *s, bool mask_right)
{
    int64_t size = s->size.size;
    if (!s->blocks.name)
        return mtf_pad(x, s->memory.name,
                       &(mtf_pad_opts){.before = size, .after = mask_right ? 0 : size});
    return mask_right ? mtf_left_halo_exchange(x, s->blocks, s->memory, size, false)
                      : mtf_halo_exchange(x, s->blocks, s->memory, size, false);
}

/* True where the memory, which begins one block earlier, is outside the image. */
static mtf_tensor *outside_of(mtf_graph *g, const side *s, bool mask_right)
{
    double      size = (double)s->size.size, blocks = s->blocks.name ? (double)s->blocks.size : 1;
    mtf_dim     memory = {s->memory.name, (mask_right ? 2 : 3) * s->size.size};
    mtf_tensor *at = mtf_add_scalar(mtf_range(g, memory, MTF_I32), -size);
    if (s->blocks.name) at = mtf_add(mtf_scale(mtf_range(g, s->blocks, MTF_I32), size), at);
    mtf_tensor *zero = mtf_constant(g, 0, MTF_I32, mtf_shape());
    mtf_tensor *end = mtf_constant(g, blocks * size, MTF_I32, mtf_shape());
    return mtf_logical_or(mtf_less(at, zero), mtf_greater_equal(at, end));
}

static mtf_tensor *local_mask(mtf_graph *g, int n, const side *s, const mtf_attention_opts *o,
                              mtf_dtype type)
{
    mtf_tensor *mask = NULL;
    if (o->mask_right)
        mask = n == 1 ? mtf_attention_bias_local_block(g, s[0].size, s[0].memory, type)
                      : mtf_attention_bias_local_2d_block(g, s[0].size, s[1].size, s[0].memory,
                                                          s[1].memory, type);
    for (int i = 0; i < n && o->hide_outside; i++) {
        mtf_tensor *more = mask_hide(outside_of(g, &s[i], o->mask_right), type);
        mask = mask ? mtf_add(mask, more) : more;
    }
    return mask;
}

/* Merges the memory's dimensions into one, "memory". */
static mtf_tensor *as_one(mtf_tensor *x, int n, const side *s)
{
    if (!x) return NULL;
    mtf_shape old = mtf_shape();
    for (int i = 0; i < n; i++)
        old = mtf_shape_plus(old, mtf_shape(mtf_shape_dim(x->shape, s[i].memory.name)));
    return mtf_replace_dimensions(x, old, mtf_shape(mtf_combined_dimension(old, "memory")));
}

static mtf_tensor *attend(mtf_tensor *x, int n, const side *s, mtf_dim kv, mtf_dim heads,
                          const mtf_attention_opts *o)
{
    mtf_graph            *g = graph_of(x);
    mtf_dim               channels = x->shape.dims[x->shape.ndims - 1];
    mtf_attention_weights w = attention_weights(x, heads, channels, kv, o);
    mtf_tensor           *memory = x;
    for (int i = 0; i < n; i++)
        memory = mtf_rename_dimension(memory, s[i].size.name, s[i].memory.name);
    mtf_tensor *q = attention_project(x, w.q, heads, kv, n, o);
    mtf_tensor *k = attention_project(memory, w.k, heads, kv, n, o);
    mtf_tensor *v = attention_project(memory, w.v, heads, kv, n, o);
    for (int i = 0; i < n; i++) {
        k = with_neighbours(k, &s[i], o->mask_right);
        v = with_neighbours(v, &s[i], o->mask_right);
    }
    mtf_tensor *mask = local_mask(g, n, s, o, x->type);
    mtf_tensor *y = mtf_dot_product_attention(q, as_one(k, n, s), as_one(v, n, s),
                                              mask ? as_one(mask, n, s) : NULL, o);
    return attention_output(y, w.o, x, o);
}

static mtf_tensor *local_attention(mtf_tensor *x, int n, mtf_dim kv, mtf_dim heads,
                                   const mtf_attention_opts *opts, const char *layer)
{
    mtf_graph  *g = graph_of(x);
    const char *outside;
    side        s[2];
    if (!g) return NULL;
    mtf_attention_opts o = attention_begin(g, opts, layer, &outside);
    if (!outside) return NULL;
    bool ok = find_side(x, layer, 1, o.w_blocks, &s[n - 1]) &&
              (n == 1 || find_side(x, layer, 2, o.h_blocks, &s[0]));
    mtf_tensor *y = ok ? attend(x, n, s, kv, heads, &o) : NULL;
    layer_leave(g, outside);
    return y;
}

mtf_tensor *mtf_local_self_attention_spatial_blocks(mtf_tensor *x, mtf_dim kv, mtf_dim heads,
                                                    const mtf_attention_opts *opts)
{
    return local_attention(x, 1, kv, heads, opts, "local_self_attention_spatial_blocks");
}

mtf_tensor *mtf_local_2d_self_attention_spatial_blocks(mtf_tensor *x, mtf_dim kv, mtf_dim heads,
                                                       const mtf_attention_opts *opts)
{
    return local_attention(x, 2, kv, heads, opts, "local_2d_self_attention_spatial_blocks");
}

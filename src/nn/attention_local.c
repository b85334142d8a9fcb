/* Attention to a window of earlier positions.
 *
 * The sequence is divided into blocks; each takes from those before it the keys
 * and values that its window reaches, so that a cut length moves only margins.
 */
#include "nn/attention.h"
#include "nn/masks.h"

enum { LEAST_BLOCK = 128, DEFAULT_WINDOW = 128 };

typedef struct window {
    int64_t size;
    mtf_dim length, blocks; /* blocks: has the length's name */
    mtf_dim query, memory;  /* inside a block; the memory includes the positions before it */
} window;

static bool divide(const mtf_tensor *x, const mtf_attention_opts *o, mtf_dim length, window *w)
{
    fault  *f = &x->node->graph->session->fault;
    int64_t split = o->split ? o->split : length.size;
    int64_t size = o->window ? o->window : DEFAULT_WINDOW;
    int64_t own = size > LEAST_BLOCK ? size : LEAST_BLOCK;
    if (size < 1)
        return fail(f, ERR_VALUE,
                    "masked_local_attention_1d: a window of %lld; it must be 1 or more",
                    (long long)size);
    if (split < 1 || length.size % split)
        return fail(f, ERR_SHAPE,
                    "masked_local_attention_1d: dimension \"%s\" of size %lld is not a multiple of "
                    "the split %lld",
                    length.name, (long long)length.size, (long long)split);
    if (own > split) own = split;
    while (split % own) own--;
    *w = (window){.size = size,
                  .length = length,
                  .blocks = {length.name, length.size / own},
                  .query = {"query_block_length", own},
                  .memory = {"memory_block_length", own + size - 1}};
    return true;
}

/* [.., length, kv] becomes [.., blocks, memory, kv]: zeros before the first position. */
static mtf_tensor *memory_blocks(mtf_tensor *x, const window *w)
{
    mtf_dim own = {w->memory.name, w->query.size};
    int64_t before = w->size - 1, halo = before < w->length.size ? before : w->length.size;
    x = mtf_replace_dimensions(x, mtf_shape(w->length), mtf_shape(w->blocks, own));
    if (w->blocks.size == 1) halo = 0;
    x = mtf_left_halo_exchange(x, w->blocks, own, halo, false);
    return before == halo ? x : mtf_pad(x, own.name, &(mtf_pad_opts){.before = before - halo});
}

/* Hides later positions, those `window` or more back and, with hide_outside, those before the
 * first. */
static mtf_tensor *window_mask(mtf_graph *g, const window *w, bool hide_outside, mtf_dtype type)
{
    double      before = (double)(w->size - 1);
    mtf_tensor *memory = mtf_range(g, w->memory, MTF_I32);
    mtf_tensor *query = mtf_range(g, w->query, MTF_I32); /* sees query .. query + before */
    mtf_tensor *hidden =
        mtf_logical_or(mtf_greater(memory, mtf_add_scalar(query, before)), mtf_less(memory, query));
    if (hide_outside) {
        mtf_tensor *first = mtf_scale(mtf_range(g, w->blocks, MTF_I32), (double)w->query.size);
        mtf_tensor *zero = mtf_constant(g, before, MTF_I32, mtf_shape());
        hidden = mtf_logical_or(mtf_less(mtf_add(first, memory), zero), hidden);
    }
    return mask_hide(hidden, type);
}

mtf_tensor *mtf_masked_local_attention_1d(mtf_tensor *x, mtf_dim kv, mtf_dim heads,
                                          const mtf_attention_opts *opts, mtf_tensor **k,
                                          mtf_tensor **v)
{
    static const char layer[] = "masked_local_attention_1d";
    mtf_graph        *g = graph_of(x);
    mtf_dim           length, channels;
    const char       *outside;
    window            w = {0};
    if (k) *k = NULL;
    if (v) *v = NULL;
    if (!g || !layer_last(x, layer, 1, &length) || !layer_last(x, layer, 0, &channels)) return NULL;
    mtf_attention_opts o = attention_begin(g, opts, layer, &outside);
    if (!outside) return NULL;
    mtf_tensor *y = NULL;
    if (divide(x, &o, length, &w)) {
        mtf_attention_weights weights = attention_weights(x, heads, channels, kv, &o);
        mtf_tensor           *q = attention_project(x, weights.q, heads, kv, 1, &o);
        mtf_tensor           *keys = attention_project(x, weights.k, heads, kv, 1, &o);
        mtf_tensor           *values = attention_project(x, weights.v, heads, kv, 1, &o);
        if (k) *k = keys;
        if (v) *v = values;
        q = mtf_replace_dimensions(q, mtf_shape(length), mtf_shape(w.blocks, w.query));
        y = mtf_dot_product_attention(q, memory_blocks(keys, &w), memory_blocks(values, &w),
                                      window_mask(g, &w, o.hide_outside, x->type), &o);
        y = mtf_replace_dimensions(y, mtf_shape(w.blocks, w.query), mtf_shape(length));
        y = attention_output(y, weights.o, x, &o);
    }
    layer_leave(g, outside);
    return y;
}

/* The stored keys or values with the oldest replaced by those of this position. */
static mtf_tensor *replace_oldest(mtf_tensor *kept, mtf_tensor *now, mtf_tensor *step,
                                  mtf_dim slots)
{
    mtf_graph *g = graph_of(step);
    if (!g || !kept) return NULL;
    mtf_tensor *size = mtf_constant(g, (double)slots.size, step->type, mtf_shape());
    mtf_tensor *here = mtf_equal(mtf_range(g, slots, step->type), mtf_mod(step, size));
    return mtf_transpose(mtf_where(here, now, kept), kept->shape);
}

mtf_tensor *mtf_masked_local_attention_1d_incremental(mtf_tensor *x, mtf_tensor **k, mtf_tensor **v,
                                                      mtf_tensor               *step,
                                                      const mtf_attention_opts *opts)
{
    static const char layer[] = "masked_local_attention_1d";
    mtf_graph        *g = graph_of(x);
    mtf_dim           channels, heads, slots, kv;
    const char       *outside;
    mtf_tensor       *mask = NULL;
    if (!g || !*k || !*v || !step) return *k = *v = NULL;
    if (!layer_last(x, layer, 0, &channels) || !layer_last(*k, layer, 2, &heads) ||
        !layer_last(*k, layer, 1, &slots) || !layer_last(*k, layer, 0, &kv))
        return NULL;
    mtf_attention_opts o = attention_begin(g, opts, layer, &outside);
    if (!outside) return NULL;
    mtf_attention_weights w = attention_weights(x, heads, channels, kv, &o);
    mtf_tensor           *q = attention_project(x, w.q, heads, kv, 0, &o);
    *k = replace_oldest(*k, attention_project(x, w.k, heads, kv, 0, &o), step, slots);
    *v = replace_oldest(*v, attention_project(x, w.v, heads, kv, 0, &o), step, slots);
    if (o.hide_outside)
        mask = mask_hide(mtf_greater(mtf_range(g, slots, step->type), step), x->type);
    mtf_tensor *y = attention_output(mtf_dot_product_attention(q, *k, *v, mask, &o), w.o, x, &o);
    layer_leave(g, outside);
    return y;
}

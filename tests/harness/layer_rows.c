/* Graphs of all layers, small, with uneven sizes. */
#include "layer_rows.h"

#include "mtf_nn.h"

#define ROW(name) static void name(mtf_graph *g, mtf_dtype type)
#define IN(name, ...) mtf_input(g, name, type, mtf_shape(__VA_ARGS__))
#define NUMBERS(name, ...) mtf_input(g, name, MTF_I32, mtf_shape(__VA_ARGS__))
#define DIM(name, size) ((mtf_dim){#name, size})

static void give(mtf_tensor *y)
{
    mtf_name(y, "y");
}

/* ---- dense ---- */

ROW(dense)
{
    give(mtf_dense(IN("x", DIM(b, 3), DIM(a, 5)), mtf_shape(DIM(c, 4)),
                   &(mtf_dense_opts){.activation = "tanh"}));
}

ROW(dense_many)
{
    mtf_dense_opts o = {.reduced = mtf_shape(DIM(a, 3), DIM(d, 2)), .no_bias = true};
    give(mtf_dense(IN("x", DIM(b, 2), DIM(a, 3), DIM(d, 2)), mtf_shape(DIM(c, 2), DIM(e, 3)), &o));
}

ROW(dense_experts)
{
    mtf_dense_opts o = {.experts = mtf_shape(DIM(n, 2)), .activation = "relu"};
    give(mtf_dense(IN("x", DIM(b, 3), DIM(n, 2), DIM(a, 4)), mtf_shape(DIM(c, 3)), &o));
}

ROW(dense_ensemble)
{
    mtf_dense_opts o = {.experts = mtf_shape(DIM(n, 2))};
    give(mtf_dense(IN("x", DIM(b, 3), DIM(a, 4)), mtf_shape(DIM(c, 3)), &o));
}

ROW(dense_same)
{
    give(mtf_dense(IN("x", DIM(b, 3), DIM(a, 4)), mtf_shape(DIM(a, 5)), NULL));
}

ROW(dense_given)
{
    mtf_layer_context unit = {.unit_scaling = true};
    mtf_dense_opts    o = {.kernel = IN("w", DIM(a, 5), DIM(c, 4)), .context = &unit};
    give(mtf_dense(IN("x", DIM(b, 3), DIM(a, 5)), mtf_shape(DIM(c, 4)), &o));
}

ROW(dense_product)
{
    static const char *const gated[] = {"sigmoid", "linear", NULL};
    give(mtf_dense_product(IN("x", DIM(b, 3), DIM(a, 5)), mtf_shape(DIM(c, 4)), gated,
                           &(mtf_dense_opts){.name = "glu"}));
}

ROW(dense_relu_dense)
{
    give(mtf_dense_relu_dense(IN("x", DIM(b, 3), DIM(a, 4)), DIM(h, 5), NULL));
}

/* ---- norms and losses ---- */

ROW(layer_norm)
{
    give(mtf_layer_norm(IN("x", DIM(b, 3), DIM(a, 5)), DIM(a, 5), &(mtf_norm_opts){.name = "pre"}));
}

ROW(layer_norm_plain)
{
    mtf_norm_opts o = {.epsilon = 1e-3, .no_scale = true, .no_bias = true};
    give(mtf_layer_norm(IN("x", DIM(b, 3), DIM(a, 5), DIM(c, 2)), DIM(a, 5), &o));
}

ROW(rms_norm)
{
    give(mtf_rms_norm(IN("x", DIM(b, 3), DIM(a, 5)), DIM(a, 5), NULL));
}

ROW(batch_norm)
{
    give(mtf_batch_norm(IN("x", DIM(b, 5), DIM(h, 3), DIM(c, 2)),
                        &(mtf_batch_norm_opts){.momentum = 0.8}));
}

ROW(batch_norm_over)
{
    mtf_batch_norm_opts o = {
        .name = "bn", .over = mtf_shape(DIM(b, 5)), .epsilon = 0.5, .init_zero = true};
    give(mtf_batch_norm(IN("x", DIM(b, 5), DIM(h, 3), DIM(c, 2)), &o));
}

ROW(batch_norm_inference)
{
    mtf_layer_context later = {.inference = true};
    give(mtf_batch_norm(IN("x", DIM(b, 5), DIM(h, 3), DIM(c, 2)),
                        &(mtf_batch_norm_opts){.context = &later}));
}

ROW(softmax_cross_entropy)
{
    mtf_tensor *x = IN("x", DIM(b, 3), DIM(v, 7));
    give(mtf_softmax_cross_entropy_with_logits(x, NUMBERS("n", DIM(b, 3)), DIM(v, 7), 0.25));
}

ROW(softmax_cross_entropy_soft)
{
    mtf_tensor *x = IN("x", DIM(b, 3), DIM(v, 4)), *p = IN("p", DIM(b, 3), DIM(v, 4));
    give(mtf_softmax_cross_entropy(x, p, DIM(v, 4)));
}

ROW(sigmoid_cross_entropy)
{
    mtf_tensor *x = IN("x", DIM(b, 2), DIM(a, 4)), *z = IN("z", DIM(b, 2), DIM(a, 4));
    give(mtf_sigmoid_cross_entropy_with_logits(x, z));
}

ROW(weights_nonzero)
{
    give(mtf_weights_nonzero(NUMBERS("n", DIM(a, 5)), type));
}

/* ---- convolutions and pooling ---- */

ROW(conv1d)
{
    give(mtf_conv1d_layer(IN("x", DIM(b, 2), DIM(w, 7), DIM(c, 2)), DIM(o, 3), NULL));
}

ROW(conv2d)
{
    give(mtf_conv2d_layer(IN("x", DIM(b, 2), DIM(h, 5), DIM(w, 4), DIM(c, 2)), DIM(o, 3),
                          &(mtf_conv_layer_opts){.stride = {2, 1}}));
}

/* the output bears the channels' name */
ROW(conv2d_valid)
{
    give(mtf_conv2d_layer(IN("x", DIM(b, 2), DIM(h, 5), DIM(w, 4), DIM(o, 2)), DIM(o, 3),
                          &(mtf_conv_layer_opts){.filter = {2, 3}, .padding = MTF_VALID}));
}

ROW(conv3d)
{
    give(mtf_conv3d_layer(IN("x", DIM(b, 1), DIM(d, 4), DIM(h, 3), DIM(w, 3), DIM(c, 2)), DIM(o, 3),
                          &(mtf_conv_layer_opts){.filter = {3, 2, 3}, .stride = {2, 1, 1}}));
}

ROW(conv1d_transpose)
{
    give(mtf_conv1d_transpose_layer(IN("x", DIM(b, 2), DIM(w, 3), DIM(c, 2)), DIM(o, 3),
                                    &(mtf_conv_layer_opts){.filter = {3}}));
}

ROW(conv2d_transpose)
{
    give(mtf_conv2d_transpose_layer(IN("x", DIM(b, 1), DIM(h, 3), DIM(w, 2), DIM(c, 2)), DIM(o, 3),
                                    NULL));
}

ROW(conv3d_transpose)
{
    mtf_conv_layer_opts o = {.filter = {2, 2, 3}, .stride = {2, 2, 1}};
    give(mtf_conv3d_transpose_layer(IN("x", DIM(b, 1), DIM(d, 2), DIM(h, 2), DIM(w, 3), DIM(c, 2)),
                                    DIM(o, 3), &o));
}

ROW(conv2d_with_blocks)
{
    mtf_conv_layer_opts o = {.blocks = {DIM(hb, 2), DIM(wb, 3)}};
    give(mtf_conv2d_with_blocks(
        IN("x", DIM(b, 2), DIM(hb, 2), DIM(wb, 3), DIM(h, 2), DIM(w, 2), DIM(c, 2)), DIM(o, 2),
        &o));
}

ROW(conv2d_with_blocks_stride)
{
    mtf_conv_layer_opts o = {
        .filter = {3, 4}, .stride = {2, 2}, .blocks = {DIM(hb, 2), DIM(wb, 2)}};
    give(mtf_conv2d_with_blocks(
        IN("x", DIM(b, 1), DIM(hb, 2), DIM(wb, 2), DIM(h, 4), DIM(w, 2), DIM(c, 2)), DIM(o, 2),
        &o));
}

ROW(conv2d_with_blocks_w)
{
    mtf_conv_layer_opts o = {.filter = {3, 5}, .stride = {2, 1}, .blocks = {{0}, DIM(wb, 3)}};
    give(mtf_conv2d_with_blocks(IN("x", DIM(b, 1), DIM(wb, 3), DIM(h, 5), DIM(w, 2), DIM(c, 2)),
                                DIM(o, 2), &o));
}

ROW(conv3d_with_blocks)
{
    mtf_conv_layer_opts o = {.stride = {1, 2, 2}, .blocks = {DIM(db, 2), DIM(hb, 2)}};
    give(mtf_conv3d_with_blocks(
        IN("x", DIM(b, 1), DIM(db, 2), DIM(hb, 2), DIM(d, 2), DIM(h, 2), DIM(w, 3), DIM(c, 2)),
        DIM(o, 2), &o));
}

ROW(conv2d_transpose_with_blocks)
{
    mtf_conv_layer_opts o = {.blocks = {DIM(hb, 2), DIM(wb, 2)}};
    give(mtf_conv2d_transpose_with_blocks(
        IN("x", DIM(b, 1), DIM(hb, 2), DIM(wb, 2), DIM(h, 2), DIM(w, 2), DIM(c, 2)), DIM(o, 2),
        &o));
}

ROW(conv2d_transpose_with_blocks_wide)
{
    mtf_conv_layer_opts o = {.filter = {5, 4}, .blocks = {DIM(hb, 2)}};
    give(mtf_conv2d_transpose_with_blocks(
        IN("x", DIM(b, 1), DIM(hb, 2), DIM(h, 2), DIM(w, 2), DIM(c, 2)), DIM(o, 2), &o));
}

ROW(conv2d_transpose_with_blocks_thin)
{
    mtf_conv_layer_opts o = {
        .filter = {1, 3}, .stride = {2, 1}, .blocks = {DIM(hb, 2), DIM(wb, 3)}};
    give(mtf_conv2d_transpose_with_blocks(
        IN("x", DIM(b, 1), DIM(hb, 2), DIM(wb, 3), DIM(h, 2), DIM(w, 2), DIM(c, 2)), DIM(o, 2),
        &o));
}

ROW(conv3d_transpose_with_blocks)
{
    mtf_conv_layer_opts o = {
        .filter = {4, 3, 2}, .stride = {2, 2, 1}, .blocks = {DIM(db, 2), DIM(hb, 2)}};
    give(mtf_conv3d_transpose_with_blocks(
        IN("x", DIM(b, 1), DIM(db, 2), DIM(hb, 2), DIM(d, 1), DIM(h, 2), DIM(w, 2), DIM(c, 2)),
        DIM(o, 2), &o));
}

ROW(separable_conv1d)
{
    give(mtf_separable_conv1d(IN("x", DIM(b, 2), DIM(length, 5), DIM(c, 3)), DIM(o, 2), NULL));
}

ROW(separable_conv1d_given)
{
    mtf_tensor               *given[] = {IN("w0", DIM(c, 3)), IN("w1", DIM(c, 3))};
    mtf_separable_conv1d_opts o = {
        .min_position = -2, .max_position = -1, .no_bias = true, .depthwise = given};
    give(mtf_separable_conv1d(IN("x", DIM(b, 2), DIM(length, 5), DIM(c, 3)), DIM(o, 2), &o));
}

ROW(max_pool2d)
{
    give(mtf_max_pool2d(IN("x", DIM(b, 2), DIM(h, 4), DIM(w, 3), DIM(c, 2)), 2, 3));
}

ROW(avg_pool2d)
{
    give(mtf_avg_pool2d(IN("x", DIM(b, 2), DIM(h, 4), DIM(w, 3), DIM(c, 2)), 2, 3));
}

ROW(max_pool3d)
{
    give(mtf_max_pool3d(IN("x", DIM(b, 1), DIM(d, 4), DIM(h, 3), DIM(w, 2), DIM(c, 2)), 2, 1, 2));
}

ROW(avg_pool3d)
{
    give(mtf_avg_pool3d(IN("x", DIM(b, 1), DIM(d, 4), DIM(h, 3), DIM(w, 2), DIM(c, 2)), 2, 1, 2));
}

ROW(embedding)
{
    give(mtf_embedding(NUMBERS("n", DIM(b, 2), DIM(length, 3)), DIM(v, 7), DIM(a, 3),
                       &(mtf_embedding_opts){.type = type}));
}

ROW(embedding_ensemble)
{
    mtf_embedding_opts o = {.name = "words", .type = type, .ensemble = mtf_shape(DIM(e, 2))};
    give(mtf_embedding(NUMBERS("n", DIM(e, 2), DIM(length, 3)), DIM(v, 7), DIM(a, 3), &o));
}

/* ---- attention ---- */

static const mtf_dim heads = {"heads", 2}, kv = {"kv", 4}, memory = {"memory_length", 5};

ROW(dot_product_attention)
{
    mtf_dim            b = DIM(b, 2), length = DIM(length, 3);
    mtf_attention_opts o = {.extra_logit = IN("extra", b, length)};
    give(mtf_dot_product_attention(IN("q", b, length, DIM(key, 4)), IN("k", b, memory, DIM(key, 4)),
                                   IN("v", b, memory, DIM(kv, 2)), IN("mask", length, memory), &o));
}

ROW(multihead_self_attention)
{
    mtf_tensor *mask =
        mtf_attention_mask_autoregressive(mtf_range(g, DIM(length, 5), MTF_I32), type);
    give(mtf_multihead_attention(IN("x", DIM(b, 2), DIM(length, 5), DIM(a, 3)), NULL, mask, kv,
                                 heads, &(mtf_attention_opts){.combine = true}));
}

ROW(multihead_attention)
{
    give(mtf_multihead_attention(IN("x", DIM(b, 2), DIM(length, 3), DIM(a, 3)),
                                 IN("m", DIM(b, 2), memory, DIM(a, 3)), NULL, kv, heads, NULL));
}

ROW(multihead_attention_ensemble)
{
    mtf_attention_opts o = {.ensemble = mtf_shape(DIM(e, 2))};
    give(mtf_multihead_attention(IN("x", DIM(b, 2), DIM(length, 3), DIM(a, 3)), NULL, NULL, kv,
                                 heads, &o));
}

ROW(multihead_attention_unit)
{
    mtf_dim               a = DIM(a, 3);
    mtf_layer_context     unit = {.unit_scaling = true};
    mtf_attention_weights w = {IN("wq", heads, a, kv), IN("wk", heads, a, kv),
                               IN("wv", heads, a, kv), IN("wo", heads, a, kv)};
    mtf_attention_opts    o = {.weights = &w, .context = &unit};
    give(mtf_multihead_attention(IN("x", DIM(b, 2), DIM(length, 3), a), NULL, NULL, kv, heads, &o));
}

ROW(multihead_self_attention_incremental)
{
    mtf_dim     slots = {"memory_length", 4};
    mtf_tensor *x = IN("x", DIM(b, 2), DIM(a, 3)),
               *step = mtf_input(g, "step", MTF_I32, mtf_shape());
    mtf_tensor *k = IN("k", DIM(b, 2), heads, slots, kv), *v = IN("v", DIM(b, 2), heads, slots, kv);
    give(mtf_multihead_self_attention_incremental(x, &k, &v, step, NULL));
    mtf_name(k, "new_k");
    mtf_name(v, "new_v");
}

ROW(multihead_encdec_attention_incremental)
{
    mtf_tensor *wq = IN("wq", heads, DIM(a, 3), kv), *wo = IN("wo", heads, DIM(a, 3), kv);
    mtf_tensor *k = IN("k", DIM(b, 2), heads, memory, kv),
               *v = IN("v", DIM(b, 2), heads, memory, kv);
    give(mtf_multihead_encdec_attention_incremental(IN("x", DIM(b, 2), DIM(a, 3)), wq, wo, k, v,
                                                    NULL, NULL));
}

static void masked_local(mtf_graph *g, mtf_dtype type, mtf_attention_opts o)
{
    give(mtf_masked_local_attention_1d(IN("x", DIM(b, 2), DIM(length, 8), DIM(a, 3)), kv, heads, &o,
                                       NULL, NULL));
}

ROW(masked_local_attention_1d)
{
    masked_local(g, type, (mtf_attention_opts){.window = 3, .split = 4});
}

ROW(masked_local_attention_1d_hidden)
{
    masked_local(g, type, (mtf_attention_opts){.window = 6, .split = 2, .hide_outside = true});
}

ROW(masked_local_attention_1d_long)
{
    masked_local(g, type, (mtf_attention_opts){.window = 11});
}

static void masked_local_step(mtf_graph *g, mtf_dtype type, bool hide_outside)
{
    mtf_dim            b = DIM(b, 2), window = {"window", 3};
    mtf_attention_opts o = {.hide_outside = hide_outside};
    mtf_tensor *x = IN("x", b, DIM(a, 3)), *step = mtf_input(g, "step", MTF_I32, mtf_shape());
    mtf_tensor *k = IN("k", b, heads, window, kv), *v = IN("v", b, heads, window, kv);
    give(mtf_masked_local_attention_1d_incremental(x, &k, &v, step, &o));
    mtf_name(k, "new_k");
}

ROW(masked_local_attention_1d_incremental)
{
    masked_local_step(g, type, false);
}

ROW(masked_local_attention_1d_incremental_hidden)
{
    masked_local_step(g, type, true);
}

static void local_1d(mtf_graph *g, mtf_dtype type, bool mask_right, bool hide_outside)
{
    mtf_attention_opts o = {
        .w_blocks = DIM(wb, 3), .mask_right = mask_right, .hide_outside = hide_outside};
    give(mtf_local_self_attention_spatial_blocks(
        IN("x", DIM(b, 2), DIM(wb, 3), DIM(w, 2), DIM(a, 3)), kv, heads, &o));
}

ROW(local_attention)
{
    local_1d(g, type, false, false);
}

ROW(local_attention_right)
{
    local_1d(g, type, true, false);
}

ROW(local_attention_hidden)
{
    local_1d(g, type, false, true);
}

ROW(local_attention_one)
{
    mtf_attention_opts o = {.mask_right = true, .hide_outside = true};
    give(mtf_local_self_attention_spatial_blocks(IN("x", DIM(b, 2), DIM(w, 2), DIM(a, 3)), kv,
                                                 heads, &o));
}

static void local_2d(mtf_graph *g, mtf_dtype type, mtf_dim wb, bool mask_right, bool hide_outside)
{
    mtf_dim            hb = DIM(hb, 2);
    mtf_attention_opts o = {
        .h_blocks = hb, .w_blocks = wb, .mask_right = mask_right, .hide_outside = hide_outside};
    give(mtf_local_2d_self_attention_spatial_blocks(
        IN("x", DIM(b, 1), hb, wb, DIM(h, 2), DIM(w, 2), DIM(a, 3)), kv, heads, &o));
}

ROW(local_2d_attention)
{
    local_2d(g, type, DIM(wb, 3), false, false);
}

ROW(local_2d_attention_right)
{
    local_2d(g, type, DIM(wb, 2), true, false);
}

ROW(local_2d_attention_hidden)
{
    local_2d(g, type, DIM(wb, 2), true, true);
}

ROW(local_2d_attention_one)
{
    give(mtf_local_2d_self_attention_spatial_blocks(
        IN("x", DIM(b, 1), DIM(h, 2), DIM(w, 2), DIM(a, 3)), kv, heads, NULL));
}

ROW(memory_compressed_attention)
{
    mtf_attention_opts o = {.mask_right = true};
    give(mtf_multihead_self_attention_memory_compressed(
        IN("x", DIM(b, 2), DIM(length, 6), DIM(a, 3)), 2, kv, heads, &o));
}

ROW(compress_mean)
{
    give(mtf_compress_mean(IN("x", DIM(b, 2), DIM(length, 6), DIM(a, 3)), DIM(length, 6), 2));
}

ROW(attention_masks)
{
    mtf_dim     b = DIM(b, 2), length = DIM(length, 3);
    mtf_tensor *n = NUMBERS("n", b, length), *p = NUMBERS("p", length),
               *s = NUMBERS("s", b, length);
    mtf_name(mtf_attention_mask_ignore_padding(n, type), "padding");
    mtf_name(mtf_attention_mask_autoregressive(p, type), "causal");
    mtf_name(mtf_attention_mask_same_segment(s, NULL, type), "segment");
}

/* ---- gradients, residuals, noise ---- */

ROW(unet2d)
{
    mtf_unet_opts o = {.levels = 2, .convs = 1, .filters = 2, .no_batch_norm = true};
    give(mtf_unet2d(IN("x", DIM(b, 1), DIM(h, 4), DIM(w, 6), DIM(c, 1)), DIM(k, 3), &o));
}

ROW(unet3d)
{
    mtf_unet_opts o = {.levels = 2, .convs = 1, .filters = 1};
    give(mtf_unet3d(IN("x", DIM(b, 2), DIM(d, 2), DIM(h, 4), DIM(w, 2), DIM(c, 1)), DIM(k, 2), &o));
}

ROW(dice)
{
    mtf_tensor *x = IN("x", DIM(b, 3), DIM(a, 4), DIM(c, 2)),
               *z = IN("z", DIM(b, 3), DIM(a, 4), DIM(c, 2));
    give(mtf_dice(x, z, mtf_shape(DIM(a, 4)), 0.5, 0.25));
}

ROW(clip_activation_gradient)
{
    mtf_tensor *x = IN("x", DIM(b, 3), DIM(a, 4)), *d = IN("d", DIM(b, 3), DIM(a, 4)), *clipped,
               *whole;
    mtf_tensor *y = mtf_clip_activation_gradient(x, 0.25);
    mtf_tensor *z = mtf_clip_activation_gradient(x, 100);
    mtf_gradients(1, &y, 1, &x, &d, &clipped);
    mtf_gradients(1, &z, 1, &x, &d, &whole);
    give(y);
    mtf_name(clipped, "clipped");
    mtf_name(whole, "whole");
}

static void half(mtf_graph *g, void *context, mtf_tensor *const *in, mtf_tensor **out)
{
    (void)g;
    mtf_dense_opts o = {.name = context, .no_bias = true, .activation = "tanh"};
    out[0] = mtf_dense(in[0], mtf_shape(DIM(a, 4)), &o);
}

ROW(reversible)
{
    mtf_tensor *x1 = IN("x1", DIM(b, 3), DIM(a, 4)), *x2 = IN("x2", DIM(b, 3), DIM(a, 4));
    char        first[] = "f0", second[] = "f1";
    mtf_reversible_half_residual_and_swap(&x1, &x2, half, first);
    mtf_reversible_half_residual_and_swap(&x1, &x2, half, second);
    mtf_name(x1, "y1");
    mtf_name(x2, "y2");
}

ROW(dropouts)
{
    mtf_dim                   b = DIM(b, 3), length = DIM(length, 4), a = DIM(a, 5);
    mtf_tensor               *x = IN("x", b, length, a);
    mtf_dense_relu_dense_opts one = {.dropout = 0.5, .dropout_broadcast = mtf_shape(length)};
    mtf_dense_relu_dense_opts all = {.dropout = 0.5,
                                     .dropout_broadcast = mtf_shape(b, length, DIM(h, 3))};
    mtf_annealed_dropout_opts annealed = {.end = 10, .rate = 0.5, .noise = mtf_shape(b, a)};
    mtf_attention_opts        attention = {.dropout = 0.25, .dropout_broadcast = mtf_shape(heads)};
    mtf_name(mtf_dense_relu_dense(x, DIM(h, 3), &one), "y1");
    mtf_name(mtf_dense_relu_dense(x, DIM(h, 3), &all), "y2");
    mtf_name(mtf_annealed_dropout(x, mtf_constant(g, 5, MTF_I32, mtf_shape()), &annealed), "y3");
    mtf_name(mtf_multiplicative_jitter(x, 0.01), "y4");
    mtf_name(mtf_multihead_attention(x, NULL, NULL, kv, heads, &attention), "y5");
}

static const char drawn[] = "#< x = ?\n#> y1 = ?\n#> y2 = ?\n#> y3 = ?\n#> y4 = ?\n#> y5 = ?\n";

/* ---- mixture of experts: values are those of tests/nn/test_moe*.c ---- */

/* y, and the loss that the layer adds. */
static void mix(mtf_graph *g, mtf_dtype type, mtf_moe_opts o)
{
    mtf_moe_told told;
    mtf_shape    tokens = mtf_shape(DIM(b, 3), DIM(l, 5));
    o.experts = 3, o.hidden = 2, o.activation[0] = "tanh";
    if (!o.least_capacity) o.least_capacity = 2;
    give(mtf_moe(mtf_input(g, "x", type, mtf_shape_plus(tokens, mtf_shape(DIM(a, 4)))), &o, &told));
    mtf_name(told.loss, "loss");
}

ROW(moe_top_2)
{
    mix(g, type,
        (mtf_moe_opts){.second_policy_train = "all", .second_place_loss = true, .z_loss = 0.1});
}

ROW(moe_top_k)
{
    static const char *const gated[] = {"sigmoid", "linear"};
    mix(g, type,
        (mtf_moe_opts){.gating = "top_k",
                       .k = 3,
                       .sigmoid = true,
                       .shared = 1,
                       .bias_rate = 0.01,
                       .activation = {gated[0], gated[1]}});
}

ROW(moe_dropless)
{
    static const char *const gated[] = {"sigmoid", "linear"};
    mix(g, type,
        (mtf_moe_opts){
            .gating = "top_k", .k = 2, .dropless = true, .activation = {gated[0], gated[1]}});
}

ROW(moe_switch)
{
    mix(g, type,
        (mtf_moe_opts){.gating = "switch",
                       .switch_policy_train = "argmax",
                       .across = true,
                       .group_size = 4,
                       .output = DIM(c, 3)});
}

ROW(moe_switch_max)
{
    mix(g, type, (mtf_moe_opts){.gating = "switch_max", .switch_policy_train = "argmax"});
}

ROW(moe_ntlb)
{
    mix(g, type,
        (mtf_moe_opts){.gating = "ntlb", .switch_policy_train = "argmax", .least_capacity = 1});
}

ROW(moe_expert_selection)
{
    mix(g, type, (mtf_moe_opts){.gating = "expert_selection"});
}

ROW(moe_expert_choice)
{
    mix(g, type, (mtf_moe_opts){.gating = "expert_choice", .z_loss = 0.1});
}

ROW(moe_two_levels)
{
    mix(g, type, (mtf_moe_opts){.second_policy_train = "all", .outer = 2, .z_loss = 0.1});
}

ROW(moe_one_hot)
{
    mix(g, type, (mtf_moe_opts){.one_hot = true, .second_policy_train = "all"});
}

static const char mixed[] = "#< x = ?\n#> y = ?\n#> loss = ?\n#! gradient 1\n";

/* clang-format off */
#define MIXED(name) {#name, name, mixed}
#define STORED(name) {#name, name, NULL}
const layer_row layer_rows[] = {
    STORED(dense), STORED(dense_many), STORED(dense_experts), STORED(dense_ensemble), STORED(dense_same),
    STORED(dense_given), STORED(dense_product), STORED(dense_relu_dense),
    STORED(layer_norm), STORED(layer_norm_plain), STORED(rms_norm), STORED(batch_norm), STORED(batch_norm_over), STORED(batch_norm_inference),
    STORED(softmax_cross_entropy), STORED(softmax_cross_entropy_soft), STORED(sigmoid_cross_entropy), STORED(weights_nonzero),
    STORED(conv1d), STORED(conv2d), STORED(conv2d_valid), STORED(conv3d),
    STORED(conv1d_transpose), STORED(conv2d_transpose), STORED(conv3d_transpose),
    STORED(conv2d_with_blocks), STORED(conv2d_with_blocks_stride), STORED(conv2d_with_blocks_w), STORED(conv3d_with_blocks),
    STORED(conv2d_transpose_with_blocks), STORED(conv2d_transpose_with_blocks_wide),
    STORED(conv2d_transpose_with_blocks_thin), STORED(conv3d_transpose_with_blocks),
    STORED(separable_conv1d), STORED(separable_conv1d_given),
    STORED(max_pool2d), STORED(avg_pool2d), STORED(max_pool3d), STORED(avg_pool3d),
    STORED(embedding), STORED(embedding_ensemble),
    STORED(dot_product_attention), STORED(multihead_self_attention), STORED(multihead_attention), STORED(multihead_attention_ensemble),
    STORED(multihead_attention_unit),
    STORED(multihead_self_attention_incremental), STORED(multihead_encdec_attention_incremental),
    STORED(masked_local_attention_1d), STORED(masked_local_attention_1d_hidden), STORED(masked_local_attention_1d_long),
    STORED(masked_local_attention_1d_incremental), STORED(masked_local_attention_1d_incremental_hidden),
    STORED(local_attention), STORED(local_attention_right), STORED(local_attention_hidden), STORED(local_attention_one),
    STORED(local_2d_attention), STORED(local_2d_attention_right), STORED(local_2d_attention_hidden), STORED(local_2d_attention_one),
    STORED(memory_compressed_attention), STORED(compress_mean), STORED(attention_masks),
    STORED(clip_activation_gradient), STORED(reversible),
    STORED(unet2d), STORED(unet3d), STORED(dice),
    MIXED(moe_top_2), MIXED(moe_top_k), MIXED(moe_switch), MIXED(moe_switch_max), MIXED(moe_ntlb),
    MIXED(moe_expert_selection), MIXED(moe_expert_choice), MIXED(moe_one_hot), MIXED(moe_dropless),
    MIXED(moe_two_levels),
    {"dropouts", dropouts, drawn},
    {0},
};
/* clang-format on */

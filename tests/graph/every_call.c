/* Calls every public function that returns a tensor once.
 *
 * Arguments other than graphs and tensors are sound, so that only the graph or
 * the tensor can be at fault.
 */
/* clang-format off */
#include "graph/every_call.h"

#include "mtf_nn.h"

static const mtf_dim a = {"a", 4}, b = {"b", 2}, two = {"two", 2};

static void note(calls *c, const char *name, mtf_tensor *gave)
{
    if (c->count == MOST_CALLS) return;
    c->name[c->count] = name;
    c->gave[c->count++] = gave;
}

#define CALL(name, ...) note(c, #name, name(__VA_ARGS__));

static void call_sources(mtf_graph *g, mtf_tensor *x, calls *c)
{
    float data[4] = {1, 2, 3, 4};
    CALL(mtf_find, g, "x")
    CALL(mtf_name, x, "renamed")
    CALL(mtf_input, g, "in", MTF_F32, mtf_shape(a))
    CALL(mtf_constant, g, 1, MTF_F32, mtf_shape(a))
    CALL(mtf_constant_i64, g, INT64_MAX, mtf_shape(a))
    CALL(mtf_constant_data, g, data, MTF_F32, mtf_shape(a))
    CALL(mtf_zeros, g, MTF_F32, mtf_shape(a))
    CALL(mtf_ones, g, MTF_F32, mtf_shape(a))
    CALL(mtf_zeros_like, x)
    CALL(mtf_ones_like, x)
    CALL(mtf_range, g, a, MTF_F32)
    CALL(mtf_training, g)
    CALL(mtf_variable, g, "w", mtf_shape(a), 0)
    CALL(mtf_read_variable, x)
    CALL(mtf_assign, x, x)
    CALL(mtf_assign_add, x, x)
    CALL(mtf_assign_sub, x, x)
    CALL(mtf_random_uniform, g, MTF_F32, mtf_shape(a), 0, 1)
    CALL(mtf_random_normal, g, MTF_F32, mtf_shape(a), 0, 1)
    CALL(mtf_truncated_normal, g, MTF_F32, mtf_shape(a), 0, 1)
    CALL(mtf_iteration, g)
}

static void call_unary(mtf_tensor *x, calls *c)
{
    CALL(mtf_exp, x) CALL(mtf_expm1, x) CALL(mtf_log, x) CALL(mtf_log1p, x)
    CALL(mtf_sin, x) CALL(mtf_cos, x) CALL(mtf_tanh, x) CALL(mtf_erf, x)
    CALL(mtf_sqrt, x) CALL(mtf_rsqrt, x) CALL(mtf_reciprocal, x) CALL(mtf_sigmoid, x)
    CALL(mtf_silu, x) CALL(mtf_swish, x) CALL(mtf_gelu, x) CALL(mtf_gelu_grad, x)
    CALL(mtf_gelu_exact, x)
    CALL(mtf_elu, x) CALL(mtf_selu, x) CALL(mtf_softplus, x)
    CALL(mtf_floor, x) CALL(mtf_ceil, x) CALL(mtf_round, x) CALL(mtf_isnan, x)
    CALL(mtf_negative, x) CALL(mtf_abs, x) CALL(mtf_sign, x) CALL(mtf_square, x)
    CALL(mtf_relu, x) CALL(mtf_leaky_relu, x, 0.2) CALL(mtf_clip, x, 0, 1)
    CALL(mtf_identity, x) CALL(mtf_cast, x, MTF_F64) CALL(mtf_logical_not, x)
    CALL(mtf_add_scalar, x, 1) CALL(mtf_scale, x, 2)
}

static void call_binary(mtf_tensor *x, calls *c)
{
    mtf_tensor *xs[2] = {x, x};
    CALL(mtf_add, x, x) CALL(mtf_sub, x, x) CALL(mtf_multiply, x, x) CALL(mtf_divide, x, x)
    CALL(mtf_floordiv, x, x) CALL(mtf_mod, x, x) CALL(mtf_pow, x, x)
    CALL(mtf_random_bits, x, x) CALL(mtf_minimum, x, x) CALL(mtf_maximum, x, x)
    CALL(mtf_less, x, x) CALL(mtf_less_equal, x, x) CALL(mtf_greater, x, x)
    CALL(mtf_greater_equal, x, x) CALL(mtf_equal, x, x) CALL(mtf_not_equal, x, x)
    CALL(mtf_logical_and, x, x) CALL(mtf_logical_or, x, x) CALL(mtf_where, x, x, x)
    CALL(mtf_add_n, 2, xs)
    CALL(mtf_einsum_n, mtf_shape(a), 2, xs)
    CALL(mtf_einsum_over, mtf_shape(a), 2, xs)
    CALL(mtf_matmul, x, x)
    CALL(mtf_einsum_f8, mtf_shape(a), x, x)
    CALL(mtf_grouped_einsum, mtf_shape(a), x, x, x, a)
    CALL(mtf_softmax_cross_entropy, x, x, a)
}

static void call_reductions(mtf_tensor *x, calls *c)
{
    CALL(mtf_reduce_sum, x, MTF_ALL) CALL(mtf_reduce_mean, x, MTF_ALL)
    CALL(mtf_reduce_max, x, MTF_ALL) CALL(mtf_reduce_min, x, MTF_ALL)
    CALL(mtf_reduce_prod, x, MTF_ALL) CALL(mtf_reduce_all, x, MTF_ALL)
    CALL(mtf_reduce_any, x, MTF_ALL)
    CALL(mtf_reduce_sum_to, x, mtf_shape()) CALL(mtf_reduce_mean_to, x, mtf_shape())
    CALL(mtf_reduce_max_to, x, mtf_shape())
    CALL(mtf_reduce_first, x, a) CALL(mtf_argmax, x, a)
    CALL(mtf_reduce_logsumexp, x, a, x) CALL(mtf_log_softmax, x, a, x) CALL(mtf_softmax, x, a, x)
    CALL(mtf_attention, x, x, x, NULL, NULL)
    CALL(mtf_cumsum, x, a, false, false)
}

static void call_shapes(mtf_tensor *x, calls *c)
{
    mtf_tensor *xs[2] = {x, x};
    CALL(mtf_broadcast, x, mtf_shape(a, b)) CALL(mtf_transpose, x, mtf_shape(a))
    CALL(mtf_reshape, x, mtf_shape(two, b)) CALL(mtf_rename_dimension, x, "a", "z")
    CALL(mtf_rename, x, 1, &(const char *){"a"}, &(const char *){"z"})
    CALL(mtf_replace_dimensions, x, mtf_shape(a), mtf_shape(two, b))
    CALL(mtf_concat, "a", 2, xs) CALL(mtf_stack, "k", 0, 2, xs) CALL(mtf_slice, x, "a", 0, 2, 1)
    CALL(mtf_pad, x, "a", &(mtf_pad_opts){.before = 1}) CALL(mtf_reverse, x, a)
    CALL(mtf_shift, x, 1, a, true) CALL(mtf_dynamic_shift, x, x, a, true)
    CALL(mtf_halo_exchange, x, b, a, 1, true) CALL(mtf_left_halo_exchange, x, b, a, 1, true)
    CALL(mtf_pool_tensor_1d, x, a, 2, mtf_reduce_max) CALL(mtf_stride_tensor_1d, x, a, 2)
}

static void call_indices_and_windows(mtf_tensor *x, calls *c)
{
    mtf_tensor        *indices;
    const mtf_pool_opts pool = {.window = {2}};
    CALL(mtf_one_hot, x, b) CALL(mtf_one_hot_as, x, b, 1, 0, MTF_F32)
    CALL(mtf_gather, x, x, a) CALL(mtf_update, x, x, x, "a") CALL(mtf_scatter_add, x, x, a, mtf_shape())
    CALL(mtf_sort, x, a, false, &indices) CALL(mtf_argsort, x, a, false)
    CALL(mtf_top_k, x, a, two, &indices) CALL(mtf_nucleus_argmax, x, x, x, x, a)
    CALL(mtf_top_1, x, a, &indices)
    CALL(mtf_nth_largest_element, x, 1, a) CALL(mtf_nth_smallest_element, x, 1, a)
    CALL(mtf_conv1d, x, x, 0) CALL(mtf_conv2d, x, x, 0) CALL(mtf_conv3d, x, x, 0)
    CALL(mtf_conv1d_transpose, x, x, 0) CALL(mtf_conv2d_transpose, x, x, 0)
    CALL(mtf_conv3d_transpose, x, x, 0)
    CALL(mtf_max_pool, x, 1, &pool) CALL(mtf_avg_pool, x, 1, &pool)
    CALL(mtf_sample_with_temperature, x, a, 1) CALL(mtf_categorical, x, a)
    CALL(mtf_dropout, x, 0.5, mtf_shape())
}

static void call_control(mtf_tensor *x, calls *c)
{
    mtf_tensor *xs[2] = {x, x};
    CALL(mtf_stop_gradient, x) CALL(mtf_depend, x, 2, xs) CALL(mtf_print_tensor, x, "x")
    CALL(mtf_scalar_summary, "x", x)
}

static void call_schedules(mtf_graph *g, mtf_tensor *x, calls *c)
{
    mtf_tensor *xs[2] = {x, x};
    CALL(mtf_global_step, g)
    CALL(mtf_loss_scale, g, &(mtf_minimize_opts){.loss_scale = x ? 8 : 0})
    CALL(mtf_global_norm, 2, xs)
    CALL(mtf_schedule, x, 100, "0.5 * linear_warmup(10) * cosine from 5")
    CALL(mtf_schedule_constant, x, 100, 1) CALL(mtf_schedule_linear_warmup, x, 100, 10)
    CALL(mtf_schedule_linear_decay, x, 100, 10) CALL(mtf_schedule_truncated_rsqrt, x, 100, 10)
    CALL(mtf_schedule_linear_decay_learning_rate, x, 100, 0.1, 0)
    CALL(mtf_schedule_cosine, x, 100, 0, 0) CALL(mtf_schedule_noam, x, 100, 10, 0.1, 1, 0)
    CALL(mtf_schedule_slanted_triangular, x, 100, 0.1, 32, 0.01, 0)
}

static void call_layers(mtf_graph *g, mtf_tensor *x, calls *c)
{
    const char *const gated[] = {"relu", "linear", NULL};
    mtf_tensor *xs[2] = {x, x};
    mtf_tensor *k = x, *v = x;
    const mtf_conv_layer_opts blocks = {.blocks = {b}};
    const mtf_annealed_dropout_opts annealed = {.end = 1, .rate = 0.5};
    CALL(mtf_activate, x, "relu") CALL(mtf_us_einsum, NULL, mtf_shape(a), 2, xs)
    CALL(mtf_dense, x, mtf_shape(b), NULL) CALL(mtf_dense_product, x, mtf_shape(b), gated, NULL)
    CALL(mtf_dense_relu_dense, x, b, NULL) CALL(mtf_moe, x, NULL, NULL)
    CALL(mtf_layer_norm, x, a, NULL) CALL(mtf_rms_norm, x, a, NULL) CALL(mtf_batch_norm, x, NULL)
    CALL(mtf_softmax_cross_entropy_with_logits, x, x, a, 0.1)
    CALL(mtf_sigmoid_cross_entropy_with_logits, x, x) CALL(mtf_weights_nonzero, x, MTF_F32)
    CALL(mtf_conv1d_layer, x, b, NULL) CALL(mtf_conv2d_layer, x, b, NULL)
    CALL(mtf_conv3d_layer, x, b, NULL) CALL(mtf_conv1d_transpose_layer, x, b, NULL)
    CALL(mtf_conv2d_transpose_layer, x, b, NULL) CALL(mtf_conv3d_transpose_layer, x, b, NULL)
    CALL(mtf_conv2d_with_blocks, x, two, &blocks) CALL(mtf_conv3d_with_blocks, x, two, &blocks)
    CALL(mtf_conv2d_transpose_with_blocks, x, two, &blocks)
    CALL(mtf_conv3d_transpose_with_blocks, x, two, &blocks)
    CALL(mtf_separable_conv1d, x, b, NULL)
    CALL(mtf_unet2d, x, b, NULL) CALL(mtf_unet3d, x, b, NULL)
    CALL(mtf_dice, x, x, MTF_ALL, 0, 0.1)
    CALL(mtf_max_pool2d, x, 1, 1) CALL(mtf_max_pool3d, x, 1, 1, 2)
    CALL(mtf_avg_pool2d, x, 2, 1) CALL(mtf_avg_pool3d, x, 1, 1, 1)
    CALL(mtf_embedding_weights, g, a, b, NULL) CALL(mtf_embedding, x, a, b, NULL)
    CALL(mtf_dot_product_attention, x, x, x, x, NULL)
    CALL(mtf_multihead_attention, x, NULL, NULL, b, two, NULL)
    CALL(mtf_multihead_self_attention_incremental, x, &k, &v, x, NULL)
    k = v = x;
    CALL(mtf_multihead_encdec_attention_incremental, x, x, x, x, x, NULL, NULL)
    CALL(mtf_masked_local_attention_1d, x, b, two, NULL, &k, &v)
    k = v = x;
    CALL(mtf_masked_local_attention_1d_incremental, x, &k, &v, x, NULL)
    CALL(mtf_local_self_attention_spatial_blocks, x, b, two, NULL)
    CALL(mtf_local_2d_self_attention_spatial_blocks, x, b, two, NULL)
    CALL(mtf_multihead_self_attention_memory_compressed, x, 2, b, two, NULL)
    CALL(mtf_compress_mean, x, a, 2)
    CALL(mtf_rename_length_to_memory_length, x)
    CALL(mtf_attention_mask_ignore_padding, x, MTF_F32)
    CALL(mtf_attention_mask_autoregressive, x, MTF_F32)
    CALL(mtf_attention_mask_same_segment, x, NULL, MTF_F32)
    CALL(mtf_attention_bias_local_block, g, b, a, MTF_F32)
    CALL(mtf_attention_bias_local_2d_block, g, b, two, a, a, MTF_F32)
    CALL(mtf_annealed_dropout, x, x, &annealed) CALL(mtf_multiplicative_jitter, x, 0.1)
    CALL(mtf_clip_activation_gradient, x, 1)
}

void call_everything(mtf_graph *g, mtf_tensor *x, calls *c)
{
    c->count = 0;
    call_sources(g, x, c);
    call_unary(x, c);
    call_binary(x, c);
    call_reductions(x, c);
    call_shapes(x, c);
    call_indices_and_windows(x, c);
    call_control(x, c);
    call_schedules(g, x, c);
    call_layers(g, x, c);
}

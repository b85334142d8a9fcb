/* The catalogue: every operation, in the order of the manual. */
/* clang-format off */
#ifndef OPS_CATALOGUE_H
#define OPS_CATALOGUE_H

#include "graph/node.h"

#define SOURCES(OP)                                                                                \
    OP(input) OP(constant) OP(range) OP(training) OP(variable) OP(read) OP(assign)
#define UNARIES(OP)                                                                                \
    OP(exp) OP(expm1) OP(log) OP(log1p) OP(sin) OP(cos) OP(tanh) OP(erf) OP(sqrt) OP(rsqrt)        \
    OP(reciprocal) OP(sigmoid) OP(silu) OP(swish) OP(gelu) OP(gelu_grad) OP(gelu_exact) OP(elu)    \
    OP(selu) OP(softplus) OP(floor) OP(ceil) OP(round) OP(isnan) OP(negative) OP(abs) OP(sign)     \
    OP(square) OP(relu) OP(leaky_relu) OP(clip) OP(identity) OP(cast) OP(logical_not)
#define BINARIES(OP)                                                                               \
    OP(add) OP(sub) OP(multiply) OP(divide) OP(floordiv) OP(mod) OP(pow) OP(random_bits)                \
    OP(minimum) OP(maximum) OP(less) OP(less_equal) OP(greater) OP(greater_equal) OP(equal) OP(not_equal) OP(logical_and)  \
    OP(logical_or) OP(where)
#define SUMS(OP)                                                                                   \
    OP(einsum) OP(matmul) OP(einsum_f8) OP(grouped_einsum)                                                            \
    OP(reduce_sum) OP(reduce_mean) OP(reduce_max) OP(reduce_min)                                   \
    OP(reduce_prod) OP(reduce_all) OP(reduce_any) OP(reduce_first) OP(argmax) OP(argmin)           \
    OP(argmax_over) OP(argmin_over) OP(reduce_logsumexp) OP(log_softmax) OP(softmax)                \
    OP(softmax_cross_entropy) OP(cumsum) OP(attention) OP(attention_grad)
#define SHAPES(OP)                                                                                 \
    OP(broadcast) OP(transpose) OP(reshape) OP(rename) OP(rename_dimension) OP(concat) OP(split)   \
    OP(stack) OP(unstack) OP(slice) OP(pad) OP(pad_reflect) OP(pad_edge) OP(reverse) OP(shift)               \
    OP(dynamic_shift) OP(halo_exchange) OP(left_halo_exchange) OP(pool_tensor_1d)                  \
    OP(stride_tensor_1d)
#define INDICES(OP)                                                                                \
    OP(one_hot) OP(gather) OP(scatter_add) OP(update) OP(sort) OP(argsort) OP(top_k)                      \
    OP(nucleus_argmax) OP(top_1) OP(nth_largest_element) OP(nth_smallest_element)
#define WINDOWS(OP)                                                                                \
    OP(conv1d) OP(conv2d) OP(conv3d) OP(conv1d_transpose) OP(conv2d_transpose)                     \
    OP(conv3d_transpose) OP(conv) OP(conv_input) OP(conv_filter) OP(max_pool) OP(avg_pool)         \
    OP(window) OP(overlap_add)
#define RANDOMS(OP)                                                                                \
    OP(random_uniform) OP(random_normal) OP(truncated_normal) OP(sample_with_temperature)          \
    OP(categorical) OP(dropout)
#define CONTROLS(OP)                                                                               \
    OP(stop_gradient) OP(depend) OP(print) OP(scalar_summary) OP(while) OP(loop) OP(recompute)     \
    OP(custom_gradient)
#define ALL_OPS(OP)                                                                                \
    SOURCES(OP) UNARIES(OP) BINARIES(OP) SUMS(OP) SHAPES(OP) INDICES(OP) WINDOWS(OP) RANDOMS(OP)   \
    CONTROLS(OP)

#define DECLARE(name) extern const op op_##name;
ALL_OPS(DECLARE)
#undef DECLARE

/* The numbers of the iterations of all enclosing loops, outermost first; NULL after an error. */
mtf_tensor **loop_iterations(mtf_graph *g, int *n);

#endif

/* The table of lines that a random graph may have. */
#include "property_templates.h"

/* clang-format off */
const line_template line_templates[] = {
    /* sources */
    {12, "%o: %T[%S] = input",                                        SHAPE_POOL,   GROW_ONE,      SOURCE},
    { 4, "%o: i32[%S] = input",                                       SHAPE_POOL,   GROW_ONE,      0},
    { 2, "%o: bool[%S] = input",                                      SHAPE_POOL,   GROW_ONE,      0},
    { 2, "%o: %T[%S] = constant(value=0.75)",                         SHAPE_POOL,   GROW_ONE,      0},
    { 3, "%o: %T[%S] = variable(init=\"uniform(-1, 1)\")",            SHAPE_POOL,   GROW_ONE,      SOURCE},
    { 2, "%o: i32[%D] = range",                                       SHAPE_NONE,   GROW_ONE,      0},
    { 2, "%o: %T[%D] = range",                                        SHAPE_NONE,   GROW_TENFOLD,  0},
    { 4, "%o: %T[%S] = random_uniform(low=-1, high=1, key=%K)",       SHAPE_POOL,   GROW_ONE,      0},
    { 1, "%o: bool[%S] = random_uniform(high=0.5, key=%K)",           SHAPE_POOL,   GROW_ONE,      0},
    { 1, "%o: %T[%S] = random_normal(key=%K)",                        SHAPE_POOL,   GROW_FEW,      0},
    { 1, "%o: %T[%S] = truncated_normal(key=%K)",                     SHAPE_POOL,   GROW_FEW,      0},
    { 1, "%o: i32[%S] = random_uniform(low=0, high=5, key=%K)",       SHAPE_POOL,   GROW_ONE,      0},

    /* one float, elementwise */
    { 4, "%o = tanh(%x)",                                             SHAPE_NONE,   GROW_ONE,      0},
    { 2, "%o = sigmoid(%x)",                                          SHAPE_NONE,   GROW_ONE,      0},
    { 2, "%o = sin(%x)",                                              SHAPE_NONE,   GROW_ONE,      0},
    { 1, "%o = cos(%x)",                                              SHAPE_NONE,   GROW_ONE,      0},
    { 1, "%o = erf(%x)",                                              SHAPE_NONE,   GROW_ONE,      0},
    { 1, "%o = silu(%x)",                                             SHAPE_NONE,   GROW_NONE,     0},
    { 1, "%o = gelu(%x)",                                             SHAPE_NONE,   GROW_NONE,     0},
    { 1, "%o = gelu_exact(%x)",                                       SHAPE_NONE,   GROW_NONE,     0},
    { 1, "%o = softplus(%x)",                                         SHAPE_NONE,   GROW_SUM,      0},
    { 1, "%o = elu(%x)",                                              SHAPE_NONE,   GROW_SUM,      0},
    { 1, "%o = exp(tanh(%x))",                                        SHAPE_NONE,   GROW_FEW,      0},
    { 1, "%o = expm1(sin(%x))",                                       SHAPE_NONE,   GROW_FEW,      0},
    { 1, "%o = log1p(square(%x))",                                    SHAPE_NONE,   GROW_SUM,      0},
    { 1, "%o = log(square(%x) + 0.5)",                                SHAPE_NONE,   GROW_SUM,      0},
    { 1, "%o = sqrt(square(%x) + 0.5)",                               SHAPE_NONE,   GROW_SUM,      0},
    { 1, "%o = rsqrt(square(%x) + 0.5)",                              SHAPE_NONE,   GROW_FEW,      0},
    { 1, "%o = reciprocal(square(%x) + 1.0)",                         SHAPE_NONE,   GROW_ONE,      0},
    { 1, "%o = pow(sigmoid(%x) + 0.5, 1.5)",                          SHAPE_NONE,   GROW_FEW,      0},
    { 2, "%o = square(%x)",                                           SHAPE_NONE,   GROW_TENFOLD,  0},
    { 2, "%o = negative(%x)",                                         SHAPE_NONE,   GROW_NONE,     0},
    { 2, "%o = %x * 0.5",                                             SHAPE_NONE,   GROW_NONE,     0},
    { 2, "%o = 0.25 - %x",                                            SHAPE_NONE,   GROW_SUM,      0},
    { 1, "%o = identity(%x)",                                         SHAPE_NONE,   GROW_NONE,     0},
    { 1, "%o = stop_gradient(%x)",                                    SHAPE_NONE,   GROW_NONE,     STOPS},
    { 2, "%o = relu(%x)",                                             SHAPE_NONE,   GROW_NONE,     KINK},
    { 1, "%o = leaky_relu(%x)",                                       SHAPE_NONE,   GROW_NONE,     KINK},
    { 1, "%o = abs(%x)",                                              SHAPE_NONE,   GROW_NONE,     KINK},
    { 1, "%o = clip(%x, low=-0.5, high=0.5)",                         SHAPE_NONE,   GROW_ONE,      KINK},
    { 1, "%o = floor(%e * 3.0)",                                      SHAPE_NONE,   GROW_TENFOLD,  0},
    { 1, "%o = round(%e * 3.0)",                                      SHAPE_NONE,   GROW_TENFOLD,  0},
    { 1, "%o = sign(%e)",                                             SHAPE_NONE,   GROW_ONE,      0},
    { 1, "%o: %T = cast(cast(%e, type=bf16))",                        SHAPE_NONE,   GROW_NONE,     0},

    /* several floats, elementwise */
    { 8, "%o = %x + %y",                                              SHAPE_NONE,   GROW_SUM,      0},
    { 4, "%o = %x - %y",                                              SHAPE_NONE,   GROW_SUM,      0},
    { 8, "%o = %x * %y",                                              SHAPE_NONE,   GROW_PRODUCT,  0},
    { 2, "%o = %x / (square(%y) + 1.0)",                              SHAPE_NONE,   GROW_NONE,     0},
    { 2, "%o = maximum(%x, %y)",                                      SHAPE_NONE,   GROW_NONE,     KINK},
    { 1, "%o = minimum(%x, %y)",                                      SHAPE_NONE,   GROW_NONE,     KINK},
    { 3, "%o = where(%b, %x, %y)",                                    SHAPE_NONE,   GROW_NONE,     0},
    { 2, "%o = where(less(%e, %g), %x, %y)",                          SHAPE_NONE,   GROW_NONE,     0},
    { 2, "%o = tanh(%x + %u) * %y",                                   SHAPE_NONE,   GROW_NONE,     0},
    { 3, "%o = dropout(%x, rate=0.3)",                                SHAPE_NONE,   GROW_SUM,      0},
    { 1, "%o = dropout(%x, rate=0.5, noise=(%d))",                    SHAPE_NONE,   GROW_SUM,      0},

    /* contractions and reductions */
    { 8, "%o: [%S] = einsum(%x, %y)",                                 SHAPE_SUBSET, GROW_CONTRACT, SUMS},
    { 5, "%o: [%S] = einsum(%x, %y, %z)",                             SHAPE_SUBSET, GROW_CONTRACT, SUMS},
    { 2, "%o: [%S] = einsum(%x, %y, %z, %w)",                         SHAPE_SUBSET, GROW_CONTRACT, SUMS},
    { 2, "%o = einsum(%x, %y, over=(%d))",                            SHAPE_NONE,   GROW_CONTRACT, SUMS},
    { 2, "%o = matmul(%x, %y)",                                       SHAPE_NONE,   GROW_CONTRACT, SUMS},
    { 4, "%o: [%S] = reduce_sum(%x)",                                 SHAPE_SUBSET, GROW_CONTRACT, SUMS},
    { 3, "%o = reduce_sum(%x, over=(%d))",                            SHAPE_NONE,   GROW_CONTRACT, SUMS},
    { 2, "%o = reduce_sum(%x * %y, over=(%d))",                       SHAPE_NONE,   GROW_CONTRACT, SUMS},
    { 3, "%o = reduce_mean(%x, over=(%d))",                           SHAPE_NONE,   GROW_NONE,     SUMS},
    { 1, "%o = reduce_mean(%x)",                                      SHAPE_NONE,   GROW_NONE,     SUMS},
    { 2, "%o: [%S] = reduce_max(%x)",                                 SHAPE_SUBSET, GROW_NONE,     KINK},
    { 2, "%o = reduce_max(%x, over=(%d))",                            SHAPE_NONE,   GROW_NONE,     KINK},
    { 2, "%o = reduce_min(%x, over=(%d, %f))",                        SHAPE_NONE,   GROW_NONE,     KINK},
    { 2, "%o = reduce_prod(sigmoid(%x) + 0.5, over=(%d))",            SHAPE_NONE,   GROW_TENFOLD,  SUMS},
    { 1, "%o = reduce_first(%x, dim=%d)",                             SHAPE_NONE,   GROW_NONE,     0},
    { 2, "%o = reduce_logsumexp(%x, dim=%d)",                         SHAPE_NONE,   GROW_SUM,      SUMS},
    { 3, "%o = softmax(%x, dim=%d)",                                  SHAPE_NONE,   GROW_ONE,      SUMS},
    { 2, "%o = log_softmax(%x, dim=%d)",                              SHAPE_NONE,   GROW_TENFOLD,  SUMS},
    { 1, "%o = softmax(%x, %u, dim=%d)",                              SHAPE_NONE,   GROW_ONE,      SUMS},
    { 3, "%o = cumsum(%x, dim=%d, exclusive=%t, reverse=%t)",         SHAPE_NONE,   GROW_TENFOLD,  SUMS},

    /* moving */
    { 3, "%o: [%S] = broadcast(%x)",                                  SHAPE_MORE,   GROW_NONE,     0},
    { 2, "%o: [%S] = broadcast(%a)",                                  SHAPE_MORE,   GROW_NONE,     0},
    { 3, "%o: [%S] = transpose(%a)",                                  SHAPE_ORDER,  GROW_NONE,     0},
    { 8, "%o: [%S] = reshape(%x)",                                    SHAPE_OTHER,  GROW_NONE,     0},
    { 2, "%o: [%S] = reshape(%a)",                                    SHAPE_OTHER,  GROW_NONE,     0},
    { 3, "%o = rename_dimension(%a, from=%d, to=%N)",                 SHAPE_NONE,   GROW_NONE,     0},
    { 3, "%o = slice(%a, dim=%d, begin=%n, size=1)",                  SHAPE_NONE,   GROW_NONE,     0},
    { 3, "%o = slice(%x, dim=%d, begin=%n, size=%m, step=%k)",        SHAPE_NONE,   GROW_NONE,     0},
    { 3, "%o = pad(%x, dim=%d, before=%k, after=%n)",                 SHAPE_NONE,   GROW_NONE,     0},
    { 1, "%o = pad(%x, dim=%d, before=1, between=1, value=0.5)",      SHAPE_NONE,   GROW_NONE,     0},
    { 1, "%o = pad_reflect(%x, dim=%d, before=%n, after=1)",          SHAPE_NONE,   GROW_NONE,     0},
    { 1, "%o = pad_edge(%x, dim=%d, before=%k, after=%k)",            SHAPE_NONE,   GROW_NONE,     0},
    { 4, "%o = concat(%a, %h, dim=%d)",                               SHAPE_NONE,   GROW_NONE,     0},
    { 2, "%o, %p = split(%x, dim=%d, sizes=(%R))",                    SHAPE_NONE,   GROW_NONE,     0},
    { 2, "%o = stack(%x, tanh(%x), dim=%N, axis=-1)",                 SHAPE_NONE,   GROW_NONE,     0},
    { 4, "%o = shift(%x, dim=%d, offset=%s, wrap=%t)",                SHAPE_NONE,   GROW_NONE,     0},
    { 2, "%o = dynamic_shift(%x, %v, dim=%d, wrap=%t)",               SHAPE_NONE,   GROW_NONE,     0},
    { 3, "%o = reverse(%a, dim=%d)",                                  SHAPE_NONE,   GROW_NONE,     0},
    { 1, "%o = halo_exchange(%x, blocks=%d, size=%f, halo=%k, wrap=%t)", SHAPE_NONE, GROW_NONE,    0},
    { 1, "%o = left_halo_exchange(%x, blocks=%d, size=%f, halo=%k)",  SHAPE_NONE,   GROW_NONE,     0},
    { 1, "%o = pool_tensor_1d(%x, dim=%d, size=2, reduce=max)",       SHAPE_NONE,   GROW_NONE,     KINK},
    { 1, "%o = stride_tensor_1d(%x, dim=%d, size=2)",                 SHAPE_NONE,   GROW_NONE,     0},
    { 2, "%o = window(%x, dim=%d, taps=[win=%k])",                    SHAPE_NONE,   GROW_NONE,     0},
    { 2, "%q = window(%x, dim=%d, taps=[win=%k])\n"
         "%o = overlap_add(%q, dim=%d, taps=win, size=%Z)",           SHAPE_NONE,   GROW_TENFOLD,  SUMS},

    /* indices */
    { 5, "%o = gather(%x, %i, dim=%d)",                               SHAPE_NONE,   GROW_NONE,     0},
    { 4, "%o = scatter_add(%x, %i, dim=[%D])",                        SHAPE_NONE,   GROW_TENFOLD,  SUMS},
    { 2, "%o = scatter_add(%x, %v, dim=[%D], keep=(%d))",             SHAPE_NONE,   GROW_TENFOLD,  SUMS},
    { 4, "%o: %T = one_hot(%i, dim=[%D])",                            SHAPE_NONE,   GROW_ONE,      0},
    { 3, "%o, %p = sort(%e, dim=%d, descending=%t)",                  SHAPE_NONE,   GROW_NONE,     0},
    { 1, "%o = argsort(%e, dim=%d)",                                  SHAPE_NONE,   GROW_NONE,     0},
    { 3, "%o, %p = top_k(%e, dim=%d, k=[%N=%m])",                     SHAPE_NONE,   GROW_NONE,     0},
    { 1, "%o, %p = top_1(%e, dim=%d)",                                SHAPE_NONE,   GROW_NONE,     0},
    { 1, "%o = nth_largest_element(%e, dim=%d, n=%n)",                SHAPE_NONE,   GROW_NONE,     0},
    { 2, "%o = argmax(%e, dim=%d)",                                   SHAPE_NONE,   GROW_NONE,     0},
    { 1, "%o = argmin(%e, dim=%d)",                                   SHAPE_NONE,   GROW_NONE,     0},
    { 1, "%o: [%S] = argmax_over(%e)",                                SHAPE_SUBSET, GROW_NONE,     0},
    { 1, "%o = categorical(%e, dim=%d)",                              SHAPE_NONE,   GROW_NONE,     0},

    /* integers and bools; mod keeps integers small */
    { 2, "%o: i32 = cast(%e * 4.0)",                                  SHAPE_NONE,   GROW_NONE,     0},
    { 2, "%o: %T = cast(%i)",                                         SHAPE_NONE,   GROW_TENFOLD,  0},
    { 2, "%o: %T = cast(%b)",                                         SHAPE_NONE,   GROW_ONE,      0},
    { 2, "%o = mod(%i + %j, 5)",                                      SHAPE_NONE,   GROW_NONE,     0},
    { 1, "%o = mod(%i * %j, 7)",                                      SHAPE_NONE,   GROW_NONE,     0},
    { 1, "%o = floordiv(%i, 2)",                                      SHAPE_NONE,   GROW_NONE,     0},
    { 2, "%o = mod(reduce_sum(%i, over=(%d)), 7)",                    SHAPE_NONE,   GROW_NONE,     0},
    { 2, "%o = mod(einsum(%i, %j, over=(%d)), 7)",                    SHAPE_NONE,   GROW_NONE,     0},
    { 1, "%o = mod(cumsum(%i, dim=%d), 6)",                           SHAPE_NONE,   GROW_NONE,     0},
    { 1, "%o = reduce_max(%i, over=(%d))",                            SHAPE_NONE,   GROW_NONE,     0},
    { 1, "%o, %p = sort(%i, dim=%d)",                                 SHAPE_NONE,   GROW_NONE,     0},
    { 1, "%o = gather(%i, %j, dim=%d)",                               SHAPE_NONE,   GROW_NONE,     0},
    { 1, "%o = mod(scatter_add(%i, %j, dim=[%D]), 7)",                SHAPE_NONE,   GROW_NONE,     0},
    { 1, "%o = where(%b, %i, %j)",                                    SHAPE_NONE,   GROW_NONE,     0},
    { 2, "%o = less(%e, %g)",                                         SHAPE_NONE,   GROW_NONE,     0},
    { 1, "%o = equal(%i, %j)",                                        SHAPE_NONE,   GROW_NONE,     0},
    { 1, "%o = greater_equal(%i, 2)",                                 SHAPE_NONE,   GROW_NONE,     0},
    { 1, "%o = logical_and(%b, %c)",                                  SHAPE_NONE,   GROW_NONE,     0},
    { 1, "%o = logical_not(%b)",                                      SHAPE_NONE,   GROW_NONE,     0},
    { 1, "%o: [%S] = reduce_all(%b)",                                 SHAPE_SUBSET, GROW_NONE,     0},
    { 1, "%o = reduce_any(%b, over=(%d))",                            SHAPE_NONE,   GROW_NONE,     0},
    { 1, "%o: [%S] = einsum(%b, %c)",                                 SHAPE_SUBSET, GROW_NONE,     0},

    /* windows */
    { 3, "%q: %T[k1=%k, %L, %D] = input\n"
         "%o = conv1d(%x, %q, padding=%P)",                           SHAPE_NONE,   GROW_TENFOLD,  SUMS},
    { 2, "%q: %T[k1=%k, %L, %D] = input\n"
         "%o = conv1d(%x, %q, stride=(%k), dilation=(%k))",           SHAPE_NONE,   GROW_TENFOLD,  SUMS},
    { 3, "%q: %T[k1=%k, k2=%k, %L, %D] = input\n"
         "%o = conv2d(%x, %q, padding=%P)",                           SHAPE_NONE,   GROW_TENFOLD,  SUMS},
    { 1, "%q: %T[k1=%k, %D, %L] = input\n"
         "%o = conv1d_transpose(%x, %q, stride=(%k))",                SHAPE_NONE,   GROW_TENFOLD,  SUMS},
    { 2, "%o = max_pool(%x, window=(%k), stride=(%k), padding=%P)",   SHAPE_NONE,   GROW_NONE,     KINK},
    { 2, "%o = max_pool(%x, window=(%k, %k), padding=%P)",            SHAPE_NONE,   GROW_NONE,     KINK},
    { 1, "%o = avg_pool(%x, window=(%k), stride=(%k), padding=%P)",   SHAPE_NONE,   GROW_NONE,     SUMS},

    /* blocks */
    { 3, "%o, %p = loop(%x, trips=%k) {\n    body(s; i) {\n        t = tanh(s + %u)\n"
         "        yield t; t * 0.5\n    }\n}",                        SHAPE_NONE,   GROW_FEW,      SUMS},
    { 3, "%o = loop(%x, trips=%k) {\n    body(s) {\n        h: [%X] = einsum(s, %y)\n"
         "        yield tanh(h * 0.25 + s)\n    }\n}",                SHAPE_NONE,   GROW_ONE,      SUMS},
    { 2, "%o, %p = loop(%x, trips=3) {\n    body(s; i) {\n"
         "        t = shift(s, dim=%d, offset=1, wrap=%t)\n"
         "        f: %T = cast(i)\n"
         "        yield sin(t + f); reduce_sum(t, over=(%d))\n    }\n}", SHAPE_NONE, GROW_TENFOLD, SUMS},
    { 2, "%o = loop(%x, trips=2) {\n    body(s; i) {\n"
         "        r: %T[%X] = random_uniform(i, key=%K)\n"
         "        yield softmax(s + r, dim=%d)\n    }\n}",            SHAPE_NONE,   GROW_ONE,      SUMS},
    { 1, "%o = loop(%x, trips=2) {\n    body(s) {\n        yield tanh(s + %u)\n    }\n}\n"
         "%p = history(%o)",                                          SHAPE_NONE,   GROW_FEW,      0},
    { 1, "%o, %p = while(%x, mod(reduce_max(%i), 3)) {\n    cond(s, n) {\n        yield less(n, 4)\n    }\n"
         "    body(s, n) {\n        yield tanh(s + %u), n + 1\n    }\n}", SHAPE_NONE, GROW_FEW,    STOPS},
    { 3, "%o = recompute(%x) {\n    body(s) {\n        h = tanh(s * %y)\n"
         "        yield reduce_sum(h * s, over=(%d))\n    }\n}",      SHAPE_NONE,   GROW_CONTRACT, SUMS},
    { 2, "%o = recompute(%x) {\n    body(s) {\n        h = dropout(sin(s), rate=0.25)\n"
         "        yield einsum(h, %y, over=(%d))\n    }\n}",          SHAPE_NONE,   GROW_CONTRACT, SUMS},
    { 1, "%o = custom_gradient(%x) {\n    forward(s) {\n        yield tanh(s)\n    }\n"
         "    backward(s, q, dq) {\n        yield dq * 0.5\n    }\n}", SHAPE_NONE,  GROW_ONE,      0},
};
/* clang-format on */

const int nline_templates = (int)(sizeof line_templates / sizeof *line_templates);

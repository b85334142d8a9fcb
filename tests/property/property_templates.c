/* The table of lines that a random program may have. */
#include "property_templates.h"

/* clang-format off */
const line_template line_templates[] = {
    /* sources */
    {16, "%o: %T[%S] = input",                                        SHAPE_POOL,   ROOT | BOTH},
    { 3, "%o: %Y[%S] = input",                                        SHAPE_POOL,   ROOT},
    { 9, "%o: %I[%S] = input",                                        SHAPE_POOL,   ROOT | BOTH},
    { 2, "%o: bool[%S] = input",                                      SHAPE_POOL,   ROOT | BOTH},
    { 5, "%q: %T[owed=3, %S] = input\n"
         "%o = reduce_sum(%q, over=(owed))",                          SHAPE_POOL,   ROOT},
    { 7, "%q: %I[owed=3, %S] = input\n"
         "%o = reduce_sum(%q, over=(owed))",                          SHAPE_POOL,   ROOT},
    { 2, "%o: %T[%S] = constant(value=0.75)",                         SHAPE_POOL,   WIDE | BOTH},
    { 2, "%o: %I[%S] = constant(value=%k)",                           SHAPE_POOL,   WIDE},
    { 3, "%o: i32[%S] = constant(value=1073741824)",                  SHAPE_POOL,   0},
    { 3, "%o: i64[%S] = constant(value=%G)",                          SHAPE_POOL,   0},
    { 1, "%o: i64[] = constant(data={%G})",                           SHAPE_NONE,   0},
    { 5, "%o: %T[%S] = variable",                                     SHAPE_POOL,   ROOT | BOTH},
    { 1, "%o: f32[%S] = variable(activation=bf16, master=bf16)",      SHAPE_POOL,   ROOT},
    { 2, "%o: %I[%S] = variable",                                     SHAPE_POOL,   ROOT},
    { 1, "%o: bool[%S] = variable",                                   SHAPE_POOL,   ROOT},
    { 3, "%o: %I[%D] = range",                                        SHAPE_NONE,   BOTH},
    { 2, "%o: %T[%D] = range",                                        SHAPE_NONE,   BOTH},
    { 4, "%o: %T[%S] = random_uniform(low=-1, high=1, key=%K)",       SHAPE_POOL,   BOTH},
    { 1, "%o: bool[%S] = random_uniform(high=0.5, key=%K)",           SHAPE_POOL,   BOTH},
    { 1, "%o: %T[%S] = random_normal(key=%K)",                        SHAPE_POOL,   BOTH},
    { 1, "%o: %T[%S] = truncated_normal(key=%K)",                     SHAPE_POOL,   BOTH},
    { 2, "%o: %I[%S] = random_uniform(low=0, high=5, key=%K)",        SHAPE_POOL,   BOTH},

    /* one operand, elementwise */
    { 3, "%o = tanh(%x)",                                             SHAPE_NONE,   BOTH},
    { 1, "%o = sigmoid(%x)",                                          SHAPE_NONE,   BOTH},
    { 1, "%o = sin(%x)",                                              SHAPE_NONE,   BOTH},
    { 1, "%o = cos(%x)",                                              SHAPE_NONE,   BOTH},
    { 1, "%o = erf(%x)",                                              SHAPE_NONE,   BOTH},
    { 1, "%o = silu(%x)",                                             SHAPE_NONE,   BOTH},
    { 1, "%o = gelu(%x)",                                             SHAPE_NONE,   BOTH},
    { 1, "%o = gelu_exact(%x)",                                       SHAPE_NONE,   BOTH},
    { 1, "%o = softplus(%x)",                                         SHAPE_NONE,   BOTH},
    { 1, "%o = elu(%x)",                                              SHAPE_NONE,   BOTH},
    { 1, "%o = selu(%x)",                                             SHAPE_NONE,   BOTH},
    { 1, "%o = exp(tanh(%x))",                                        SHAPE_NONE,   BOTH},
    { 1, "%o = expm1(sin(%x))",                                       SHAPE_NONE,   BOTH},
    { 1, "%o = log1p(square(%x))",                                    SHAPE_NONE,   BOTH},
    { 1, "%o = log(square(%x) + 0.5)",                                SHAPE_NONE,   BOTH},
    { 1, "%o = sqrt(square(%x) + 0.5)",                               SHAPE_NONE,   BOTH},
    { 1, "%o = rsqrt(square(%x) + 0.5)",                              SHAPE_NONE,   BOTH},
    { 1, "%o = reciprocal(square(%x) + 1.0)",                         SHAPE_NONE,   BOTH},
    { 1, "%o = pow(sigmoid(%x) + 0.5, 1.5)",                          SHAPE_NONE,   BOTH},
    { 3, "%o = square(%A)",                                           SHAPE_NONE,   BOTH},
    { 3, "%o = negative(%A)",                                         SHAPE_NONE,   BOTH},
    { 2, "%o = abs(%A)",                                              SHAPE_NONE,   BOTH},
    { 2, "%o = relu(%A)",                                             SHAPE_NONE,   BOTH},
    { 1, "%o = sign(%A)",                                             SHAPE_NONE,   BOTH},
    { 3, "%o = %x * 0.5",                                             SHAPE_NONE,   BOTH},
    { 2, "%o = 0.25 - %x",                                            SHAPE_NONE,   BOTH},
    { 1, "%o = identity(%a)",                                         SHAPE_NONE,   BOTH},
    { 1, "%o = stop_gradient(%x)",                                    SHAPE_NONE,   BOTH},
    { 1, "%o = leaky_relu(%x)",                                       SHAPE_NONE,   BOTH},
    { 1, "%o = clip(%A, low=-1, high=1)",                             SHAPE_NONE,   BOTH},
    { 1, "%o = floor(%x)",                                            SHAPE_NONE,   0},
    { 1, "%o = ceil(%x)",                                             SHAPE_NONE,   0},
    { 1, "%o = round(%x)",                                            SHAPE_NONE,   0},
    { 1, "%o = isnan(%x)",                                            SHAPE_NONE,   0},
    { 1, "%o = swish(%x)",                                            SHAPE_NONE,   BOTH},
    { 1, "%o = log(exp(clip(%x, low=-3, high=3)))",                   SHAPE_NONE,   BOTH},
    { 1, "%o = print(%a)",                                            SHAPE_NONE,   ROOT},

    /* casts */
    { 4, "%o: %I = cast(%x)",                                         SHAPE_NONE,   0},
    { 1, "%o: %I = cast(%x * 4.0)",                                   SHAPE_NONE,   0},
    { 3, "%o: %I = cast(%i)",                                         SHAPE_NONE,   0},
    { 3, "%o: %T = cast(%i)",                                         SHAPE_NONE,   0},
    { 2, "%o: %T = cast(%b)",                                         SHAPE_NONE,   BOTH},
    { 1, "%o: %I = cast(%b)",                                         SHAPE_NONE,   BOTH},
    { 1, "%o: bool = cast(%A)",                                       SHAPE_NONE,   0},
    { 4, "%o: %Y = cast(%x)",                                         SHAPE_NONE,   0},
    { 1, "%o: f32 = cast(cast(%x, type=bf16))",                       SHAPE_NONE,   0},

    /* several operands, elementwise */
    { 9, "%o = %A + %B",                                              SHAPE_NONE,   BOTH},
    { 5, "%o = %A - %B",                                              SHAPE_NONE,   BOTH},
    { 9, "%o = %A * %B",                                              SHAPE_NONE,   BOTH},
    { 2, "%o = %x / (square(%y) + 1.0)",                              SHAPE_NONE,   BOTH},
    { 2, "%o = maximum(%A, %B)",                                      SHAPE_NONE,   BOTH},
    { 1, "%o = minimum(%A, %B)",                                      SHAPE_NONE,   BOTH},
    { 2, "%o = mod(%A, %B)",                                          SHAPE_NONE,   0},
    { 1, "%o = floordiv(%A, %B)",                                     SHAPE_NONE,   0},
    { 3, "%o = where(%b, %A, %B)",                                    SHAPE_NONE,   BOTH},
    { 1, "%o = where(%b, %c, less(%A, %B))",                          SHAPE_NONE,   0},
    { 1, "%o = where(training, %A, %B)",                              SHAPE_NONE,   BOTH},
    { 2, "%o = where(less(%A, %B), %x, %y)",                          SHAPE_NONE,   0},
    { 2, "%o = tanh(%x + %u) * %y",                                   SHAPE_NONE,   BOTH},
    { 3, "%o = dropout(%x, rate=0.5)",                                SHAPE_NONE,   BOTH},
    { 1, "%o = dropout(%x, rate=0.25, noise=(%d))",                   SHAPE_NONE,   BOTH},
    { 2, "%o = less(%A, %B)",                                         SHAPE_NONE,   0},
    { 1, "%o = greater_equal(%A, %B)",                                SHAPE_NONE,   0},
    { 1, "%o = equal(%A, %B)",                                        SHAPE_NONE,   0},
    { 1, "%o = not_equal(%b, %c)",                                    SHAPE_NONE,   0},
    { 2, "%o = greater(%i, 2)",                                       SHAPE_NONE,   BOTH},
    { 1, "%o = logical_and(%b, %c)",                                  SHAPE_NONE,   BOTH},
    { 1, "%o = logical_or(%b, %c)",                                   SHAPE_NONE,   BOTH},
    { 1, "%o = logical_not(%b)",                                      SHAPE_NONE,   BOTH},

    /* contractions and reductions */
    {10, "%o: [%S] = einsum(%A, %B)",                                 SHAPE_SUBSET, WIDE | BOTH},
    { 5, "%o: [%S] = einsum(%A, %B, %C)",                             SHAPE_SUBSET, WIDE | BOTH},
    { 2, "%o: [%S] = einsum(%x, %y, %z, %w)",                         SHAPE_SUBSET, WIDE | BOTH},
    { 2, "%o: [%S] = einsum(%A)",                                     SHAPE_MORE,   WIDE},
    { 1, "%o: [%S] = einsum(%b, %c)",                                 SHAPE_SUBSET, WIDE},
    { 2, "%o = einsum(%A, %B, over=(%d))",                            SHAPE_NONE,   BOTH},
    { 2, "%o = matmul(%A, %B)",                                       SHAPE_NONE,   WIDE | BOTH},
    { 6, "%o: [%S] = reduce_sum(%A)",                                 SHAPE_SUBSET, BOTH},
    { 4, "%o = reduce_sum(%A, over=(%d))",                            SHAPE_NONE,   BOTH},
    { 2, "%o = reduce_sum(%A * %B, over=(%d))",                       SHAPE_NONE,   BOTH},
    { 3, "%o = reduce_mean(%x, over=(%d))",                           SHAPE_NONE,   BOTH},
    { 1, "%o = reduce_mean(%x)",                                      SHAPE_NONE,   BOTH},
    { 2, "%o: [%S] = reduce_max(%A)",                                 SHAPE_SUBSET, BOTH},
    { 2, "%o = reduce_max(%A, over=(%d))",                            SHAPE_NONE,   BOTH},
    { 2, "%o = reduce_min(%A, over=(%d, %f))",                        SHAPE_NONE,   BOTH},
    { 2, "%o = reduce_prod(%A, over=(%d))",                           SHAPE_NONE,   BOTH},
    { 1, "%o = reduce_first(%a, dim=%d)",                             SHAPE_NONE,   BOTH},
    { 2, "%o = reduce_logsumexp(%x, dim=%d)",                         SHAPE_NONE,   BOTH},
    { 1, "%o = reduce_logsumexp(%x, %u, dim=%d)",                     SHAPE_NONE,   BOTH},
    { 3, "%o = softmax(%x, dim=%d)",                                  SHAPE_NONE,   BOTH},
    { 2, "%o = log_softmax(%x, dim=%d)",                              SHAPE_NONE,   BOTH},
    { 1, "%o = softmax(%x, %u, dim=%d)",                              SHAPE_NONE,   BOTH},
    { 3, "%o, %p = attention(%x, tanh(%x), %x, query=%d, memory=%d, key=%f, value=%f, max_relative=%k)", SHAPE_NONE, BOTH},
    { 3, "%o, %p = attention(%x, %y, %z, query=%d, memory=%d, key=%f, value=%f, min_relative=-2)", SHAPE_NONE, BOTH},
    { 3, "%o, %p = attention(%x, rename_dimension(%y, from=%d, to=%N), rename_dimension(%x, from=%d, to=%N), query=%d, memory=%N, key=%f, value=%f)", SHAPE_NONE, BOTH},
    { 4, "%o = cumsum(%A, dim=%d, exclusive=%t, reverse=%t)",         SHAPE_NONE,   WIDE | BOTH},
    { 1, "%o: [%S] = reduce_all(%b)",                                 SHAPE_SUBSET, BOTH},
    { 1, "%o = reduce_any(%b, over=(%d))",                            SHAPE_NONE,   BOTH},
    { 2, "%o = greater(reduce_sum(%A, over=(%d)), 1)",                SHAPE_NONE,   0},

    /* moving */
    { 5, "%o: [%S] = broadcast(%a)",                                  SHAPE_MORE,   BOTH},
    { 3, "%o: [%S] = transpose(%a)",                                  SHAPE_ORDER,  BOTH},
    { 9, "%o: [%S] = reshape(%a)",                                    SHAPE_OTHER,  BOTH},
    { 3, "%o = rename_dimension(%a, from=%d, to=%N)",                 SHAPE_NONE,   BOTH},
    { 3, "%o = slice(%a, dim=%d, begin=%n, size=1)",                  SHAPE_NONE,   BOTH},
    { 3, "%o = slice(%a, dim=%d, begin=%n, size=%m, step=%k)",        SHAPE_NONE,   BOTH},
    { 3, "%o = pad(%a, dim=%d, before=%k, after=%n)",                 SHAPE_NONE,   BOTH},
    { 1, "%o = pad(%x, dim=%d, before=1, between=1, value=0.5)",      SHAPE_NONE,   BOTH},
    { 1, "%o = pad_reflect(%a, dim=%d, before=%n, after=1)",          SHAPE_NONE,   BOTH},
    { 1, "%o = pad_edge(%a, dim=%d, before=%k, after=%k)",            SHAPE_NONE,   BOTH},
    { 4, "%o = concat(%a, %h, dim=%d)",                               SHAPE_NONE,   BOTH},
    { 2, "%o, %p = split(%a, dim=%d, sizes=(%R))",                    SHAPE_NONE,   BOTH},
    { 1, "%o, %p = unstack(%a, dim=%d)",                              SHAPE_NONE,   BOTH},
    { 1, "%o, %p = split(%a, dim=%d)",                                SHAPE_NONE,   BOTH},
    { 2, "%o = stack(%a, %a, dim=%N, axis=-1)",                       SHAPE_NONE,   BOTH},
    { 4, "%o = shift(%a, dim=%d, offset=%s, wrap=%t)",                SHAPE_NONE,   BOTH},
    { 3, "%o = dynamic_shift(%a, %v, dim=%d, wrap=%t)",               SHAPE_NONE,   BOTH},
    { 3, "%o = reverse(%a, dim=%d)",                                  SHAPE_NONE,   BOTH},
    { 1, "%o = halo_exchange(%x, blocks=%d, size=%f, halo=%k, wrap=%t)", SHAPE_NONE, BOTH},
    { 1, "%o = left_halo_exchange(%x, blocks=%d, size=%f, halo=%k)",  SHAPE_NONE,   BOTH},
    { 1, "%o = pool_tensor_1d(%x, dim=%d, size=2, reduce=max)",       SHAPE_NONE,   BOTH},
    { 1, "%o = stride_tensor_1d(%a, dim=%d, size=2)",                 SHAPE_NONE,   BOTH},
    { 2, "%o = window(%A, dim=%d, taps=[win=%k])",                    SHAPE_NONE,   BOTH},
    { 2, "%q = window(%A, dim=%d, taps=[win=%k])\n"
         "%o = overlap_add(%q, dim=%d, taps=win, size=%Z)",           SHAPE_NONE,   BOTH},
    { 1, "%o = depend(%a, %A)",                                       SHAPE_NONE,   0},

    /* indices */
    { 9, "%o = gather(%a, %i, dim=%d)",                               SHAPE_NONE,   BOTH},
    { 5, "%o = gather(%i, mod(%j, %Z), dim=%d)",                      SHAPE_NONE,   BOTH},
    { 6, "%o = gather(%a, mod(%i, %Z), dim=%d)",                      SHAPE_NONE,   BOTH},
    { 4, "%q = reduce_sum(%i, over=(%d))\n"
         "%o = gather(%a, %q, dim=%e)",                               SHAPE_NONE,   0},
    { 4, "%q = gather(%i, mod(%v, %Z), dim=%d)\n"
         "%o = gather(%a, %q, dim=%e)",                               SHAPE_NONE,   0},
    { 3, "%q = einsum(%i, %j, over=(%d))\n"
         "%o = scatter_add(%A, %q, dim=[%D])",                        SHAPE_NONE,   0},
    { 2, "%q = reduce_sum(%i, over=(%d))\n"
         "%o = dynamic_shift(%a, %q, dim=%e, wrap=%t)",               SHAPE_NONE,   0},
    { 3, "%o = gather(%A, cast(%x, type=%I), dim=%d)",                SHAPE_NONE,   0},
    { 3, "%o = gather(%A, argmax(%B, dim=%d), dim=%d)",               SHAPE_NONE,   0},
    { 5, "%o = scatter_add(%A, %i, dim=[%D])",                        SHAPE_NONE,   BOTH},
    { 3, "%o = scatter_add(%A, mod(%i, 3), dim=[%D])",                SHAPE_NONE,   BOTH},
    { 2, "%o = scatter_add(%A, %v, dim=[%D], keep=(%d))",             SHAPE_NONE,   BOTH},
    { 4, "%o: %T = one_hot(%i, dim=[%D])",                            SHAPE_NONE,   BOTH},
    { 1, "%o: %I = one_hot(%i, dim=[%D], on=3, off=-1)",              SHAPE_NONE,   0},
    { 3, "%o, %p = sort(%A, dim=%d, descending=%t)",                  SHAPE_NONE,   WIDE},
    { 1, "%o = argsort(%A, dim=%d)",                                  SHAPE_NONE,   0},
    { 4, "%o, %p = top_k(%A, dim=%d, k=[%N=%m])",                     SHAPE_NONE,   WIDE},
    { 1, "%o, %p = top_1(%A, dim=%d)",                                SHAPE_NONE,   0},
    { 2, "%o = nth_largest_element(%A, dim=%d, n=%n)",                SHAPE_NONE,   WIDE},
    { 1, "%o = nth_smallest_element(%A, dim=%d, n=%n)",               SHAPE_NONE,   0},
    { 2, "%o = argmax(%A, dim=%d)",                                   SHAPE_NONE,   WIDE},
    { 1, "%o = argmin(%A, dim=%d)",                                   SHAPE_NONE,   0},
    { 1, "%o: [%S] = argmax_over(%A)",                                SHAPE_SUBSET, 0},
    { 1, "%o: [%S] = argmin_over(%A)",                                SHAPE_SUBSET, 0},
    { 1, "%o = sample_with_temperature(%x, dim=%d, temperature=0.5)", SHAPE_NONE,   0},
    { 1, "%o = categorical(%x, dim=%d)",                              SHAPE_NONE,   0},

    /* integers that stay small */
    { 2, "%o = mod(%i, 5)",                                           SHAPE_NONE,   BOTH},
    { 1, "%o = mod(%i * %j, 7)",                                      SHAPE_NONE,   BOTH},
    { 1, "%o = floordiv(%i, 2)",                                      SHAPE_NONE,   BOTH},
    { 3, "%o = mod(reduce_sum(%i, over=(%d)), 7)",                    SHAPE_NONE,   BOTH},
    { 2, "%o = mod(einsum(%i, %j, over=(%d)), 7)",                    SHAPE_NONE,   BOTH},

    /* aimed: updates, of what is read again, too; a bias by distance; sums that are scattered where they
     * are stored; products of owed sums; nodes that differ in an attribute that is true or false */
    { 3, "%o = update(%a, slice(%h, dim=%d, begin=%n, size=1), reduce_max(%i), dim=%d)", SHAPE_NONE, AIM | BOTH},
    { 3, "%o = update(%a, slice(%h, dim=%d, begin=0, size=%m), reduce_max(%i), dim=%d)", SHAPE_NONE, AIM | BOTH},
    { 1, "%o = update(%a, reduce_first(%h, dim=%d), reduce_max(%v, over=(%d)), dim=%d)", SHAPE_NONE, AIM | BOTH},
    { 2, "%p = cumsum(%A, dim=%d)\n"
         "%q = update(%p, slice(%A, dim=%d, begin=%n, size=1), reduce_max(%i), dim=%d)\n"
         "%o = %p - %q",                                              SHAPE_NONE,   AIM | BOTH},
    { 3, "%q: %F[rel=%W] = input\n"
         "%o, %p = attention(%x, rename_dimension(%y, from=%d, to=%N), rename_dimension(%x, from=%d, to=%N), %q, query=%d, memory=%N, key=%f, value=%f, bias_relative=rel, with=(bias))", SHAPE_NONE, ROOT | AIM | BOTH},
    { 4, "%p: %F[%S] = variable\n"
         "%q: %F[owed=3, %S] = input\n"
         "%o = assign(%p, reduce_sum(%q * %x, over=(owed)))",         SHAPE_ORDER,  ROOT | AIM},
    { 2, "%o = reduce_sum(%A, over=(%d)) * reduce_sum(square(%A), over=(%d))", SHAPE_NONE, AIM | BOTH},
    { 1, "%o: [%S] = einsum(reduce_sum(%A, over=(%d)), reduce_sum(abs(%A), over=(%d)))", SHAPE_SUBSET, AIM},
    { 2, "%o = cumsum(%A, dim=%d, reverse=%t) - cumsum(%A, dim=%d, exclusive=%t, reverse=%t)", SHAPE_NONE, AIM | BOTH},
    { 1, "%o = shift(%A, dim=%d, offset=1) - shift(%A, dim=%d, offset=1, wrap=%t)", SHAPE_NONE, AIM | BOTH},
    { 1, "%o = argsort(%A, dim=%d) - argsort(%A, dim=%d, descending=%t)", SHAPE_NONE, AIM},

    /* windows */
    { 3, "%q: %F[k1=%k, %L, %D] = input\n"
         "%o = conv1d(%x, %q, padding=%P)",                           SHAPE_NONE,   ROOT | BOTH},
    { 2, "%q: %F[k1=%k, %L, %D] = input\n"
         "%o = conv1d(%x, %q, stride=(%k), dilation=(%k))",           SHAPE_NONE,   ROOT | BOTH},
    { 3, "%q: %F[k1=%k, k2=%k, %L, %D] = input\n"
         "%o = conv2d(%x, %q, padding=%P)",                           SHAPE_NONE,   ROOT | BOTH},
    { 1, "%q: %F[k1=%k, k2=%k, k3=1, %L, %D] = input\n"
         "%o = conv3d(%x, %q, padding=%P)",                           SHAPE_NONE,   ROOT},
    { 2, "%q: %F[k1=%k, %D, %L] = input\n"
         "%o = conv1d_transpose(%x, %q, stride=(%k))",                SHAPE_NONE,   ROOT | BOTH},
    { 2, "%q: %F[k1=%k, %D, other=%l] = input\n"
         "%o = conv1d_transpose(%x, %q, stride=(%k), padding=%P)",    SHAPE_NONE,   ROOT},
    { 1, "%q: %F[k1=%k, k2=1, %D, other=%l] = input\n"
         "%o = conv2d_transpose(%x, %q, padding=%P)",                 SHAPE_NONE,   ROOT},
    { 1, "%q: %F[k1=%k, other=%l, %D] = input\n"
         "%o = conv1d(%x, %q, padding=%P)",                           SHAPE_NONE,   ROOT},
    { 2, "%o = max_pool(%A, window=(%k), stride=(%k), padding=%P)",   SHAPE_NONE,   BOTH},
    { 2, "%o = max_pool(%A, window=(%k, %k), padding=%P)",            SHAPE_NONE,   BOTH},
    { 1, "%o = avg_pool(%x, window=(%k), stride=(%k), padding=%P)",   SHAPE_NONE,   BOTH},
    { 1, "%o = avg_pool(%x, window=(%k, %k), padding=%P)",            SHAPE_NONE,   BOTH},
    { 1, "%q: %F[k1=%k, one=1, %D] = input\n"
         "%o = conv1d(%x, %q, groups=%l, padding=%P)",                SHAPE_NONE,   ROOT},
    { 1, "%q: %F[k1=2, %L, %D] = input\n"
         "%o = conv(%x, %q, stride=(%k), dilation=(%k), before=(%k), after=(1))", SHAPE_NONE, ROOT},
    { 1, "%q: %F[k1=2, k2=1, k3=%k, %D, other=%l] = input\n"
         "%o = conv3d_transpose(%x, %q, padding=%P)",                 SHAPE_NONE,   ROOT},
};
/* clang-format on */

const int nline_templates = (int)(sizeof line_templates / sizeof *line_templates);

/* Elementwise functions, one row each: value, gradient, price, manual.
 *
 * A row gives an op its value (the kernels of every device compile this text),
 * its gradient with respect to each operand (ops/elementwise.c compiles that
 * text; x, y are operands, r is the result, d the gradient of the result), its
 * price in flops and its line in the manual.  The value is type-generic: exp is
 * expf for float.  ADD, SUB, MUL, NEG wrap around for integers.
 *
 * Classes:  REAL1 float -> float     ANY1 float or integer -> same
 *           TEST1 float -> bool      REAL2, ANY2 the same with two operands
 *           COMPARE any -> bool      LOGIC1, LOGIC2 bool -> bool
 *           NEAR1 a REAL1 with a quick form for numbers that are not far from 0
 *           BITS2 an ANY2 of integers only
 */
/* clang-format off */
#ifndef NEAR1
#define NEAR1 REAL1
#define NEAR1_HERE
#endif
#ifndef BITS2
#define BITS2 ANY2
#define BITS2_HERE
#endif
#ifndef NONE
#define NONE NULL /* no gradient */
#define NONE_HERE
#endif
/*    name           value                                  gradient of x                     flops says */
NEAR1(exp,           exp(x),                                mul(d, r),                            8, "e to the power x")
REAL1(expm1,         expm1(x),                              mul(d, inc(r, 1)),                    8, "e to the power x, minus 1, exact near 0")
REAL1(log,           log(x),                                mul(d, mtf_reciprocal(x)),            8, "natural logarithm")
REAL1(log1p,         log1p(x),                              mul(d, mtf_reciprocal(inc(x, 1))),    8, "natural logarithm of 1 + x, exact near 0")
NEAR1(sin,           sin(x),                                mul(d, mtf_cos(x)),                   8, "sine")
NEAR1(cos,           cos(x),                                neg(mul(d, mtf_sin(x))),              8, "cosine")
REAL1(tanh,          tanh(x),                               mul(d, inc(neg(mtf_square(r)), 1)),  10, "hyperbolic tangent")
REAL1(erf,           erf(x),                                mul(d, times(mtf_exp(neg(mtf_square(x))), TWO_OVER_SQRT_PI)), 10, "error function")
REAL1(sqrt,          sqrt(x),                               mul(d, times(mtf_reciprocal(r), 0.5)), 4, "square root")
REAL1(rsqrt,         1 / sqrt(x),                           mul(d, times(mul(r, mtf_square(r)), -0.5)), 5, "1 / square root")
REAL1(reciprocal,    1 / x,                                 neg(mul(d, mtf_square(r))),           4, "1 / x")
NEAR1(sigmoid,       SIGMOID(x),                            mul(d, mul(r, inc(neg(r), 1))),      10, "1 / (1 + e^-x)")
NEAR1(silu,          SILU(x),                               mul(d, silu_slope(x, r)),            11, "x * sigmoid(x), also called swish")
NEAR1(gelu,          GELU(x),                                               mul(d, mtf_gelu_grad(x)), 14, "x * 0.5 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3))), the original's approximation")
REAL1(gelu_grad,     GELU_GRAD(x),                          mul(d, gelu_bend(x)),                20, "the derivative of gelu(x)")
REAL1(gelu_exact,    GELU_EXACT(x),                          mul(d, gelu_exact_slope(x)),         13, "x times the normal distribution function of x")
REAL1(elu,           CHOOSE(x > 0, x, expm1(x)),                  mul(d, elu_slope(x, r)),              9, "x, or e^x - 1 below 0")
REAL1(selu,          CHOOSE(x > 0, SELU_SCALE * x, SELU_SCALE_ALPHA * expm1(x)), mul(d, selu_slope(x, r)), 10, "scaled elu with unit variance")
REAL1(softplus,      SOFTPLUS(x),                            mul(d, mtf_sigmoid(x)),             18, "log(1 + e^x)")
REAL1(floor,         floor(x),                              NONE,                                 1, "largest whole number not above x")
REAL1(ceil,          ceil(x),                               NONE,                                 1, "smallest whole number not below x")
REAL1(round,         rint(x),                               NONE,                                 1, "nearest whole number, halves to even")
TEST1(isnan,         x != x,                                NONE,                                 1, "true where x is not a number")

ANY1(negative,       NEG(x),                                neg(d),                               1, "-x")
ANY1(abs,            x < 0 ? NEG(x) : x,                    mul(d, mtf_sign(x)),                  1, "magnitude; the gradient at 0 is 0")
ANY1(sign,           (x > 0) - (x < 0),                     NONE,                                 2, "-1, 0 or 1")
ANY1(square,         MUL(x, x),                             mul(d, times(x, 2)),                  1, "x * x")
ANY1(relu,           AT_LEAST_0(x),                         keep(mtf_greater(r, zero(r)), d),     1, "x, or 0 below 0; the gradient at 0 is 0")
LOGIC1(logical_not,  !x,                                    NONE,                                 1, "not x")

/*    name           value                                  gradient of x                     gradient of y                     flops says */
ANY2(add,            ADD(x, y),                             d,                                d,                                    1, "x + y")
ANY2(sub,            SUB(x, y),                             d,                                neg(d),                               1, "x - y")
ANY2(multiply,       MUL(x, y),                             mul(d, y),                        mul(d, x),                            1, "x * y")
REAL2(divide,        x / y,                                 mtf_divide(d, y),                 neg(mtf_divide(mul(d, r), y)),        4, "x / y")
ANY2(floordiv,       FLOORDIV(x, y),                        NONE,                             NONE,                                 4, "the largest whole number not above x / y; an integer divided by 0 gives 0")
ANY2(mod,            MOD(x, y),                             d,                                neg(mul(d, mtf_floordiv(x, y))),      4, "x - y * floordiv(x, y), so with the sign of y; an integer mod 0 gives 0")
REAL2(pow,           pow(x, y),                             mul(d, pow_base_slope(x, y)),     mul(d, pow_slope(x, r)),             16, "x to the power y")
ANY2(minimum,        SMALLER(x, y),                         keep(mtf_less_equal(x, y), d),    keep(mtf_greater(x, y), d),     1, "the smaller; of two equal ones the first receives the gradient")
ANY2(maximum,        LARGER(x, y),                          keep(mtf_greater_equal(x, y), d), keep(mtf_less(x, y), d),        1, "the larger; of two equal ones the first receives the gradient")
BITS2(random_bits,   RANDOM_BITS(x, y),                     NONE,                             NONE,                                40, "random bits number x of the stream y, by Philox: the same in every step and for every seed")
COMPARE(less,          x < y,                               NONE,                             NONE,                                 1, "true where x < y")
COMPARE(less_equal,    x <= y,                              NONE,                             NONE,                                 1, "true where x <= y")
COMPARE(greater,       x > y,                               NONE,                             NONE,                                 1, "true where x > y")
COMPARE(greater_equal, x >= y,                              NONE,                             NONE,                                 1, "true where x >= y")
COMPARE(equal,         x == y,                              NONE,                             NONE,                                 1, "true where x = y")
COMPARE(not_equal,     x != y,                              NONE,                             NONE,                                 1, "true where x differs from y")
LOGIC2(logical_and,    x && y,                              NONE,                             NONE,                                 1, "true where both are")
LOGIC2(logical_or,     x || y,                              NONE,                             NONE,                                 1, "true where at least one is")
#ifdef NONE_HERE
#undef NONE
#undef NONE_HERE
#endif
#ifdef NEAR1_HERE
#undef NEAR1
#undef NEAR1_HERE
#endif
#ifdef BITS2_HERE
#undef BITS2
#undef BITS2_HERE
#endif

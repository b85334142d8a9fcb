/* Definitions of elementwise operations. */
#include <stdlib.h>
#include <string.h>

#include "rules.h"

/* ---- functions of one real ---- */

static double f_sigmoid(double x)
{
    return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x));
}
static double f_silu(double x)
{
    return x * f_sigmoid(x);
}
static double f_rsqrt(double x)
{
    return 1 / sqrt(x);
}
static double f_reciprocal(double x)
{
    return 1 / x;
}
static double f_gelu_exact(double x)
{
    return x * 0.5 * erfc(-x / sqrt(2));
}
static double f_elu(double x)
{
    return x > 0 ? x : expm1(x);
}
static double f_softplus(double x)
{
    return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
}
static double f_sign(double x)
{
    return (x > 0) - (x < 0);
}
static double f_square(double x)
{
    return x * x;
}
static double f_relu(double x)
{
    return x > 0 ? x : 0;
}

static double f_gelu(double x)
{
    return x * f_sigmoid(2 * sqrt(2 / M_PI) * (x + 0.044715 * x * x * x));
}

static double f_gelu_grad(double x)
{
    double root = sqrt(2 / M_PI), t = tanh(root * (x + 0.044715 * x * x * x));
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * root * (1 + 3 * 0.044715 * x * x);
}

static double f_selu(double x)
{
    const double scale = 1.05070098735548049342, alpha = 1.67326324235437728481;
    return x > 0 ? scale * x : scale * alpha * expm1(x);
}

/* How a function behaves where its operand is off a little. */
typedef enum manner {
    SMOOTH, /* continuous; rounded more or less */
    EXACT,  /* continuous, and exact where the result has few digits */
    STEPS   /* jumps between whole numbers */
} manner;

static const struct unary {
    const char *name;
    double (*f)(double);
    manner manner;
} unaries[] = {{"exp", exp, SMOOTH},
               {"expm1", expm1, SMOOTH},
               {"log", log, SMOOTH},
               {"log1p", log1p, SMOOTH},
               {"sin", sin, SMOOTH},
               {"cos", cos, SMOOTH},
               {"tanh", tanh, SMOOTH},
               {"erf", erf, SMOOTH},
               {"sqrt", sqrt, SMOOTH},
               {"rsqrt", f_rsqrt, SMOOTH},
               {"reciprocal", f_reciprocal, SMOOTH},
               {"sigmoid", f_sigmoid, SMOOTH},
               {"silu", f_silu, SMOOTH},
               {"gelu", f_gelu, SMOOTH},
               {"gelu_grad", f_gelu_grad, SMOOTH},
               {"gelu_exact", f_gelu_exact, SMOOTH},
               {"elu", f_elu, SMOOTH},
               {"selu", f_selu, SMOOTH},
               {"softplus", f_softplus, SMOOTH},
               {"floor", floor, STEPS},
               {"ceil", ceil, STEPS},
               {"round", rint, STEPS},
               {"sign", f_sign, STEPS},
               {"abs", fabs, EXACT},
               {"square", f_square, EXACT},
               {"relu", f_relu, EXACT}};

static number apply_real(const struct unary *u, number x, mtf_dtype type)
{
    if (!number_known(x)) return x;
    double y = u->f(x.v), low = u->f(x.v - x.slack), high = u->f(x.v + x.slack);
    if (u->manner == STEPS) return low != high ? number_unknown() : number_made(y, 0, true, type);
    if (isinf(x.v)) return number_made(y, 0, u->manner == EXACT, type);
    double off = fmax(fabs(low - y), fabs(high - y));
    /* An extreme in between: no function of the table bends more than its slope grows. */
    if (x.slack > 0) off = 2 * off + x.slack * x.slack;
    if (u->f == f_reciprocal && x.slack >= fabs(x.v)) return number_unknown();
    /* Wide operands cost digits of the argument: of sine and cosine, say. */
    double bent = u->manner == SMOOTH ? ldexp(1 + fabs(x.v), -50) : 0;
    /* Two terms cancel near -0.75. */
    if (u->f == f_gelu_grad) bent += type == MTF_F64 ? 0x1p-52 : 0x1p-23;
    return number_made(y, off + bent, u->manner == EXACT, type);
}

static number apply_int(const char *name, number x, mtf_dtype type)
{
    if (!number_known(x)) return x;
    if (!strcmp(name, "square")) return number_mul(x, x, type);
    if (!strcmp(name, "sign")) return number_int((x.i > 0) - (x.i < 0), type);
    if (!strcmp(name, "relu")) return number_int(x.i > 0 ? x.i : 0, type);
    return x.i < 0 ? number_neg(x, type) : x; /* abs */
}

static void rule_unary(oracle *o, const node *n, const value *const *in, value *out)
{
    (void)o;
    const struct unary *u = unaries;
    while (strcmp(u->name, n->op->name)) u++;
    for (int64_t i = 0; i < out->n; i++)
        out->at[i] = is_real(in[0]->type) ? apply_real(u, in[0]->at[i], in[0]->type)
                                          : apply_int(u->name, in[0]->at[i], in[0]->type);
}

static void rule_negative(oracle *o, const node *n, const value *const *in, value *out)
{
    (void)o, (void)n;
    for (int64_t i = 0; i < out->n; i++) out->at[i] = number_neg(in[0]->at[i], out->type);
}

/* Numbers that are none are not definite here. */
static void rule_isnan(oracle *o, const node *n, const value *const *in, value *out)
{
    (void)o, (void)n;
    for (int64_t i = 0; i < out->n; i++)
        out->at[i] = number_known(in[0]->at[i]) ? number_bool(false) : number_unknown();
}

static void rule_not(oracle *o, const node *n, const value *const *in, value *out)
{
    (void)o, (void)n;
    for (int64_t i = 0; i < out->n; i++)
        out->at[i] = number_known(in[0]->at[i]) ? number_bool(!in[0]->at[i].i) : number_unknown();
}

/* ---- cast ---- */

static int64_t toward_zero(double v, mtf_dtype type)
{
    double most = type == MTF_I32 ? 2147483647 : 0x1p63,
           least = type == MTF_I32 ? -2147483648.0 : -0x1p63;
    if (v >= most) return type == MTF_I32 ? INT32_MAX : INT64_MAX;
    return v <= least ? (type == MTF_I32 ? INT32_MIN : INT64_MIN) : (int64_t)v;
}

static number cast_to(number x, mtf_dtype from, mtf_dtype to)
{
    if (!number_known(x)) return x;
    if (is_real(to)) {
        if (is_real(from)) return number_rounded(x, to, 1);
        number r = number_real((double)x.i);
        if ((int64_t)r.v != x.i) r.slack = 1024; /* more digits than a double has */
        return number_rounded(r, to, 1);
    }
    if (is_real(from)) {
        if (to == MTF_BOOL)
            return x.slack > 0 && fabs(x.v) <= x.slack ? number_unknown() : number_bool(x.v != 0);
        int64_t low = toward_zero(x.v - x.slack, to), high = toward_zero(x.v + x.slack, to);
        return low != high ? number_unknown() : number_int(low, to);
    }
    return number_int(x.i, to);
}

static void rule_cast(oracle *o, const node *n, const value *const *in, value *out)
{
    (void)o, (void)n;
    for (int64_t i = 0; i < out->n; i++) out->at[i] = cast_to(in[0]->at[i], in[0]->type, out->type);
}

/* ---- functions of two ---- */

typedef number binary(number x, number y, mtf_dtype type);

static number b_add(number x, number y, mtf_dtype type)
{
    return number_rounded(number_add(x, y, type), type, 2);
}

static number b_sub(number x, number y, mtf_dtype type)
{
    return number_rounded(number_sub(x, y, type), type, 2);
}

static number b_multiply(number x, number y, mtf_dtype type)
{
    return number_rounded(number_mul(x, y, type), type, 2);
}

/* The largest change of f over the corners of what x and y may be. */
static double corners(double (*f)(double, double), number x, number y)
{
    double at = f(x.v, y.v), most = 0;
    for (int k = 0; k < 4; k++) {
        double v = f(x.v + (k & 1 ? x.slack : -x.slack), y.v + (k & 2 ? y.slack : -y.slack));
        most = fmax(most, isfinite(v) ? fabs(v - at) : (double)INFINITY);
    }
    return 2 * most;
}

static double quotient(double x, double y)
{
    return x / y;
}

/* Linear in x; exact where y is a power of two. */
static number b_divide(number x, number y, mtf_dtype type)
{
    if (!number_known(x) || !number_known(y) || fabs(y.v) <= y.slack) return number_unknown();
    if (isinf(x.v) || isinf(y.v)) return number_made(x.v / y.v, 0, false, type);
    number inverse = number_real(1 / y.v);
    bool   exact = y.slack == 0 && inverse.v * y.v == 1 && fabs(frexp(y.v, &(int){0})) == 0.5;
    number q = number_mul(x, inverse, type);
    q.v = x.v / y.v;
    q.slack = corners(quotient, x, y);
    if (!exact) q.slack += ldexp(q.mass, type == MTF_F64 ? -50 : -20);
    return number_rounded(q, type, 1);
}

static number b_pow(number x, number y, mtf_dtype type)
{
    if (!number_known(x) || !number_known(y)) return number_unknown();
    if (x.slack > 0 && fabs(x.v) <= x.slack) return number_unknown();
    return number_made(pow(x.v, y.v), corners(pow, x, y), false, type);
}

/* x - y floor(x / y); a quotient within rounding of a whole number is not definite. */
static bool whole_quotient(number x, number y, mtf_dtype type, double *floored)
{
    if (!number_known(x) || !number_known(y) || fabs(y.v) <= y.slack) return false;
    double q = x.v / y.v, off = corners(quotient, x, y);
    bool   even = off == 0 && q == rint(q) && q * y.v == x.v;
    if (!even) off += ldexp(fabs(q), type == MTF_F64 ? -50 : -20);
    *floored = floor(q);
    return even || floor(q - off) == floor(q + off);
}

static number b_floordiv(number x, number y, mtf_dtype type)
{
    double floored;
    if (is_real(type))
        return whole_quotient(x, y, type, &floored) ? number_made(floored, 0, true, type)
                                                    : number_unknown();
    if (!number_known(x) || !number_known(y)) return number_unknown();
    if (y.i == 0) return number_int(0, type);
    if (y.i == -1) return number_neg(x, type); /* the one quotient that may overflow */
    int64_t q = x.i / y.i;
    return number_int(x.i % y.i && (x.i < 0) != (y.i < 0) ? q - 1 : q, type);
}

static number b_mod(number x, number y, mtf_dtype type)
{
    double floored;
    if (is_real(type)) {
        if (!whole_quotient(x, y, type, &floored)) return number_unknown();
        number back = number_mul(y, number_real(floored), type);
        return number_rounded(number_sub(x, back, type), type, 2);
    }
    number q = b_floordiv(x, y, type);
    if (!number_known(q) || y.i == 0) return q;
    return number_sub(x, number_mul(y, q, type), type);
}

static number extreme(number x, number y, mtf_dtype type, bool largest)
{
    if (!number_known(x) || !number_known(y)) return number_unknown();
    if (!is_real(type)) return (x.i > y.i) == largest ? x : y;
    number won = (x.v > y.v) == largest ? x : y;
    double slack = number_compare(x, y, type) == 2 ? fmax(x.slack, y.slack) : won.slack;
    return number_made(won.v, slack, true, type);
}

static number b_minimum(number x, number y, mtf_dtype type)
{
    return extreme(x, y, type, false);
}
static number b_maximum(number x, number y, mtf_dtype type)
{
    return extreme(x, y, type, true);
}

/* Philox4x32-10 of the counter x and the key y, as docs/random.md has it: its first word, or two. */
static number b_random_bits(number x, number y, mtf_dtype type)
{
    if (!number_known(x) || !number_known(y)) return number_unknown();
    bool     wide = type == MTF_I64;
    uint32_t c[4] = {(uint32_t)x.i, wide ? (uint32_t)((uint64_t)x.i >> 32) : 0, 0, 0};
    uint32_t key[2] = {(uint32_t)y.i, wide ? (uint32_t)((uint64_t)y.i >> 32) : 0};
    for (int round = 0; round < 10; round++) {
        uint64_t a = (uint64_t)c[0] * 0xD2511F53u, b = (uint64_t)c[2] * 0xCD9E8D57u;
        uint32_t next[4] = {(uint32_t)(b >> 32) ^ c[1] ^ key[0], (uint32_t)b,
                            (uint32_t)(a >> 32) ^ c[3] ^ key[1], (uint32_t)a};
        memcpy(c, next, sizeof c);
        key[0] += 0x9E3779B9u;
        key[1] += 0xBB67AE85u;
    }
    uint64_t both = (uint64_t)c[1] << 32 | c[0];
    return wide ? number_int((int64_t)both, type) : number_int((int32_t)c[0], type);
}

#define COMPARISON(name, test)                                                                     \
    static number name(number x, number y, mtf_dtype type)                                         \
    {                                                                                              \
        int c = number_compare(x, y, type);                                                        \
        return c == 2 ? number_unknown() : number_bool(test);                                      \
    }
COMPARISON(b_less, c < 0)
COMPARISON(b_less_equal, c <= 0)
COMPARISON(b_greater, c > 0)
COMPARISON(b_greater_equal, c >= 0)
COMPARISON(b_equal, c == 0)
COMPARISON(b_not_equal, c != 0)

static number b_and(number x, number y, mtf_dtype type)
{
    (void)type;
    if ((number_known(x) && !x.i) || (number_known(y) && !y.i)) return number_bool(false);
    return number_known(x) && number_known(y) ? number_bool(true) : number_unknown();
}

static number b_or(number x, number y, mtf_dtype type)
{
    (void)type;
    if ((number_known(x) && x.i) || (number_known(y) && y.i)) return number_bool(true);
    return number_known(x) && number_known(y) ? number_bool(false) : number_unknown();
}

static const struct {
    const char *name;
    binary     *f;
} binaries[] = {{"add", b_add},           {"sub", b_sub},
                {"multiply", b_multiply}, {"divide", b_divide},
                {"floordiv", b_floordiv}, {"mod", b_mod},
                {"pow", b_pow},           {"random_bits", b_random_bits},
                {"minimum", b_minimum},   {"maximum", b_maximum},
                {"less", b_less},         {"less_equal", b_less_equal},
                {"greater", b_greater},   {"greater_equal", b_greater_equal},
                {"equal", b_equal},       {"not_equal", b_not_equal},
                {"logical_and", b_and},   {"logical_or", b_or}};

static void rule_binary(oracle *o, const node *n, const value *const *in, value *out)
{
    (void)o;
    int k = 0;
    while (strcmp(binaries[k].name, n->op->name)) k++;
    walk    w = walk_over(&out->shape);
    track   x = track_in(&w, &in[0]->shape), y = track_in(&w, &in[1]->shape);
    int64_t i = 0;
    do
        out->at[i++] =
            binaries[k].f(in[0]->at[track_at(&w, &x)], in[1]->at[track_at(&w, &y)], in[0]->type);
    while (walk_next(&w));
}

static void rule_where(oracle *o, const node *n, const value *const *in, value *out)
{
    (void)o, (void)n;
    walk  w = walk_over(&out->shape);
    track c = track_in(&w, &in[0]->shape), x = track_in(&w, &in[1]->shape),
          y = track_in(&w, &in[2]->shape);
    int64_t i = 0;
    do {
        number flag = in[0]->at[track_at(&w, &c)], yes = in[1]->at[track_at(&w, &x)],
               no = in[2]->at[track_at(&w, &y)];
        bool same = number_known(yes) && number_known(no) && yes.slack == 0 && no.slack == 0 &&
                    yes.v == no.v && yes.i == no.i;
        out->at[i++] = number_known(flag) ? (flag.i ? yes : no) : same ? yes : number_unknown();
    } while (walk_next(&w));
}

static const named_rule others[] = {{"negative", rule_negative},
                                    {"isnan", rule_isnan},
                                    {"logical_not", rule_not},
                                    {"cast", rule_cast},
                                    {"where", rule_where}};

rule *elementwise_rule(const char *name)
{
    for (size_t k = 0; k < sizeof unaries / sizeof *unaries; k++)
        if (!strcmp(unaries[k].name, name)) return rule_unary;
    for (size_t k = 0; k < sizeof binaries / sizeof *binaries; k++)
        if (!strcmp(binaries[k].name, name)) return rule_binary;
    for (size_t k = 0; k < sizeof others / sizeof *others; k++)
        if (!strcmp(others[k].op, name)) return others[k].rule;
    return NULL;
}

/* Elementwise functions against the library's in a wider type.
 *
 * f32: a stride through all floats and their special values, at every level that
 * this chip can run; errors in units in the last place are printed and bounded,
 * and levels agree bit for bit.  `test_functions all [name]` takes every float,
 * which lasts about a minute for each function.  f64 is sampled.
 */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/dtype.h"
#include "cpu/levels.h"

#include "asked.h"

#include <cmocka.h>

enum { TILE = 1024, STRIDE = 263, MOST_LEVELS = 8 };

/* ---- what is right ---- */

static double rsqrt(double x)
{
    return 1 / sqrt(x);
}

static double sigmoid(double x)
{
    double e = exp(-fabs(x));
    return (x < 0 ? e : 1) / (1 + e);
}

static double silu(double x)
{
    return x == -INFINITY ? -0.0 : x * sigmoid(x);
}

static double gelu(double x)
{
    return x == -INFINITY ? -0.0 : x * sigmoid(2 * sqrt(2 / M_PI) * (x + 0.044715 * x * x * x));
}

static double gelu_grad(double x)
{
    if (isinf(x)) return x > 0 ? 1 : -0.0;
    double root = 2 * sqrt(2 / M_PI), v = root * (x + 0.044715 * x * x * x);
    double slope = root * (1 + 3 * 0.044715 * x * x);
    return sigmoid(v) * (sigmoid(-v) == 0 ? 1 : 1 + x * slope * sigmoid(-v));
}

static double gelu_exact(double x)
{
    return x == -INFINITY ? -0.0 : x * erfc(-x / sqrt(2)) / 2;
}

static double elu(double x)
{
    return x > 0 ? x : expm1(x);
}

static double selu(double x)
{
    const double scale = 1.05070098735548049342, alpha = 1.67326324235437728482;
    return scale * (x > 0 ? x : alpha * expm1(x));
}

static double softplus(double x)
{
    return (x < 0 ? 0 : x) + log1p(exp(-fabs(x)));
}

typedef struct function {
    const char *name;
    scalar_fn   fn;
    double (*right)(double);
    double bound; /* units in the last place */
} function;

/* clang-format off */
static const function functions[] = {
    {"exp",        FN_exp,        exp,        2},
    {"expm1",      FN_expm1,      expm1,      4},
    {"log",        FN_log,        log,        2},
    {"log1p",      FN_log1p,      log1p,      2},
    {"sin",        FN_sin,        sin,        2},
    {"cos",        FN_cos,        cos,        2},
    {"tanh",       FN_tanh,       tanh,       4},
    {"erf",        FN_erf,        erf,        2},
    {"rsqrt",      FN_rsqrt,      rsqrt,      2},
    {"sigmoid",    FN_sigmoid,    sigmoid,    4},
    {"silu",       FN_silu,       silu,       4},
    {"gelu",       FN_gelu,       gelu,       4},
    {"gelu_grad",  FN_gelu_grad,  gelu_grad,  6},
    {"gelu_exact", FN_gelu_exact, gelu_exact, 4},
    {"elu",        FN_elu,        elu,        4},
    {"selu",       FN_selu,       selu,       4},
    {"softplus",   FN_softplus,   softplus,   4},
};
/* clang-format on */

enum { FUNCTIONS = sizeof functions / sizeof *functions };

/* |got - want| in units in the last place of f32 at want; infinity counts as 2^128. */
static double error_f32(float got, double want)
{
    if (isnan(want) || isnan(got)) return isnan(want) && isnan(got) ? 0 : INFINITY;
    if (!signbit(got) != !signbit(want)) return INFINITY;
    if (fabs(want) >= 0x1p128) want = copysign(0x1p128, want);
    double there = isinf(got) ? copysign(0x1p128, (double)got) : (double)got;
    double size = fabs(want) < 0x1p-126 ? 0x1p-126 : fabs(want) >= 0x1p127 ? 0x1p127 : fabs(want);
    return fabs(there - want) / ldexp(1, ilogb(size) - 23);
}

/* Where gelu_grad crosses 0, its error is that of terms of about 1/4 that cancel. */
static double error_of(const function *f, float x, float got, double want)
{
    bool cancels = f && f->fn == FN_gelu_grad && fabs((double)x + 0.7525) < 0.25;
    return cancels ? fabs((double)got - want) / 0x1p-25 : error_f32(got, want);
}

typedef struct worst {
    double   error;
    uint32_t bits;
} worst;

static void take(const function *f, worst *w, float x, float got, double want)
{
    if (got != 0 && got == (float)want) return; /* off by half a unit at most */
    double error = error_of(f, x, got, want);
    if (error > w->error) *w = (worst){error, f32_bits(x)};
}

/* ---- one number ---- */

static worst pass_floats(const function *f, const level *l, uint64_t stride)
{
    map_step *step = l->map->step[f->fn][MTF_F32];
    float     x[TILE], got[TILE];
    worst     w = {.error = 0.5};
    for (uint64_t at = 0; at >> 32 == 0;) {
        int n = 0;
        for (; n < TILE && at >> 32 == 0; n++, at += stride) x[n] = f32_of_bits((uint32_t)at);
        step(n, got, x, NULL);
        for (int k = 0; k < n; k++) take(f, &w, x[k], got[k], f->right((double)x[k]));
    }
    return w;
}

static int check(const function *f, const level *l, uint64_t stride)
{
    worst w = pass_floats(f, l, stride);
    printf("%-12s %-8s at most %.3f ulp (bound %g), at %a\n", f->name, l->name, w.error, f->bound,
           (double)f32_of_bits(w.bits));
    fflush(stdout);
    return w.error <= f->bound ? 0 : 1;
}

/* The level that the kernels use here. */
static const level *level_here(void)
{
    const level *here = level_at(0);
    for (int i = 1; i < MOST_LEVELS; i++)
        if (level_at(i)) here = level_at(i);
    return here;
}

/* At the other levels fewer: those with the same bits are not news. */
static void test_floats(void **state)
{
    (void)state;
    int      wrong = 0;
    uint64_t stride = (uint64_t)asked_much(STRIDE, 8 * STRIDE + 1);
    for (int i = 0; i < MOST_LEVELS; i++)
        for (int k = 0; level_at(i) && k < FUNCTIONS; k++)
            wrong += check(&functions[k], level_at(i),
                           level_at(i) == level_here() ? stride : 64 * STRIDE + 1);
    assert_int_equal(wrong, 0);
}

static const double specials[] = {
    0.0,        -0.0,       INFINITY,   -INFINITY,  NAN,        1,           -1,
    0x1p-149,   -0x1p-149,  0x1p-126,   -0x1p-126,  0x1p-127,   FLT_MAX,     -FLT_MAX,
    0.5,        2,          -2,         3,          -3,         0x1p23,      -0x1p23,
    0x1p24,     -0x1p24,    8388609.0,  -8388609.0, 16777215.0, -16777215.0, 0x1p20,
    -0x1p20,    1048575.9,  0x1p100,    -0x1p100,   88.722839,  88.722832,   -87.336544,
    -103.97208, -103.97209, -103.27893, 1.5,        -1.5,       0.25,        -0.99999994,
    1.00000012, 9.0109133,  9.0109143,  M_PI,       M_PI_2,     1e-3,        -1e-3};

enum { SPECIALS = sizeof specials / sizeof *specials };

static void test_special_values(void **state)
{
    (void)state;
    for (int k = 0; k < FUNCTIONS; k++)
        for (int s = 0; s < SPECIALS; s++) {
            const function *f = &functions[k];
            float           x = (float)specials[s], got;
            level_here()->map->step[f->fn][MTF_F32](1, &got, &x, NULL);
            double want = f->right((double)x);
            if (!(error_of(f, x, got, want) <= f->bound))
                fail_msg("%s(%a) is %a, not %a", f->name, (double)x, (double)got, want);
        }
}

/* ---- exp of a difference, as softmax has it ---- */

/* Pieces with nothing far away, with masked places, with results that are hardly there: each takes
 * another loop, and all give what exp alone does. */
static void test_exp_of_differences(void **state)
{
    (void)state;
    static const float far[] = {-1e9f, -INFINITY, -104.5f, -103.9f, -90, 100, INFINITY, NAN};
    enum { KINDS = 1 + sizeof far / sizeof *far, LENGTH = 700 };
    float x[LENGTH], difference[LENGTH], got[LENGTH], want[LENGTH];
    for (int kind = 0; kind < KINDS; kind++)
        for (int i = 0; level_at(i) && i < MOST_LEVELS; i++) {
            float largest = 3;
            for (int k = 0; k < LENGTH; k++) {
                x[k] = kind && k % 5 == 0 ? far[kind - 1] : (float)k / 100 - 4;
                difference[k] = x[k] - largest;
            }
            level_at(i)->map->step[FN_exp][MTF_F32](LENGTH, want, difference, NULL);
            level_at(i)->joined->loop[FIRST_SUB][SECOND_NONE][AFTER_EXP][1][0](LENGTH, got, x,
                                                                               &largest, x);
            for (int k = 0; k < LENGTH; k++)
                if (f32_bits(got[k]) != f32_bits(want[k]))
                    fail_msg("exp(%a) is %a, not %a (%s)", (double)difference[k], (double)got[k],
                             (double)want[k], level_at(i)->name);
        }
}

/* ---- powers ---- */

static uint64_t random_bits(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 16;
}

/* A third of the exponents is any float, a third small and whole, a third makes a usual result. */
static float random_exponent(uint64_t *state, float x)
{
    uint32_t bits = (uint32_t)random_bits(state);
    switch (random_bits(state) % 3) {
    case 0: return f32_of_bits(bits);
    case 1: return (float)(bits % 64) - 32;
    default: return (float)(((double)bits * 0x1p-31 - 1) * 140 / log2(fabs((double)x)));
    }
}

static void test_powers(void **state)
{
    (void)state;
    map_step *step = level_here()->map->step[FN_pow][MTF_F32];
    float     x[TILE], y[TILE], got[TILE];
    uint64_t  random = 1;
    worst     w = {.error = 0.5};
    for (int round = 0; round < asked_much(2048, 256); round++) {
        for (int k = 0; k < TILE; k++) {
            x[k] = f32_of_bits((uint32_t)random_bits(&random));
            y[k] = random_exponent(&random, x[k]);
        }
        step(TILE, got, x, y);
        for (int k = 0; k < TILE; k++)
            take(NULL, &w, x[k], got[k], pow((double)x[k], (double)y[k]));
    }
    printf("%-12s %-8s at most %.3f ulp (bound 2)\n", "pow", level_here()->name, w.error);
    assert_true(w.error <= 2);
    for (int s = 0; s < SPECIALS; s++)
        for (int t = 0; t < SPECIALS; t++) {
            x[0] = (float)specials[s], y[0] = (float)specials[t];
            step(1, got, x, y);
            double want = pow((double)x[0], (double)y[0]);
            if (!(error_f32(got[0], want) <= 2))
                fail_msg("pow(%a, %a) is %a, not %a", (double)x[0], (double)y[0], (double)got[0],
                         want);
        }
}

/* ---- the same bits everywhere ---- */

/* In a tile, alone, in place, at any level: but the plain level of x86-64 rounds twice. */
static void test_same_bits(void **state)
{
    (void)state;
    const level *here = level_here();
#if defined(__x86_64__) && !defined(__FMA__)
    const int first = 1;
#else
    const int first = 0;
#endif
    for (int fn = 0; fn < SCALAR_FNS; fn++)
        for (int round = 0; round < 16; round++) {
            float    x[TILE], y[TILE], want[TILE], got[TILE];
            uint64_t random = (uint64_t)round + 7;
            if (!here->map->step[fn][MTF_F32]) continue;
            for (int k = 0; k < TILE; k++) {
                x[k] =
                    f32_of_bits((uint32_t)random_bits(&random) & (round & 1 ? ~0u : 0xc3ffffffu));
                y[k] = f32_of_bits((uint32_t)random_bits(&random) & 0xc3ffffffu);
            }
            memset(want, 0, sizeof want);
            memset(got, 0, sizeof got);
            here->map->step[fn][MTF_F32](TILE, want, x, y);
            for (int i = first; i < MOST_LEVELS; i++) {
                if (!level_at(i)) continue;
                map_step *step = level_at(i)->map->step[fn][MTF_F32];
                bool      flags = want[TILE / 2] == 0 && want[TILE - 1] == 0; /* one byte each */
                if (flags) continue;
                for (int k = 0, n = 1; k < TILE; k += n, n = n % 7 + 1)
                    step(k + n < TILE ? n : TILE - k, got + k, x + k, y + k);
                for (int k = 0; k < TILE; k++)
                    if (f32_bits(got[k]) != f32_bits(want[k]) &&
                        (got[k] == got[k] || want[k] == want[k]))
                        fail_msg("function %d of %a, %a at level %s: %a and %a", fn, (double)x[k],
                                 (double)y[k], level_at(i)->name, (double)got[k], (double)want[k]);
                memcpy(got, x, sizeof got);
                step(TILE, got, got, y);
                for (int k = 0; k < TILE; k++)
                    if (f32_bits(got[k]) != f32_bits(want[k]) &&
                        (got[k] == got[k] || want[k] == want[k]))
                        fail_msg("function %d of %a in place at level %s: %a and %a", fn,
                                 (double)x[k], level_at(i)->name, (double)got[k], (double)want[k]);
            }
        }
}

/* ---- f64 ---- */

/* The library's, which are its own affair, and what is written in them: against long double. */
static long double sigmoid_wide(long double x)
{
    return 1 / (1 + expl(-x));
}

static void test_doubles(void **state)
{
    (void)state;
    uint64_t random = 3;
    for (int round = 0; round < asked_much(20000, 5000); round++) {
        double      x = ((double)random_bits(&random) * 0x1p-48 - 0.5) * 16, got[5];
        long double cube = 0.044715L * x * x * x, root = sqrtl(2 / 3.14159265358979323846264338L);
        const long double want[] = {sigmoid_wide(x), x * sigmoid_wide(x),
                                    x * sigmoid_wide(2 * root * (x + cube)),
                                    x * erfcl(-x / sqrtl(2)) / 2, log1pl(expl(x))};
        const scalar_fn   fns[] = {FN_sigmoid, FN_silu, FN_gelu, FN_gelu_exact, FN_softplus};
        for (int k = 0; k < 5; k++) {
            level_here()->map->step[fns[k]][MTF_F64](1, &got[k], &x, NULL);
            double bound = (fns[k] == FN_gelu || fns[k] == FN_gelu_exact ? 256 : 4) * DBL_EPSILON;
            if (!(fabsl(got[k] - want[k]) <= bound * fabsl(want[k])))
                fail_msg("function %d of %a is %a, not %a", fns[k], x, got[k], (double)want[k]);
        }
    }
}

/* ---- short floats ---- */

/* Every f16 and bf16 goes to f32 and back; midpoints and their neighbours round to even. */
static void test_short_floats(void **state)
{
    (void)state;
    for (int i = 0; i < MOST_LEVELS; i++) {
        if (!level_at(i)) continue;
        for (int type = MTF_BF16; type <= MTF_F16; type++) {
            strided_copy *load = level_at(i)->strided->loader[type];
            strided_copy *store = level_at(i)->strided->storer[type];
            uint16_t      all[TILE], back[TILE];
            float         wide[TILE], middle[TILE];
            for (int first = 0; first < 65536; first += TILE) {
                for (int k = 0; k < TILE; k++) all[k] = (uint16_t)(first + k);
                load((strided){wide, 0, 1}, (strided){all, 0, 1}, 1, TILE);
                store((strided){back, 0, 1}, (strided){wide, 0, 1}, 1, TILE);
                for (int k = 0; k < TILE; k++) {
                    if (isnan(wide[k])) {
                        load((strided){middle, 0, 1}, (strided){back + k, 0, 1}, 1, 1);
                        assert_true(isnan(middle[0]));
                        assert_int_equal(back[k] >> 15, all[k] >> 15);
                    } else {
                        assert_int_equal(back[k], all[k]);
                    }
                }
                for (int k = 0; k + 1 < TILE; k++)
                    middle[k] = (float)(((double)wide[k] + (double)wide[k + 1]) / 2);
                for (int beside = -1; beside <= 1; beside++) {
                    float near[TILE];
                    for (int k = 0; k + 1 < TILE; k++)
                        near[k] = f32_of_bits(f32_bits(middle[k]) + (uint32_t)beside);
                    store((strided){back, 0, 1}, (strided){near, 0, 1}, 1, TILE - 1);
                    for (int k = 0; k + 1 < TILE; k++) {
                        if (!isfinite(wide[k]) || !isfinite(wide[k + 1])) continue;
                        int up = beside > 0 || (beside == 0 && (all[k] & 1));
                        assert_int_equal(back[k], all[k] + up);
                    }
                }
            }
        }
    }
}

/* ---- every float ---- */

static int pass_all(const char *name)
{
    int wrong = 0;
    for (int k = 0; k < FUNCTIONS; k++)
        if (!name || strcmp(name, functions[k].name) == 0)
            wrong += check(&functions[k], level_here(), 1);
    return wrong != 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_floats),
        cmocka_unit_test(test_special_values),
        cmocka_unit_test(test_exp_of_differences),
        cmocka_unit_test(test_powers),
        cmocka_unit_test(test_same_bits),
        cmocka_unit_test(test_doubles),
        cmocka_unit_test(test_short_floats),
    };
    if (argc > 1 && strcmp(argv[1], "all") == 0) return pass_all(argc > 2 ? argv[2] : NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

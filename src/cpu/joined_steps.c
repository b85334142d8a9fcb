/* The loops of joined steps, for the level being compiled. */
#include "cpu/level.h"
#include "cpu/map_joined.h"
#include "cpu/walk.h"

#if !defined(__FMA__) && !defined(__ARM_FEATURE_FMA)
#define ROUND_TWICE
#endif
#include "cpu/apart.h"
#include "program/scalar_text.h"

#define LOOP(name, y_now, z_now, value)                                                            \
    static void name(int64_t n, void *out, const void *xs, const void *ys, const void *zs)         \
    {                                                                                              \
        float one_y = *(const float *)ys, one_z = *(const float *)zs;                              \
        (void)one_y, (void)one_z;                                                                  \
        INDEPENDENT                                                                                \
        for (int64_t i = 0; i < n; i++) {                                                          \
            float x = ((const float *)xs)[i], y = y_now, z = z_now, r;                             \
            (void)z;                                                                               \
            r = value;                                                                             \
            ((float *)out)[i] = r;                                                                 \
        }                                                                                          \
    }
#define EACH_Y ((const float *)ys)[i]
#define EACH_Z ((const float *)zs)[i]

#define WITHOUT_SECOND(name, value)                                                                \
    LOOP(name##_each, EACH_Y, 0, value)                                                            \
    LOOP(name##_one, one_y, 0, value)
/* Three forms of exp: the fast one where all arguments are within its range; one for masks, whose
 * arguments are within the range or so low that the result is 0; the general one. */
typedef void exp_loop(int64_t n, float *restrict out, const float *restrict x,
                      const float *restrict y);
typedef struct exp_forms {
    bool each_y; /* else one y for all elements */
    uint32_t (*largest)(int64_t n, const float *xs, const float *ys);
    uint32_t (*largest_left)(int64_t n, const float *xs, const float *ys);
    exp_loop *near, *masked, *anywhere;
} exp_forms;

static exp_loop *exp_form(const exp_forms *f, int64_t n, const float *xs, const float *ys)
{
    if (f->largest(n, xs, ys) < f32_reach_exp()) return f->near;
    return f->largest_left(n, xs, ys) < f32_reach_exp() ? f->masked : f->anywhere;
}

static void run_exp(const exp_forms *f, int64_t n, float *out, const float *x, const float *y)
{
    float x_copy[APART_PIECE], y_copy[APART_PIECE];
    for (int64_t at = 0; at < n; at += APART_PIECE) {
        int64_t      count = n - at < APART_PIECE ? n - at : APART_PIECE;
        const float *xs = apart_from(out + at, x + at, count, x_copy);
        const float *ys = f->each_y ? apart_from(out + at, y + at, count, y_copy) : y;
        exp_form(f, count, xs, ys)(count, out + at, xs, ys);
    }
}

/* Four independent vectors at a time. */
#if defined(__AVX512F__)
enum { AT_ONCE = 64 };
#elif defined(__AVX2__)
enum { AT_ONCE = 32 };
#else
enum { AT_ONCE = 16 };
#endif

#define EXP_LOOP(name, value)                                                                      \
    static void name(int64_t n, float *restrict out, const float *restrict xs,                     \
                     const float *restrict ys)                                                     \
    {                                                                                              \
        int64_t first = 0;                                                                         \
        for (; first + AT_ONCE <= n; first += AT_ONCE)                                             \
            for (int k = 0; k < AT_ONCE; k++) {                                                    \
                int64_t i = first + k;                                                             \
                out[i] = value;                                                                    \
            }                                                                                      \
        for (int64_t i = first; i < n; i++) out[i] = value;                                        \
    }
#define EXP_FORM(name, each, t)                                                                    \
    FAR_LOOP(name##_largest, t)                                                                    \
    FAR_LOOP(name##_largest_left, f32_unless_0(t))                                                 \
    EXP_LOOP(name##_near, scalar_near_exp_f32(t))                                                  \
    EXP_LOOP(name##_masked, scalar_masked_exp_f32(t))                                              \
    EXP_LOOP(name##_anywhere, exp(t))                                                              \
    static void name(int64_t n, void *out, const void *xs, const void *ys, const void *zs)         \
    {                                                                                              \
        static const exp_forms forms = {each,        name##_largest, name##_largest_left,          \
                                        name##_near, name##_masked,  name##_anywhere};             \
        (void)zs;                                                                                  \
        run_exp(&forms, n, out, xs, ys);                                                           \
    }
#define WITH_EXP(name, sign)                                                                       \
    EXP_FORM(name##_each, true, xs[i] sign ys[i])                                                  \
    EXP_FORM(name##_one, false, xs[i] sign ys[0])
#define WITH_SECOND(name, value)                                                                   \
    LOOP(name##_each_each, EACH_Y, EACH_Z, value)                                                  \
    LOOP(name##_each_one, EACH_Y, one_z, value)                                                    \
    LOOP(name##_one_each, one_y, EACH_Z, value)                                                    \
    LOOP(name##_one_one, one_y, one_z, value)

#define LOOPS(first, sign, t)                                                                      \
    WITHOUT_SECOND(first##_relu, AT_LEAST_0(t))                                                    \
    WITH_EXP(first##_exp, sign)                                                                    \
    WITH_SECOND(first##_add, (t) + z)                                                              \
    WITH_SECOND(first##_sub, (t)-z)                                                                \
    WITH_SECOND(first##_from, z - (t))                                                             \
    WITH_SECOND(first##_multiply, (t)*z)                                                           \
    WITH_SECOND(first##_into, z / (t))                                                             \
    WITH_SECOND(first##_add_relu, AT_LEAST_0((t) + z))                                             \
    WITH_SECOND(first##_sub_relu, AT_LEAST_0((t)-z))                                               \
    WITH_SECOND(first##_from_relu, AT_LEAST_0(z - (t)))                                            \
    WITH_SECOND(first##_multiply_relu, AT_LEAST_0((t)*z))                                          \
    WITH_SECOND(first##_into_relu, AT_LEAST_0(z / (t)))

LOOPS(add, +, x + y)
LOOPS(sub, -, x - y)
LOOPS(multiply, *, x *y)

#define FORMS(name)                                                                                \
    {                                                                                              \
        {name##_each_each, name##_each_one},                                                       \
        {                                                                                          \
            name##_one_each, name##_one_one                                                        \
        }                                                                                          \
    }
#define FORMS_OF_Y(name)                                                                           \
    {                                                                                              \
        {name##_each, name##_each},                                                                \
        {                                                                                          \
            name##_one, name##_one                                                                 \
        }                                                                                          \
    }
#define TABLE(first)                                                                               \
    {                                                                                              \
        [SECOND_NONE] =                                                                            \
            {[AFTER_RELU] = FORMS_OF_Y(first##_relu), [AFTER_EXP] = FORMS_OF_Y(first##_exp)},      \
        [SECOND_ADD] = {FORMS(first##_add), FORMS(first##_add_relu)},                              \
        [SECOND_SUB] = {FORMS(first##_sub), FORMS(first##_sub_relu)},                              \
        [SECOND_FROM] = {FORMS(first##_from), FORMS(first##_from_relu)},                           \
        [SECOND_MULTIPLY] = {FORMS(first##_multiply), FORMS(first##_multiply_relu)},               \
        [SECOND_INTO] = {FORMS(first##_into), FORMS(first##_into_relu)},                           \
    }

static void sub_exp_asking(int64_t n, float *restrict out, const float *restrict xs,
                           const float *restrict ys, const float *next, const float *results)
{
    enum { CACHE_LINE = 16 }; /* in elements */
    int64_t whole = n - n % AT_ONCE;
    for (int64_t first = 0; first < whole; first += AT_ONCE) {
        for (int64_t i = first; i < first + AT_ONCE; i += CACHE_LINE) {
            __builtin_prefetch(next + i);
            __builtin_prefetch(results + i, 1);
        }
        for (int64_t i = first; i < first + AT_ONCE; i++)
            out[i] = scalar_near_exp_f32(xs[i] - ys[0]);
    }
    sub_exp_one_near(n - whole, out + whole, xs + whole, ys);
}

const joined_tables OF_LEVEL(joined_tables) = {
    .loop =
        {[FIRST_ADD] = TABLE(add), [FIRST_SUB] = TABLE(sub), [FIRST_MULTIPLY] = TABLE(multiply)},
    .below = sub_exp_asking,
};

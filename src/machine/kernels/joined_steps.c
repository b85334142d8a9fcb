/* The loops of joined steps, for the level of the moment. */
#include "machine/kernels/levels.h"
#include "machine/kernels/nest.h"

#if !defined(__FMA__) && !defined(__ARM_FEATURE_FMA)
#define ROUND_TWICE
#endif
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
/* As exp alone does: the quick form where it reaches, the other where it does not. */
#define EXP_LOOP(name, y_now, t)                                                                   \
    static void name(int64_t n, void *out, const void *xs, const void *ys, const void *zs)         \
    {                                                                                              \
        float    one_y = *(const float *)ys;                                                       \
        uint32_t far = 0;                                                                          \
        (void)one_y, (void)zs;                                                                     \
        for (int64_t i = 0; i < n; i++) {                                                          \
            float x = ((const float *)xs)[i], y = y_now;                                           \
            far |= f32_far_exp(t);                                                                 \
        }                                                                                          \
        if (far)                                                                                   \
            name##_far(n, out, xs, ys, zs);                                                        \
        else                                                                                       \
            name##_near(n, out, xs, ys, zs);                                                       \
    }
#define WITH_EXP(name, t)                                                                          \
    LOOP(name##_each_far, EACH_Y, 0, exp(t))                                                       \
    LOOP(name##_each_near, EACH_Y, 0, scalar_near_exp_f32(t))                                      \
    EXP_LOOP(name##_each, EACH_Y, t)                                                               \
    LOOP(name##_one_far, one_y, 0, exp(t))                                                         \
    LOOP(name##_one_near, one_y, 0, scalar_near_exp_f32(t))                                        \
    EXP_LOOP(name##_one, one_y, t)
#define WITH_SECOND(name, value)                                                                   \
    LOOP(name##_each_each, EACH_Y, EACH_Z, value)                                                  \
    LOOP(name##_each_one, EACH_Y, one_z, value)                                                    \
    LOOP(name##_one_each, one_y, EACH_Z, value)                                                    \
    LOOP(name##_one_one, one_y, one_z, value)

#define LOOPS(first, t)                                                                            \
    WITHOUT_SECOND(first##_relu, AT_LEAST_0(t))                                                    \
    WITH_EXP(first##_exp, t)                                                                       \
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

LOOPS(add, x + y)
LOOPS(sub, x - y)
LOOPS(multiply, x *y)

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

const joined_tables OF_LEVEL(joined_tables) = {
    .loop =
        {[FIRST_ADD] = TABLE(add), [FIRST_SUB] = TABLE(sub), [FIRST_MULTIPLY] = TABLE(multiply)},
};

/* The loops of formulas, for the level of the moment. */
#include "machine/kernels/levels.h"
#include "machine/kernels/nest.h"
#include "program/scalar_text.h"

#define FORMULA(name, value, ...)                                                                  \
    static void name(int64_t n, void *out, const void *xs, const void *ys, const void *zs,         \
                     const float *one)                                                             \
    {                                                                                              \
        float a = one[0], b = one[1], c = one[2];                                                  \
        (void)a, (void)b, (void)c;                                                                 \
        INDEPENDENT                                                                                \
        for (int64_t i = 0; i < n; i++) {                                                          \
            float x = ((const float *)xs)[i], y = ((const float *)ys)[i],                          \
                  z = ((const float *)zs)[i];                                                      \
            (void)z;                                                                               \
            ((float *)out)[i] = value;                                                             \
        }                                                                                          \
    }
#include "machine/kernels/formulas.h"

const formula_tables OF_LEVEL(formula_tables) = {
    .loop =
        {
#define FORMULA(name, ...) [FORMULA_##name] = name,
#include "machine/kernels/formulas.h"
        },
};

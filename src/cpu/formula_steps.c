/* The loops of formulas, for the level being compiled. */
#include <math.h>

#include "cpu/level.h"
#include "cpu/map_formulas.h"
#include "cpu/walk.h"

/* All operands are read before any result is written: they may be the same elements. */
#define FORMULA(name, nkept, value, ...)                                                           \
    static void name(int64_t n, char *const at[ROLES], const float one[FORMULA_ONE])               \
    {                                                                                              \
        float       *values = (void *)at[ROLE_VALUE];                                              \
        float       *ps = (void *)at[ROLE_KEPT], *qs = (void *)at[ROLE_KEPT + 1];                  \
        const float *xs = (void *)at[ROLE_EACH], *ys = (void *)at[ROLE_EACH + 1];                  \
        const float *zs = (void *)at[ROLE_EACH + 2], *ts = (void *)at[ROLE_EACH + 3];              \
        const float *us = (void *)at[ROLE_EACH + 4];                                               \
        float a = one[0], b = one[1], c = one[2], d = one[3], e = one[4], f = one[5], g = one[6];  \
        (void)a, (void)b, (void)c, (void)d, (void)e, (void)f, (void)g;                             \
        INDEPENDENT                                                                                \
        for (int64_t i = 0; i < n; i++) {                                                          \
            float x = xs[i], y = ys[i], z = zs[i], t = ts[i], u = us[i], p = 0, q = 0;             \
            (void)z, (void)t, (void)u;                                                             \
            float r = value;                                                                       \
            if (nkept > 0) ps[i] = p;                                                              \
            if (nkept > 1) qs[i] = q;                                                              \
            values[i] = r;                                                                         \
        }                                                                                          \
    }
#include "cpu/formulas.h"

const formula_tables OF_LEVEL(formula_tables) = {
    .loop =
        {
#define FORMULA(name, ...) [FORMULA_##name] = name,
#include "cpu/formulas.h"
        },
};

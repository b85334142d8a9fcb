/* The extremes of a row, for the level being compiled.
 *
 * Compiled as if there were no NaN (cmake/flags.cmake): then each comparison is one
 * instruction.
 */
#include "cpu/soft_steps.h"

#include <math.h>

#include "cpu/level.h"

/* Four independent runs hide the latency. */
static void range(int64_t n, const float *x, float *highest, float *lowest)
{
    int64_t      each = n / 4;
    const float *y = x + each, *z = y + each, *t = z + each;
    float        high[4], low[4];
    float        a = x[0], b = a, c = a, d = a, e = a, f = a, g = a, h = a;
    for (int64_t i = 0; i < each; i++) {
        a = fmaxf(a, x[i]), e = fminf(e, x[i]);
        b = fmaxf(b, y[i]), f = fminf(f, y[i]);
        c = fmaxf(c, z[i]), g = fminf(g, z[i]);
        d = fmaxf(d, t[i]), h = fminf(h, t[i]);
    }
    for (int64_t i = 4 * each; i < n; i++) a = fmaxf(a, x[i]), e = fminf(e, x[i]);
    high[0] = a, high[1] = b, high[2] = c, high[3] = d;
    low[0] = e, low[1] = f, low[2] = g, low[3] = h;
    for (int k = 1; k < 4; k++) {
        high[0] = fmaxf(high[0], high[k]);
        low[0] = fminf(low[0], low[k]);
    }
    *highest = high[0];
    *lowest = low[0];
}

const soft_tables OF_LEVEL(soft_tables) = {range};

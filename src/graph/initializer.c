/* Initialisers: how a variable's first value is drawn. */
#include "graph/initializer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char      *name;
    int              numbers;
    initializer_kind kind;
    double           a, b;
} kinds[] = {
    {"zeros", 0, INIT_CONSTANT, 0, 0},
    {"ones", 0, INIT_CONSTANT, 1, 0},
    {"constant", 1, INIT_CONSTANT, 0, 0},
    {"uniform", 2, INIT_UNIFORM, 0, 1},
    {"normal", 2, INIT_NORMAL, 0, 1},
    {"truncated_normal", 2, INIT_TRUNCATED_NORMAL, 0, 1},
    {"glorot_uniform", 0, INIT_GLOROT_UNIFORM, 0, 0},
};

/* Reads `(1, 2)`: exactly `count` numbers and nothing behind. */
static bool numbers(const char *text, int count, double *a, double *b)
{
    double *to[2] = {a, b};
    if (count == 0) return *text == 0;
    for (int i = 0; i < count; i++) {
        if (*text++ != (i ? ',' : '(')) return false;
        char *end;
        *to[i] = strtod(text, &end);
        if (end == text || !isfinite(*to[i])) return false;
        text = end + strspn(end, " ");
    }
    return strcmp(text, ")") == 0;
}

bool initializer_parse(const char *text, initializer *out)
{
    size_t n = strcspn(text, "(");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strlen(kinds[i].name) != n || strncmp(kinds[i].name, text, n) != 0) continue;
        *out = (initializer){kinds[i].kind, kinds[i].a, kinds[i].b};
        return numbers(text + n, kinds[i].numbers, &out->a, &out->b);
    }
    return false;
}

initializer initializer_for_shape(initializer i, const mtf_shape *shape)
{
    if (i.kind != INIT_GLOROT_UNIFORM) return i;
    double in = 1, out = 1, positions = 1;
    int    n = shape->ndims;
    if (n >= 1) out = (double)shape->dims[n - 1].size;
    in = n >= 2 ? (double)shape->dims[n - 2].size : out;
    for (int d = 0; d < n - 2; d++) positions *= (double)shape->dims[d].size;
    double limit = sqrt(6 / (positions * (in + out)));
    return (initializer){INIT_UNIFORM, -limit, limit};
}

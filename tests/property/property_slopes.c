/* Gradients against difference quotients.
 *
 * The nodes of a gradient are made by the library, so the oracle computes them as
 * they are; that they are the right ones is seen by moving x a little, in double.
 */
#include "property_slopes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/node.h"
#include "property_feed.h"

enum { MOST_SLOPES = 6 }; /* of a program */

/* The sum of y's elements; NaN where one is not definite. */
static double total(const oracle *o, const mtf_tensor *y, double *magnitude)
{
    const value *v = oracle_value(o, y);
    double       sum = 0;
    *magnitude = 0;
    for (int64_t i = 0; v && i < v->n; i++) {
        if (!number_known(v->at[i])) return NAN;
        sum += v->at[i].v;
        *magnitude += fabs(v->at[i].v);
    }
    return v ? sum : (double)NAN;
}

static double moved(const property_case *c, mtf_graph *g, const mtf_tensor *y, const mtf_tensor *x,
                    const double *direction, double by)
{
    oracle *o = oracle_new(g, c->seed);
    double  unused, sum = (double)NAN;
    oracle_nudge(o, x, direction, by);
    if (feed_all(g, NULL, o) && oracle_step(o)) sum = total(o, y, &unused);
    oracle_free(o);
    return sum;
}

/* The slope along the direction that dx says; NaN where an element is not definite. */
static double promised(const oracle *base, const mtf_tensor *dx, const mtf_tensor *x,
                       const double *direction)
{
    const value *v = oracle_value(base, dx);
    double       sum = 0;
    if (!v || mtf_shape_size(x->shape) != v->n) return NAN;
    for (int64_t i = 0; i < v->n; i++) {
        if (!number_known(v->at[i])) return NAN;
        sum += v->at[i].v * direction[i];
    }
    return sum;
}

static verdict check_one(const property_case *c, mtf_graph *g, const oracle *base,
                         const mtf_tensor *y, const mtf_tensor *x, const mtf_tensor *dx,
                         char *reason, coverage *cover)
{
    enum { HALVINGS = 3 };
    int64_t n = mtf_shape_size(x->shape);
    double *direction = calloc((size_t)n + 1, sizeof *direction), magnitude;
    dice    d = {(uint64_t)n * 77 + 5};
    verdict v = VERDICT_SAME;
    for (int64_t i = 0; direction && i < n; i++) direction[i] = dice_below(&d, 2001) / 1000.0 - 1;
    double at = total(base, y, &magnitude), want = promised(base, dx, x, direction);
    double h = 1e-5, up = moved(c, g, y, x, direction, h), down = moved(c, g, y, x, direction, -h);
    double right = (up - at) / h, left = (at - down) / h, middle = (up - down) / (2 * h);
    double room = 1e-6 * (1 + magnitude) + 1e-3 * (fabs(right) + fabs(left) + fabs(want));
    /* Where both sides differ, there is a kink or a jump, and any slope between them may be told. */
    if (isfinite(want) && isfinite(middle) && fabs(right - left) <= room) {
        if (cover) cover->slopes++;
        if (!(fabs(middle - want) <= 2 * room)) {
            snprintf(reason, REASON_ROOM,
                     "gradient %s of %s for %s: slope %.9g, by differences %.9g", dx->name, y->name,
                     x->name, want, middle);
            v = VERDICT_GRADIENT;
        }
    }
    free(direction);
    return v;
}

/* The next name of a list, up to a blank, a comma or a bracket. */
static const char *next_name(const char *at, char name[NAME_ROOM])
{
    at += strspn(at, " ,");
    size_t n = strcspn(at, " ,;)=");
    snprintf(name, NAME_ROOM, "%.*s", (int)n, at);
    return at + n;
}

/* Lines that say on purpose that a gradient is another. */
static bool is_plain_calculus(const property_case *c)
{
    static const char *const words[] = {"stop_gradient", "custom_gradient", "read("};
    for (int i = 0; i < c->nlines; i++)
        for (size_t k = 0; k < sizeof words / sizeof *words; k++)
            if (strstr(c->lines[i], words[k])) return false;
    return true;
}

verdict check_slopes(const property_case *c, mtf_graph *g, const oracle *base,
                     char reason[REASON_ROOM], coverage *cover)
{
    verdict v = VERDICT_SAME;
    int     done = 0;
    if (!is_plain_calculus(c)) return v;
    for (int i = 0; i < c->nlines && v == VERDICT_SAME; i++) {
        const char *left = c->lines[i], *right = strstr(left, "gradients("), *xs;
        char        y[NAME_ROOM], x[NAME_ROOM], dx[NAME_ROOM];
        if (!right || left[0] == ' ') continue;
        xs = next_name(right + strlen("gradients("), y);
        for (xs++; *xs && *xs != ')' && done < MOST_SLOPES && v == VERDICT_SAME; done++) {
            xs = next_name(xs, x);
            left = next_name(left, dx);
            mtf_tensor *ty = mtf_find(g, y), *tx = mtf_find(g, x), *tdx = mtf_find(g, dx);
            if (ty && tx && tdx) v = check_one(c, g, base, ty, tx, tdx, reason, cover);
        }
    }
    return v;
}

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

/* One step with x moved along the direction. */
static oracle *moved(const property_case *c, mtf_graph *g, const mtf_tensor *x,
                     const double *direction, double by)
{
    oracle *o = oracle_new(g, c->seed);
    oracle_nudge(o, x, direction, by);
    if (feed_all(g, NULL, o)) oracle_step(o);
    return o;
}

/* The slope along the direction that dx says; NaN where an element is not definite. */
static double promised(const oracle *o, const mtf_tensor *dx, const double *direction)
{
    const value *v = oracle_value(o, dx);
    double       sum = 0;
    for (int64_t i = 0; v && i < v->n; i++) {
        if (!number_known(v->at[i])) return NAN;
        sum += v->at[i].v * direction[i];
    }
    return v ? sum : (double)NAN;
}

/* x is moved a little, off what inputs make equal on purpose, and from there to both sides. */
static verdict check_one(const property_case *c, mtf_graph *g, const mtf_tensor *y,
                         const mtf_tensor *x, const mtf_tensor *dx, char *reason, coverage *cover)
{
    const double h = 1e-5, from = 0.01;
    int64_t      n = mtf_shape_size(x->shape);
    double      *direction = calloc((size_t)n + 1, sizeof *direction), sums[3], magnitude = 0;
    dice         d = {(uint64_t)n * 77 + 5};
    verdict      v = VERDICT_SAME;
    double       want = (double)NAN;
    if (!direction) return v;
    for (int64_t i = 0; i < n; i++) direction[i] = dice_below(&d, 2001) / 1000.0 - 1;
    for (int k = 0; k < 3; k++) {
        oracle *o = moved(c, g, x, direction, from + (k - 1) * h);
        sums[k] = total(o, y, &magnitude);
        if (k == 1) want = promised(o, dx, direction);
        oracle_free(o);
    }
    double left = (sums[1] - sums[0]) / h, right = (sums[2] - sums[1]) / h,
           middle = (left + right) / 2;
    double room = 1e-6 * (1 + magnitude) + 1e-3 * (fabs(right) + fabs(left) + fabs(want));
    /* Where both sides differ, there is a kink or a jump. */
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

/* ---- where a gradient is another on purpose ---- */

static bool says_its_own(const node *n)
{
    static const char *const ops[] = {"assign", "read", "custom_gradient", "mod"};
    for (size_t k = 0; k < sizeof ops / sizeof *ops; k++)
        if (!strcmp(n->op->name, ops[k])) return true;
    for (int b = 0; n->op->blocks && n->op->blocks[b]; b++)
        for (int i = 0; i < n->blocks[b]->nnodes; i++)
            if (says_its_own(n->blocks[b]->nodes[i])) return true;
    return false;
}

/* Does nothing that y depends on stop a gradient or have one of its own? */
static bool is_plain_calculus(const property_case *c, const mtf_graph *g, const mtf_tensor *y)
{
    bool *needed = calloc((size_t)g->nnodes + 1, sizeof *needed), plain = needed != NULL;
    for (int i = 0; i < c->nlines; i++)
        if (strstr(c->lines[i], "stop_gradient")) plain = false;
    if (plain) needed[y->node->id] = true;
    for (int i = g->root.nnodes - 1; i >= 0 && plain; i--) {
        const node *n = g->root.nodes[i];
        if (!needed[n->id]) continue;
        plain = !says_its_own(n);
        for (int k = 0; k < n->nin; k++) needed[n->in[k]->node->id] = true;
    }
    free(needed);
    return plain;
}

verdict check_slopes(const property_case *c, mtf_graph *g, char reason[REASON_ROOM],
                     coverage *cover)
{
    verdict v = VERDICT_SAME;
    int     done = 0;
    for (int i = 0; i < c->nlines && v == VERDICT_SAME; i++) {
        const char *left = c->lines[i], *right = strstr(left, "gradients("), *xs;
        char        y[NAME_ROOM], x[NAME_ROOM], dx[NAME_ROOM];
        if (!right || left[0] == ' ') continue;
        xs = next_name(right + strlen("gradients("), y);
        for (xs++; *xs && *xs != ')' && done < MOST_SLOPES && v == VERDICT_SAME; done++) {
            xs = next_name(xs, x);
            left = next_name(left, dx);
            mtf_tensor *ty = mtf_find(g, y), *tx = mtf_find(g, x), *tdx = mtf_find(g, dx);
            if (ty && tx && tdx && is_plain_calculus(c, g, ty))
                v = check_one(c, g, ty, tx, tdx, reason, cover);
        }
    }
    return v;
}

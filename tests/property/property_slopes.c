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

/* One line `dxs = gradients(ys; xs; dys)`. */
enum { MOST_NAMES = 4 };

typedef struct gradient_line {
    int               ny, nx, ndy; /* without dys, all of them are 1 */
    const mtf_tensor *ys[MOST_NAMES], *xs[MOST_NAMES], *dys[MOST_NAMES], *dxs[MOST_NAMES];
} gradient_line;

/* The sum of the ys' elements, each times what `weights` has for its dy; NaN where one of them is not
 * definite. */
static double total(const oracle *o, const oracle *weights, const gradient_line *l,
                    double *magnitude)
{
    double sum = 0;
    *magnitude = 0;
    for (int k = 0; k < l->ny; k++) {
        const value *v = oracle_value(o, l->ys[k]);
        const value *w = l->ndy ? oracle_value(weights, l->dys[k]) : NULL;
        if (!v || (l->ndy && !w)) return NAN;
        for (int64_t i = 0; i < v->n; i++) {
            if (!number_known(v->at[i]) || (w && !number_known(w->at[i]))) return NAN;
            double term = v->at[i].v * (w ? w->at[i].v : 1);
            sum += term;
            *magnitude += fabs(term);
        }
    }
    return sum;
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

/* The k-th x is moved a little, off what inputs make equal on purpose, and from there to both sides. */
static verdict check_one(const property_case *c, mtf_graph *g, const gradient_line *l, int k,
                         char *reason, coverage *cover)
{
    const double      h = 1e-5, from = 0.01;
    const mtf_tensor *x = l->xs[k];
    int64_t           n = mtf_shape_size(x->shape);
    double           *direction = calloc((size_t)n + 1, sizeof *direction), sums[3], magnitude = 0;
    dice              d = {(uint64_t)n * 77 + 5};
    verdict           v = VERDICT_SAME;
    oracle           *at[3];
    if (!direction) return v;
    for (int64_t i = 0; i < n; i++) direction[i] = dice_below(&d, 2001) / 1000.0 - 1;
    for (int i = 0; i < 3; i++) at[i] = moved(c, g, x, direction, from + (i - 1) * h);
    for (int i = 0; i < 3; i++) sums[i] = total(at[i], at[1], l, &magnitude);
    double want = promised(at[1], l->dxs[k], direction);
    for (int i = 0; i < 3; i++) oracle_free(at[i]);
    double left = (sums[1] - sums[0]) / h, right = (sums[2] - sums[1]) / h,
           middle = (left + right) / 2;
    double room = 1e-6 * (1 + magnitude) + 1e-3 * (fabs(right) + fabs(left) + fabs(want));
    /* Where both sides differ, there is a kink or a jump. */
    if (isfinite(want) && isfinite(middle) && fabs(right - left) <= room) {
        if (cover) cover->slopes++;
        if (!(fabs(middle - want) <= 2 * room)) {
            snprintf(reason, REASON_ROOM, "gradient %s for %s: slope %.9g, by differences %.9g",
                     l->dxs[k]->name, x->name, want, middle);
            v = VERDICT_GRADIENT;
        }
    }
    free(direction);
    return v;
}

/* ---- the lines ---- */

/* Reads names up to a semicolon, a bracket or a sign; gives how many. */
static int read_names(mtf_graph *g, const char **text, const mtf_tensor *list[MOST_NAMES])
{
    int         n = 0;
    const char *at = *text;
    for (; *at && !strchr(";)=", *at); at += strspn(at, " ,")) {
        char   name[NAME_ROOM];
        size_t length = strcspn(at, " ,;)=");
        snprintf(name, sizeof name, "%.*s", (int)length, at);
        if (n < MOST_NAMES) list[n++] = mtf_find(g, name);
        at += length;
    }
    *text = at + (*at == ';') + strspn(at + (*at == ';'), " ");
    return n;
}

static bool read_line(mtf_graph *g, const char *line, gradient_line *l)
{
    const char *right = strstr(line, "gradients(");
    if (!right || line[0] == ' ') return false;
    *l = (gradient_line){0};
    read_names(g, &line, l->dxs);
    right += strlen("gradients(");
    l->ny = read_names(g, &right, l->ys);
    l->nx = read_names(g, &right, l->xs);
    if (*right != ')') l->ndy = read_names(g, &right, l->dys);
    return true;
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

/* Does nothing that the ys depend on stop a gradient or have one of its own? */
static bool is_plain_calculus(const property_case *c, const mtf_graph *g, const gradient_line *l)
{
    bool *needed = calloc((size_t)g->nnodes + 1, sizeof *needed), plain = needed != NULL;
    for (int i = 0; i < c->nlines; i++)
        if (strstr(c->lines[i], "stop_gradient")) plain = false;
    for (int k = 0; k < l->ny && plain; k++) needed[l->ys[k]->node->id] = true;
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
    verdict       v = VERDICT_SAME;
    int           done = 0;
    gradient_line l;
    for (int i = 0; i < c->nlines && v == VERDICT_SAME; i++)
        if (read_line(g, c->lines[i], &l) && is_plain_calculus(c, g, &l))
            for (int k = 0; k < l.nx && done < MOST_SLOPES && v == VERDICT_SAME; k++, done++)
                v = check_one(c, g, &l, k, reason, cover);
    return v;
}

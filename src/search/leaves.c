/* Legal layouts in the order of their bounds. */
#include "search/leaves.h"

#include <math.h>

/* ---- a heap ---- */

static bool before(const leaves *l, const leaf *a, const leaf *b)
{
    if (a->bound != b->bound) return a->bound < b->bound;
    return cuts_before(l->space, &a->cuts, &b->cuts);
}

static void sink(leaves *l, int at)
{
    leaf x = l->heap[at];
    for (int child; (child = 2 * at + 1) < l->n; at = child) {
        if (child + 1 < l->n && before(l, &l->heap[child + 1], &l->heap[child])) child++;
        if (!before(l, &l->heap[child], &x)) break;
        l->heap[at] = l->heap[child];
    }
    l->heap[at] = x;
}

leaf leaves_pop(leaves *l)
{
    leaf first = l->heap[0];
    l->heap[0] = l->heap[--l->n];
    if (l->n) sink(l, 0);
    return first;
}

void leaves_push(leaves *l, const leaf *x)
{
    int at = l->n++;
    for (; at > 0 && before(l, x, &l->heap[(at - 1) / 2]); at = (at - 1) / 2)
        l->heap[at] = l->heap[(at - 1) / 2];
    l->heap[at] = *x;
}

/* ---- all legal layouts ---- */

typedef struct walk {
    leaves         *leaves;
    const symmetry *symmetry;
    const int      *order; /* dimensions, the most influential first */
    double          threshold;
    int             most;
    leaf_bound     *bound;
    const void     *context;
    arena          *arena;
    cuts            cuts;
} walk;

static void left_behind(leaves *l, double bound)
{
    l->beyond = fmin(l->beyond, bound);
}

static bool add_leaf(walk *w)
{
    leaves *l = w->leaves;
    if (!space_is_canonical(l->space, w->symmetry, &w->cuts)) return true;
    double bound = w->bound(w->context, &w->cuts, EVERY_SEARCHED);
    l->counted++;
    l->full = l->full || l->n == w->most;
    if (bound > w->threshold || isinf(bound) || l->full) {
        left_behind(l, bound);
        return true;
    }
    TRY(arena_push(w->arena, l->heap, l->n, l->room));
    l->heap[l->n++] = (leaf){bound, w->cuts};
    return true;
}

static bool walk_from(walk *w, int depth, uint64_t decided)
{
    const space *s = w->leaves->space;
    if (depth == s->ndims) return add_leaf(w);
    int      d = w->order[depth];
    uint64_t then = decided | (uint64_t)1 << d;
    if (s->dims[d].fixed) return walk_from(w, depth + 1, decided);
    for (unsigned axes = 0; axes <= s->axes; axes++) {
        if (axes & ~s->axes || !space_allows(s, &w->cuts, decided, d, axes)) continue;
        w->cuts.of[d] = (uint8_t)axes;
        double bound = w->bound(w->context, &w->cuts, then);
        if (bound > w->threshold || isinf(bound) || w->leaves->full)
            left_behind(w->leaves, bound);
        else
            TRY(walk_from(w, depth + 1, then));
    }
    w->cuts.of[d] = 0;
    return true;
}

bool leaves_list(leaves *l, const symmetry *y, const int *order, double threshold, int most,
                 leaf_bound *bound, const void *context, arena *a)
{
    walk w = {.leaves = l,
              .symmetry = y,
              .order = order,
              .threshold = threshold,
              .most = most,
              .bound = bound,
              .context = context,
              .arena = a};
    l->n = 0;
    l->counted = 0;
    l->full = false;
    l->beyond = INFINITY;
    uint64_t fixed = 0;
    for (int d = 0; d < l->space->ndims; d++)
        if (l->space->dims[d].fixed) {
            fixed |= (uint64_t)1 << d;
            w.cuts.of[d] = (uint8_t)cut_axes(&l->space->dims[d].cut);
        }
    TRY(walk_from(&w, 0, fixed));
    for (int k = l->n / 2 - 1; k >= 0; k--) sink(l, k);
    return true;
}

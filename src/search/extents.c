/* Amounts that shrink as dimensions are cut. */
#include "search/extents.h"

#include <math.h>
#include <string.h>

static bool same_kind(const extent *a, const extent *b)
{
    return a->part == b->part && a->ndims == b->ndims &&
           memcmp(a->dim, b->dim, sizeof a->dim) == 0 &&
           memcmp(a->size, b->size, sizeof a->size) == 0;
}

bool extents_add(extents *to, const space *s, arena *a, int of, int ndims, const mtf_dim *dims,
                 double amount)
{
    extent x = {.part = of, .amount = amount};
    for (int d = 0; d < ndims; d++) {
        int at = space_find(s, dims[d].name);
        if (at < 0) continue;
        x.dim[x.ndims] = at;
        x.size[x.ndims++] = dims[d].size;
    }
    int k = 0;
    while (k < to->n && !same_kind(&to->list[k], &x)) k++;
    if (k == to->n) {
        TRY(arena_push(a, to->list, to->n, to->room));
        to->list[to->n++] = x;
    } else {
        to->list[k].amount += amount;
    }
    return true;
}

static int parts_of_axes(const mesh *m, unsigned axes)
{
    int n = 1;
    for (int a = 0; axes >> a; a++)
        if (axes >> a & 1) n *= m->size[a];
    return n;
}

/* Decided dimensions are cut as decided, the others along every axis that is left.  Uneven parts
 * count as even ones, which is a lower bound. */
double extent_least(const space *s, const extents *e, int k, const cuts *c, uint64_t decided)
{
    const extent *x = &e->list[k];
    double        largest = x->amount, even = x->amount;
    unsigned      used = 0;
    bool          all = true;
    for (int d = 0; d < x->ndims; d++) {
        if (!(decided >> x->dim[d] & 1)) {
            all = false;
            continue;
        }
        unsigned axes = c->of[x->dim[d]];
        if (!axes) continue; /* the most frequent case */
        int64_t n = parts_of_axes(s->mesh, axes);
        largest *= (double)((x->size[d] + n - 1) / n) / (double)x->size[d];
        even /= (double)n;
        used |= axes;
    }
    if (e->once) even = largest = x->amount / parts_of_axes(s->mesh, used);
    double least = fmax(largest / fmax(e->alone, 1), even);
    return all ? least : least / parts_of_axes(s->mesh, s->axes & ~used);
}

double extents_least(const space *s, const extents *e, const cuts *c, uint64_t decided)
{
    double amount = 0;
    for (int k = 0; k < e->n; k++) amount += extent_least(s, e, k, c, decided);
    return amount;
}

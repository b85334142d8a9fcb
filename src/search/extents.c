/* Amounts that shrink as dimensions are cut. */
#include "search/extents.h"

#include "base/whole.h"

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

/* May a dimension be cut along an axis that cuts another of the same extent?  Where no tensor has both. */
static bool may_share(const space *s, const extent *x, const cuts *c, uint64_t decided, int d)
{
    for (int e = 0; e < x->ndims; e++) {
        bool other = e != d && decided >> x->dim[e] & 1 && c->of[x->dim[e]];
        if (other && !(s->dims[x->dim[d]].apart >> x->dim[e] & 1)) return true;
    }
    return false;
}

/* Decided dimensions are cut as decided, the others along every axis that is left.  An axis divides once,
 * also where it cuts several dimensions: then, and wherever sizes are not known, parts count as even ones,
 * which is a lower bound. */
double extent_least(const space *s, const extents *e, int k, const cuts *c, uint64_t decided)
{
    const extent *x = &e->list[k];
    double        largest = x->amount;
    unsigned      used = 0;
    bool          all = true, even_only = e->once;
    for (int d = 0; d < x->ndims; d++) {
        bool     open = !(decided >> x->dim[d] & 1);
        unsigned axes = open ? 0 : c->of[x->dim[d]];
        all = all && !open;
        even_only = even_only || used & axes || (open && may_share(s, x, c, decided, d));
        if (!axes) continue; /* the most frequent case */
        int64_t n = parts_of_axes(s->mesh, axes);
        largest *= (double)ceil_div(x->size[d], n) / (double)x->size[d];
        used |= axes;
    }
    double even = x->amount / parts_of_axes(s->mesh, used);
    double least = even_only ? even : fmax(largest / fmax(e->alone, 1), even);
    return all ? least : least / parts_of_axes(s->mesh, s->axes & ~used);
}

double extents_least(const space *s, const extents *e, const cuts *c, uint64_t decided)
{
    double amount = 0;
    for (int k = 0; k < e->n; k++) amount += extent_least(s, e, k, c, decided);
    return amount;
}

/* Amounts that shrink as dimensions are cut. */
#include "search/extents.h"

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

/* Decided dimensions are cut as they are; the others along every axis that is left. */
double extent_least(const space *s, const extent *x, const cuts *c, uint64_t decided)
{
    double   amount = x->amount;
    unsigned used = 0;
    bool     all = true;
    for (int d = 0; d < x->ndims; d++) {
        if (!(decided >> x->dim[d] & 1)) {
            all = false;
            continue;
        }
        unsigned axes = c->of[x->dim[d]];
        int64_t  n = parts_of_axes(s->mesh, axes);
        used |= axes;
        amount *= (double)((x->size[d] + n - 1) / n) / (double)x->size[d];
    }
    return all ? amount : amount / parts_of_axes(s->mesh, s->axes & ~used);
}

double extents_least(const space *s, const extents *e, const cuts *c, uint64_t decided)
{
    double amount = 0;
    for (int k = 0; k < e->n; k++) amount += extent_least(s, &e->list[k], c, decided);
    return amount;
}

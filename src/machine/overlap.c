/* Regions: the old parts that make up a new part. */
#include "machine/overlap.h"

#include <string.h>

#include "program/exchange.h"

/* The first and last part of dimension d that overlap the wanted part; first > last: none. */
static void overlapping(region_visit *v, int d)
{
    const exchange_args *h = v->how;
    int64_t              size = h->shape.dims[d].size;
    span                 want = exchange_wanted(v->mesh, h, d, &v->here);
    int                  parts = cut_parts(v->mesh, &h->from.dim[d]);
    v->first[d] = want.size ? part_holding(size, parts, want.begin) : parts;
    v->last[d] = want.size ? part_holding(size, parts, want.begin + want.size - 1) : -1;
}

region_visit region_start(const mesh *m, const exchange_args *how, const mesh_point *here)
{
    region_visit v = {.mesh = m, .how = how, .here = *here};
    for (int d = 0; d < how->shape.ndims; d++) {
        overlapping(&v, d);
        v.at[d] = v.first[d];
        if (v.first[d] > v.last[d]) v.done = true; /* the wanted part is empty */
    }
    return v;
}

bool region_next(region_visit *v, region *r)
{
    if (v->done) return false;
    const exchange_args *h = v->how;
    int                  nd = h->shape.ndims;
    r->source = v->here;
    r->ndims = nd;
    for (int d = 0; d < nd; d++) {
        int64_t size = h->shape.dims[d].size;
        span    want = exchange_wanted(v->mesh, h, d, &v->here);
        span    has = part_range(size, cut_parts(v->mesh, &h->from.dim[d]), v->at[d]);
        int64_t begin = has.begin > want.begin ? has.begin : want.begin;
        int64_t end_has = has.begin + has.size, end_want = want.begin + want.size;
        r->size[d] = (end_has < end_want ? end_has : end_want) - begin;
        r->from_begin[d] = begin - has.begin;
        r->from_size[d] = has.size;
        r->to_begin[d] = begin - want.begin;
        r->to_size[d] = want.size;
        cut_set_part(v->mesh, &h->from.dim[d], v->at[d], &r->source);
    }
    int d = nd - 1;
    while (d >= 0 && ++v->at[d] > v->last[d]) v->at[d] = v->first[d], d--;
    v->done = d < 0;
    return true;
}

int64_t region_elements(const region *r)
{
    int64_t n = 1;
    for (int d = 0; d < r->ndims; d++) n *= r->size[d];
    return n;
}

/* The last dimension is contiguous in both arrays. */
void region_copy(const region *r, const char *from, char *to, int64_t bytes)
{
    int     nd = r->ndims;
    int64_t at[MTF_SHAPE_ROOM] = {0};
    int64_t run = nd ? r->size[nd - 1] : 1;
    if (region_elements(r) == 0) return;
    for (;;) {
        int64_t source = 0, target = 0;
        for (int d = 0; d < nd; d++) {
            source = source * r->from_size[d] + r->from_begin[d] + at[d];
            target = target * r->to_size[d] + r->to_begin[d] + at[d];
        }
        memcpy(to + target * bytes, from + source * bytes, (size_t)(run * bytes));
        int d = nd - 2;
        while (d >= 0 && ++at[d] == r->size[d]) at[d--] = 0;
        if (d < 0) return;
    }
}

/* Legs: the messages of an exchange between processes. */
#include "machine/legs.h"

#include "machine/wire.h"

bool next_in(const mesh *m, region_visit *v, leg *l)
{
    while (region_next(v, &l->region)) {
        l->peer = mesh_number(m, &l->region.source);
        if (region_elements(&l->region) > 0) return true;
    }
    return false;
}

out_visit out_start(const mesh *m, int me, span process, const exchange_args *how)
{
    return (out_visit){.group = group_of(m, me, placement_axes(&how->from, how->shape.ndims)),
                       .here = mesh_place(m, me),
                       .process = process};
}

bool leg_region(const mesh *m, const exchange_args *how, const mesh_point *source,
                const mesh_point *reader, region *r)
{
    region_visit v = region_start(m, how, reader);
    if (v.done) return false;
    for (int d = 0; d < how->shape.ndims; d++) {
        v.at[d] = cut_part(m, &how->from.dim[d], source);
        if (v.at[d] < v.first[d] || v.at[d] > v.last[d]) return false;
    }
    return region_next(&v, r) && region_elements(r) > 0;
}

bool next_out(const mesh *m, const exchange_args *how, out_visit *v, leg *l)
{
    while (v->next < v->group.n) {
        l->peer = group_member(m, &v->group, group_after(&v->group, v->next++));
        mesh_point reader = mesh_place(m, l->peer);
        bool here = l->peer >= v->process.begin && l->peer < v->process.begin + v->process.size;
        if (!here && leg_region(m, how, &v->here, &reader, &l->region)) return true;
    }
    return false;
}

bool is_run(const region *r, const int64_t *extent)
{
    int d = 0;
    while (d < r->ndims && r->size[d] == 1) d++;
    for (d++; d < r->ndims; d++)
        if (r->size[d] != extent[d]) return false;
    return true;
}

int64_t run_offset(const region *r, const int64_t *begin, const int64_t *extent)
{
    int64_t at = 0;
    for (int d = 0; d < r->ndims; d++) at = at * extent[d] + begin[d];
    return at;
}

region packed_to(const region *r)
{
    region packed = *r;
    for (int d = 0; d < r->ndims; d++) packed.to_begin[d] = 0, packed.to_size[d] = r->size[d];
    return packed;
}

region packed_from(const region *r)
{
    region packed = *r;
    for (int d = 0; d < r->ndims; d++) packed.from_begin[d] = 0, packed.from_size[d] = r->size[d];
    return packed;
}

bool same_region(const region *a, const region *b)
{
    for (int d = 0; d < a->ndims; d++)
        if (a->size[d] != b->size[d] || a->from_begin[d] != b->from_begin[d]) return false;
    return true;
}

/* Exchanges: which processor has, and which needs, which part. */
#include "program/exchange.h"

#include <assert.h>

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/* The indices that a non-empty part needs, whether they exist or not. */
static span span_asked(const span_map *map, span part)
{
    int64_t first = part.begin, last = part.begin + part.size - 1;
    int64_t begin = floor_div(map->mult * (map->mult < 0 ? last : first) + map->low, map->div);
    int64_t end = floor_div(map->mult * (map->mult < 0 ? first : last) + map->high, map->div) + 1;
    return (span){begin, end - begin};
}

static span span_wanted(const mesh *m, const span_map *map, const mesh_point *p, int64_t size)
{
    assert(map->div > 0 && "a span map needs its divisor, 1 or more");
    span part = cut_range(m, &map->cut, p, map->size);
    if (part.size == 0) return (span){0, 0};
    span    asked = span_asked(map, part);
    int64_t begin = asked.begin, end = asked.begin + asked.size;
    if (begin < 0) begin = 0;
    if (end > size) end = size;
    return begin < end ? (span){begin, end - begin} : (span){0, 0};
}

/* If no part is empty and none is counted from the end, the indices that parts need increase with
 * them. */
void exchange_readers(const mesh *m, const exchange_args *how, int d, span has, int *first,
                      int *last)
{
    const span_map *map = &how->map[d];
    int             parts = cut_parts(m, &map->cut);
    if (map->mult < 0 || map->size < parts) return;
    for (int step = parts; step > 0; step = step > 1 ? (step + 1) / 2 : 0) {
        int  a = *first + step - 1, b = *last - step + 1;
        span x = span_asked(map, part_range(map->size, parts, a < parts ? a : parts - 1));
        span y = span_asked(map, part_range(map->size, parts, b > 0 ? b : 0));
        if (a < *last && x.begin + x.size <= has.begin) *first += step;
        if (b > *first && y.begin >= has.begin + has.size) *last -= step;
    }
}

static bool is_mapped(const exchange_args *how, int d)
{
    return how->mapped >> d & 1;
}

span exchange_has(const mesh *m, const exchange_args *how, int d, const mesh_point *p)
{
    return cut_range(m, &how->from.dim[d], p, how->shape.dims[d].size);
}

span exchange_wanted(const mesh *m, const exchange_args *how, int d, const mesh_point *p)
{
    int64_t size = how->shape.dims[d].size;
    return is_mapped(how, d) ? span_wanted(m, &how->map[d], p, size)
                             : cut_range(m, &how->to.dim[d], p, size);
}

const axis_list *exchange_cut(const exchange_args *how, int d)
{
    return is_mapped(how, d) ? &how->map[d].cut : &how->to.dim[d];
}

int64_t span_overlap(span a, span b)
{
    int64_t begin = a.begin > b.begin ? a.begin : b.begin;
    int64_t end_a = a.begin + a.size, end_b = b.begin + b.size, end = end_a < end_b ? end_a : end_b;
    return end > begin ? end - begin : 0;
}

int64_t exchange_kept(const mesh *m, const exchange_args *how, const mesh_point *p)
{
    int64_t n = 1;
    for (int d = 0; d < how->shape.ndims; d++)
        n *= span_overlap(exchange_has(m, how, d, p), exchange_wanted(m, how, d, p));
    return n;
}

int64_t exchange_part(const mesh *m, const exchange_args *how, const mesh_point *p)
{
    int64_t n = 1;
    for (int d = 0; d < how->shape.ndims; d++) n *= exchange_has(m, how, d, p).size;
    return n;
}

int64_t exchange_largest(const mesh *m, const exchange_args *how)
{
    int64_t n = 1;
    for (int d = 0; d < how->shape.ndims; d++) {
        int parts = cut_parts(m, &how->from.dim[d]);
        n *= (how->shape.dims[d].size + parts - 1) / parts;
    }
    return n;
}

int64_t exchange_received(const mesh *m, const exchange_args *how, const mesh_point *p)
{
    int64_t n = 1;
    for (int d = 0; d < how->shape.ndims; d++) n *= exchange_wanted(m, how, d, p).size;
    return n - exchange_kept(m, how, p);
}

/* Does every processor have what it needs of dimension d? */
static bool stays(const mesh *m, const exchange_args *how, int d)
{
    const axis_list *has = &how->from.dim[d], *wants = exchange_cut(how, d);
    if (cut_parts(m, has) == 1) return true;
    if (!is_mapped(how, d) && cut_refines(wants, has)) return true; /* parts nest */
    if (cut_axes(has) & ~cut_axes(wants)) return false; /* several need the part of one */
    for (int k = 0; k < cut_parts(m, wants); k++) {
        mesh_point p = {0};
        cut_set_part(m, wants, k, &p);
        span want = exchange_wanted(m, how, d, &p);
        if (span_overlap(exchange_has(m, how, d, &p), want) < want.size) return false;
    }
    return true;
}

bool exchange_is_local(const mesh *m, const exchange_args *how)
{
    for (int d = 0; d < how->shape.ndims; d++)
        if (!stays(m, how, d)) return false;
    return true;
}

unsigned exchange_gathers(const exchange_args *how)
{
    unsigned axes = 0;
    for (int d = 0; d < how->shape.ndims && !how->mapped; d++) {
        if (cut_equal(&how->from.dim[d], &how->to.dim[d])) continue;
        if (how->to.dim[d].n) return 0;
        axes |= cut_axes(&how->from.dim[d]);
    }
    return axes;
}

unsigned exchange_axes(const exchange_args *how)
{
    unsigned gathered = exchange_gathers(how);
    return gathered ? gathered : placement_axes(&how->from, how->shape.ndims);
}

run_plan find_runs(const mesh *m, const exchange_args *how, int me, int64_t bytes)
{
    run_plan   r = {-1, bytes};
    mesh_point here = mesh_place(m, me);
    int        ndims = exchange_gathers(how) ? how->shape.ndims : 0;
    for (int d = 0; d < ndims; d++) {
        const axis_list *from = &how->from.dim[d];
        int64_t          local = cut_range(m, from, &here, how->shape.dims[d].size).size;
        bool             gathered = !cut_equal(from, &how->to.dim[d]);
        if (gathered && r.dim >= 0) return (run_plan){-1, bytes};
        if (gathered)
            r.dim = d;
        else if (r.dim >= 0)
            r.row *= local;
        else if (local != 1)
            return r;
    }
    return r;
}

span run_of(const mesh *m, const exchange_args *how, const run_plan *r, int processor)
{
    mesh_point there = mesh_place(m, processor);
    span       part = cut_range(m, &how->from.dim[r->dim], &there, how->shape.dims[r->dim].size);
    return (span){part.begin * r->row, part.size * r->row};
}

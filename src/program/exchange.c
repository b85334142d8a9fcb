/* Exchanges: which processor has, and which needs, which part. */
#include "program/exchange.h"

#include "base/whole.h"

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

/* ---- readers along a map ---- */

/* What the parts of a map's cut need, in ascending order: of more parts than elements only those that are not
 * empty, one for each element.  So indices increase from one to the next. */
typedef struct asking {
    const span_map *map;
    int             n, parts;
} asking;

static asking asking_of(const mesh *m, const span_map *map)
{
    int parts = cut_parts(m, &map->cut);
    return (asking){map, map->size < parts ? (int)map->size : parts, parts};
}

static span asked_by(const asking *a, int k)
{
    if (a->map->mult < 0) k = a->n - 1 - k;
    return span_asked(a->map,
                      a->n < a->parts ? (span){k, 1} : part_range(a->map->size, a->parts, k));
}

/* The first of all that begins at an index or later, and the first that ends there or later. */
static int first_from(const asking *a, int64_t index, bool ends)
{
    int low = 0, high = a->n;
    while (low < high) {
        int  middle = low + (high - low) / 2;
        span x = asked_by(a, middle);
        if (x.begin + (ends ? x.size : 0) < index)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int64_t exchange_readers(const mesh *m, const exchange_args *how, int d, span has)
{
    asking a = asking_of(m, &how->map[d]);
    if (!has.size) return 0;
    int n = first_from(&a, has.begin + has.size, false) - first_from(&a, has.begin + 1, true);
    return n > 0 ? n : 0;
}

/* Those that need all of it are only counted. */
int64_t exchange_lent(const mesh *m, const exchange_args *how, int d, span has)
{
    asking  a = asking_of(m, &how->map[d]);
    int64_t end = has.begin + has.size, sum = 0;
    if (!has.size) return 0;
    int first = first_from(&a, has.begin + 1, true), last = first_from(&a, end, false);
    int whole = first_from(&a, end, true), beyond = first_from(&a, has.begin + 1, false);
    for (int k = first; k < last; k++) {
        if (k == whole && beyond > whole) {
            sum += (beyond - whole) * has.size;
            k = beyond - 1;
        } else {
            sum += span_overlap(has, asked_by(&a, k));
        }
    }
    return sum;
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

int64_t exchange_cut_size(const exchange_args *how, int d)
{
    return is_mapped(how, d) ? how->map[d].size : how->shape.dims[d].size;
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
        n *= ceil_div(how->shape.dims[d].size, parts);
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

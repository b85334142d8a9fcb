/* Cuts arrays of the host into parts, and joins them. */
#include "run/parts.h"

#include <string.h>

typedef struct walk {
    int     nd;
    int64_t begin[MTF_SHAPE_ROOM], size[MTF_SHAPE_ROOM], whole_stride[MTF_SHAPE_ROOM],
        at[MTF_SHAPE_ROOM];
} walk;

static bool start_walk(const store *s, int p, const mtf_shape *shape, const placement *where,
                       walk *w)
{
    mesh_point here = mesh_place(&s->mesh, p);
    int64_t    stride = 1;
    bool       any = true;
    *w = (walk){.nd = shape->ndims};
    for (int d = w->nd - 1; d >= 0; d--) {
        span r = cut_range(&s->mesh, &where->dim[d], &here, shape->dims[d].size);
        w->begin[d] = r.begin;
        w->size[d] = r.size;
        w->whole_stride[d] = stride;
        stride *= shape->dims[d].size;
        any = any && r.size > 0;
    }
    return any;
}

/* The next position of all but the last `fixed` dimensions. */
static bool next(walk *w, int fixed)
{
    int d = w->nd - 1 - fixed;
    while (d >= 0 && ++w->at[d] == w->size[d]) w->at[d--] = 0;
    return d >= 0;
}

static int64_t whole_index(const walk *w)
{
    int64_t index = 0;
    for (int d = 0; d < w->nd; d++) index += (w->begin[d] + w->at[d]) * w->whole_stride[d];
    return index;
}

mtf_part part_of(const store *s, int p, const mtf_shape *shape, const placement *where, void *data)
{
    mesh_point here = mesh_place(&s->mesh, p);
    mtf_part   part = {
          .processor = p, .shape = placement_local(&s->mesh, where, &here, shape), .data = data};
    for (int d = 0; d < shape->ndims; d++)
        part.begin[d] = cut_range(&s->mesh, &where->dim[d], &here, shape->dims[d].size).begin;
    return part;
}

void part_pack(const store *s, int p, mtf_dtype type, const mtf_shape *shape,
               const placement *where, const char *whole, char *dense)
{
    walk    w;
    int64_t bytes = (int64_t)mtf_dtype_bytes(type);
    if (!start_walk(s, p, shape, where, &w)) return;
    /* Trailing dimensions that are not cut are contiguous. */
    int     fixed = 0;
    int64_t run = 1;
    while (fixed < w.nd && w.size[w.nd - 1 - fixed] == shape->dims[w.nd - 1 - fixed].size)
        run *= w.size[w.nd - 1 - fixed++];
    if (fixed < w.nd) run *= w.size[w.nd - 1 - fixed++];
    do {
        memcpy(dense, whole + whole_index(&w) * bytes, (size_t)(run * bytes));
        dense += run * bytes;
    } while (next(&w, fixed));
}

bool part_write(const store *s, int p, mtf_dtype type, const mtf_shape *shape,
                const placement *where, const char *whole, void *part)
{
    if (s->device->host_memory) {
        part_pack(s, p, type, shape, where, whole, part);
        return true;
    }
    mtf_session *m = s->session;
    size_t       bytes = (size_t)store_part_bytes(s, type, shape, where, p);
    char        *dense = block_alloc(&m->allocator, &m->fault, bytes, false);
    TRY(dense != NULL);
    part_pack(s, p, type, shape, where, whole, dense);
    s->device->write(s->contexts[p], part, dense, bytes);
    block_free(&m->allocator, dense);
    return mtf_ok(m) || store_blame(s, p);
}

/* How many elements of a part lie before, and after, its first one in memory. */
static void find_extent(const walk *w, const int64_t *stride, int64_t *before, int64_t *after)
{
    *before = *after = 0;
    for (int d = 0; d < w->nd; d++) {
        int64_t reach = (w->size[d] - 1) * stride[d];
        *(reach < 0 ? before : after) += reach;
    }
}

static void unpack(walk *w, int64_t bytes, const char *part, const int64_t *stride, char *whole)
{
    /* A last dimension that is dense in the part is copied at once. */
    bool    dense = w->nd && (stride[w->nd - 1] == 1 || w->size[w->nd - 1] == 1);
    int64_t run = dense ? w->size[w->nd - 1] : 1;
    do {
        int64_t from = 0;
        for (int d = 0; d < w->nd; d++) from += w->at[d] * stride[d];
        memcpy(whole + whole_index(w) * bytes, part + from * bytes, (size_t)(run * bytes));
    } while (next(w, dense ? 1 : 0));
}

bool part_read(const store *s, int p, mtf_dtype type, const mtf_shape *shape,
               const placement *where, const char *part, const int64_t *stride, char *whole)
{
    walk    w;
    int64_t bytes = (int64_t)mtf_dtype_bytes(type), before, after;
    if (!start_walk(s, p, shape, where, &w)) return true;
    if (s->device->host_memory) {
        unpack(&w, bytes, part, stride, whole);
        return true;
    }
    find_extent(&w, stride, &before, &after);
    mtf_session *m = s->session;
    size_t       size = (size_t)((after - before + 1) * bytes);
    char        *copy = block_alloc(&m->allocator, &m->fault, size, false);
    TRY(copy != NULL);
    s->device->read(s->contexts[p], copy, part + before * bytes, size);
    unpack(&w, bytes, copy - before * bytes, stride, whole);
    block_free(&m->allocator, copy);
    return mtf_ok(m) || store_blame(s, p);
}

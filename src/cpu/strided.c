/* Copies of two-dimensional strided blocks, widening and narrowing. */
#include "cpu/strided.h"

#include "base/dtype.h"

static strided block_of(const walk *w, const access *a, char *base)
{
    return (strided){base + walk_offset(w, a) * (int64_t)mtf_dtype_bytes(a->type),
                     nest_stride(w->nest, a, 1), nest_stride(w->nest, a, 0)};
}

void tile_load(walk w, const access *a, char *base, void *tile)
{
    int64_t bytes = (int64_t)mtf_dtype_bytes(dtype_compute(a->type));
    for (char *to = tile; w.left > 0; to += w.rows * w.count * bytes, walk_on(&w))
        strided_loader(a->type)((strided){to, w.count, 1}, block_of(&w, a, base), w.rows, w.count);
}

void tile_store(walk w, const access *a, char *base, void *tile)
{
    int64_t bytes = (int64_t)mtf_dtype_bytes(dtype_compute(a->type));
    for (char *from = tile; w.left > 0; from += w.rows * w.count * bytes, walk_on(&w))
        strided_storer(a->type)(block_of(&w, a, base), (strided){from, w.count, 1}, w.rows,
                                w.count);
}

void *tile_lines(const walk *w, const access *a, char *base, int64_t *apart)
{
    bool widened = dtype_compute(a->type) != a->type, whole = w->rows * w->count == w->left;
    if (widened || !whole || (w->count > 1 && nest_stride(w->nest, a, 0) != 1)) return NULL;
    *apart = w->rows > 1 ? nest_stride(w->nest, a, 1) : w->count;
    return block_of(w, a, base).at;
}

void *tile_in_place(const walk *w, const access *a, char *base)
{
    int64_t apart;
    void   *at = tile_lines(w, a, base, &apart);
    return at && apart == w->count ? at : NULL;
}

void *tile_read(const walk *w, const access *a, char *base, void *tile)
{
    void *place = tile_in_place(w, a, base);
    if (place) return place;
    tile_load(*w, a, base, tile);
    return tile;
}

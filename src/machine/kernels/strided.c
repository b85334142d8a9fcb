/* Copies of two-dimensional strided blocks, widening and narrowing. */
#include "machine/kernels/strided.h"

#include "base/dtype.h"

#define SAME(v) v

/* to[r, c] = convert(from[r, c]).  Either side may be one register tile; both have step 1 then. */
#define COPY(name, TO, FROM, convert)                                                              \
    static void name(strided to, strided from, int64_t rows, int64_t count)                        \
    {                                                                                              \
        for (int64_t r = 0; r < rows; r++) {                                                       \
            TO         *out = (TO *)to.at + r * to.row;                                            \
            const FROM *in = (const FROM *)from.at + r * from.row;                                 \
            if (to.step == 1 && from.step == 1) {                                                  \
                INDEPENDENT                                                                        \
                for (int64_t c = 0; c < count; c++) out[c] = convert(in[c]);                       \
            } else if (to.step == 1 && from.step == 0) {                                           \
                TO value = convert(in[0]);                                                         \
                for (int64_t c = 0; c < count; c++) out[c] = value;                                \
            } else if (to.step == 1) {                                                             \
                INDEPENDENT                                                                        \
                for (int64_t c = 0; c < count; c++) out[c] = convert(in[c * from.step]);           \
            } else {                                                                               \
                for (int64_t c = 0; c < count; c++) out[c * to.step] = convert(in[c * from.step]); \
            }                                                                                      \
        }                                                                                          \
    }

COPY(move_f32, float, float, SAME)
COPY(move_f64, double, double, SAME)
COPY(move_i32, int32_t, int32_t, SAME)
COPY(move_i64, int64_t, int64_t, SAME)
COPY(move_u16, uint16_t, uint16_t, SAME)
COPY(move_u8, uint8_t, uint8_t, SAME)
COPY(load_bf16, float, uint16_t, bf16_to_f32)
COPY(load_f16, float, uint16_t, f16_to_f32)
COPY(store_bf16, uint16_t, float, f32_to_bf16)
COPY(store_f16, uint16_t, float, f32_to_f16)

static strided_copy *const loaders[DTYPES] = {
    [MTF_F32] = move_f32, [MTF_BF16] = load_bf16, [MTF_F16] = load_f16, [MTF_F64] = move_f64,
    [MTF_I32] = move_i32, [MTF_I64] = move_i64,   [MTF_BOOL] = move_u8,
};

static strided_copy *const storers[DTYPES] = {
    [MTF_F32] = move_f32, [MTF_BF16] = store_bf16, [MTF_F16] = store_f16, [MTF_F64] = move_f64,
    [MTF_I32] = move_i32, [MTF_I64] = move_i64,    [MTF_BOOL] = move_u8,
};

static strided_copy *const movers[DTYPES] = {
    [MTF_F32] = move_f32, [MTF_BF16] = move_u16, [MTF_F16] = move_u16, [MTF_F64] = move_f64,
    [MTF_I32] = move_i32, [MTF_I64] = move_i64,  [MTF_BOOL] = move_u8,
};

strided_copy *strided_loader(mtf_dtype type)
{
    return loaders[type];
}

strided_copy *strided_storer(mtf_dtype type)
{
    return storers[type];
}

strided_copy *strided_mover(mtf_dtype type)
{
    return movers[type];
}

static strided block_of(const walk *w, const access *a, char *base)
{
    return (strided){base + walk_offset(w, a) * (int64_t)mtf_dtype_bytes(a->type),
                     nest_stride(w->nest, a, 1), nest_stride(w->nest, a, 0)};
}

void tile_load(walk w, const access *a, char *base, void *tile)
{
    int64_t bytes = (int64_t)mtf_dtype_bytes(dtype_compute(a->type));
    for (char *to = tile; w.left > 0; to += w.rows * w.count * bytes, walk_on(&w))
        loaders[a->type]((strided){to, w.count, 1}, block_of(&w, a, base), w.rows, w.count);
}

void tile_store(walk w, const access *a, char *base, void *tile)
{
    int64_t bytes = (int64_t)mtf_dtype_bytes(dtype_compute(a->type));
    for (char *from = tile; w.left > 0; from += w.rows * w.count * bytes, walk_on(&w))
        storers[a->type](block_of(&w, a, base), (strided){from, w.count, 1}, w.rows, w.count);
}

void *tile_in_place(const walk *w, const access *a, char *base)
{
    bool widened = dtype_compute(a->type) != a->type, whole = w->rows * w->count == w->left;
    if (widened || !whole || (w->count > 1 && nest_stride(w->nest, a, 0) != 1)) return NULL;
    if (w->rows > 1 && nest_stride(w->nest, a, 1) != w->count) return NULL;
    return block_of(w, a, base).at;
}

void *tile_read(const walk *w, const access *a, char *base, void *tile)
{
    void *place = tile_in_place(w, a, base);
    if (place) return place;
    tile_load(*w, a, base, tile);
    return tile;
}

/* Tiles of bf16 products on x86-64: AVX512-BF16 and AMX.
 *
 * VDPBF16PS multiplies 16 pairs of k by one pair each: 24 vectors of sums are 12
 * rows by 32 columns.  TDPBF16PS multiplies 16 rows of 32 by 16 columns: four
 * tiles of sums are 32 rows by 32 columns, beside two of a and two of b.  Its
 * rows are packed in groups of 32 along k, all other operands in pairs.
 */
#include "base/whole.h"
#include "cpu/short_tile.h"

#if defined(__x86_64__)

#include <immintrin.h>

enum { LANES = 16, PAIR = 2, COLS = 32, AVX512_ROWS = 12, AMX_ROWS = 32, AMX_DEEP = 32 };

/* ---- packing ---- */

/* The layout of an operand's panels. */
typedef struct form {
    int wide, group, unit; /* group: PAIR or AMX_DEEP */
} form;

/* x[i][j] = x[j][i] */
static inline void transpose(__m512i x[LANES])
{
    __m512i t[LANES], u[LANES];
    for (int i = 0; i < LANES; i += 2) {
        t[i] = _mm512_unpacklo_epi32(x[i], x[i + 1]);
        t[i + 1] = _mm512_unpackhi_epi32(x[i], x[i + 1]);
    }
    /* u[4 i + j], quarter q: column 4 q + j of rows 4 i to 4 i + 3. */
    for (int i = 0; i < LANES; i += 4) {
        u[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
        u[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
        u[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
        u[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
    }
    for (int j = 0; j < 4; j++) {
        __m512i even = _mm512_shuffle_i32x4(u[j], u[4 + j], 0x88);
        __m512i even_high = _mm512_shuffle_i32x4(u[8 + j], u[12 + j], 0x88);
        __m512i odd = _mm512_shuffle_i32x4(u[j], u[4 + j], 0xdd);
        __m512i odd_high = _mm512_shuffle_i32x4(u[8 + j], u[12 + j], 0xdd);
        x[j] = _mm512_shuffle_i32x4(even, even_high, 0x88);
        x[4 + j] = _mm512_shuffle_i32x4(odd, odd_high, 0x88);
        x[8 + j] = _mm512_shuffle_i32x4(even, even_high, 0xdd);
        x[12 + j] = _mm512_shuffle_i32x4(odd, odd_high, 0xdd);
    }
}

/* x[lane]: up to 32 k, adjacent in memory; missing lanes and elements are 0. */
static inline void load_lanes(const uint16_t *from, int64_t lane, int lanes, int deep,
                              __m512i x[LANES])
{
    __mmask32 there = deep < AMX_DEEP ? (__mmask32)((1u << deep) - 1) : 0xffffffffu;
    for (int i = 0; i < LANES; i++)
        x[i] =
            i < lanes ? _mm512_maskz_loadu_epi16(there, from + i * lane) : _mm512_setzero_si512();
}

/* x[pair]: two k for each of up to 16 lanes, which are adjacent in memory. */
static inline void load_pairs(const uint16_t *from, int64_t along, int lanes, int deep,
                              __m512i x[LANES])
{
    __mmask16 there = (__mmask16)((1u << lanes) - 1);
    for (int i = 0; i < LANES; i++) {
        const uint16_t *first = from + PAIR * i * along;
        __m512i         low = _mm512_setzero_si512(), high = low;
        if (PAIR * i < deep) low = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(there, first));
        if (PAIR * i + 1 < deep)
            high = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(there, first + along));
        x[i] = _mm512_or_si512(low, _mm512_slli_epi32(high, 16));
    }
}

/* Packs 16 lanes from `lane` on, 32 k from l on. */
static inline void pack_block(const short_strip *s, int64_t l, int64_t k, int lane, form f,
                              uint16_t *panel)
{
    __m512i         x[LANES];
    int64_t         left = s->lanes - lane, rest = (round_up(k, f.unit) - l) / PAIR;
    int             lanes = left < 0 ? 0 : left < LANES ? (int)left : LANES;
    int             deep = k - l < AMX_DEEP ? (int)(k - l) : AMX_DEEP;
    bool            by_lanes = s->along == 1;
    const uint16_t *from = s->at + (lanes ? lane * s->lane + l * s->along : 0);
    if (by_lanes)
        load_lanes(from, s->lane, lanes, deep, x);
    else
        load_pairs(from, s->along, lanes, lanes ? deep : 0, x);
    if (by_lanes != (f.group == AMX_DEEP)) transpose(x);
    if (f.group == AMX_DEEP) {
        for (int i = 0; i < LANES; i++)
            _mm512_storeu_si512(panel + l * f.wide + (lane + i) * AMX_DEEP, x[i]);
        return;
    }
    __mmask16 kept = (__mmask16)(f.wide - lane < LANES ? (1u << (f.wide - lane)) - 1 : 0xffffu);
    for (int i = 0; i < LANES && i < rest; i++)
        _mm512_mask_storeu_epi32(panel + (l / PAIR + i) * f.wide * PAIR + lane * PAIR, kept, x[i]);
}

static inline void pack_panels(const short_strip *s, int64_t k, form f, uint16_t *to)
{
    int64_t panel = round_up(k, f.unit) * f.wide;
    for (int64_t done = 0; done < s->lanes; done += f.wide, to += panel) {
        int64_t     left = s->lanes - done;
        short_strip part = {s->at + done * s->lane, s->lane, s->along,
                            left < f.wide ? left : f.wide};
        if (s->along != 1 && s->lane != 1) {
            short_pack(&part, k, f.wide, f.group, f.unit, to);
            continue;
        }
        for (int64_t l = 0; l < k; l += AMX_DEEP)
            for (int lane = 0; lane < f.wide; lane += LANES) pack_block(&part, l, k, lane, f, to);
    }
}

static void narrow(int64_t n, const float *from, uint16_t *to)
{
    for (int64_t i = 0; i < n; i++) to[i] = f32_to_bf16(from[i]);
}

/* ---- AVX512-BF16 ---- */

static void pack_rows_avx512(const short_strip *s, int64_t k, uint16_t *to)
{
    pack_panels(s, k, (form){AVX512_ROWS, PAIR, PAIR}, to);
}

static void pack_columns_avx512(const short_strip *s, int64_t k, uint16_t *to)
{
    pack_panels(s, k, (form){COLS, PAIR, PAIR}, to);
}

static inline __m512bh pairs_at(const uint16_t *from)
{
    return (__m512bh)_mm512_loadu_si512(from);
}

/* The same pair of k in every lane. */
static inline __m512bh pair_of(const uint16_t *from)
{
    int pair;
    memcpy(&pair, from, sizeof pair);
    return (__m512bh)_mm512_set1_epi32(pair);
}

/* to[m * row + n] = sum over k of a[k / 2][m][k % 2] * b[k / 2][n][k % 2] */
static void run_avx512(int64_t k, const uint16_t *a, const uint16_t *b, float *to, int64_t row)
{
    __m512 low[AVX512_ROWS], high[AVX512_ROWS];
    for (int i = 0; i < AVX512_ROWS; i++) low[i] = high[i] = _mm512_setzero_ps();
    for (int64_t l = 0; l < k; l += PAIR, a += PAIR * AVX512_ROWS, b += PAIR * COLS) {
        __m512bh b_low = pairs_at(b), b_high = pairs_at(b + PAIR * LANES);
#pragma GCC unroll 12
        for (int i = 0; i < AVX512_ROWS; i++) {
            __m512bh x = pair_of(a + PAIR * i);
            low[i] = _mm512_dpbf16_ps(low[i], x, b_low);
            high[i] = _mm512_dpbf16_ps(high[i], x, b_high);
        }
    }
    for (int i = 0; i < AVX512_ROWS; i++) {
        _mm512_storeu_ps(to + i * row, low[i]);
        _mm512_storeu_ps(to + i * row + LANES, high[i]);
    }
}

const short_tile short_tile_avx512 = {.rows = AVX512_ROWS,
                                      .cols = COLS,
                                      .unit = PAIR,
                                      .deep = 512,
                                      .pack_rows = pack_rows_avx512,
                                      .pack_columns = pack_columns_avx512,
                                      .run = run_avx512,
                                      .narrow = narrow};

/* ---- AMX ---- */

static void pack_rows_amx(const short_strip *s, int64_t k, uint16_t *to)
{
    pack_panels(s, k, (form){AMX_ROWS, AMX_DEEP, AMX_DEEP}, to);
}

static void pack_columns_amx(const short_strip *s, int64_t k, uint16_t *to)
{
    pack_panels(s, k, (form){COLS, PAIR, AMX_DEEP}, to);
}

/* The configuration as in Intel's manual: all eight tiles have 16 rows of 64 bytes.  It is a constant: gcc believes that
 * the instruction reads eight bytes, and leaves out what a function would write behind them. */
static void begin_amx(void)
{
    static const struct {
        uint8_t  palette, start, reserved[14];
        uint16_t bytes[16];
        uint8_t  rows[16];
    } shapes = {.palette = 1,
                .bytes = {64, 64, 64, 64, 64, 64, 64, 64},
                .rows = {LANES, LANES, LANES, LANES, LANES, LANES, LANES, LANES}};
    _tile_loadconfig(&shapes);
}

static void end_amx(void)
{
    _tile_release();
}

/* to[m * row + n] = sum over k of a[k / 32][m][k % 32] * b[k / 2][n][k % 2] */
static void run_amx(int64_t k, const uint16_t *a, const uint16_t *b, float *to, int64_t row)
{
    enum { ROW = 64, PAIRS = PAIR * COLS * sizeof(uint16_t) }; /* bytes from row to row */
    long bytes = (long)(row * (int64_t)sizeof *to);
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (int64_t l = 0; l < k; l += AMX_DEEP, a += AMX_DEEP * AMX_ROWS, b += AMX_DEEP * COLS) {
        _tile_loadd(4, a, ROW);
        _tile_loadd(6, b, PAIRS);
        _tile_loadd(7, b + PAIR * LANES, PAIRS);
        _tile_loadd(5, a + AMX_DEEP * LANES, ROW);
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
    }
    _tile_stored(0, to, bytes);
    _tile_stored(1, to + LANES, bytes);
    _tile_stored(2, to + LANES * row, bytes);
    _tile_stored(3, to + LANES * row + LANES, bytes);
}

const short_tile short_tile_amx = {.rows = AMX_ROWS,
                                   .cols = COLS,
                                   .unit = AMX_DEEP,
                                   .deep = 512,
                                   .pack_rows = pack_rows_amx,
                                   .pack_columns = pack_columns_amx,
                                   .run = run_amx,
                                   .narrow = narrow,
                                   .begin = begin_amx,
                                   .end = end_amx};

#endif

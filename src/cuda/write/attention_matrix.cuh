/* Attention in short floats by products of small matrices, in registers.
 *
 * A warp has 16 lines of scores, or 32, as they come out of a product: they are turned into
 * weights there, rounded, and multiplied on.  Tiles of 64 lines of the other operands come
 * through shared memory, the next one while the last one is multiplied.  Lines of shared memory
 * are 8 elements longer than they need be, so that 8 of them begin in different banks.
 *
 * Heads have a multiple of 16 elements, at most 128; whatever is read begins at a multiple of
 * 16 bytes.  P is as in attention.cuh; its ROWS_EACH is the number of 16 lines of a warp.
 */
enum { MATRIX_THREADS = 128, TILE = 64 };

#define LOG2_E 1.44269504088896341f
#define LN_2 0.693147180559945309f

/* How many of N lines from `first` on there are, of `all`; a constant where tiles divide them. */
template <i64 ALL, int N> static INLINE i64 matrix_live(i64 first)
{
    return ALL % N == 0 ? (i64)N : ALL - first;
}

/* Brings LINES lines of D elements to shared memory; those from `lines` on are zero. */
template <int D, int LINES, class T, class F>
static INLINE void matrix_take(T *to, const T *from, F where, i64 lines)
{
    enum { EACH = D / 8 };
    UNROLL for (int k = 0; k < LINES * EACH / MATRIX_THREADS; k++) {
        int  at = THREAD + k * MATRIX_THREADS, line = at / EACH, d = at % EACH * 8;
        bool live = line < lines;
        copy_ahead(to + line * (D + 8) + d, live ? from + where(line) + d : from, live);
    }
}

/* 16 lines from `line` on, elements d .. d+15: the left operand of a product. */
template <int D, class T> static INLINE void matrix_left(u32 (&a)[4], const T *x, int line, int d)
{
    load_matrices(a, x + (line + LANE % 16) * (D + 8) + d + LANE / 16 * 8);
}

/* 16 lines, elements d .. d+15: the right operand, two matrices of 8 columns, whose columns are lines; */
template <int D, class T> static INLINE void matrix_right(u32 (&b)[4], const T *x, int line, int d)
{
    load_matrices(b, x + (line + LANE % 8 + LANE / 16 * 8) * (D + 8) + d + LANE / 8 % 2 * 8);
}

/* the same, whose columns are elements. */
template <int D, class T> static INLINE void matrix_right_turned(u32 (&b)[4], const T *x, int line, int d)
{
    load_matrices_turned(b, x + (line + LANE % 16) * (D + 8) + d + LANE / 16 * 8);
}

/* s = lines of x times all lines of a tile y. */
template <class T, int D, int M>
static INLINE void matrix_dots(f32 (&s)[M][TILE / 8][4], const T *x, int line, const T *y)
{
    UNROLL for (int m = 0; m < M; m++)
        UNROLL for (int n = 0; n < TILE / 8; n++)
            UNROLL for (int e = 0; e < 4; e++) s[m][n][e] = 0;
    UNROLL for (int d = 0; d < D; d += 16) {
        u32 a[M][4], b[4];
        UNROLL for (int m = 0; m < M; m++) matrix_left<D>(a[m], x, line + m * 16, d);
        UNROLL for (int n = 0; n < TILE / 16; n++) {
            matrix_right<D>(b, y, n * 16, d);
            UNROLL for (int m = 0; m < M; m++) {
                matrix_product<T>(s[m][2 * n], a[m], b[0], b[1]);
                matrix_product<T>(s[m][2 * n + 1], a[m], b[2], b[3]);
            }
        }
    }
}

/* sum += weights, rounded, times a tile y. */
template <class T, int D, int M>
static INLINE void matrix_blend(f32 (&sum)[M][D / 8][4], const f32 (&w)[M][TILE / 8][4], const T *y)
{
    UNROLL for (int k = 0; k < TILE / 16; k++) {
        u32 a[M][4], b[4];
        UNROLL for (int m = 0; m < M; m++)
            UNROLL for (int e = 0; e < 4; e++)
                a[m][e] = narrow_pair<T>(w[m][2 * k + e / 2][e % 2 * 2], w[m][2 * k + e / 2][e % 2 * 2 + 1]);
        UNROLL for (int d = 0; d < D / 16; d++) {
            matrix_right_turned<D>(b, y, k * 16, d * 16);
            UNROLL for (int m = 0; m < M; m++) {
                matrix_product<T>(sum[m][2 * d], a[m], b[0], b[1]);
                matrix_product<T>(sum[m][2 * d + 1], a[m], b[2], b[3]);
            }
        }
    }
}

/* Number e of a thread in a product: its line, and its column beyond 8 n. */
#define MATRIX_LINE(e) (LANE / 4 + (e) / 2 * 8)
#define MATRIX_COLUMN(e) (LANE % 4 * 2 + (e) % 2)

template <class T> static INLINE void store_pair(T *to, f32 a, f32 b)
{
    pack<T, 2> v;
    store(&v.at[0], a);
    store(&v.at[1], b);
    store_pack<2>(to, v);
}

/* ---- who sees what ---- */

/* Whether these queries see these positions: none of them, or all pairs; else it is decided for each. */
enum matrix_sight { SEES_NOTHING, SEES_SOME, SEES_ALL };

/* By index: positions first .. first + n - 1. */
template <class P> static INLINE matrix_sight matrix_sight_of(attention_span queries, i64 first, int n)
{
    if (P::HAS_READ || P::HAS_WRITE) return SEES_SOME;
    i64 shift = (i64)P::FIRST_MEMORY - P::FIRST_QUERY + first;
    i64 least = shift - (queries.end - 1), most = shift + n - 1 - queries.begin;
    if (most < P::MIN || least > P::MAX) return SEES_NOTHING;
    return least >= P::MIN && most <= P::MAX && first + n <= P::MEMORY ? SEES_ALL : SEES_SOME;
}

/* The segments of a warp's own lines: from `low` to `high`, which is less where there are no lines. */
struct matrix_segments { i32 low, high; };

static INLINE matrix_segments matrix_with(matrix_segments s, bool live, i32 segment)
{
    if (!live) return s;
    return {SMALLER(s.low, segment), LARGER(s.high, segment)};
}

/* Each thread knows some of them. */
static INLINE matrix_segments matrix_segments_of_warp(matrix_segments own)
{
    return {warp_min(own.low), warp_max(own.high)};
}

/* The same for the segments of TILE other lines: each thread has two of them, `live` where they exist. */
template <class P>
static INLINE matrix_sight matrix_sight_in(matrix_sight by_index, matrix_segments own, const i32 (&other)[2],
                                           const bool (&live)[2])
{
    if (!P::HAS_SEGMENTS || by_index == SEES_NOTHING) return by_index;
    bool some = false, all = own.low == own.high;
    UNROLL for (int k = 0; k < 2; k++) {
        some = some || (live[k] && other[k] >= own.low && other[k] <= own.high);
        all = all && other[k] == own.low;
    }
    if (!warp_any(some)) return SEES_NOTHING;
    return warp_any(!all) ? SEES_SOME : by_index;
}

/* What a row has besides its elements. */
struct matrix_row {
    i64 bias, pair;
    i32 read, segment, live;
};

template <class P> static INLINE matrix_row matrix_row_of(const P &p, i64 batch, i64 row)
{
    matrix_row r = {};
    r.live = row < P::ROWS;
    if (!r.live) return r;
    r.read = attention_read(p, batch, row);
    r.segment = attention_query_segment(p, batch, row);
    if constexpr (P::HAS_BIAS) r.bias = P::bias_batch(batch) + P::bias_row(row);
    if constexpr (P::HAS_DROPOUT) r.pair = p.first_pair + P::pair_batch(batch) + P::pair_row(row);
    return r;
}

/* Positions and indices have 32 bits; only differences of given positions need more. */
template <class P> static INLINE bool matrix_sees(const P &p, i64 batch, const matrix_row &r, i32 position)
{
    if (P::ROWS % TILE != 0 && !r.live) return false;
    if (P::MEMORY % TILE != 0 && position >= P::MEMORY) return false;
    i32 of_memory = attention_memory_segment(p, batch, position);
    if constexpr (P::HAS_READ || P::HAS_WRITE) {
        return attention_is_visible<P>(r.read, attention_write(p, batch, position), r.segment, of_memory);
    } else {
        enum : i64 { NONE = 1 << 30 };
        i32 ahead = (i32)P::FIRST_MEMORY + position - r.read;
        return (P::MIN <= -NONE || ahead >= (i32)P::MIN) & (P::MAX >= NONE || ahead <= (i32)P::MAX) &
               (!P::HAS_SEGMENTS || r.segment == of_memory);
    }
}

/* Segments of a tile of positions, two for each thread. */
template <class P> static INLINE void matrix_tile_segments(const P &p, i64 batch, i64 first, i32 (&segment)[2])
{
    UNROLL for (int k = 0; k < 2; k++) {
        i64 position = first + k * WARP + LANE;
        segment[k] = position < P::MEMORY ? attention_memory_segment(p, batch, position) : 0;
    }
}

/* How a warp's rows, with these queries and segments, see a tile of positions. */
template <class P>
static INLINE matrix_sight matrix_rows_see(attention_span queries, matrix_segments own, i64 first,
                                           const i32 (&segment)[2])
{
    const bool live[2] = {first + LANE < P::MEMORY, first + WARP + LANE < P::MEMORY};
    return matrix_sight_in<P>(matrix_sight_of<P>(queries, first, TILE), own, segment, live);
}

/* Scores are multiplied by this to be powers of two; with a bias they have been. */
template <class P> static INLINE f32 matrix_unit() { return P::HAS_BIAS ? 1 : P::scale() * LOG2_E; }

template <class P> static INLINE f32 matrix_biased(const P &p, const matrix_row &r, i64 position, f32 s)
{
    if constexpr (P::HAS_BIAS)
        return fused(s, P::scale() * LOG2_E, load(p.bias + r.bias + position * P::BIAS_STEP) * LOG2_E);
    else return s;
}

/* ---- forward ---- */

/* The scores of pairs: biased; minus infinity where they are not visible.  False: none is. */
template <class P, int M>
static INLINE bool matrix_mask_rows(const P &p, f32 (&s)[M][TILE / 8][4], const matrix_row (&rows)[M][2], i64 batch,
                                    i64 position)
{
    bool any = false;
    UNROLL for (int m = 0; m < M; m++)
        UNROLL for (int n = 0; n < TILE / 8; n++)
            UNROLL for (int e = 0; e < 4; e++) {
                i32  at = (i32)position + n * 8 + MATRIX_COLUMN(e);
                bool yes = matrix_sees(p, batch, rows[m][e / 2], at);
                s[m][n][e] = yes ? matrix_biased(p, rows[m][e / 2], at, s[m][n][e]) : lowest<f32>();
                any = any || yes;
            }
    return warp_any(any);
}

template <class P, int M> struct matrix_sums {
    f32 top[M][2], sum[M][2], o[M][P::VALUE / 8][4];
};

/* Scores to weights, relative to the largest score so far, in powers of two. */
template <class P, int M>
static INLINE void matrix_weigh(const P &p, f32 (&s)[M][TILE / 8][4], matrix_sums<P, M> &at,
                                const matrix_row (&rows)[M][2], i64 position)
{
    f32 unit = matrix_unit<P>();
    UNROLL for (int m = 0; m < M; m++)
        UNROLL for (int h = 0; h < 2; h++) {
            f32 most = lowest<f32>(), sum = 0;
            UNROLL for (int n = 0; n < TILE / 8; n++) most = fmaxf(most, fmaxf(s[m][n][2 * h], s[m][n][2 * h + 1]));
            most = fmaxf(at.top[m][h], warp_max<4>(most) * unit); /* a score that is NaN makes the sum NaN */
            f32 before = exp2_fast(at.top[m][h] - most);
            UNROLL for (int n = 0; n < TILE / 8; n++)
                UNROLL for (int e = 2 * h; e < 2 * h + 2; e++) {
                    s[m][n][e] = exp2_fast(fused(s[m][n][e], unit, -most));
                    sum += s[m][n][e];
                }
            at.top[m][h] = most;
            at.sum[m][h] = fused(at.sum[m][h], before, sum); /* of this thread's own positions */
            UNROLL for (int n = 0; n < P::VALUE / 8; n++)
                UNROLL for (int e = 2 * h; e < 2 * h + 2; e++) at.o[m][n][e] *= before;
        }
    if constexpr (P::HAS_DROPOUT)
        UNROLL for (int m = 0; m < M; m++)
            UNROLL for (int n = 0; n < TILE / 8; n++)
                UNROLL for (int e = 0; e < 4; e++)
                    s[m][n][e] *= attention_kept(
                        p, rows[m][e / 2].pair + (position + n * 8 + MATRIX_COLUMN(e)) * P::PAIR_STEP);
}

template <class P, int M, class Y>
static INLINE void matrix_store_rows(matrix_sums<P, M> &at, i64 chunk, i64 batch, i64 row, Y *y, f32 *lse, f32 *top,
                                     char *scratch)
{
    UNROLL for (int m = 0; m < M; m++)
        UNROLL for (int h = 0; h < 2; h++) {
            i64 r = row + m * 16 + h * 8 + LANE / 4;
            f32 sum = warp_sum<4>(at.sum[m][h]);
            if (r >= P::ROWS) continue;
            bool some = sum != 0;
            f32  factor = P::PARTS || P::CHUNKS > 1 ? 1.0f : some ? 1 / sum : 0.0f;
            UNROLL for (int n = 0; n < P::VALUE / 8; n++) {
                i64 d = n * 8 + LANE % 4 * 2;
                f32 a = at.o[m][n][2 * h] * factor, b = at.o[m][n][2 * h + 1] * factor;
                if constexpr (P::CHUNKS > 1)
                    store_pair((f32 *)scratch + attention_part<P>(chunk, batch, r) * P::VALUE + d, a, b);
                else store_pair(y + P::out0_batch(batch) + P::out0_row(r) + d, a, b);
            }
            f32 most = some ? at.top[m][h] * LN_2 : (f32)NOTHING_SEEN;
            if (LANE % 4 == 0) attention_store_row<P>(lse, top, scratch, chunk, batch, r, sum, most);
        }
}

/* A block has 64 rows of a batch, or 128, and a chunk of the memory. */
template <class P, class Y>
static INLINE void attention_matrix_forward(const P &p, Y *y, f32 *lse, f32 *top, char *scratch)
{
    typedef typename P::T T;
    enum { M = P::ROWS_EACH, LINES = M * TILE, KEY = P::KEY, VALUE = P::VALUE };
    enum : i64 { TILES = (P::ROWS + LINES - 1) / LINES };
    i64 first = (TILES - 1 - BLOCK % TILES) * LINES, batch = BLOCK / TILES / P::CHUNKS;
    i64 chunk = BLOCK / TILES % P::CHUNKS;
    T  *q = (T *)DYNAMIC_SHARED, *k = q + LINES * (KEY + 8), *v = k + 2 * TILE * (KEY + 8);
    int line = WARP_OF_BLOCK * M * 16;

    attention_span queries = attention_queries<P>(first + line, first + line + M * 16 - 1);
    attention_span seen = attention_seen_by<MATRIX_THREADS>(p, batch, first, LINES);
    seen = attention_chunk<P>(seen, chunk, TILE);
    auto take = [&](i64 position, int stage) {
        matrix_take<KEY, TILE>(k + stage * TILE * (KEY + 8), p.k + P::k_batch(batch) + position * P::K_STEP,
                               [](int n) { return n * (i64)P::K_STEP; }, matrix_live<P::MEMORY, TILE>(position));
        matrix_take<VALUE, TILE>(v + stage * TILE * (VALUE + 8), p.v + P::v_batch(batch) + position * P::V_STEP,
                                 [](int n) { return n * (i64)P::V_STEP; }, matrix_live<P::MEMORY, TILE>(position));
        copies_commit();
    };
    i64 position = seen.begin;
    matrix_take<KEY, LINES>(q, p.q + P::q_batch(batch), [=](int r) { return P::q_row(first + r); },
                            matrix_live<P::ROWS, LINES>(first));
    if (position < seen.end) take(position, 0);

    matrix_sums<P, M> at;
    matrix_row        rows[M][2];
    matrix_segments   own = {highest<i32>(), lowest<i32>()};
    UNROLL for (int m = 0; m < M; m++)
        UNROLL for (int h = 0; h < 2; h++) {
            rows[m][h] = matrix_row_of(p, batch, first + line + m * 16 + h * 8 + LANE / 4);
            own = matrix_with(own, rows[m][h].live, rows[m][h].segment);
            at.top[m][h] = (f32)NOTHING_SEEN, at.sum[m][h] = 0;
        }
    own = matrix_segments_of_warp(own);
    UNROLL for (int m = 0; m < M; m++)
        UNROLL for (int n = 0; n < VALUE / 8; n++)
            UNROLL for (int e = 0; e < 4; e++) at.o[m][n][e] = 0;

    i32 segment[2]; /* of the tile that comes next, so that nothing waits for them */
    matrix_tile_segments(p, batch, position, segment);
    for (int stage = 0; position < seen.end; position += TILE, stage ^= 1) {
        f32          s[M][TILE / 8][4];
        matrix_sight sight = matrix_rows_see<P>(queries, own, position, segment);
        copies_wait();
        SYNC();
        if (position + TILE < seen.end) take(position + TILE, stage ^ 1);
        matrix_tile_segments(p, batch, position + TILE, segment);
        if (sight == SEES_NOTHING) continue;
        matrix_dots<T, KEY, M>(s, q, line, k + stage * TILE * (KEY + 8));
        if (P::HAS_BIAS || sight == SEES_SOME)
            if (!matrix_mask_rows<P, M>(p, s, rows, batch, position)) continue;
        matrix_weigh<P, M>(p, s, at, rows, position);
        matrix_blend<T, VALUE, M>(at.o, s, v + stage * TILE * (VALUE + 8));
    }
    copies_commit(), copies_wait(); /* of q, where nothing is seen */
    matrix_store_rows<P, M>(at, chunk, batch, first + line, y, lse, top, scratch);
}

/* Tiles of scores of short floats, by products of small matrices.
 *
 * A warp has 16 lines of scores, or 32, as they come out of a product: they are converted into
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
template <int D, class T> static INLINE void matrix_right_transposed(u32 (&b)[4], const T *x, int line, int d)
{
    load_matrices_transposed(b, x + (line + LANE % 16) * (D + 8) + d + LANE / 16 * 8);
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
            matrix_right_transposed<D>(b, y, k * 16, d * 16);
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

/* The lowest and highest segment among a warp's lines; high < low: it has no lines. */
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

/* ---- bias ---- */

/* The biases of a thread's pairs, in powers of two.  One by distance has few that differ: a line further
 * and a column further is the same distance. */
template <class P, int M> struct matrix_bias {
    enum { LINES = P::RELATIVE ? 1 : M, BACK = 2 * M - 1 };
    enum { MANY = TILE / 8 + (P::RELATIVE ? (int)BACK : 0), EACH = P::RELATIVE ? 2 : 4 };
    f32 at[LINES][MANY][EACH];

    INLINE f32 of(int m, int n, int e) const
    {
        if constexpr (P::RELATIVE) return at[0][n - e / 2 - 2 * m + BACK][e % 2];
        else return at[m][n][e];
    }
};

/* By distance: `distance` is that of number 0, and a column further adds COLUMN to it. */
template <int COLUMN, class P, int M>
static INLINE void matrix_take_distances(const P &p, i64 batch, i32 distance, matrix_bias<P, M> &bias)
{
    enum { BACK = matrix_bias<P, M>::BACK, NEAR = 1 - (int)P::ROWS, FAR = (int)P::MEMORY - 1 };
    const auto *from = p.bias + P::bias_batch(batch) + P::bias_row(0);
    UNROLL for (int k = 0; k < TILE / 8 + BACK; k++)
        UNROLL for (int e = 0; e < 2; e++) {
            i32 d = distance + COLUMN * ((k - BACK) * 8 + e);
            if (P::ROWS % (M * TILE) != 0 || P::MEMORY % TILE != 0) d = SMALLER(LARGER(d, NEAR), FAR);
            bias.at[0][k][e] = load(from + d * (i64)P::BIAS_STEP) * LOG2_E;
        }
}

/* Any other: `begin(m, n, e)` is where the row's begins, or NO_ROW; `position(n, e)` is that of a number. */
#define NO_ROW ((i64)1 << 62)
template <class P, int M, class F, class G>
static INLINE void matrix_take_biases(const P &p, F begin, G position, matrix_bias<P, M> &bias)
{
    UNROLL for (int m = 0; m < M; m++)
        UNROLL for (int n = 0; n < TILE / 8; n++)
            UNROLL for (int e = 0; e < 4; e++) {
                i64  from = begin(m, n, e);
                i32  at = position(n, e);
                bool live = from != NO_ROW && (P::MEMORY % TILE == 0 || at < P::MEMORY);
                bias.at[m][n][e] = live ? load(p.bias + from + at * (i64)P::BIAS_STEP) * LOG2_E : 0.0f;
            }
}

/* Those of rows that a thread has, and of a tile of positions. */
template <class P, int M, class F>
static INLINE void matrix_take_bias(const P &p, i64 batch, i64 row, i64 position, F of_row, matrix_bias<P, M> &bias)
{
    if constexpr (!P::HAS_BIAS) return;
    else if constexpr (P::RELATIVE)
        matrix_take_distances<1>(p, batch, (i32)(position - row) + LANE % 4 * 2 - LANE / 4, bias);
    else
        matrix_take_biases(p, of_row, [=](int n, int e) { return (i32)position + n * 8 + MATRIX_COLUMN(e); }, bias);
}

/* ---- dropout ---- */

/* Which of a thread's pairs are kept.  TRANSPOSED: its lines are positions, its columns rows. */
template <class P, int M, bool TRANSPOSED> struct matrix_kept {
    enum { WORDS = TRANSPOSED ? TILE / 8 : TILE / 16 };
    u32 bits[M][WORDS];

    INLINE bool of(int m, int n, int e) const
    {
        if constexpr (!P::HAS_DROPOUT) return true;
        else if constexpr (TRANSPOSED) return bits[m][n] >> (e % 2 * 16 + e / 2 * 8) & 1;
        else return bits[m][n / 2] >> (e / 2 * 16 + n % 2 * 8 + e % 2) & 1;
    }
};

template <class P> static INLINE f32 matrix_kept_factor()
{
    if constexpr (P::HAS_DROPOUT) return P::kept_factor();
    else return 1;
}

/* Eight flags of the block of pairs that pair `at` is in, or of the n-th after it. */
template <class P> static INLINE u32 matrix_flags(const P &p, i64 at, int n)
{
    return philox_flags(philox_flags_at(p.stream, (u64)at / 8 + n), P::KEPT);
}

/* Flags of two rows with a tile of 64 positions, whose first pairs are `begin`.  The four threads that have
 * the rows draw 16 for each and show them to one another; rows that begin inside of a block of flags have
 * nine blocks. */
template <class P> static INLINE void matrix_keep_rows(const P &p, const i64 (&begin)[2], u32 (&bits)[TILE / 16])
{
    u32 own = 0;
    UNROLL for (int h = 0; h < 2; h++)
        UNROLL for (int k = 0; k < 2; k++) own |= matrix_flags(p, begin[h], LANE % 4 * 2 + k) << (h * 16 + k * 8);
    UNROLL for (int w = 0; w < TILE / 16; w++) bits[w] = shuffle(own, LANE / 4 * 4 + w);
    if constexpr (!P::PAIRS_ALIGNED) {
        u32 last = matrix_flags(p, LANE % 2 ? begin[1] : begin[0], TILE / 8), moved[TILE / 16] = {};
        UNROLL for (int h = 0; h < 2; h++) {
            u32 ninth = shuffle(last, LANE / 4 * 4 + h);
            UNROLL for (int w = 0; w < TILE / 16; w++) {
                u32 next = w < TILE / 16 - 1 ? bits[SMALLER(w + 1, TILE / 16 - 1)] >> h * 16 : ninth;
                u32 two = (bits[w] >> h * 16 & 0xffffu) | next << 16;
                moved[w] |= (two >> begin[h] % 8 & 0xffffu) << h * 16;
            }
        }
        UNROLL for (int w = 0; w < TILE / 16; w++) bits[w] = moved[w];
    }
    UNROLL for (int w = 0; w < TILE / 16; w++) bits[w] >>= LANE % 4 * 2;
}

/* Decides about a thread's pairs: `pair(m, h)` is the first of a row with the tile's first position. */
template <class P, int M, class F> static INLINE void matrix_keep(const P &p, F pair, matrix_kept<P, M, false> &kept)
{
    if constexpr (!P::HAS_DROPOUT) return;
    UNROLL for (int m = 0; m < M; m++) {
        const i64 begin[2] = {pair(m, 0), pair(m, 1)};
        if constexpr (P::PAIR_STEP == 1) {
            matrix_keep_rows(p, begin, kept.bits[m]);
        } else {
            UNROLL for (int w = 0; w < TILE / 16; w++) kept.bits[m][w] = 0;
            UNROLL for (int n = 0; n < TILE / 8; n++)
                UNROLL for (int e = 0; e < 4; e++)
                    if (attention_kept(p, begin[e / 2] + (n * 8 + MATRIX_COLUMN(e)) * P::PAIR_STEP) != 0)
                        kept.bits[m][n / 2] |= 1u << (e / 2 * 16 + n % 2 * 8 + e % 2);
        }
    }
}

/* The same where lines are positions: `pair(r)` is that of row r with the warp's first position.  Of eight
 * threads with the same rows, each draws for two. */
template <class P, class F> static INLINE void matrix_keep_transposed(const P &p, F pair, matrix_kept<P, 1, true> &kept)
{
    if constexpr (!P::HAS_DROPOUT) return;
    else if constexpr (P::PAIR_STEP == 1) {
        u32 own = 0;
        UNROLL for (int e = 0; e < 2; e++) {
            i64 begin = pair(LANE / 4 * 8 + LANE % 4 * 2 + e);
            u32 flags = matrix_flags(p, begin, 0) | matrix_flags(p, begin, 1) << 8;
            if constexpr (!P::PAIRS_ALIGNED) flags = (flags | matrix_flags(p, begin, 2) << 16) >> begin % 8;
            own |= (flags & 0xffffu) << e * 16;
        }
        UNROLL for (int n = 0; n < TILE / 8; n++) kept.bits[0][n] = shuffle(own, n * 4 + LANE % 4) >> LANE / 4;
    } else {
        UNROLL for (int n = 0; n < TILE / 8; n++) {
            kept.bits[0][n] = 0;
            UNROLL for (int e = 0; e < 4; e++)
                if (attention_kept(p, pair(n * 8 + MATRIX_COLUMN(e)) + MATRIX_LINE(e) * P::PAIR_STEP) != 0)
                    kept.bits[0][n] |= 1u << (e % 2 * 16 + e / 2 * 8);
        }
    }
}

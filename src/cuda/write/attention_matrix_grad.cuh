/* Gradients of attention in short floats by products of small matrices.
 *
 * Two kernels compute the weights again: one for dq, by tiles of rows, and one for dk and dv,
 * by tiles of positions, so that each sum is made by one warp.  What gives a bias its gradient
 * is in attention_matrix_bias.cuh.
 */
/* Scores to weights, for v, and dp to slopes; `row(n, e)` is that of a number and `position(n, e)`, too. */
template <bool MASKED, class P, class F, class G, class K>
static INLINE void matrix_slopes(const P &p, f32 (&s)[1][TILE / 8][4], f32 (&dp)[1][TILE / 8][4], i64 batch, F row,
                                 G position, const matrix_bias<P, 1> &bias, const K &kept_pairs)
{
    UNROLL for (int n = 0; n < TILE / 8; n++)
        UNROLL for (int e = 0; e < 4; e++) {
            auto &&r = row(n, e);
            i32    m = position(n, e);
            bool   yes = true;
            f32    less = -r.lse;
            if constexpr (MASKED) yes = matrix_sees(p, batch, r.row, m);
            if constexpr (P::HAS_BIAS) less += bias.of(0, n, e);
            f32 w = yes ? exp2_fast(fused(s[0][n][e], P::scale() * LOG2_E, less)) : 0.0f;
            f32 kept = kept_pairs.of(0, n, e) ? matrix_kept_factor<P>() : 0.0f;
            dp[0][n][e] = yes ? w * fused(dp[0][n][e], kept, -r.delta) : 0.0f;
            s[0][n][e] = w * kept;
        }
}

struct matrix_row_numbers { matrix_row row; f32 lse, delta; };

template <class P> static INLINE matrix_row_numbers matrix_numbers_of(const P &p, i64 batch, i64 row)
{
    matrix_row_numbers r = {matrix_row_of(p, batch, row), 0, 0};
    if (!r.row.live) return r;
    r.lse = p.lse[P::lse_batch(batch) + P::lse_row(row)] * LOG2_E;
    r.delta = p.delta[P::delta_batch(batch) + P::delta_row(row)];
    return r;
}

/* dq of 64 rows from `first` on, over positions; `sums` takes the slopes. */
template <class P, class D, class S>
static INLINE void matrix_grad_of_rows(const P &p, D *dq, i64 batch, i64 first, S &sums)
{
    typedef typename P::T T;
    enum { KEY = P::KEY, VALUE = P::VALUE };
    T  *q = (T *)DYNAMIC_SHARED, *dy = q + TILE * (KEY + 8), *k = dy + TILE * (VALUE + 8),
      *v = k + 2 * TILE * (KEY + 8);
    int line = WARP_OF_BLOCK * 16;

    attention_span queries = attention_queries<P>(first + line, first + line + 15);
    attention_span seen = attention_seen_by<MATRIX_THREADS>(p, batch, first, TILE);
    auto take = [&](i64 position, int stage) {
        matrix_take<KEY, TILE>(k + stage * TILE * (KEY + 8), p.k + P::k_batch(batch) + position * P::K_STEP,
                               [](int n) { return n * (i64)P::K_STEP; }, matrix_live<P::MEMORY, TILE>(position));
        matrix_take<VALUE, TILE>(v + stage * TILE * (VALUE + 8), p.v + P::v_batch(batch) + position * P::V_STEP,
                                 [](int n) { return n * (i64)P::V_STEP; }, matrix_live<P::MEMORY, TILE>(position));
        copies_commit();
    };
    i64 position = seen.begin / TILE * TILE;
    matrix_take<KEY, TILE>(q, p.q + P::q_batch(batch), [=](int r) { return P::q_row(first + r); },
                           matrix_live<P::ROWS, TILE>(first));
    matrix_take<VALUE, TILE>(dy, p.dy + P::dy_batch(batch), [=](int r) { return P::dy_row(first + r); },
                             matrix_live<P::ROWS, TILE>(first));
    if (position < seen.end) take(position, 0);

    f32                sum[1][KEY / 8][4] = {};
    matrix_row_numbers rows[2];
    matrix_segments    own = {highest<i32>(), lowest<i32>()};
    UNROLL for (int h = 0; h < 2; h++) {
        rows[h] = matrix_numbers_of(p, batch, first + line + h * 8 + LANE / 4);
        own = matrix_with(own, rows[h].row.live, rows[h].row.segment);
    }
    own = matrix_segments_of_warp(own);

    i32 segment[2]; /* of the tile that comes next */
    matrix_tile_segments(p, batch, position, segment);
    for (int stage = 0; position < seen.end; position += TILE, stage ^= 1) {
        f32          s[1][TILE / 8][4], dp[1][TILE / 8][4];
        matrix_sight sight = matrix_rows_see<P>(queries, own, position, segment);
        copies_wait();
        SYNC();
        if (position + TILE < seen.end) take(position + TILE, stage ^ 1);
        matrix_tile_segments(p, batch, position + TILE, segment);
        if (sight == SEES_NOTHING) {
            sums.skip(position);
            continue;
        }
        matrix_bias<P, 1> bias;
        auto              bias_of = [&](int, int, int e) {
            return rows[e / 2].row.live ? rows[e / 2].row.bias : NO_ROW;
        };
        sums.expect(position);
        matrix_take_bias(p, batch, first + line, position, bias_of, bias);
        matrix_kept<P, 1, false> kept;
        matrix_keep(p, [&](int, int h) { return rows[h].row.pair + position * P::PAIR_STEP; }, kept);
        matrix_dots<T, KEY, 1>(s, q, line, k + stage * TILE * (KEY + 8));
        matrix_dots<T, VALUE, 1>(dp, dy, line, v + stage * TILE * (VALUE + 8));
        auto row = [&](int n, int e) -> const matrix_row_numbers & { return rows[e / 2]; };
        auto at = [&](int n, int e) { return (i32)position + n * 8 + MATRIX_COLUMN(e); };
        if (sight == SEES_SOME || (S::ADDS && P::ROWS % TILE != 0))
            matrix_slopes<true>(p, s, dp, batch, row, at, bias, kept);
        else matrix_slopes<false>(p, s, dp, batch, row, at, bias, kept);
        sums.add(position, dp[0]);
        matrix_blend<T, KEY, 1>(sum, dp, k + stage * TILE * (KEY + 8));
    }
    sums.skip(position);
    copies_commit(), copies_wait(); /* of q and dy, where nothing is seen */
    UNROLL for (int h = 0; h < 2; h++) {
        i64 r = first + line + h * 8 + LANE / 4;
        if (r >= P::ROWS) break;
        D *to = dq + P::out0_batch(batch) + P::out0_row(r) + LANE % 4 * 2;
        UNROLL for (int n = 0; n < KEY / 8; n++)
            store_pair(to + n * 8, sum[0][n][2 * h] * P::scale(), sum[0][n][2 * h + 1] * P::scale());
    }
}

/* Slopes are for dq only. */
struct matrix_no_sums {
    enum { ADDS = 0 };
    INLINE void expect(i64) {}
    INLINE void skip(i64) {}
    INLINE void add(i64, const f32 (&)[TILE / 8][4]) {}
};

/* A block has 64 rows. */
template <class P, class D> static INLINE void attention_matrix_grad_of_rows(const P &p, D *dq)
{
    enum : i64 { TILES = (P::ROWS + TILE - 1) / TILE };
    matrix_no_sums none;
    matrix_grad_of_rows(p, dq, BLOCK / TILES, (TILES - 1 - BLOCK % TILES) * TILE, none);
}

/* The next tile of rows, of those that share a memory, that may see position first or the TILE - 1 after it. */
template <class P> static INLINE int matrix_next(int tile, i64 first)
{
    enum { TILES = (int)((P::ROWS + TILE - 1) / TILE) };
    for (; tile < (int)P::TOGETHER * TILES; tile++) {
        int            row = tile % TILES * TILE;
        attention_span seen = attention_seen<P>(attention_queries<P>(row, row + TILE - 1));
        if (seen.begin < first + TILE && seen.end > first) break;
    }
    return tile;
}

/* The segments of a warp's 16 positions from `first` on. */
template <class P> static INLINE matrix_segments matrix_segments_at(const P &p, i64 batch, i64 first)
{
    matrix_segments own = {highest<i32>(), lowest<i32>()};
    if constexpr (P::HAS_SEGMENTS) {
        i64  position = first + LANE % 16;
        bool live = position < P::MEMORY;
        own = matrix_with(own, live, live ? attention_memory_segment(p, batch, position) : 0);
        own = matrix_segments_of_warp(own);
    }
    return own;
}

/* How a tile of rows sees a warp's 16 positions from `first` on. */
template <class P>
static INLINE matrix_sight matrix_positions_see(matrix_segments own, const matrix_row (&rows)[TILE], i64 row, i64 first)
{
    matrix_sight sight = matrix_sight_of<P>(attention_queries<P>(row, row + TILE - 1), first, 16);
    const i32    other[2] = {rows[LANE].segment, rows[LANE + WARP].segment};
    const bool   live[2] = {row + LANE < P::ROWS, row + LANE + WARP < P::ROWS};
    sight = matrix_sight_in<P>(sight, own, other, live);
    return sight == SEES_ALL && row + TILE > P::ROWS ? SEES_SOME : sight;
}

/* Biases where lines are positions, from `first` on, and columns are rows. */
template <class P>
static INLINE void matrix_transposed_bias(const P &p, i64 batch, const matrix_row (&rows)[TILE], i64 row, i64 first,
                                      matrix_bias<P, 1> &bias)
{
    if constexpr (!P::HAS_BIAS) return;
    else if constexpr (P::RELATIVE)
        matrix_take_distances<-1>(p, batch, (i32)(first - row) + LANE / 4 - LANE % 4 * 2, bias);
    else {
        auto begin = [&](int, int n, int e) {
            const matrix_row &r = rows[n * 8 + MATRIX_COLUMN(e)];
            return r.live ? r.bias : NO_ROW;
        };
        matrix_take_biases(p, begin, [=](int, int e) { return (i32)first + MATRIX_LINE(e); }, bias);
    }
}

template <int SIZE, class D>
static INLINE void matrix_store_positions(const f32 (&sum)[1][SIZE / 8][4], D *to, i64 position, i64 step, i64 memory,
                                          f32 factor)
{
    UNROLL for (int h = 0; h < 2; h++) {
        i64 m = position + h * 8 + LANE / 4;
        if (m >= memory) break;
        UNROLL for (int n = 0; n < SIZE / 8; n++)
            store_pair(to + m * step + n * 8 + LANE % 4 * 2, sum[0][n][2 * h] * factor, sum[0][n][2 * h + 1] * factor);
    }
}

/* A block has 64 positions: dk and dv, over rows.  Scores are transposed: a warp's lines are positions. */
template <class P, class D, class E> static INLINE void attention_matrix_grad_of_memory(const P &p, D *dk, E *dv)
{
    typedef typename P::T T;
    enum { KEY = P::KEY, VALUE = P::VALUE };
    enum { TILES = (int)((P::ROWS + TILE - 1) / TILE), ALL = (int)P::TOGETHER * TILES };
    enum : i64 { OWN = (P::MEMORY + TILE - 1) / TILE };
    SHARED matrix_row   rows[2][TILE]; /* of a stage */
    SHARED pack<f32, 4> numbers[2][TILE / 2]; /* lse and delta of two rows */
    i64 first = BLOCK % OWN * TILE, apart = BLOCK / OWN, own = apart * P::TOGETHER;
    T  *k = (T *)DYNAMIC_SHARED, *v = k + TILE * (KEY + 8), *q = v + TILE * (VALUE + 8),
      *dy = q + 2 * TILE * (KEY + 8);
    int line = WARP_OF_BLOCK * 16;

    auto take = [&](int tile, int stage) {
        i64 batch = own + tile / TILES;
        int row = tile % TILES * TILE;
        matrix_take<KEY, TILE>(q + stage * TILE * (KEY + 8), p.q + P::q_batch(batch),
                               [=](int r) { return P::q_row(row + r); }, matrix_live<P::ROWS, TILE>(row));
        matrix_take<VALUE, TILE>(dy + stage * TILE * (VALUE + 8), p.dy + P::dy_batch(batch),
                                 [=](int r) { return P::dy_row(row + r); }, matrix_live<P::ROWS, TILE>(row));
        if (THREAD < TILE) {
            i64  r = row + THREAD;
            bool live = r < P::ROWS;
            rows[stage][THREAD] = matrix_row_of(p, batch, r);
            copy_ahead_one(&numbers[stage][THREAD / 2].at[THREAD % 2 * 2],
                           p.lse + (live ? P::lse_batch(batch) + P::lse_row(r) : 0), live);
            copy_ahead_one(&numbers[stage][THREAD / 2].at[THREAD % 2 * 2 + 1],
                           p.delta + (live ? P::delta_batch(batch) + P::delta_row(r) : 0), live);
        }
        copies_commit();
    };
    matrix_segments segments = {0, 0}; /* of this warp's positions */
    auto            take_memory = [&](i64 batch) {
        matrix_take<KEY, TILE>(k, p.k + P::k_batch(batch) + first * P::K_STEP,
                               [](int n) { return n * (i64)P::K_STEP; }, matrix_live<P::MEMORY, TILE>(first));
        matrix_take<VALUE, TILE>(v, p.v + P::v_batch(batch) + first * P::V_STEP,
                                 [](int n) { return n * (i64)P::V_STEP; }, matrix_live<P::MEMORY, TILE>(first));
        copies_commit();
        segments = matrix_segments_at(p, batch, first + line);
    };
    int tile = matrix_next<P>(0, first), next, before = 0;
    take_memory(own);
    if (tile < ALL) take(tile, 0);

    f32 of_k[1][KEY / 8][4] = {}, of_v[1][VALUE / 8][4] = {};
    for (int stage = 0; tile < ALL; stage ^= 1, tile = next) {
        f32 s[1][TILE / 8][4], dp[1][TILE / 8][4];
        i64 batch = own + tile / TILES;
        int row = tile % TILES * TILE;
        next = matrix_next<P>(tile + 1, first);
        if (P::TOGETHER > 1 && tile / TILES != before) { /* memories whose gradients are one may differ */
            SYNC();
            take_memory(batch);
            before = tile / TILES;
        }
        copies_wait();
        SYNC();
        if (next < ALL) take(next, stage ^ 1);
        matrix_sight sight = matrix_positions_see<P>(segments, rows[stage], row, first + line);
        if (sight == SEES_NOTHING) continue;
        const T *q_tile = q + stage * TILE * (KEY + 8), *dy_tile = dy + stage * TILE * (VALUE + 8);
        matrix_bias<P, 1> bias;
        matrix_transposed_bias(p, batch, rows[stage], row, first + line, bias);
        matrix_kept<P, 1, true> kept;
        matrix_keep_transposed(p, [&](int r) { return rows[stage][r].pair + (first + line) * P::PAIR_STEP; }, kept);
        matrix_dots<T, KEY, 1>(s, k, line, q_tile);
        matrix_dots<T, VALUE, 1>(dp, v, line, dy_tile);
        auto at = [&](int n, int e) { return (i32)first + line + MATRIX_LINE(e); };
        auto row_of = [&](int n, int e) {
            int                r = n * 8 + MATRIX_COLUMN(e);
            pack<f32, 4>       two = numbers[stage][n * 4 + LANE % 4];
            matrix_row_numbers x = {rows[stage][r], two.at[e % 2 * 2] * LOG2_E, two.at[e % 2 * 2 + 1]};
            return x;
        };
        if (sight == SEES_SOME) matrix_slopes<true>(p, s, dp, batch, row_of, at, bias, kept);
        else matrix_slopes<false>(p, s, dp, batch, row_of, at, bias, kept);
        matrix_blend<T, VALUE, 1>(of_v, s, dy_tile);
        matrix_blend<T, KEY, 1>(of_k, dp, q_tile);
    }
    copies_wait();
    matrix_store_positions<KEY>(of_k, dk + P::out1_batch(own), first + line, (i64)P::OUT1_STEP, (i64)P::MEMORY,
                                P::scale());
    matrix_store_positions<VALUE>(of_v, dv + P::out2_batch(own), first + line, (i64)P::OUT2_STEP, (i64)P::MEMORY, 1.0f);
}

/* Attention in short floats by products of small matrices, in registers. */
/* Scores in powers of two, where there is a bias. */
template <class P, int M>
static INLINE void matrix_add_bias(f32 (&s)[M][TILE / 8][4], const matrix_bias<P, M> &bias)
{
    UNROLL for (int m = 0; m < M; m++)
        UNROLL for (int n = 0; n < TILE / 8; n++)
            UNROLL for (int e = 0; e < 4; e++) s[m][n][e] = fused(s[m][n][e], P::scale() * LOG2_E, bias.of(m, n, e));
}

/* The scores of pairs: minus infinity where they are not visible.  False: none is. */
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
                if (!yes) s[m][n][e] = lowest<f32>();
                any = any || yes;
            }
    return warp_any(any);
}

template <class P, int M> struct matrix_sums {
    f32 top[M][2], sum[M][2], o[M][P::VALUE / 8][4];
};

/* Scores to weights, relative to the largest score so far, in powers of two. */
template <class P, int M>
static INLINE void matrix_weigh(f32 (&s)[M][TILE / 8][4], matrix_sums<P, M> &at, const matrix_kept<P, M, false> &kept)
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
                UNROLL for (int e = 0; e < 4; e++) s[m][n][e] = kept.of(m, n, e) ? s[m][n][e] : 0.0f;
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
            f32  factor = (P::PARTS || P::CHUNKS > 1 ? 1.0f : some ? 1 / sum : 0.0f) * matrix_kept_factor<P>();
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
        matrix_bias<P, M> bias;
        auto              of_row = [&](int m, int, int e) {
            return rows[m][e / 2].live ? rows[m][e / 2].bias : NO_ROW;
        };
        matrix_take_bias(p, batch, first + line, position, of_row, bias);
        matrix_kept<P, M, false> kept;
        matrix_keep(p, [&](int m, int h) { return rows[m][h].pair + position * P::PAIR_STEP; }, kept);
        matrix_dots<T, KEY, M>(s, q, line, k + stage * TILE * (KEY + 8));
        if constexpr (P::HAS_BIAS) matrix_add_bias<P, M>(s, bias);
        if (sight == SEES_SOME)
            if (!matrix_mask_rows<P, M>(p, s, rows, batch, position)) continue;
        matrix_weigh<P, M>(s, at, kept);
        matrix_blend<T, VALUE, M>(at.o, s, v + stage * TILE * (VALUE + 8));
    }
    copies_commit(), copies_wait(); /* of q, where nothing is seen */
    matrix_store_rows<P, M>(at, chunk, batch, first + line, y, lse, top, scratch);
}

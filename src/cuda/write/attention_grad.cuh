/* Gradients of attention for every type, size and option.
 *
 * Weights are computed again, tile by tile, as attention.cuh does; one kernel for each
 * gradient.
 */
enum attention_gradient { OF_Q, OF_K, OF_V, OF_BIAS };

/* Puts a tile's weights, for v, or slopes, for all others, into t.weight; false: nothing is seen. */
template <attention_gradient OF, class P>
static INLINE bool attention_slopes(const P &p, attention_tile<P> &t, i64 batch, i64 row, i64 position)
{
    typedef typename P::R R;
    R   s[P::ROWS_EACH][P::POSITIONS_EACH], dp[P::ROWS_EACH][P::POSITIONS_EACH];
    attention_take_positions(p, t, batch, position);
    u32 visible = attention_visible(t, row, position);
    if (!block_max<ATTENTION_THREADS>((i32)visible)) return false;
    attention_scores(p, t, batch, row, position, visible, s);
    if constexpr (OF != OF_V)
        attention_dots(t, p.dy, t.dy, P::ROWS - row, p.v + P::v_batch(batch) + position * P::V_STEP, (i64)P::V_STEP,
                       -position, P::MEMORY - position, (i64)P::VALUE, dp);
    UNROLL for (int i = 0; i < P::ROWS_EACH; i++)
        UNROLL for (int j = 0; j < P::POSITIONS_EACH; j++) {
            int r = ATTENTION_Y + i * SIDE, m = ATTENTION_X + j * SIDE;
            R   w = 0, kept = 1;
            if (visible >> (i * P::POSITIONS_EACH + j) & 1) {
                w = fn_exp(s[i][j] - t.lse[r]);
                if constexpr (P::HAS_DROPOUT) kept = attention_kept(p, t.pair[r] + (position + m) * P::PAIR_STEP);
                if constexpr (OF == OF_V) w *= kept;
                else w *= dp[i][j] * kept - t.delta[r];
            }
            t.weight[r * (t.POSITIONS + 1) + m] = w;
        }
    return true;
}

/* A block has some rows of a batch, and at most WIDE elements of them. */
template <class P, class D> static INLINE void attention_grad_of_rows(const P &p, D *dq)
{
    SHARED attention_tile<P> t;
    enum : i64 {
        PIECES = (P::KEY + WIDE - 1) / WIDE,
        TILES = (P::ROWS + attention_tile<P>::ROWS - 1) / attention_tile<P>::ROWS
    };
    i64 begin = BLOCK % PIECES * WIDE, wide = P::KEY - begin < WIDE ? P::KEY - begin : WIDE;
    i64 row = (TILES - 1 - BLOCK / PIECES % TILES) * attention_tile<P>::ROWS, batch = BLOCK / PIECES / TILES;
    typename P::R sum[P::ROWS_EACH][WIDE / SIDE] = {};
    attention_span seen = attention_seen_by<ATTENTION_THREADS>(p, batch, row, t.ROWS);
    attention_take_rows(p, t, batch, row);
    for (i64 m = seen.begin / t.POSITIONS * t.POSITIONS; m < seen.end; m += t.POSITIONS)
        if (attention_slopes<OF_Q>(p, t, batch, row, m))
            attention_blend<true>(t, p.k + P::k_batch(batch) + m * P::K_STEP + begin,
                                  [](int line) { return line * (i64)P::K_STEP; }, -m, P::MEMORY - m, wide, sum);
    UNROLL for (int i = 0; i < P::ROWS_EACH; i++) {
        i64 r = row + ATTENTION_Y + i * SIDE;
        if (r >= P::ROWS) break;
        UNROLL for (int j = 0; j < WIDE / SIDE; j++) {
            int d = ATTENTION_X + j * SIDE;
            if (d < wide) store(dq + P::out0_batch(batch) + P::out0_row(r) + begin + d, sum[i][j] * P::scale());
        }
    }
}

/* A block has some positions and at most WIDE of their elements; it goes through all rows that share
 * them, in P::TOGETHER consecutive batches. */
template <attention_gradient OF, class P, class D> static INLINE void attention_grad_of_memory(const P &p, D *to)
{
    SHARED attention_tile<P> t;
    enum : i64 {
        SIZE = OF == OF_K ? (i64)P::KEY : (i64)P::VALUE,
        STEP = OF == OF_K ? (i64)P::OUT1_STEP : (i64)P::OUT2_STEP,
        PIECES = (SIZE + WIDE - 1) / WIDE,
        TILES = (P::MEMORY + attention_tile<P>::POSITIONS - 1) / attention_tile<P>::POSITIONS
    };
    i64 begin = BLOCK % PIECES * WIDE, wide = SIZE - begin < WIDE ? SIZE - begin : WIDE;
    i64 first = BLOCK / PIECES % TILES * t.POSITIONS, apart = BLOCK / PIECES / TILES;
    typename P::R sum[P::POSITIONS_EACH][WIDE / SIDE] = {};
    for (i64 k = 0; k < P::TOGETHER; k++)
        for (i64 row = 0; row < P::ROWS; row += t.ROWS) {
            i64            batch = apart * P::TOGETHER + k;
            attention_span seen = attention_seen<P>(attention_queries<P>(row, row + t.ROWS - 1));
            if (seen.begin >= first + t.POSITIONS || seen.end <= first) continue;
            attention_take_rows(p, t, batch, row);
            if (!attention_slopes<OF>(p, t, batch, row, first)) continue;
            const auto *x = (OF == OF_K ? p.q : p.dy) + begin;
            const i64  *at = OF == OF_K ? t.q : t.dy;
            attention_blend<false>(t, x, [at](int line) { return at[line]; }, (i64)0, P::ROWS - row, wide, sum);
        }
    i64 batch = apart * P::TOGETHER;
    i64 base = OF == OF_K ? P::out1_batch(batch) : P::out2_batch(batch);
    UNROLL for (int i = 0; i < P::POSITIONS_EACH; i++) {
        i64 m = first + ATTENTION_Y + i * SIDE;
        if (m >= P::MEMORY) break;
        UNROLL for (int j = 0; j < WIDE / SIDE; j++) {
            int d = ATTENTION_X + j * SIDE;
            auto v = OF == OF_K ? sum[i][j] * P::scale() : sum[i][j];
            if (d < wide) store(to + base + m * STEP + begin + d, v);
        }
    }
}

/* ---- the gradient of a bias: batches are all loops but the query's ---- */

/* A bias that has the query, the memory, both or neither: a block has a tile of what it has, and adds up
 * the rest. */
template <class P, class D> static INLINE void attention_grad_of_bias(const P &p, D *to)
{
    typedef typename P::R R;
    SHARED attention_tile<P> t;
    enum : i64 {
        ROW_TILES = P::BY_QUERY ? (P::ROWS + t.ROWS - 1) / t.ROWS : 1,
        TILES = P::BY_POSITION ? (P::MEMORY + t.POSITIONS - 1) / t.POSITIONS : 1
    };
    i64 own_row = BLOCK / TILES % ROW_TILES * t.ROWS, own_position = BLOCK % TILES * t.POSITIONS;
    i64 apart = BLOCK / TILES / ROW_TILES;
    i64 last_row = P::BY_QUERY ? own_row + 1 : (i64)P::ROWS;
    i64 last_position = P::BY_POSITION ? own_position + 1 : (i64)P::MEMORY;
    R   sum[P::ROWS_EACH][P::POSITIONS_EACH] = {};
    for (i64 k = 0; k < P::TOGETHER; k++)
        for (i64 row = own_row; row < last_row; row += t.ROWS) {
            i64            batch = apart * P::TOGETHER + k;
            attention_span seen = attention_seen<P>(attention_queries<P>(row, row + t.ROWS - 1));
            attention_take_rows(p, t, batch, row);
            for (i64 m = own_position; m < last_position; m += t.POSITIONS) {
                if (seen.begin >= m + t.POSITIONS || seen.end <= m) continue;
                if (!attention_slopes<OF_BIAS>(p, t, batch, row, m)) continue;
                UNROLL for (int i = 0; i < P::ROWS_EACH; i++)
                    UNROLL for (int j = 0; j < P::POSITIONS_EACH; j++)
                        sum[i][j] += t.weight[(ATTENTION_Y + i * SIDE) * (t.POSITIONS + 1) + ATTENTION_X + j * SIDE];
            }
        }
    SYNC();
    UNROLL for (int i = 0; i < P::ROWS_EACH; i++)
        UNROLL for (int j = 0; j < P::POSITIONS_EACH; j++)
            t.weight[(ATTENTION_Y + i * SIDE) * (t.POSITIONS + 1) + ATTENTION_X + j * SIDE] = sum[i][j];
    SYNC();
    enum { OWN_ROWS = P::BY_QUERY ? (int)t.ROWS : 1, OWN_POSITIONS = P::BY_POSITION ? (int)t.POSITIONS : 1 };
    for (int k = THREAD; k < OWN_ROWS * OWN_POSITIONS; k += ATTENTION_THREADS) {
        int r = k / OWN_POSITIONS, m = k % OWN_POSITIONS;
        if (own_row + r >= P::ROWS || own_position + m >= P::MEMORY) continue;
        R total = 0;
        for (int i = 0; i < t.ROWS / OWN_ROWS; i++)
            for (int j = 0; j < t.POSITIONS / OWN_POSITIONS; j++)
                total += t.weight[(r + i) * (t.POSITIONS + 1) + m + j];
        i64 at = P::out3_batch(apart * P::TOGETHER) + P::out3_row(own_row + r);
        store(to + at + (own_position + m) * P::OUT3_STEP, total);
    }
}

/* A bias by distance: a block has POSITIONS neighbouring distances, which lie in two tiles of each tile of
 * rows. */
template <class P, class D> static INLINE void attention_grad_of_distances(const P &p, D *to)
{
    typedef typename P::R R;
    SHARED attention_tile<P> t;
    static_assert((int)t.ROWS == (int)t.POSITIONS, "two tiles have the distances of one tile of rows");
    enum : i64 { DISTANCES = P::ROWS + P::MEMORY - 1, TILES = (DISTANCES + t.POSITIONS - 1) / t.POSITIONS };
    i64 apart = BLOCK / TILES, own = BLOCK % TILES * t.POSITIONS;
    R   sum = 0;
    for (i64 k = 0; k < P::TOGETHER; k++)
        for (i64 row = 0; row < P::ROWS; row += t.ROWS) {
            i64            batch = apart * P::TOGETHER + k, corner = own + row - (P::ROWS - 1);
            attention_span seen = attention_seen<P>(attention_queries<P>(row, row + t.ROWS - 1));
            if (seen.begin >= corner + 2 * t.POSITIONS || seen.end <= corner) continue;
            attention_take_rows(p, t, batch, row);
            for (int half = 0; half < 2; half++) {
                if (!attention_slopes<OF_BIAS>(p, t, batch, row, corner + half * t.POSITIONS)) continue;
                SYNC();
                for (int r = 0; r < t.ROWS; r++) {
                    int m = THREAD + r - half * t.POSITIONS;
                    if (THREAD < t.POSITIONS && m >= 0 && m < t.POSITIONS)
                        sum += t.weight[r * (t.POSITIONS + 1) + m];
                }
            }
        }
    /* The element of distance 0 is that of the last query and the first position. */
    if (THREAD < t.POSITIONS && own + THREAD < DISTANCES)
        store(to + P::out3_batch(apart * P::TOGETHER) + P::out3_row(P::ROWS - 1) + (own + THREAD) * P::OUT3_STEP, sum);
}

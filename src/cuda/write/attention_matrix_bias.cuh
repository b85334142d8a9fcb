/* The gradient of a bias from tiles of slopes, in a fixed order.
 *
 * A bias by distance is added up by the kernel of dq: the slopes of a warp's 16 rows, tile by
 * tile, along diagonals.  Any other has a kernel of its own, whose blocks have a tile of what
 * the bias has and add up the rest in registers.  Blocks that share an element leave partial
 * sums in scratch, which a last kernel adds up.
 */

/* ---- by distance ---- */

/* A warp's sums: number x is that of the distance x - 15 - its first row.  Each is one thread's alone, from
 * tile to tile: so many are added at once to what is in memory that a thread has two, and the rest of a
 * tile's, fewer than 16, are carried to the next. */
template <class P> struct matrix_distances {
    enum { ADDS = 1, LINE = TILE + 24, LINES = 8, FEW = 15 };
    f32 *sums;  /* [distance], in memory */
    f32 *lines; /* [LINES][LINE], shared: 8 elements beside a line's own are zero at each end */
    f32  before[2], carried;

    INLINE void begin(f32 *to, f32 *shared, i64 n)
    {
        lines = shared, carried = 0;
        for (i64 x = LANE; x < n; x += WARP) to[x] = 0;
        for (int k = LANE; k < LINES * 8; k += WARP)
            lines[k / 8 * LINE + k % 8] = lines[k / 8 * LINE + TILE + 16 + k % 8] = 0;
        WARP_SYNC();
    }

    INLINE void expect(i64 position)
    {
        UNROLL for (int k = 0; k < 2; k++) before[k] = sums[position + k * WARP + LANE];
    }

    INLINE void skip(i64 position)
    {
        if (!warp_any(carried != 0)) return;
        sums[position + LANE] += carried;
        carried = 0;
    }

    /* Rows 8 apart have the same diagonals 8 columns apart: 16 lines become 8, which are 8 columns longer. */
    INLINE void add(i64 position, const f32 (&slope)[TILE / 8][4])
    {
        UNROLL for (int n = 0; n <= TILE / 8; n++) {
            pack<f32, 2> two;
            UNROLL for (int e = 0; e < 2; e++) {
                f32 upper = n > 0 ? slope[n - (n > 0)][e] : 0.0f;
                two.at[e] = upper + (n < TILE / 8 ? slope[n - (n == TILE / 8)][2 + e] : 0.0f);
            }
            store_pack<2>(lines + LANE / 4 * LINE + 8 + n * 8 + LANE % 4 * 2, two);
        }
        WARP_SYNC();
        f32 sum[3];
        UNROLL for (int k = 0; k < 3; k++) {
            bool live = k < 2 || LANE < FEW;
            sum[k] = 0;
            UNROLL for (int g = 0; g < LINES; g++)
                if (live) sum[k] += lines[g * LINE + 1 + g + k * WARP + LANE];
        }
        WARP_SYNC();
        sums[position + LANE] = before[0] + (carried + sum[0]);
        sums[position + WARP + LANE] = before[1] + sum[1];
        carried = sum[2];
    }
};

/* How partial sums by distance lie in scratch: [apart][share][strip][warp][WIDTH]. */
template <class P> struct matrix_strips {
    enum : i64 { TILES = (P::ROWS + TILE - 1) / TILE, STRIPS = (TILES + P::STRIP - 1) / P::STRIP };
    enum : i64 { SHARES = (P::TOGETHER + P::EACH - 1) / P::EACH, AHEAD = (P::STRIP - 1) * TILE };
    enum : i64 { WIDTH = (P::MEMORY + TILE - 1) / TILE * TILE + WARP + AHEAD, WARPS = MATRIX_THREADS / WARP };
};

/* dq, and the gradient of a bias by distance.  A block has STRIP tiles of rows of EACH batches. */
template <class P, class D> static INLINE void attention_matrix_grad_of_distances(const P &p, D *dq, char *scratch)
{
    typedef matrix_strips<P> of;
    typedef matrix_distances<P> distances;
    SHARED pack<f32, 4> lines[of::WARPS][distances::LINES * distances::LINE / 4]; /* aligned */
    i64        strip = of::STRIPS - 1 - BLOCK % of::STRIPS, group = BLOCK / of::STRIPS;
    i64        share = group % of::SHARES * P::EACH, apart = group / of::SHARES * P::TOGETHER;
    f32       *to = (f32 *)scratch + ((group * of::STRIPS + strip) * of::WARPS + WARP_OF_BLOCK) * of::WIDTH;
    distances  sums;
    sums.begin(to, lines[WARP_OF_BLOCK]->at, of::WIDTH);
    for (int n = 0; n < P::STRIP; n++) {
        i64 tile = strip * P::STRIP + n;
        sums.sums = to + of::AHEAD - n * TILE;
        for (i64 k = share; tile < of::TILES && k < share + P::EACH && k < P::TOGETHER; k++) {
            matrix_grad_of_rows(p, dq, apart + k, tile * TILE, sums);
            SYNC();
        }
    }
}

/* Adds them up: a warp has some of the lines, a thread one distance. */
template <class P, class D> static INLINE void attention_join_distances(const P &p, D *to, char *scratch)
{
    typedef matrix_strips<P> of;
    enum { WARPS = ATTENTION_THREADS / WARP };
    enum : i64 { DISTANCES = P::ROWS + P::MEMORY - 1, PIECES = (DISTANCES + WARP - 1) / WARP };
    enum : i64 { LINES = of::SHARES * of::STRIPS * of::WARPS };
    SHARED f32 part[WARPS][WARP];
    i64        apart = BLOCK / PIECES, own = BLOCK % PIECES * WARP + LANE;
    const f32 *from = (const f32 *)scratch + apart * LINES * of::WIDTH;
    f32        sum = 0;
    UNROLL_4 for (i64 line = WARP_OF_BLOCK; line < LINES; line += WARPS) {
        i64 row = line / of::WARPS % of::STRIPS * P::STRIP * TILE + line % of::WARPS * 16;
        i64 x = own - (P::ROWS - 1) + 15 + row + of::AHEAD;
        if (x >= 0 && x < of::WIDTH) sum += from[line * of::WIDTH + x];
    }
    part[WARP_OF_BLOCK][LANE] = sum;
    SYNC();
    if (WARP_OF_BLOCK > 0 || own >= DISTANCES) return;
    sum = 0;
    UNROLL for (int w = 0; w < WARPS; w++) sum += part[w][LANE];
    store(to + P::out3_batch(apart * P::TOGETHER) + P::out3_row(P::ROWS - 1) + own * P::OUT3_STEP, sum);
}

/* ---- any other ---- */

/* How many tiles a bias has, of rows and of positions, and in how many parts its sums come. */
template <class P> struct matrix_biased {
    enum : i64 { ROWS = (P::ROWS + TILE - 1) / TILE, POSITIONS = (P::MEMORY + TILE - 1) / TILE };
    enum : i64 { OWN_ROWS = P::BY_QUERY ? (i64)ROWS : 1, OWN_POSITIONS = P::BY_POSITION ? (i64)POSITIONS : 1 };
    enum : i64 { SHARES = (P::TOGETHER + P::EACH - 1) / P::EACH, APART = P::BATCHES / P::TOGETHER };
    enum : i64 { LINES = P::BY_QUERY ? (i64)P::ROWS : 1, COLUMNS = P::BY_POSITION ? (i64)P::MEMORY : 1 };
};

template <class P, class D> static INLINE void matrix_put_bias(D *to, i64 apart, i64 row, i64 position, f32 v)
{
    store(to + P::out3_batch(apart * P::TOGETHER) + P::out3_row(row) + position * P::OUT3_STEP, v);
}

/* A tile of sums to what the bias has of it: `put(line, column, v)`, for each once. */
template <class P, class F> static INLINE void matrix_reduce_bias(const f32 (&sum)[TILE / 8][4], F put)
{
    enum { WARPS = MATRIX_THREADS / WARP };
    SHARED f32 part[WARPS][TILE];
    int        line = WARP_OF_BLOCK * 16;
    if constexpr (P::BY_QUERY && P::BY_POSITION) {
        UNROLL for (int n = 0; n < TILE / 8; n++)
            UNROLL for (int e = 0; e < 4; e++) put(line + MATRIX_LINE(e), n * 8 + MATRIX_COLUMN(e), sum[n][e]);
    } else if constexpr (P::BY_QUERY) {
        UNROLL for (int h = 0; h < 2; h++) {
            f32 v = 0;
            UNROLL for (int n = 0; n < TILE / 8; n++) v += sum[n][2 * h] + sum[n][2 * h + 1];
            v = warp_sum<4>(v);
            if (LANE % 4 == 0) put(line + h * 8 + LANE / 4, 0, v);
        }
    } else {
        UNROLL for (int n = 0; n < TILE / 8; n++)
            UNROLL for (int e = 0; e < 2; e++) {
                f32 v = sum[n][e] + sum[n][2 + e];
                for (int mask = 4; mask < WARP; mask *= 2) v += shuffle_xor(v, mask);
                if (LANE < 4) part[WARP_OF_BLOCK][n * 8 + LANE * 2 + e] = v;
            }
        SYNC();
        f32 v = 0;
        for (int w = 0; w < WARPS && THREAD < TILE; w++) v += part[w][THREAD];
        if constexpr (P::BY_POSITION) {
            if (THREAD < TILE) put(0, THREAD, v);
        } else {
            v = block_sum<MATRIX_THREADS>(v);
            if (THREAD == 0) put(0, 0, v);
        }
    }
}

/* A block has a tile of a bias and EACH batches, and all rows and positions that share its elements. */
template <class P, class D> static INLINE void attention_matrix_grad_of_bias(const P &p, D *to, char *scratch)
{
    typedef typename P::T T;
    typedef matrix_biased<P> of;
    enum { KEY = P::KEY, VALUE = P::VALUE, EVERY = TILE * (2 * KEY + 2 * VALUE + 32) };
    enum : i64 { TILES_OF_ROWS = of::ROWS / of::OWN_ROWS, TILES_OF_POSITIONS = of::POSITIONS / of::OWN_POSITIONS };
    i64 own_position = BLOCK % of::OWN_POSITIONS, own_row = BLOCK / of::OWN_POSITIONS % of::OWN_ROWS;
    i64 group = BLOCK / of::OWN_POSITIONS / of::OWN_ROWS, share = group % of::SHARES, apart = group / of::SHARES;
    i64 batches = SMALLER((i64)P::EACH, P::TOGETHER - share * P::EACH), iterations = batches * TILES_OF_ROWS * TILES_OF_POSITIONS;
    int line = WARP_OF_BLOCK * 16;

    auto batch_of = [=](i64 iteration) { return apart * P::TOGETHER + share * P::EACH + iteration / TILES_OF_POSITIONS / TILES_OF_ROWS; };
    auto row_of = [=](i64 iteration) { return (own_row + iteration / TILES_OF_POSITIONS % TILES_OF_ROWS) * TILE; };
    auto position_of = [=](i64 iteration) { return (own_position + iteration % TILES_OF_POSITIONS) * TILE; };
    auto seen_from = [=](i64 iteration) {
        for (; iteration < iterations; iteration++) {
            attention_span queries = attention_queries<P>(row_of(iteration), row_of(iteration) + TILE - 1);
            if (matrix_sight_of<P>(queries, position_of(iteration), TILE) != SEES_NOTHING) break;
        }
        return iteration;
    };
    auto take = [=](i64 iteration, int stage) {
        T  *q = (T *)DYNAMIC_SHARED + stage * EVERY, *dy = q + TILE * (KEY + 8), *k = dy + TILE * (VALUE + 8),
           *v = k + TILE * (KEY + 8);
        i64 batch = batch_of(iteration), row = row_of(iteration), position = position_of(iteration);
        matrix_take<KEY, TILE>(q, p.q + P::q_batch(batch), [=](int r) { return P::q_row(row + r); },
                               matrix_live<P::ROWS, TILE>(row));
        matrix_take<VALUE, TILE>(dy, p.dy + P::dy_batch(batch), [=](int r) { return P::dy_row(row + r); },
                                 matrix_live<P::ROWS, TILE>(row));
        matrix_take<KEY, TILE>(k, p.k + P::k_batch(batch) + position * P::K_STEP,
                               [](int n) { return n * (i64)P::K_STEP; }, matrix_live<P::MEMORY, TILE>(position));
        matrix_take<VALUE, TILE>(v, p.v + P::v_batch(batch) + position * P::V_STEP,
                                 [](int n) { return n * (i64)P::V_STEP; }, matrix_live<P::MEMORY, TILE>(position));
        copies_commit();
    };

    f32 sum[TILE / 8][4] = {};
    i64 iteration = seen_from(0), next;
    if (iteration < iterations) take(iteration, 0);
    for (int stage = 0; iteration < iterations; iteration = next, stage = P::STAGES == 2 ? stage ^ 1 : 0) {
        f32                s[1][TILE / 8][4], dp[1][TILE / 8][4];
        matrix_row_numbers rows[2];
        matrix_bias<P, 1>  bias;
        i64                batch = batch_of(iteration), first = row_of(iteration), position = position_of(iteration);
        const T           *q = (T *)DYNAMIC_SHARED + stage * EVERY, *dy = q + TILE * (KEY + 8),
                *k = dy + TILE * (VALUE + 8), *v = k + TILE * (KEY + 8);
        next = seen_from(iteration + 1);
        UNROLL for (int h = 0; h < 2; h++) rows[h] = matrix_numbers_of(p, batch, first + line + h * 8 + LANE / 4);
        auto bias_of = [&](int, int, int e) { return rows[e / 2].row.live ? rows[e / 2].row.bias : NO_ROW; };
        matrix_take_bias(p, batch, first + line, position, bias_of, bias);
        matrix_kept<P, 1, false> kept;
        matrix_keep(p, [&](int, int h) { return rows[h].row.pair + position * P::PAIR_STEP; }, kept);
        copies_wait();
        SYNC();
        if (P::STAGES == 2 && next < iterations) take(next, stage ^ 1);
        matrix_dots<T, KEY, 1>(s, q, line, k);
        matrix_dots<T, VALUE, 1>(dp, dy, line, v);
        auto row = [&](int n, int e) -> const matrix_row_numbers & { return rows[e / 2]; };
        auto at = [&](int n, int e) { return (i32)position + n * 8 + MATRIX_COLUMN(e); };
        matrix_slopes<true>(p, s, dp, batch, row, at, bias, kept);
        UNROLL for (int n = 0; n < TILE / 8; n++)
            UNROLL for (int e = 0; e < 4; e++) sum[n][e] += dp[0][n][e];
        if (P::STAGES == 1) {
            SYNC();
            if (next < iterations) take(next, 0);
        }
    }
    matrix_reduce_bias<P>(sum, [=](int r, int c, f32 v) {
        i64 row = own_row * TILE + r, position = own_position * TILE + c;
        if (row >= of::LINES || position >= of::COLUMNS) return;
        if constexpr (of::SHARES == 1) matrix_put_bias<P>(to, apart, row, position, v);
        else ((f32 *)scratch)[((share * of::APART + apart) * of::LINES + row) * of::COLUMNS + position] = v;
    });
}

/* Adds up the shares: a thread has an element. */
template <class P, class D> static INLINE void attention_join_bias(const P &p, D *to, char *scratch)
{
    typedef matrix_biased<P> of;
    enum : i64 { ALL = of::APART * of::LINES * of::COLUMNS };
    i64 own = BLOCK * ATTENTION_THREADS + THREAD;
    f32 sum = 0;
    if (own >= ALL) return;
    UNROLL_4 for (i64 share = 0; share < of::SHARES; share++) sum += ((const f32 *)scratch)[share * ALL + own];
    matrix_put_bias<P>(to, own / of::COLUMNS / of::LINES, own / of::COLUMNS % of::LINES, own % of::COLUMNS, sum);
}

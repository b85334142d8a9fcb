/* Attention for every type, size and option, in tiles of scores.
 *
 * A kernel's own text defines a struct P: types, sizes and strides of one instruction, the
 * pointers of its inputs, and for each operand X the functions X_batch and X_row, which say
 * where a batch and a row of it begin.  program/instr.h has the formulas.
 *
 * A block has 16 x 16 threads.  Thread (y, x) has the scores of rows y, y + 16, ... and of
 * positions x, x + 16, ... of a tile; of what it adds up, elements x, x + 16, ... of the
 * same rows.  Sums are made in a fixed order, and every result is written by one block.
 */
enum { ATTENTION_THREADS = 256, SIDE = 16, PIECE = 32, LINE = PIECE + 1, WIDE = 128 };

#define NOTHING_SEEN (-1e30)

template <class P> struct attention_tile {
    typedef typename P::R R;
    enum { ROWS = SIDE * P::ROWS_EACH, POSITIONS = SIDE * P::POSITIONS_EACH };
    enum { MORE = (int)ROWS > (int)POSITIONS ? (int)ROWS : (int)POSITIONS };

    /* of its rows: where they begin, and what they have */
    i64 q[ROWS], dy[ROWS], bias[ROWS], pair[ROWS];
    i32 read[ROWS], query_segment[ROWS];
    R   lse[ROWS], delta[ROWS];
    i32 write[POSITIONS], memory_segment[POSITIONS];

    R a[ROWS * LINE], b[MORE * LINE];
    R weight[ROWS * (POSITIONS + 1)];
};

#define ATTENTION_Y (THREAD / SIDE)
#define ATTENTION_X (THREAD % SIDE)

/* ---- who sees what ---- */

struct attention_span { i64 begin, end; };

/* The queries of rows first .. last, all of them where they belong to several groups. */
template <class P> static INLINE attention_span attention_queries(i64 first, i64 last)
{
    last = last < P::ROWS ? last : P::ROWS - 1;
    bool one = first / P::QUERIES == last / P::QUERIES;
    return {one ? first % P::QUERIES : 0, one ? last % P::QUERIES + 1 : (i64)P::QUERIES};
}

/* The positions that some of these queries may see by index. */
template <class P> static INLINE attention_span attention_seen(attention_span queries)
{
    if (P::HAS_READ || P::HAS_WRITE) return {0, P::MEMORY};
    i64 shift = (i64)P::FIRST_QUERY - P::FIRST_MEMORY;
    i64 begin = queries.begin + shift + P::MIN, end = queries.end + shift + P::MAX;
    return {begin > 0 ? begin : 0, end < P::MEMORY ? end : (i64)P::MEMORY};
}

template <class P> static INLINE bool attention_is_visible(i32 read, i32 write, i32 of_query, i32 of_memory)
{
    i64 ahead = (i64)write - read;
    return ahead >= P::MIN && ahead <= P::MAX && (!P::HAS_SEGMENTS || of_query == of_memory);
}

template <class P> static INLINE i32 attention_read(const P &p, i64 batch, i64 row)
{
    if constexpr (P::HAS_READ) return p.read[P::read_batch(batch) + P::read_row(row)];
    else return (i32)(P::FIRST_QUERY + (P::QUERIES == P::ROWS ? row : row % P::QUERIES));
}

template <class P> static INLINE i32 attention_write(const P &p, i64 batch, i64 position)
{
    if constexpr (P::HAS_WRITE) return p.write[P::write_batch(batch) + position * P::WRITE_STEP];
    else return (i32)(P::FIRST_MEMORY + position);
}

template <class P> static INLINE i32 attention_query_segment(const P &p, i64 batch, i64 row)
{
    if constexpr (P::HAS_SEGMENTS)
        return p.query_segment[P::query_segment_batch(batch) + P::query_segment_row(row)];
    else return 0;
}

template <class P> static INLINE i32 attention_memory_segment(const P &p, i64 batch, i64 position)
{
    if constexpr (P::HAS_SEGMENTS)
        return p.memory_segment[P::memory_segment_batch(batch) + position * P::MEMORY_SEGMENT_STEP];
    else return 0;
}

/* The positions that rows first .. first + n - 1 may see, by index or by where they read. */
template <int N, class P> static INLINE attention_span attention_seen_by(const P &p, i64 batch, i64 first, int n)
{
    if constexpr (P::HAS_READ && !P::HAS_WRITE) {
        i32 low = highest<i32>(), high = lowest<i32>();
        for (int k = THREAD; k < n && first + k < P::ROWS; k += N) {
            i32 read = attention_read(p, batch, first + k);
            low = SMALLER(low, read), high = LARGER(high, read);
        }
        low = block_min<N>(low), high = block_max<N>(high);
        i64 begin = low + P::MIN - P::FIRST_MEMORY, end = high + P::MAX + 1 - P::FIRST_MEMORY;
        return {begin > 0 ? begin : 0, end < P::MEMORY ? end : (i64)P::MEMORY};
    } else {
        return attention_seen<P>(attention_queries<P>(first, first + n - 1));
    }
}

/* Zero, or what makes up for the pairs that are dropped. */
template <class P> static INLINE typename P::R attention_kept(const P &p, i64 pair)
{
    philox_block flags = philox_flags_at(p.stream, (u64)pair / 8);
    return philox_flag(flags, (int)((u64)pair % 8)) < (u32)P::KEPT ? P::kept_factor() : (typename P::R)0;
}

/* ---- a tile ---- */

/* Rows from `first` on; the gradient's have more. */
template <class P> static INLINE void attention_take_rows(const P &p, attention_tile<P> &t, i64 batch, i64 first)
{
    SYNC();
    for (int k = THREAD; k < t.ROWS; k += ATTENTION_THREADS) {
        i64 row = first + k;
        if (row >= P::ROWS) continue;
        t.q[k] = P::q_batch(batch) + P::q_row(row);
        t.read[k] = attention_read(p, batch, row);
        t.query_segment[k] = attention_query_segment(p, batch, row);
        if constexpr (P::HAS_BIAS) t.bias[k] = P::bias_batch(batch) + P::bias_row(row);
        if constexpr (P::HAS_DROPOUT) t.pair[k] = p.first_pair + P::pair_batch(batch) + P::pair_row(row);
        if constexpr (P::IS_GRAD) {
            t.dy[k] = P::dy_batch(batch) + P::dy_row(row);
            t.lse[k] = load(p.lse + P::lse_batch(batch) + P::lse_row(row));
            t.delta[k] = load(p.delta + P::delta_batch(batch) + P::delta_row(row));
        }
    }
}

template <class P> static INLINE void attention_take_positions(const P &p, attention_tile<P> &t, i64 batch, i64 first)
{
    SYNC();
    for (int k = THREAD; k < t.POSITIONS; k += ATTENTION_THREADS) {
        i64 position = first + k;
        if (position < 0 || position >= P::MEMORY) continue;
        t.write[k] = attention_write(p, batch, position);
        t.memory_segment[k] = attention_memory_segment(p, batch, position);
    }
    SYNC();
}

/* Bit i * POSITIONS_EACH + j: does row i of this thread see its position j? */
template <class P> static INLINE u32 attention_visible(const attention_tile<P> &t, i64 row, i64 position)
{
    u32 visible = 0;
    UNROLL for (int i = 0; i < P::ROWS_EACH; i++) {
        int r = ATTENTION_Y + i * SIDE;
        UNROLL for (int j = 0; j < P::POSITIONS_EACH; j++) {
            int m = ATTENTION_X + j * SIDE;
            if (row + r < P::ROWS && position + m >= 0 && position + m < P::MEMORY &&
                attention_is_visible<P>(t.read[r], t.write[m], t.query_segment[r], t.memory_segment[m]))
                visible |= 1u << (i * P::POSITIONS_EACH + j);
        }
    }
    return visible;
}

/* sum[i][j] = the product of a row of x and a position of y, `wide` elements long.  Rows begin at
 * x + at[r]; position m at y + m * step. */
template <class P, class T>
static INLINE void attention_dots(attention_tile<P> &t, const T *x, const i64 *at, i64 rows, const T *y, i64 step,
                                  i64 low, i64 high, i64 wide,
                                  typename P::R (&sum)[P::ROWS_EACH][P::POSITIONS_EACH])
{
    typedef typename P::R R;
    UNROLL for (int i = 0; i < P::ROWS_EACH; i++)
        UNROLL for (int j = 0; j < P::POSITIONS_EACH; j++) sum[i][j] = 0;
    for (i64 first = 0; first < wide; first += PIECE) {
        SYNC();
        for (int k = THREAD; k < t.ROWS * PIECE; k += ATTENTION_THREADS) {
            int r = k / PIECE, d = k % PIECE;
            bool live = r < rows && first + d < wide;
            t.a[r * LINE + d] = live ? load(x + at[r] + first + d) : (R)0;
        }
        for (int k = THREAD; k < t.POSITIONS * PIECE; k += ATTENTION_THREADS) {
            int m = k / PIECE, d = k % PIECE;
            bool live = m >= low && m < high && first + d < wide;
            t.b[m * LINE + d] = live ? load(y + m * step + first + d) : (R)0;
        }
        SYNC();
        int n = wide - first < PIECE ? (int)(wide - first) : (int)PIECE;
        for (int d = 0; d < n; d++) {
            R a[P::ROWS_EACH], b[P::POSITIONS_EACH];
            UNROLL for (int i = 0; i < P::ROWS_EACH; i++) a[i] = t.a[(ATTENTION_Y + i * SIDE) * LINE + d];
            UNROLL for (int j = 0; j < P::POSITIONS_EACH; j++) b[j] = t.b[(ATTENTION_X + j * SIDE) * LINE + d];
            UNROLL for (int i = 0; i < P::ROWS_EACH; i++)
                UNROLL for (int j = 0; j < P::POSITIONS_EACH; j++) sum[i][j] = fused(a[i], b[j], sum[i][j]);
        }
    }
}

/* Adds weight times x: sum[i][j] += sum over n lines of weight[..] x[line][begin + element].
 * BY_ROW: the sums belong to rows, lines are positions; else the other way round. */
template <bool BY_ROW, class P, class T, class F, int N>
static INLINE void attention_blend(attention_tile<P> &t, const T *x, F where, i64 low, i64 high, i64 wide,
                                   typename P::R (&sum)[N][WIDE / SIDE])
{
    typedef typename P::R R;
    enum { LINES = BY_ROW ? (int)attention_tile<P>::POSITIONS : (int)attention_tile<P>::ROWS };
    UNROLL for (int piece = 0; piece < WIDE / PIECE; piece++) {
        if (piece * PIECE >= wide) break;
        SYNC();
        for (int k = THREAD; k < LINES * PIECE; k += ATTENTION_THREADS) {
            int line = k / PIECE, d = k % PIECE;
            bool live = line >= low && line < high && piece * PIECE + d < wide;
            t.b[line * LINE + d] = live ? load(x + where(line) + piece * PIECE + d) : (R)0;
        }
        SYNC();
        for (int line = 0; line < LINES; line++) {
            R x0 = t.b[line * LINE + ATTENTION_X], x1 = t.b[line * LINE + ATTENTION_X + SIDE];
            UNROLL for (int i = 0; i < N; i++) {
                int own = ATTENTION_Y + i * SIDE;
                R   w = t.weight[BY_ROW ? own * (t.POSITIONS + 1) + line : line * (t.POSITIONS + 1) + own];
                sum[i][2 * piece] = fused(w, x0, sum[i][2 * piece]);
                sum[i][2 * piece + 1] = fused(w, x1, sum[i][2 * piece + 1]);
            }
        }
    }
}

/* The scores of a tile; of pairs that are not visible, minus infinity. */
template <class P>
static INLINE void attention_scores(const P &p, attention_tile<P> &t, i64 batch, i64 row, i64 position, u32 visible,
                                    typename P::R (&s)[P::ROWS_EACH][P::POSITIONS_EACH])
{
    typedef typename P::R R;
    attention_dots(t, p.q, t.q, P::ROWS - row, p.k + P::k_batch(batch) + position * P::K_STEP, (i64)P::K_STEP,
                   -position, P::MEMORY - position, (i64)P::KEY, s);
    UNROLL for (int i = 0; i < P::ROWS_EACH; i++)
        UNROLL for (int j = 0; j < P::POSITIONS_EACH; j++) {
            bool yes = visible >> (i * P::POSITIONS_EACH + j) & 1;
            s[i][j] *= P::scale();
            if constexpr (P::HAS_BIAS) {
                i64 at = t.bias[ATTENTION_Y + i * SIDE] + (position + ATTENTION_X + j * SIDE) * P::BIAS_STEP;
                if (yes) s[i][j] += load(p.bias + at);
            }
            if (!yes) s[i][j] = lowest<R>();
        }
}

/* ---- forward ---- */

/* What a block has of some rows after some of the memory. */
template <class P> struct attention_sums {
    typename P::R top[P::ROWS_EACH], sum[P::ROWS_EACH], o[P::ROWS_EACH][WIDE / SIDE];
};

template <class P>
static INLINE void attention_add_tile(const P &p, attention_tile<P> &t, attention_sums<P> &at, i64 batch, i64 row,
                                      i64 position, i64 begin, i64 wide)
{
    typedef typename P::R R;
    R   s[P::ROWS_EACH][P::POSITIONS_EACH];
    attention_take_positions(p, t, batch, position);
    u32 visible = attention_visible(t, row, position);
    if (!block_max<ATTENTION_THREADS>((i32)visible)) return;
    attention_scores(p, t, batch, row, position, visible, s);
    UNROLL for (int i = 0; i < P::ROWS_EACH; i++) {
        R most = s[i][0], sum = 0;
        UNROLL for (int j = 1; j < P::POSITIONS_EACH; j++) most = LARGER(most, s[i][j]);
        most = LARGER(at.top[i], warp_max<SIDE>(most));
        R before = fn_exp(at.top[i] - most);
        UNROLL for (int j = 0; j < P::POSITIONS_EACH; j++) {
            s[i][j] = fn_exp(s[i][j] - most);
            sum += s[i][j];
        }
        at.sum[i] = at.sum[i] * before + warp_sum<SIDE>(sum);
        at.top[i] = most;
        UNROLL for (int j = 0; j < WIDE / SIDE; j++) at.o[i][j] *= before;
        int r = ATTENTION_Y + i * SIDE;
        UNROLL for (int j = 0; j < P::POSITIONS_EACH; j++) {
            int m = ATTENTION_X + j * SIDE;
            if constexpr (P::HAS_DROPOUT)
                if (s[i][j] != 0) s[i][j] *= attention_kept(p, t.pair[r] + (position + m) * P::PAIR_STEP);
            t.weight[r * (t.POSITIONS + 1) + m] = s[i][j];
        }
    }
    const auto *v = p.v + P::v_batch(batch) + position * P::V_STEP + begin;
    attention_blend<true>(t, v, [](int m) { return m * (i64)P::V_STEP; }, -position, P::MEMORY - position, wide, at.o);
}

/* The tiles of some of the memory: a chunk of it, where it is split. */
template <class P> static INLINE attention_span attention_chunk(attention_span seen, i64 chunk, int tile)
{
    i64 begin = chunk * P::CHUNK, end = begin + P::CHUNK;
    if (seen.begin > begin) begin += (seen.begin - begin) / tile * tile;
    return {begin, seen.end < end ? seen.end : end};
}

/* Partial results of chunks, in scratch: [chunk][batch][row] of o, of the sums, of the tops. */
template <class P> static INLINE i64 attention_part(i64 chunk, i64 batch, i64 row)
{
    return (chunk * P::BATCHES + batch) * P::ROWS + row;
}
template <class P> static INLINE typename P::R *attention_part_sums(char *scratch)
{
    return (typename P::R *)scratch + P::CHUNKS * P::BATCHES * P::ROWS * P::VALUE;
}

/* Stores what a row has besides y. */
template <class P, class R>
static INLINE void attention_store_row(R *lse, R *top, char *scratch, i64 chunk, i64 batch, i64 row, R sum, R most)
{
    if constexpr (P::CHUNKS > 1) {
        R *sums = attention_part_sums<P>(scratch);
        sums[attention_part<P>(chunk, batch, row)] = sum;
        sums[P::CHUNKS * P::BATCHES * P::ROWS + attention_part<P>(chunk, batch, row)] = most;
    } else {
        i64 at = P::out1_batch(batch) + P::out1_row(row);
        lse[at] = P::PARTS ? sum : sum != 0 ? most + fn_log(sum) : (R)NOTHING_SEEN;
        if constexpr (P::PARTS) top[P::out2_batch(batch) + P::out2_row(row)] = most;
    }
}

/* A block has some rows of a batch, at most WIDE elements of their values, and a chunk of the memory. */
template <class P, class Y>
static INLINE void attention_forward(const P &p, Y *y, typename P::R *lse, typename P::R *top, char *scratch)
{
    typedef typename P::R R;
    SHARED attention_tile<P> t;
    enum : i64 { PIECES = (P::VALUE + WIDE - 1) / WIDE, TILES = (P::ROWS + t.ROWS - 1) / t.ROWS };
    attention_sums<P> at;
    i64 begin = BLOCK % PIECES * WIDE, wide = P::VALUE - begin < WIDE ? P::VALUE - begin : WIDE;
    i64 row = (TILES - 1 - BLOCK / PIECES % TILES) * t.ROWS, batch = BLOCK / PIECES / TILES / P::CHUNKS;
    i64 chunk = BLOCK / PIECES / TILES % P::CHUNKS;
    UNROLL for (int i = 0; i < P::ROWS_EACH; i++) {
        at.top[i] = NOTHING_SEEN, at.sum[i] = 0;
        UNROLL for (int j = 0; j < WIDE / SIDE; j++) at.o[i][j] = 0;
    }
    attention_span seen = attention_seen_by<ATTENTION_THREADS>(p, batch, row, t.ROWS);
    seen = attention_chunk<P>(seen, chunk, t.POSITIONS);
    attention_take_rows(p, t, batch, row);
    for (i64 m = seen.begin; m < seen.end; m += t.POSITIONS) attention_add_tile(p, t, at, batch, row, m, begin, wide);
    UNROLL for (int i = 0; i < P::ROWS_EACH; i++) {
        i64 r = row + ATTENTION_Y + i * SIDE;
        if (r >= P::ROWS) break;
        R factor = P::PARTS || P::CHUNKS > 1 ? (R)1 : at.sum[i] != 0 ? 1 / at.sum[i] : (R)0;
        UNROLL for (int j = 0; j < WIDE / SIDE; j++) {
            int d = ATTENTION_X + j * SIDE;
            if (d >= wide) break;
            if constexpr (P::CHUNKS > 1)
                ((R *)scratch)[attention_part<P>(chunk, batch, r) * P::VALUE + begin + d] = at.o[i][j];
            else store(y + P::out0_batch(batch) + P::out0_row(r) + begin + d, at.o[i][j] * factor);
        }
        if (ATTENTION_X == 0 && begin == 0)
            attention_store_row<P>(lse, top, scratch, chunk, batch, r, at.sum[i], at.top[i]);
    }
}

/* The chunks of the memory together, in their order: a thread has an element of y. */
template <class P, class Y>
static INLINE void attention_join_chunks(const P &p, Y *y, typename P::R *lse, typename P::R *top, char *scratch)
{
    typedef typename P::R R;
    i64 k = BLOCK * ATTENTION_THREADS + THREAD, d = k % P::VALUE, row = k / P::VALUE % P::ROWS;
    i64 batch = k / P::VALUE / P::ROWS;
    if (batch >= P::BATCHES) return;
    const R *sums = attention_part_sums<P>(scratch), *tops = sums + P::CHUNKS * P::BATCHES * P::ROWS;
    R        most = NOTHING_SEEN, sum = 0, o = 0;
    for (i64 c = 0; c < P::CHUNKS; c++) most = LARGER(most, tops[attention_part<P>(c, batch, row)]);
    for (i64 c = 0; c < P::CHUNKS; c++) {
        i64 part = attention_part<P>(c, batch, row);
        R   factor = fn_exp(tops[part] - most);
        sum = fused(sums[part], factor, sum);
        o = fused(((const R *)scratch)[part * P::VALUE + d], factor, o);
    }
    store(y + P::out0_batch(batch) + P::out0_row(row) + d, P::PARTS ? o : sum != 0 ? o / sum : (R)0);
    if (d != 0) return;
    lse[P::out1_batch(batch) + P::out1_row(row)] =
        P::PARTS ? sum : sum != 0 ? most + fn_log(sum) : (R)NOTHING_SEEN;
    if constexpr (P::PARTS) top[P::out2_batch(batch) + P::out2_row(row)] = most;
}

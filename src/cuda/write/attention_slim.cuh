/* Attention of few rows, as a token that is being decoded has.
 *
 * What counts is how soon keys and values come.  The blocks of a cluster have a share of the
 * visible positions each.  In a block, a group of threads reads a key, 16 bytes each, then one
 * GROUPS positions later, and keeps its own sums; these are joined in a warp, a block and the
 * cluster.
 */
enum { SLIM_THREADS = 256, SLIM_AHEAD = 4 };

/* What some positions sum up to, for one row: weights relative to 2^top. */
template <int E> struct slim_sums { f32 top, sum, o[E]; };

template <int E> static INLINE void slim_join(slim_sums<E> &a, const slim_sums<E> &b)
{
    f32 top = fmaxf(a.top, b.top), x = exp2_fast(a.top - top), y = exp2_fast(b.top - top);
    a.sum = fused(a.sum, x, b.sum * y);
    UNROLL for (int e = 0; e < E; e++) a.o[e] = fused(a.o[e], x, b.o[e] * y);
    a.top = top;
}

template <class P> struct slim_row {
    i32 read, segment;
    i64 bias;
    f32 q[16 / sizeof(typename P::T)];
};

/* The positions that the rows may see. */
template <class P> static INLINE attention_span slim_seen(const slim_row<P> (&rows)[P::ROWS])
{
    if constexpr (P::HAS_READ && !P::HAS_WRITE) {
        i32 low = rows[0].read, high = rows[0].read;
        UNROLL for (int r = 1; r < P::ROWS; r++) low = SMALLER(low, rows[r].read), high = LARGER(high, rows[r].read);
        i64 begin = low + P::MIN - P::FIRST_MEMORY, end = high + P::MAX + 1 - P::FIRST_MEMORY;
        return {begin > 0 ? begin : 0, end < P::MEMORY ? end : (i64)P::MEMORY};
    } else {
        return attention_seen<P>(attention_queries<P>(0, P::ROWS - 1));
    }
}

/* One position, whose key and value these words are. */
template <class P, int E>
static INLINE void slim_take(const P &p, const slim_row<P> &row, slim_sums<E> &at, const u32 *k, const u32 *v,
                             i64 position, bool there, i32 write, i32 segment)
{
    typedef typename P::T T;
    f32 s = 0;
    UNROLL for (int e = 0; e < E; e++) s = fused(element_of<T>(k, e), row.q[e], s);
    UNROLL for (int mask = P::KEY / E / 2; mask > 0; mask /= 2) s += shuffle_xor(s, mask);
    if (!there || !attention_is_visible<P>(row.read, write, row.segment, segment)) return;
    s *= P::scale() * LOG2_E;
    if constexpr (P::HAS_BIAS) s = fused(load(p.bias + row.bias + position * P::BIAS_STEP), LOG2_E, s);
    f32 top = fmaxf(at.top, s), before = exp2_fast(at.top - top), w = exp2_fast(s - top);
    at.sum = fused(at.sum, before, w);
    UNROLL for (int e = 0; e < E; e++) at.o[e] = fused(at.o[e], before, w * element_of<T>(v, e));
    at.top = top;
}

template <class P, class Y>
static INLINE void slim_store(const P &, i64 batch, i64 row, int d, const slim_sums<1> &at, Y *y, f32 *lse, f32 *top)
{
    bool some = at.sum != 0;
    store(y + P::out0_batch(batch) + P::out0_row(row) + d, P::PARTS ? at.o[0] : some ? at.o[0] / at.sum : 0.0f);
    if (d != 0) return;
    f32 most = some ? at.top * LN_2 : (f32)NOTHING_SEEN;
    lse[P::out1_batch(batch) + P::out1_row(row)] = P::PARTS || !some ? (P::PARTS ? at.sum : most) : most + fn_log(at.sum);
    if constexpr (P::PARTS) top[P::out2_batch(batch) + P::out2_row(row)] = most;
}

/* A cluster has a batch; there are P::CHUNKS blocks in it. */
template <class P, class Y>
static INLINE void attention_slim(const P &p, Y *y, f32 *lse, f32 *top, char *)
{
    typedef typename P::T T;
    enum { E = 16 / sizeof(T), LANES = P::KEY / E, GROUPS = SLIM_THREADS / LANES, S = P::CHUNKS, N = P::ROWS };
    enum { WARPS = SLIM_THREADS / WARP, LINE = P::KEY + 2 };
    SHARED f32 part[WARPS * N * LINE], all[N * LINE];
    const i64 batch = BLOCK / S, lane = THREAD % LANES;
    slim_row<P>  rows[N];
    slim_sums<E> at[N];
    UNROLL for (int r = 0; r < N; r++) {
        pack<u32, 4> q = load_pack<4>((const u32 *)(p.q + P::q_batch(batch) + P::q_row(r) + lane * E));
        UNROLL for (int e = 0; e < E; e++) rows[r].q[e] = element_of<T>(q.at, e), at[r].o[e] = 0;
        rows[r].read = attention_read(p, batch, r);
        rows[r].segment = attention_query_segment(p, batch, r);
        if constexpr (P::HAS_BIAS) rows[r].bias = P::bias_batch(batch) + P::bias_row(r);
        at[r].top = (f32)NOTHING_SEEN, at[r].sum = 0;
    }
    attention_span seen = slim_seen<P>(rows);
    const i64 each = seen.end > seen.begin ? (seen.end - seen.begin + S - 1) / S : 0;
    const i64 begin = seen.begin + BLOCK % S * each, end = SMALLER(begin + each, seen.end);
    for (i64 first = begin; first < end; first += GROUPS * SLIM_AHEAD) {
        pack<u32, 4> k[SLIM_AHEAD], v[SLIM_AHEAD];
        UNROLL for (int u = 0; u < SLIM_AHEAD; u++) {
            i64 position = first + u * GROUPS + THREAD / LANES;
            if (position >= end) position = end - 1; /* not used */
            k[u] = load_pack<4>((const u32 *)(p.k + P::k_batch(batch) + position * P::K_STEP + lane * E));
            v[u] = load_pack<4>((const u32 *)(p.v + P::v_batch(batch) + position * P::V_STEP + lane * E));
        }
        UNROLL for (int u = 0; u < SLIM_AHEAD; u++) {
            i64  position = first + u * GROUPS + THREAD / LANES;
            bool there = position < end;
            i32  write = there ? attention_write(p, batch, position) : 0;
            i32  segment = there ? attention_memory_segment(p, batch, position) : 0;
            UNROLL for (int r = 0; r < N; r++)
                slim_take<P, E>(p, rows[r], at[r], k[u].at, v[u].at, position, there, write, segment);
        }
    }
    UNROLL for (int r = 0; r < N; r++) {
        UNROLL for (int mask = LANES; mask < WARP; mask *= 2) {
            slim_sums<E> other = {shuffle_xor(at[r].top, mask), shuffle_xor(at[r].sum, mask), {}};
            UNROLL for (int e = 0; e < E; e++) other.o[e] = shuffle_xor(at[r].o[e], mask);
            slim_join(at[r], other);
        }
        f32 *line = part + (WARP_OF_BLOCK * N + r) * LINE;
        if (LANE >= LANES) continue;
        UNROLL for (int e = 0; e < E; e++) line[lane * E + e] = at[r].o[e];
        if (LANE == 0) line[P::KEY] = at[r].top, line[P::KEY + 1] = at[r].sum;
    }
    SYNC();
    for (int k = THREAD; k < N * P::KEY; k += SLIM_THREADS) {
        slim_sums<1> sums = {(f32)NOTHING_SEEN, 0, {0}};
        int          row = k / P::KEY, d = k % P::KEY;
        UNROLL for (int w = 0; w < WARPS; w++) {
            const f32 *line = part + (w * N + row) * LINE;
            slim_join(sums, slim_sums<1>{line[P::KEY], line[P::KEY + 1], {line[d]}});
        }
        all[row * LINE + d] = sums.o[0];
        if (d == 0) all[row * LINE + P::KEY] = sums.top, all[row * LINE + P::KEY + 1] = sums.sum;
    }
    cluster_meet<S>(all, N * LINE);
    for (int k = THREAD; BLOCK % S == S - 1 && k < N * P::KEY; k += SLIM_THREADS) {
        slim_sums<1> sums = {(f32)NOTHING_SEEN, 0, {0}};
        int          line = k / P::KEY * LINE, d = k % P::KEY;
        f32          tops[S], of[S], o[S];
        cluster_values<S>(all, line + P::KEY, tops);
        cluster_values<S>(all, line + P::KEY + 1, of);
        cluster_values<S>(all, line + d, o);
        UNROLL for (int s = 0; s < S; s++) slim_join(sums, slim_sums<1>{tops[s], of[s], {o[s]}});
        slim_store(p, batch, k / P::KEY, d, sums, y, lse, top);
    }
    cluster_leave<S>();
}

/* Products with few columns, for write_slim.c.  See kernel_text.h for its form. */

//: across
// w is adjacent along `row`: a thread has `vector` rows and every G-th term of its block's.
        i64 first = tile / $S * $WIDE, mine = first + THREAD % $L * $V;
        const i32 from = tile % $S * $EACH, end = SMALLER(from + $EACH, $K);
        const i32 begin = from + THREAD / $L;
        f32 sum[$N][$V] = {};
        pack<u32, $WORDS> v[$AHEAD];
        auto take = [&](i32 k) {
            UNROLL for (int u = 0; u < $AHEAD; u++)
                if (mine < $ROWS && k + u * $G < end)
                    v[u] = load_pack<$WORDS>((const u32 *)(w + mine + (i64)(k + u * $G) * ($WK)));
        };
        if ($FIXED) {
            take(begin);
            if (mine < $ROWS && THREAD % $L % $SECTOR == 0)
                for (i32 k = begin + $G * $AHEAD; k < end; k += $G) fetch_early(w + mine + (i64)k * ($WK));
        }
        wait_for_turn();
        $FILL
        for (i32 k = begin; k < end; k += $G * $AHEAD) {
            if (!$FIXED || k != begin) take(k);
            UNROLL for (int u = 0; u < $AHEAD; u++)
                if (mine < $ROWS && k + u * $G < end) UNROLL for (int n = 0; n < $N; n++) {
                    f32 y = load(x + (i64)(k + u * $G) * ($XK) + n * ($XN));
                    UNROLL for (int e = 0; e < $V; e++)
                        sum[n][e] = fused(element_of<$T>(v[u].at, e), y, sum[n][e]);
                }
        }
        UNROLL for (int n = 0; n < $N; n++)
            UNROLL for (int e = 0; e < $V; e++) {
                UNROLL for (int mask = 16; mask >= $L; mask /= 2)
                    sum[n][e] = ADD(sum[n][e], shuffle_xor(sum[n][e], mask));
                if (LANE < $L) part[(WARP_OF_BLOCK * $N + n) * $WIDE + LANE * $V + e] = sum[n][e];
            }
        SYNC();
        for (int r = THREAD; r < $N * $WIDE; r += $THREADS) {
            f32 total = 0;
            for (int j = 0; j < $WARPS; j++) total = ADD(total, part[j * $N * $WIDE + r]);
            sums[r] = total;
        }
        cluster_meet<$S>(sums, $N * $WIDE);
        for (int r = THREAD; tile % $S == $S - 1 && r < $N * $WIDE; r += $THREADS) {
            f32 total = 0, of[$S];
            cluster_values<$S>(sums, r, of);
            UNROLL for (int s = 0; s < $S; s++) total = ADD(total, of[s]);
            i64 row = first + r % $WIDE, column = r / $WIDE;
            if (row < $ROWS) {

//: along
// w is adjacent along k: $GROUP threads go along $R rows.
        i64 first = (tile * $GROUPS + THREAD / $GROUP) * $R;
        i32 begin = THREAD % $GROUP * $V;
        f32 sum[$R][$N] = {};
        pack<u32, $WORDS> v[$R];
        auto take = [&](i32 k) {
            UNROLL for (int r = 0; r < $R; r++)
                if (first + r < $ROWS) v[r] = load_pack<$WORDS>((const u32 *)(w + (first + r) * ($WB) + k));
        };
        if ($FIXED && begin < $K) take(begin);
        wait_for_turn();
        $FILL
        for (i32 k = begin; k < $K; k += $GROUP * $V) {
            if (!$FIXED || k != begin) take(k);
            UNROLL for (int n = 0; n < $N; n++) {
                $T y[$V];
                $TAKEX
                UNROLL for (int r = 0; r < $R; r++)
                    if (first + r < $ROWS) UNROLL for (int e = 0; e < $V; e++)
                        sum[r][n] = fused(element_of<$T>(v[r].at, e), widen(y[e]), sum[r][n]);
            }
        }
        int mine = THREAD % $GROUP;
        f32 total = 0;
        UNROLL for (int r = 0; r < $R; r++)
            UNROLL for (int n = 0; n < $N; n++) {
                f32 all = group_sum<$GROUP>(sum[r][n]);
                if (mine == r * $N + n) total = all;
            }
        if (mine < $R * $N) {
            i64 row = first + mine / $N, column = mine % $N;
            if (row < $ROWS) {

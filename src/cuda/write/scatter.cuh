/* Writing at computed indices, for write_scatter.c.  See kernel_text.h for its form. */

//: few_begin
    $U at = ($U)BLOCK * 256 + THREAD;
    if (at >= $UNITS) return;
    $U item_at = at / $PIECES;
    $EACHLOOPS
    $U outer = item_at / $PLACES, mine = item_at % $PLACES;
    $OUTERLOOPS
    const $X *indices = in1 + $OUTERINDEX;
    i64 index;
    { $U place = mine; $PLACELOOPS index = indices[$PLACEINDEX]; }
    if ((u64)index >= $ALONGull) return;
    $T *to = out0 + ($OUTEROUT + $EACHOUT + ($I)index * $STRIDE);
    const $T *from = in0 + ($OUTERIN + $EACHIN);

//: few_add
    for ($U place = 0; place < mine; place++) {
        $PLACELOOPS
        if (indices[$PLACEINDEX] == index) return;
    }
    $C vs[$V] = {};
    for ($U place = mine; place < $PLACES; place++) {
        $PLACELOOPS
        if (indices[$PLACEINDEX] != index) continue;
        $T xs[$V];
        load_packs<$V>(xs, from + $PLACEIN);
        UNROLL for (int e = 0; e < $V; e++) vs[e] = ADD(vs[e], widen(xs[e]));
    }
    $ADDUP

//: few_set
    for ($U place = mine + 1; place < $PLACES; place++) {
        $PLACELOOPS
        if (indices[$PLACEINDEX] == index) return;
    }
    $U place = mine;
    $PLACELOOPS
    $T xs[$V];
    load_packs<$V>(xs, from + $PLACEIN);
    store_packs<$V>(to, xs);

//: sort_tiles
// An item: number of the outer iteration times the dimension plus the index, then the place.
    $SORTDECLARE
    for (int t = THREAD; t < $N; t += THREADS) {
        $U item_at = ($U)BLOCK * $N + t;
        item[t] = ~0ull;
        if (item_at >= $ITEMS) continue;
        $U outer = item_at / $PLACES, place = item_at % $PLACES;
        $OUTERLOOPS
        $PLACELOOPS
        i64 index = in1[$OUTERINDEX + $PLACEINDEX];
        u32 key = (u64)index < $ALONGull ? (u32)(outer * $ALONG + index) : 0xffffffffu;
        item[t] = (u64)key << 32 | (u32)item_at;
    }
    SYNC();
$SORT    for (int t = THREAD; t < $N; t += THREADS) ((u64 *)scratch)[BLOCK * $N + t] = item[t];

//: join_tiles
// What is beyond the last item comes last in the last tile, and is in no other.
    i64 at = BLOCK * 256 + THREAD;
    if (at >= $ITEMS) return;
    const u64 *sorted = (const u64 *)(scratch + $JOINFROM);
    u64 mine = sorted[at];
    i64 own = at / $SIZE, group = own & ~($FAN - 1ll), rank = at % $SIZE;
    for (i64 tile = group; tile < group + $FAN && tile * $SIZE < $ITEMS; tile++) {
        if (tile == own) continue;
        const u64 *theirs = sorted + tile * $SIZE;
        i64 low = 0, high = $ITEMS - tile * $SIZE < $SIZE ? $ITEMS - tile * $SIZE : $SIZE;
        while (low < high) {
            i64 middle = (low + high) / 2;
            if (mine > theirs[middle]) low = middle + 1;
            else high = middle;
        }
        rank += low;
    }
    ((u64 *)(scratch + $JOINTO))[group * $SIZE + rank] = mine;

//: run_set
    $U at = ($U)BLOCK * 256 + THREAD;
    if (at >= $UNITS) return;
    $SORTED
    i64 p = (i64)(at / $PIECES);
    u32 key = (u32)(sorted[p] >> 32), item_at = (u32)sorted[p];
    if (key == 0xffffffffu || (p + 1 < $ITEMS && (u32)(sorted[p + 1] >> 32) == key)) return;
    $EACHLOOPS
    $FROM
    $TO
    $T xs[$V];
    load_packs<$V>(xs, from);
    store_packs<$V>(to, xs);

//: run_begin
    $U at = ($U)BLOCK * 256 + THREAD;
    if (at >= $UNITS) return;
    $SORTED
    $C *parts = ($C *)(scratch + $PARTSAT);
    $EACHLOOPS
    i64 piece = (i64)(at % $PIECES), tile = (i64)(at / $PIECES);
    i64 first = tile * $RUN, end = first + $RUN < $ITEMS ? first + $RUN : $ITEMS;

//: run_add
// All runs but those that go on beyond the tile; of one that began before it, this tile's part.
    u32 key = (u32)(sorted[first] >> 32);
    bool head = first > 0 && (u32)(sorted[first - 1] >> 32) == key;
    $C vs[$V] = {};
    for (i64 p0 = first; p0 < end; p0 += 4) {
        $T xs[4][$V];
        UNROLL for (int u = 0; u < 4; u++) {
            if (p0 + u >= end) break;
            u32 item_at = (u32)sorted[p0 + u];
            $FROM
            load_packs<$V>(xs[u], from);
        }
        UNROLL for (int u = 0; u < 4; u++) {
            i64 p = p0 + u;
            if (p >= end) break;
            UNROLL for (int e = 0; e < $V; e++) vs[e] = ADD(vs[e], widen(xs[u][e]));
            u32 next = p + 1 < $ITEMS ? (u32)(sorted[p + 1] >> 32) : ~key;
            if (next == key && p + 1 < end) continue;
            if (key != 0xffffffffu && head) {
                UNROLL for (int e = 0; e < $V; e++) parts[(tile * $PIECES + piece) * $V + e] = vs[e];
            } else if (key != 0xffffffffu && next != key) {
                $TO
                $ADDUP
            }
            UNROLL for (int e = 0; e < $V; e++) vs[e] = 0;
            head = false;
            key = next;
        }
    }

//: run_join
// The run that begins in a tile and goes on beyond it.
    u32 key = (u32)(sorted[end - 1] >> 32);
    if (key == 0xffffffffu || end == $ITEMS || (u32)(sorted[end] >> 32) != key) return;
    i64 begin = end - 1;
    while (begin > first && (u32)(sorted[begin - 1] >> 32) == key) begin--;
    if (begin == first && first > 0 && (u32)(sorted[first - 1] >> 32) == key) return;
    $C vs[$V] = {};
    for (i64 p = begin; p < end; p++) {
        u32 item_at = (u32)sorted[p];
        $FROM
        $T xs[$V];
        load_packs<$V>(xs, from);
        UNROLL for (int e = 0; e < $V; e++) vs[e] = ADD(vs[e], widen(xs[e]));
    }
    for (i64 t = tile + 1; t * $RUN < $ITEMS && (u32)(sorted[t * $RUN] >> 32) == key; t++)
        UNROLL for (int e = 0; e < $V; e++)
            vs[e] = ADD(vs[e], parts[(t * $PIECES + piece) * $V + e]);
    $TO
    $ADDUP

//: in_order
// One block, place after place.
    for ($U place = 0; place < $PLACES; place++) {
        $PLACELOOPS
        i64 index = in1[$PLACEINDEX];
        if ((u64)index < $ALONGull)
            for ($U at = THREAD; at < $PIECES; at += THREADS) {
                $EACHLOOPS
                $T x = in0[$PLACEIN + $EACHIN];
                $T *to = out0 + ($PLACEOUT + $EACHOUT + ($I)index * $STRIDE);
                $PUT
            }
        SYNC();
    }

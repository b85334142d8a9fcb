/* Ordering rows, for write_order.c.  See kernel_text.h for its form. */

//: sort_rows
    $SORTDECLARE
    for (int t = THREAD; t < $ALL; t += THREADS) {
        $U row = ($U)BLOCK / $TILES * $ROWS + t / $N;
        $I j = ($I)(($U)BLOCK % $TILES * $N + t % $N);
        item[t] = ~0ull;
        $INDEXNONE
        if (row >= $LINES || j >= $ALONG) continue;
        $LOOPS
        const $T *from = in0 + ($IN + j * $INSTEP);
        $KEY
        $ITEM
    }
    SYNC();
$SORT

//: put_rows
    for (int t = THREAD; t < $ROWS * $K; t += THREADS) {
        $U row = ($U)BLOCK * $ROWS + t / $K;
        if (row >= $LINES) continue;
        int place = t / $K * $N + t % $K;
        $I rank = t % $K, found = ($I)(u32)$FOUND;
        $LOOPS
        $PUT
    }

//: join_tiles
// Of a tile, the first k items are looked at.
    i64 at = BLOCK * 256 + THREAD;
    if (at >= $UNITS) return;
    i64 row = at / ($TILES * $FEW), own = at / $FEW % $TILES, t = at % $FEW;
    if (own * $N + t >= $ALONG) return;
    const u64 *sorted = (const u64 *)scratch + row * ($TILES * $N);
    u64 mine = sorted[own * $N + t];
    $INDEXMINE
    $I rank = ($I)t;
    for (i64 tile = 0; tile < $TILES && rank < $K; tile++) {
        if (tile == own) continue;
$SORTBEFORE    }
    if (rank >= $K) return;
    $I found = ($I)(u32)$FOUNDMINE;
    $LOOPS
    $PUT

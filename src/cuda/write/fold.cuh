/* Folds, for write_fold.c.  See kernel_text.h for its form. */

//: join_parts
    int lane = THREAD % $X, high = THREAD / $X;
    $U row = ($U)BLOCK * $X + lane;
    $C v = $NONE;
    $W
    if (row < $KEPT)
        for ($U chunk = high; chunk < $CHUNKS; chunk += $Y) {
            $C x = ((const $C *)scratch)[$CHUNKAT];
            $WOFCHUNK
            $JOIN
        }
    SHARED $C part[$ROOM];
    $WSHARED
    part[THREAD] = v;
    $WKEEP
    SYNC();
    if (high > 0 || row >= $KEPT) return;
    for (int k = 1; k < $Y; k++) {
        $C x = part[$OTHER];
        $WOFPART
        $JOIN
    }
    {
        $OUTLOOPS
        auto *to = out0 + $OUT;
        $PUT
    }

//: begin_numbers
    $C vs[$V];
    $WS
    UNROLL for (int e = 0; e < $V; e++) {
        vs[e] = $NONE;
        $WSNONE
    }

//: take_pieces
// Pieces $FIRST, $FIRST + $APART, ... of the chunk, which begin at `from`.
    $U end = (chunk + 1) * $PER < $PIECES ? (chunk + 1) * $PER : $PIECES;
    for ($U first = chunk * $PER + $FIRST; first < end; first += $APART * $TOGETHER) {
        $T xs[$TOGETHER][$V];
        UNROLL for (int u = 0; u < $TOGETHER; u++) {
            $U at = first + u * $APART;
            if (at >= end) break;
            $LOOPS
            load_packs<$V>(xs[u], from + $IN);
        }
        UNROLL for (int u = 0; u < $TOGETHER; u++) {
            $U at = first + u * $APART;
            if (at >= end) break;
            UNROLL for (int e = 0; e < $V; e++) {
                $C x = widen(xs[u][e]), &v = vs[e];
                $WINE$POSITION
                $JOIN
            }
        }
    }

//: join_lanes
    $C v = vs[0];
    $WFIRST
    UNROLL for (int e = 1; e < $V; e++) {
        $C x = vs[e];
        $WOFE
        $JOIN
    }
    UNROLL for (int mask = $LANES / 2; mask > 0; mask /= 2) {
        $C x = shuffle_xor(v, mask);
        $WOFLANE
        $JOIN
    }

//: join_warps
    SHARED $C part[$ROOM];
    $WSHARED
    if (LANE == 0) {
        part[WARP_OF_BLOCK] = v;
        $WKEEP
    }
    SYNC();
    if (THREAD > 0) return;
    for (int k = 1; k < $ROOM; k++) {
        $C x = part[k];
        $WOFPART
        $JOIN
    }

//: begin_columns
    $U tile = ($U)BLOCK / $CHUNKS, chunk = ($U)BLOCK % $CHUNKS;
    int lane = THREAD % $X, high = THREAD / $X;
    $U piece = tile * $X + lane;
    if (piece >= $COLUMNS) piece = $COLUMNS - 1;
    $KEPTLOOPS
    const $T *from = in0 + $KEPTIN;

//: join_columns
    SHARED $C part[$ROOM];
    $WSHARED
    UNROLL for (int e = 0; e < $V; e++) {
        part[$SLOT] = vs[e];
        $WKEEP
    }
    SYNC();
    for (int c = THREAD; c < $X * $V; c += THREADS) {
        $U row = tile * ($X * $V) + c;
        if (row >= $KEPT) break;
        $C v = part[c];
        $WBEGIN
        for (int k = 1; k < $Y; k++) {
            $C x = part[$OTHER];
            $WOFPART
            $JOIN
        }
        $OUTLOOPS
        $FINISH
    }

/* Running sums, for write_scan.c.  See kernel_text.h for its form. */

//: by_threads
    $U row = ($U)BLOCK * 256 + THREAD;
    if (row >= $LINES) return;
    $LOOPS
    const $T *from = in0 + ($IN + $INFIRST);
    $O *to = out0 + ($OUT + $OUTFIRST);
    $C sum = 0;
    for ($I first = 0; first < $ALONG; first += 4) {
        $T xs[4];
        UNROLL for (int e = 0; e < 4; e++)
            if (first + e < $ALONG) xs[e] = from[(first + e) * $INSTEP];
        UNROLL for (int e = 0; e < 4; e++) {
            if (first + e >= $ALONG) break;
            $C before = sum;
            sum = ADD(sum, widen(xs[e]));
            store(to + (first + e) * $OUTSTEP, $RESULT);
        }
    }

//: begin_line
    $U row = ($U)BLOCK / $CHUNKS * $ROWS + THREAD / $G;
    $I chunk = ($I)(($U)BLOCK % $CHUNKS);
    bool on = row < $LINES;
    if (!on) row = $LINES - 1;
    $LOOPS
    const $T *from = in0 + ($IN + $INFIRST);
    $I begin = chunk * $PER, end = begin + $PER < $ALONG ? begin + $PER : $ALONG;

//: by_groups
    $O *to = out0 + ($OUT + $OUTFIRST);
    $C carry = 0;
    $EARLIER
    for ($I base = begin; base < end; base += $G * 4) {
        $I first = base + THREAD % $G * 4;
        $C sums[4];
        UNROLL for (int e = 0; e < 4; e++)
            sums[e] = first + e < end ? load(from + (first + e) * $INSTEP) : ($C)0;
        UNROLL for (int e = 1; e < 4; e++) sums[e] = ADD(sums[e - 1], sums[e]);
        $C upto = sums[3];
        UNROLL for (int gap = 1; gap < WARP; gap *= 2) {
            $C other = shuffle(upto, (LANE - gap) & (WARP - 1));
            if (LANE >= gap) upto = ADD(other, upto);
        }
        $C before = shuffle(upto, (LANE - 1) & (WARP - 1)), all = shuffle(upto, WARP - 1);
        if (LANE == 0) before = 0;
$WARPS        before = ADD(carry, before);
        UNROLL for (int e = 0; e < 4; e++)
            if (on && first + e < end) store(to + (first + e) * $OUTSTEP, $RESULT);
        carry = ADD(carry, all);
    }

//: join_warps
        SHARED $C total[$G / WARP];
        if (LANE == 0) total[WARP_OF_BLOCK] = all;
        SYNC();
        $C offset = 0;
        all = 0;
        UNROLL for (int k = 0; k < $G / WARP; k++) {
            if (k == WARP_OF_BLOCK) offset = all;
            all = ADD(all, total[k]);
        }
        before = ADD(offset, before);
        SYNC();

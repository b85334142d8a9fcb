/* Convolutions, for write_window.c.  See kernel_text.h for its form. */

//: result
    $U rest = ($U)BLOCK * 256 + THREAD;
    if (rest >= $UNITS) return;
    $I lane = ($I)(rest % $LANES);
    rest /= $LANES;
    $PLACE
    $LOOPS
    $I group = lane / $EACH;
    $C sums[$P] = {};
    $I at[$P] = {};
    bool on[$P] = {$ALWAYS};
$TAPS    UNROLL for (int u = 0; u < $P; u++)
        if ($FITS) store(out0 + ($OUTBATCH + $OUTPLACE + u * $OUTLAST + lane * $OUTLANE), sums[u]);

//: add_terms
    const $T *from = in0 + ($INBATCH + $INPLACE + group * $TERMS * $STEP);
    const $T *w = in1 + ($WPLACE + $WFIRST);
    for ($I r = 0; r < $TERMS; r += $V) {
        $T qs[$V];
        $LOADW
        UNROLL for (int u = 0; u < $P; u++) {
            if (!on[u]) continue;
            $T ps[$V];
            load_packs<$V>(ps, from + (at[u] + r * $STEP));
            $C &sum = sums[u];
            UNROLL for (int e = 0; e < $V; e++) {
                $C p = widen(ps[e]), q = widen(qs[e]);
                $TERM
            }
        }
    }

//: filter
// A thread sums $V channels, which share what is read of y.
    $U chunk = ($U)BLOCK % $CHUNKS, unit = ($U)BLOCK / $CHUNKS * 256 + THREAD;
    if (unit >= $UNITS) return;
    $U row = (unit / $LANES * $V) * $LANES + unit % $LANES;
    $OUTLOOPS
    $I group = lane / $OUTS;
    $U end = (chunk + 1) * $PER < $TERMS ? (chunk + 1) * $PER : $TERMS;
    $C sums[$V] = {};
    for ($U term = chunk * $PER; term < end; term++) {
        $U rest = term;
        $TERMPLACE
        $LOOPS
$INSIDE        const $T *x = in0 + ($INBATCH + $INPLACE + (group * $CHANS + chan) * $XCHAN);
        $T ps[$V];
        $LOADX
        $C q = load(in1 + ($OUTBATCH + $OUTPLACE + lane * $YOUT));
        UNROLL for (int e = 0; e < $V; e++) {
            $C p = widen(ps[e]), &sum = sums[e];
            $TERM
        }
    }
    UNROLL for (int e = 0; e < $V; e++) $KEEP

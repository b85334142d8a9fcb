/* Reading at computed indices, for write_gather.c.  See kernel_text.h for its form. */

//: gather
    $U first = ($U)BLOCK * $EACH + THREAD;
    $T xs[$TOGETHER][$V];
    UNROLL for (int u = 0; u < $TOGETHER; u++) {
        $U at = first + u * 256;
        if (at >= $PIECES) break;
        $LOOPS
        i64 index = in1[$INDEX];
        UNROLL for (int e = 0; e < $V; e++) xs[u][e] = $T{};
        if ((u64)index < $ALONGull) load_packs<$V>(xs[u], in0 + ($TABLE + ($I)index * $STRIDE));
    }
    UNROLL for (int u = 0; u < $TOGETHER; u++) {
        $U at = first + u * 256;
        if (at >= $PIECES) break;
        $LOOPS
        store_packs<$V>(out0 + $OUT, xs[u]);
    }

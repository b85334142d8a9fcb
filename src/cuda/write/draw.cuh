/* Random numbers, for write_draw.c.  See kernel_text.h for its form. */

//: draw
    $U at = ($U)BLOCK * 256 + THREAD;
    if (at >= $PIECES) return;
    philox_stream stream = stream_of(words, $KEY);
    $ITERATIONS
    $LOOPS
    u64 g = $FIRST$PARTFIRST + (u64)(i64)$WEIGHTS;
    philox_block b = $BLOCK(stream, g / $PER);
    $T ys[$V];
    UNROLL for (int k = 0; k < $V; k++) {
        int e = $WHICH;
        (void)e;
        $VALUE
    }
    store_packs<$PACK>(out0 + $OUT, ys);

//: truncated
// As normal_quantile of kernels/draw.c.
$UNIT
        f64 q = 0.9544997361036416 * (u + $HALF - 0.5);
        f64 w = -scalar::log((1.0 - 2.0 * q) * (1.0 + 2.0 * q)) - 2.5;
        f64 sum = 2.81022636e-08;
        sum = 3.43273939e-07 + sum * w;
        sum = -3.5233877e-06 + sum * w;
        sum = -4.39150654e-06 + sum * w;
        sum = 0.00021858087 + sum * w;
        sum = -0.00125372503 + sum * w;
        sum = -0.00417768164 + sum * w;
        sum = 0.246640727 + sum * w;
        sum = 1.50140941 + sum * w;
        f64 z = sum * 2.0 * q * 1.4142135623730951;
        f64 step = (0.5 * scalar::erf(z * 0.7071067811865476) - q) * 2.5066282746310002 * scalar::exp(0.5 * z * z);
        z = z - step / (1.0 + 0.5 * z * step);
        z = z < -2.0 ? -2.0 : z > 2.0 ? 2.0 : z;

/* Products that the library does not make, for write_contract.c.  See kernel_text.h for its form. */

//: small
// $LANES threads, one or a warp, have a result together.
    for ($U result = ($U)BLOCK * $EACH + THREAD / $LANES; result < $RESULTS; result += ($U)BLOCKS * $EACH) {
        $LOOPS
        const auto *a = in0 + $A;
        const auto *b = in1 + $B;
        $T sum = 0;
        for (i64 k = THREAD % $LANES; k < $TERMSll; k += $LANES) {
            $T x = load(a + k * ($AK)), y = load(b + k * ($BK));
            sum = $NEXT;
        }
        if ($LANES > 1) sum = warp_sum(sum);
        if (THREAD % $LANES != 0) continue;
        auto *at = out0 + $C;
        store(at, sum$ADDED);
    }

//: tiles
// A block makes tiles of $WIDE x $WIDE results, of which a thread has $R x $R, $SIDE apart.  Parts of both
// factors are in shared memory, zeros beyond their ends; each is read along its shorter stride.
    SHARED $T left[$DEPTH][$WIDE + 1], right[$DEPTH][$WIDE + 1];
    int row = THREAD / $SIDE, column = THREAD % $SIDE;
    for (i64 tile = BLOCK; tile < $TILESll; tile += BLOCKS) {
        i64 first_column = tile % $ACROSSll * $WIDE, first_row = tile / $ACROSSll % $DOWNll * $WIDE;
        $U outer = ($U)(tile / ($ACROSSll * $DOWNll));
        $LOOPS
        const auto *a = in0 + $A;
        const auto *b = in1 + $B;
        auto *c = out0 + $C;
        $T sums[$R][$R] = {};
        for (i64 begin = 0; begin < $TERMSll; begin += $DEPTH) {
            for (int e = THREAD; e < $WIDE * $DEPTH; e += $THREADS) {
                int i = $LEFT, k = $LEFTTERM;
                bool there = first_row + i < $Mll && begin + k < $TERMSll;
                left[k][i] = there ? load(a + (first_row + i) * ($AM) + (begin + k) * ($AK)) : ($T)0;
            }
            for (int e = THREAD; e < $WIDE * $DEPTH; e += $THREADS) {
                int i = $RIGHT, k = $RIGHTTERM;
                bool there = first_column + i < $Nll && begin + k < $TERMSll;
                right[k][i] = there ? load(b + (first_column + i) * ($BN) + (begin + k) * ($BK)) : ($T)0;
            }
            SYNC();
            UNROLL for (int k = 0; k < $DEPTH; k++)
                UNROLL for (int p = 0; p < $R; p++)
                    UNROLL for (int q = 0; q < $R; q++) {
                        $T x = left[k][row + p * $SIDE], y = right[k][column + q * $SIDE], &sum = sums[p][q];
                        sum = $NEXT;
                    }
            SYNC();
        }
        UNROLL for (int p = 0; p < $R; p++)
            UNROLL for (int q = 0; q < $R; q++) {
                i64 m = first_row + row + p * $SIDE, n = first_column + column + q * $SIDE;
                auto *at = c + m * ($CM) + n * ($CN);
                if (m < $Mll && n < $Nll) store(at, sums[p][q]$ADDED);
            }
    }

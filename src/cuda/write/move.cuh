/* Copies, for write_move.c.  See kernel_text.h for its form. */

//: copy_pieces
    $U first = ($U)BLOCK * $EACH + THREAD;
    $T xs[$TOGETHER][$V];
    UNROLL for (int u = 0; u < $TOGETHER; u++) {
        $U at = first + u * 256;
        if (at >= $PIECES) break;
        $LOOPS
        $LOAD
    }
    UNROLL for (int u = 0; u < $TOGETHER; u++) {
        $U at = first + u * 256;
        if (at >= $PIECES) break;
        $LOOPS
        $ADD$STORE
    }

//: copy_rest
// The last elements of a single loop, which fill no pack.
    if (BLOCK == BLOCKS - 1 && THREAD < $REST) {
        $I l0 = $LAST + THREAD;
        $T x = in0[$IN], y = $OLD;
        (void)y;
        out0[$OUT] = $VALUE;
    }

//: copy_tiles
// Reads along r, where the input is contiguous, and writes along c.
    SHARED $T tile[$SIDE][$SIDE + 1];
    $U b = ($U)BLOCK / (($U)$CTILES * $RTILES);
    $I c0 = ($I)(($U)BLOCK % $CTILES) * $SIDE;
    $I r0 = ($I)(($U)BLOCK / $CTILES % $RTILES) * $SIDE;
    $LOOPS
    int along = THREAD % $SIDE;
    UNROLL for (int j = 0; j < $SIDE / $HIGH; j++) {
        int k = THREAD / $SIDE + j * $HIGH;
        if (r0 + along < $ROWS && c0 + k < $COLUMNS)
            tile[k][along] = in0[$IN + r0 + along + (c0 + k) * $INC];
    }
    SYNC();
    UNROLL for (int j = 0; j < $SIDE / $HIGH; j++) {
        int k = THREAD / $SIDE + j * $HIGH;
        if (r0 + k < $ROWS && c0 + along < $COLUMNS) {
            $T *to = &out0[$OUT + (r0 + k) * $OUTR + (c0 + along) * $OUTC];
            $T x = tile[along][k], y = $OLD;
            (void)y;
            *to = $VALUE;
        }
    }

//: add_overlapping
// A thread for each element of the output; for each k of the meeting loops, $FIND sees whether the
// loops that are apart reach the element from there, and where the term is.
    i64 at = BLOCK * 256 + THREAD;
    if (at >= $SPAN) return;
    at += $LOW;
    $C sum = 0;
    bool any = false;
    for ($I k = 0; k < $MEETING; k++) {
        $LOOPS
        i64 rest = at - $OUT - $APARTLOW, from = $IN;
        if (rest < 0) continue;
$FIND        if (rest != 0) continue;
        sum = ADD(sum, load(&in0[from]));
        any = true;
    }
    if (any) store(&out0[at], ADD(load(&out0[at]), sum));

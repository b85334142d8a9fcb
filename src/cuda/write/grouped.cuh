/* Products whose rows are in groups, for write_grouped.c.  See kernel_text.h for its form. */

//: places
    SHARED $C left[$DEEP][$SIDE + 1], right[$DEEP][$SIDE + 1];
    const int down = THREAD / 16, across = THREAD % 16;
    $C sums[$EACH][$EACH] = {};
    // Whatever ends hold: where a group ends, given where the one before does.
    auto end_of = [&](const i32 *ends, i64 group, i64 begin) {
        i64 end = (i64)ends[group * $ENDSTEP] - $FIRSTROW;
        if (end > $ROWS) end = $ROWS;
        return end > begin ? end : begin;
    };

//: step
// Terms [l, l + DEEP) of those up to `last` are read, and added to each thread's sums.
                SYNC();
                for (int e = THREAD; e < $DEEP * $SIDE; e += 256) {
                    int t, at;
                    t = $LEFTFAST ? e % $DEEP : e / $SIDE, at = $LEFTFAST ? e / $DEEP : e % $SIDE;
                    left[t][at] = l + t < last && at < high ? load(a + at * $LEFT + (l + t) * $LEFTTERM) : ($C)0;
                    t = $RIGHTFAST ? e % $DEEP : e / $SIDE, at = $RIGHTFAST ? e / $DEEP : e % $SIDE;
                    right[t][at] = l + t < last && at < wide ? load(b + at * $RIGHT + (l + t) * $RIGHTTERM) : ($C)0;
                }
                SYNC();
                UNROLL for (int t = 0; t < $DEEP; t++)
                    UNROLL for (int p = 0; p < $EACH; p++)
                        UNROLL for (int q = 0; q < $EACH; q++)
                            sums[p][q] = fused(left[t][down + p * 16], right[t][across + q * 16], sums[p][q]);

//: put
    UNROLL for (int p = 0; p < $EACH; p++)
        UNROLL for (int q = 0; q < $EACH; q++)
            if (down + p * 16 < high && across + q * 16 < wide)
                store(c + (down + p * 16) * $OUTDOWN + (across + q * 16) * $OUTALONG, sums[p][q]);

//: products
// A block finds its tile: rows of one group, or of none.  It is the tile-th, counted group by group.
    $PLACES
    const i64 column = BLOCK % $STRIPS * $SIDE, number = BLOCK / $STRIPS / $TILES;
    i64 tile = BLOCK / $STRIPS % $TILES, begin = 0, end = 0;
    $LOOPS
    const i32 *ends = in2 + $ENDS;
    for (i64 g = 0; g < $FIRSTGROUP; g++) end = end_of(ends, g, end);
    i64 group = -1, here = (end + $SIDE - 1) / $SIDE;
    while (tile >= here && group < $GROUPS) {
        tile -= here, begin = end, group++;
        end = group < $GROUPS ? end_of(ends, $FIRSTGROUP + group, begin) : $ROWS;
        here = (end - begin + $SIDE - 1) / $SIDE;
    }
    if (tile >= here) return;
    const i64 row = begin + tile * $SIDE;
    const i64 high = end - row < $SIDE ? end - row : $SIDE, wide = $COLUMNS - column < $SIDE ? $COLUMNS - column : $SIDE;
    if (group >= 0 && group < $GROUPS) {
        const i64 last = $TERMS;
        const $T *a = in$LEFTIN + ($A + row * $LEFT), *b = in$RIGHTIN + ($B + group * $APART + column * $RIGHT);
        for (i64 l = 0; l < last; l += $DEEP) {
$STEP
        }
    }
    $D *c = out0 + ($OUT + row * $OUTDOWN + column * $OUTALONG);
$PUT

//: sums
    $PLACES
    const i64 column = BLOCK % $STRIPS * $SIDE, row = BLOCK / $STRIPS % $TILES * $SIDE;
    const i64 group = BLOCK / $STRIPS / $TILES % $GROUPS, number = BLOCK / $STRIPS / $TILES / $GROUPS;
    const i64 high = $HIGH - row < $SIDE ? $HIGH - row : $SIDE, wide = $COLUMNS - column < $SIDE ? $COLUMNS - column : $SIDE;
    $LOOPS
    for (i64 more = 0; more < $SUMMED; more++) {
        $MORELOOPS
        const i32 *ends = in2 + ($ENDS + $MOREENDS);
        i64 begin = 0, last = 0;
        for (i64 g = 0; g <= $FIRSTGROUP + group; g++) begin = last, last = end_of(ends, g, last);
        const $T *a = in$LEFTIN + ($A + $MOREA + row * $LEFT), *b = in$RIGHTIN + ($B + $MOREB + column * $RIGHT);
        for (i64 l = begin; l < last; l += $DEEP) {
$STEP
        }
    }
    $D *c = out0 + ($OUT + group * $APART + row * $OUTDOWN + column * $OUTALONG);
$PUT

/* Grouped products of short floats by products of small matrices, for write_grouped_matrix.c.
 *
 * A block of 8 warps has a tile of HIGH x 128 results.  Both factors come through shared memory, DEEP terms at a
 * time: while these are multiplied the next two lots are on their way.  A line of shared memory has the
 * elements that are adjacent in memory, along the terms or across them, and is 8 elements longer than it need
 * be, so that 8 of them begin in different banks.  Terms are added in the same order wherever a row is.
 */

//: shape
    enum { HIGH = $HIGHTILE, WIDE = 128, DEEP = 32, LOTS = 3, BLOCK_SIZE = 256 };
    enum { DOWN = HIGH >= 64 ? 2 : 1, ACROSS = 8 / DOWN, MINE_HIGH = HIGH / DOWN / 16, MINE_WIDE = WIDE / ACROSS / 8 };
    enum { LEFTLONG = ($LEFTFAST ? DEEP : HIGH) + 8, RIGHTLONG = ($RIGHTFAST ? DEEP : WIDE) + 8 };
    enum { LEFTSIZE = ($LEFTFAST ? HIGH : DEEP) * LEFTLONG, LOTSIZE = LEFTSIZE + ($RIGHTFAST ? WIDE : DEEP) * RIGHTLONG };
    $T *const lots = ($T *)DYNAMIC_SHARED;
    const int own_row = WARP_OF_BLOCK / ACROSS * MINE_HIGH * 16, own_column = WARP_OF_BLOCK % ACROSS * MINE_WIDE * 8;
    f32 sums[MINE_HIGH][MINE_WIDE][4] = {};
    // Where a group ends, whatever ends hold, if it is not empty.
    auto end_of = [&](const i32 *ends, i64 group) {
        i64 end = (i64)ends[group * $ENDSTEP] - $FIRSTROW;
        return end > $ROWS ? $ROWS : end > 0 ? end : (i64)0;
    };

//: add
// All terms from `l` up to `last` are added to the sums.
        auto take_lot = [&](int lot, i64 l) {
            lines_ahead<$LEFTFAST, HIGH, DEEP, BLOCK_SIZE>(lots + lot * LOTSIZE, a + l * $LEFTTERM, $LEFT, $LEFTTERM,
                                                           high, last - l);
            lines_ahead<$RIGHTFAST, WIDE, DEEP, BLOCK_SIZE>(lots + lot * LOTSIZE + LEFTSIZE, b + l * $RIGHTTERM, $RIGHT,
                                                            $RIGHTTERM, wide, last - l);
            copies_commit();
        };
        UNROLL for (int k = 0; k < LOTS - 1; k++) take_lot(k, l + k * DEEP);
        for (int lot = 0; l < last; l += DEEP, lot = lot == LOTS - 1 ? 0 : lot + 1) {
            copies_wait_but<LOTS - 2>();
            SYNC();
            take_lot(lot == 0 ? LOTS - 1 : lot - 1, l + (LOTS - 1) * DEEP);
            const $T *left = lots + lot * LOTSIZE, *right = left + LEFTSIZE;
            UNROLL for (int t = 0; t < DEEP; t += 16) {
                u32 x[MINE_HIGH][4], y[4];
                UNROLL for (int m = 0; m < MINE_HIGH; m++)
                    if constexpr ($LEFTFAST)
                        load_matrices(x[m], left + (own_row + m * 16 + LANE % 16) * LEFTLONG + t + LANE / 16 * 8);
                    else
                        load_matrices_transposed(x[m], left + (t + LANE % 8 + LANE / 16 * 8) * LEFTLONG + own_row +
                                                           m * 16 + LANE / 8 % 2 * 8);
                UNROLL for (int n = 0; n < MINE_WIDE; n += 2) {
                    if constexpr ($RIGHTFAST)
                        load_matrices(y, right + (own_column + n * 8 + LANE % 8 + LANE / 16 * 8) * RIGHTLONG + t +
                                             LANE / 8 % 2 * 8);
                    else
                        load_matrices_transposed(y, right + (t + LANE % 16) * RIGHTLONG + own_column + n * 8 +
                                                        LANE / 16 * 8);
                    UNROLL for (int m = 0; m < MINE_HIGH; m++) {
                        matrix_product<$T>(sums[m][n], x[m], y[0], y[1]);
                        matrix_product<$T>(sums[m][n + 1], x[m], y[2], y[3]);
                    }
                }
            }
        }
        copies_wait();
        SYNC();

//: put
    UNROLL for (int m = 0; m < MINE_HIGH; m++)
        UNROLL for (int h = 0; h < 2; h++) {
            const int down = own_row + m * 16 + LANE / 4 + h * 8;
            UNROLL for (int n = 0; n < MINE_WIDE && down < high; n++) {
                const int along = own_column + n * 8 + LANE % 4 * 2;
                $D *at = c + down * $OUTDOWN + along * $OUTALONG;
                const f32 both[2] = {sums[m][n][2 * h], sums[m][n][2 * h + 1]};
                if ($PAIRS) {
                    if (along < wide) store_packs<2>(at, both);
                } else {
                    if (along < wide) store(at, both[0]);
                    if (along + 1 < wide) store(at + $OUTALONG, both[1]);
                }
            }
        }

//: products
// A block finds its tile: rows of one group, or of none.  It is the tile-th, counted group by group.  Number
// $FIRSTGROUP + $GROUPS stands for the rows behind all groups; those before belong to none either.
$SHAPE
    const i64 column = BLOCK % $STRIPS * WIDE, number = BLOCK / $STRIPS / $TILES, tile = BLOCK / $STRIPS % $TILES;
    $LOOPS
    const i32 *ends = in2 + $ENDS;
    i64 row = -1, end = 0, tiles = 0, group = 0;
    for (i64 first = 0; first <= $FIRSTGROUP + $GROUPS && row < 0; first += WARP) {
        const i64 g = first + LANE;
        i64 far = g < $FIRSTGROUP + $GROUPS ? end_of(ends, g) : (i64)$ROWS;
        far = far > end ? far : end;
        UNROLL for (int d = 1; d < WARP; d *= 2) {
            i64 before = shuffle(far, LANE < d ? LANE : LANE - d);
            far = before > far ? before : far;
        }
        i64 near = shuffle(far, LANE ? LANE - 1 : 0);
        if (LANE == 0) near = end;
        if (g < $FIRSTGROUP) near = g == $FIRSTGROUP - 1 ? 0 : far;
        if (g > $FIRSTGROUP + $GROUPS) near = far;
        const i64 mine = (far - near + HIGH - 1) / HIGH;
        i64       upto = mine;
        UNROLL for (int d = 1; d < WARP; d *= 2) {
            i64 before = shuffle(upto, LANE < d ? LANE : LANE - d);
            upto += LANE < d ? 0 : before;
        }
        upto += tiles;
        const int lane = (int)warp_sum<WARP>((i32)(upto <= tile));
        if (lane < WARP) {
            row = shuffle(near, lane) + (tile - (shuffle(upto, lane) - shuffle(mine, lane))) * HIGH;
            end = shuffle(far, lane), group = first + lane - $FIRSTGROUP;
        } else {
            end = shuffle(far, WARP - 1), tiles = shuffle(upto, WARP - 1);
        }
    }
    if (row < 0) return;
    const i64 high = end - row < HIGH ? end - row : (i64)HIGH, wide = $COLUMNS - column < WIDE ? $COLUMNS - column : (i64)WIDE;
    if (group >= 0 && group < $GROUPS) {
        const i64 last = $TERMS;
        const $T *a = in$LEFTIN + ($A + row * $LEFT), *b = in$RIGHTIN + ($B + group * $APART + column * $RIGHT);
        i64 l = 0;
$ADD
    }
    $D *c = out0 + ($OUT + row * $OUTDOWN + column * $OUTALONG);
$PUT

//: sums
$SHAPE
    const i64 column = BLOCK % $STRIPS * WIDE, row = BLOCK / $STRIPS % $TILES * HIGH;
    const i64 group = BLOCK / $STRIPS / $TILES % $GROUPS, number = BLOCK / $STRIPS / $TILES / $GROUPS;
    const i64 high = $HIGH - row < HIGH ? $HIGH - row : (i64)HIGH, wide = $COLUMNS - column < WIDE ? $COLUMNS - column : (i64)WIDE;
    $LOOPS
    for (i64 more = 0; more < $SUMMED; more++) {
        $MORELOOPS
        const i32 *ends = in2 + ($ENDS + $MOREENDS);
        i64 l = 0, last = end_of(ends, $FIRSTGROUP + group);
        for (i64 g = LANE; g < $FIRSTGROUP + group; g += WARP) l = LARGER(l, end_of(ends, g));
        l = warp_max(l);
        last = LARGER(l, last);
        const $T *a = in$LEFTIN + ($A + $MOREA + row * $LEFT), *b = in$RIGHTIN + ($B + $MOREB + column * $RIGHT);
$ADD
    }
    $D *c = out0 + ($OUT + group * $APART + row * $OUTDOWN + column * $OUTALONG);
$PUT

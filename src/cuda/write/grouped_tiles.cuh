/* Grouped products of short floats with many rows, for write_grouped_tiles.c: a table, then tiles of the result.
 *
 * Groups that multiply with the same factor are one group: the rows of group g of nest after nest ($MORELOOPS)
 * follow one another.  The table says for each group, those of this result first, then the rows before and the
 * rows behind them, how many rows all nests before have, and where the group begins in each nest.
 *
 * A block has a tile of HIGH x WIDE results.  128 threads copy both factors into shared memory, a lot of DEEP terms at a
 * time, to one of LOTS places; two times 128 threads multiply 64 rows each.  They meet where a lot is there (FULL)
 * and where its place is free again (FREE).  Terms are added in the same order wherever a row is.
 */

//: words
    enum { KINDS = $GROUPS + 2, NESTS = $SUMMED, TABLE = KINDS * (2 * NESTS + 2), HIGH = $HIGHTILE };
    i32 *const starts = (i32 *)scratch + number * TABLE, *const firsts = starts + KINDS * (NESTS + 1),
               *const tiles = firsts + KINDS * NESTS;

//: table
// A block for each result; its warps take nests, then kinds of rows.  Whatever ends hold, groups lie behind one
// another within the rows.
    const i64 number = BLOCK;
$WORDS
    $LOOPS
    auto put = [&](i64 kind, i64 nest, i64 from, i64 to) {
        firsts[kind * NESTS + nest] = (i32)from;
        starts[kind * (NESTS + 1) + nest + 1] = (i32)(to - from);
    };
    // list[k] becomes the sum of list[0 .. k], by a warp; the sum of all.
    auto add_up = [&](i32 *list, i64 n) {
        i32 all = 0;
        for (i64 first = 0; first < n; first += WARP) {
            i32 upto = first + LANE < n ? list[first + LANE] : 0;
            UNROLL for (int d = 1; d < WARP; d *= 2) {
                i32 before = shuffle(upto, LANE < d ? LANE : LANE - d);
                upto += LANE < d ? 0 : before;
            }
            upto += all;
            if (first + LANE < n) list[first + LANE] = upto;
            all = shuffle(upto, WARP - 1);
        }
        return all;
    };
    for (i64 more = WARP_OF_BLOCK; more < NESTS; more += THREADS / WARP) {
        $MORELOOPS
        const i32 *ends = in2 + ($ENDS + $MOREENDS);
        i64 end = 0;
        if (LANE == 0) put($GROUPS, more, 0, 0);
        for (i64 first = 0; first <= $FIRSTGROUP + $GROUPS; first += WARP) {
            const i64 g = first + LANE, kind = g - $FIRSTGROUP;
            i64 far = g < $FIRSTGROUP + $GROUPS ? (i64)ends[g * $ENDSTEP] - $FIRSTROW : (i64)$ROWS;
            far = far > $ROWS ? $ROWS : far > end ? far : end;
            UNROLL for (int d = 1; d < WARP; d *= 2) {
                i64 before = shuffle(far, LANE < d ? LANE : LANE - d);
                far = before > far ? before : far;
            }
            i64 near = shuffle(far, LANE ? LANE - 1 : 0);
            if (LANE == 0) near = end;
            WARP_SYNC();
            if (kind == -1) put($GROUPS, more, 0, far);
            if (kind >= 0 && kind < $GROUPS) put(kind, more, near, far);
            if (kind == $GROUPS) put($GROUPS + 1, more, near, far);
            end = shuffle(far, WARP - 1);
        }
    }
    SYNC();
    for (i64 kind = WARP_OF_BLOCK; kind < KINDS; kind += THREADS / WARP) {
        i32 *rows = starts + kind * (NESTS + 1), all = add_up(rows + 1, NESTS);
        if (LANE == 0) rows[0] = 0, tiles[kind] = (all + HIGH - 1) / HIGH;
    }
    SYNC();
    if (WARP_OF_BLOCK == 0) add_up(tiles, KINDS);

//: shape
    enum { WIDE = $WIDETILE, DEEP = TILE_LINE, LOTS = $LOTS, COPIERS = 128, MULTIPLIERS = 256, ALL = COPIERS + MULTIPLIERS };
    enum { BEHIND = LOTS - 2, FULL = 1, FREE = FULL + LOTS, AMONG_COPIERS = FREE + LOTS };
    enum { LEFTSIZE = HIGH * DEEP, LOTSIZE = LEFTSIZE + WIDE * DEEP };
    $T *const lots = tiles_begin<$T>(DYNAMIC_SHARED);
    const int half = THREAD / 128, self = THREAD - MULTIPLIERS; // the third half copies
    f32 sums[WIDE / 8][4] = {};

//: lots
    const int lots_all = (int)((last + DEEP - 1) / DEEP);
    for (int k = 0; half == 2 && k < lots_all + BEHIND; k++) {
        if (k < lots_all) {
            if (k >= LOTS) MEET(FREE + k % LOTS, ALL);
            take_lot(lots + k % LOTS * LOTSIZE, k);
        }
        copies_commit();
        if (k < BEHIND) continue;
        copies_wait_but<BEHIND>();
        tiles_copied();
        COME(FULL + (k - BEHIND) % LOTS, ALL);
    }
    for (int k = 0; half < 2 && k < lots_all; k++) {
        const $T *left = lots + k % LOTS * LOTSIZE, *right = left + LEFTSIZE;
        MEET(FULL + k % LOTS, ALL);
        tiles_ready();
        UNROLL for (int t = 0; t < DEEP; t += 16)
            tile_product<WIDE, $LEFTFAST, $RIGHTFAST>(sums, left + half * 64 * DEEP, right, t);
        tiles_commit();
        tiles_wait_but<1>(sums);
        if (k > 0 && k - 1 + LOTS < lots_all) COME(FREE + (k - 1) % LOTS, ALL);
    }
    tiles_wait_but<0>(sums);

//: put
    if (half == 2) return;
// Of four threads side by side each has pairs of four packs: they change these for a pack each.
    UNROLL for (int h = 0; h < 2; h++) {
        const int down = half * 64 + WARP_OF_BLOCK % 4 * 16 + LANE / 4 + h * 8;
        $D *const at = c + (down < high ? $ROWAT : 0);
        if constexpr ($PACKS) {
            UNROLL for (int n = 0; n < WIDE / 8; n += 4) {
                u32 w[4];
                UNROLL for (int e = 0; e < 4; e++) w[e] = narrow_pair<$D>(sums[n + e][2 * h], sums[n + e][2 * h + 1]);
                UNROLL for (int d = 1; d < 4; d *= 2)
                    UNROLL for (int e = 0; e < 4; e++)
                        if (!(e & d)) {
                            const u32 given = LANE & d ? w[e] : w[e | d], got = shuffle_xor(given, d);
                            if (LANE & d) w[e] = got;
                            else w[e | d] = got;
                        }
                const int along = (n + LANE % 4) * 8;
                if (down < high && along < wide) *(pack<u32, 4> *)(at + along) = pack<u32, 4>{{w[0], w[1], w[2], w[3]}};
            }
        } else {
            UNROLL for (int n = 0; n < WIDE / 8 && down < high; n++) {
                const int along = n * 8 + LANE % 4 * 2;
                if (along < wide) store(at + along * $OUTALONG, sums[n][2 * h]);
                if (along + 1 < wide) store(at + (along + 1) * $OUTALONG, sums[n][2 * h + 1]);
            }
        }
    }

//: products
    const i64 column = BLOCK % $STRIPS * $WIDETILE, number = BLOCK / $STRIPS / $TILES, tile = BLOCK / $STRIPS % $TILES;
$WORDS
$SHAPE
    SHARED i64 from[HIGH], to[HIGH];
    i32 kind = 0;
    for (i64 k = LANE; k < KINDS; k += WARP) kind += tiles[k] <= tile;
    kind = warp_sum<WARP>(kind);
    if (kind == KINDS) return;
    $LOOPS
    const i32 *rows = starts + kind * (NESTS + 1);
    const i64  row = (tile - (kind ? tiles[kind - 1] : 0)) * HIGH;
    const i64  high = rows[NESTS] - row < HIGH ? rows[NESTS] - row : (i64)HIGH;
    const i64  wide = $COLUMNS - column < WIDE ? $COLUMNS - column : (i64)WIDE;
    if (THREAD < high) {
        i32 more = 0;
        for (i32 most = NESTS - 1; more < most;) { // in which nest it is
            const i32 middle = (more + most + 1) / 2;
            if (rows[middle] <= row + THREAD) more = middle;
            else most = middle - 1;
        }
        const i64 line = firsts[kind * NESTS + more] + (row + THREAD - rows[more]);
        $MORELOOPS
        from[THREAD] = $MOREA + line * $LEFT;
        to[THREAD] = $MOREOUT + line * $OUTDOWN;
    }
    SYNC();
    if (kind < $GROUPS) {
        const i64 last = $TERMS;
        const $T *a = in$LEFTIN + ($A), *b = in$RIGHTIN + ($B + kind * $APART + column * $RIGHT);
        enum { PIECES = DEEP / 8, LINES = COPIERS / PIECES, MINE = HIGH / LINES };
        const $T *lines[MINE];
        UNROLL for (int m = 0; m < MINE; m++) {
            const int line = self / PIECES + m * LINES;
            lines[m] = a + (half == 2 && line < high ? from[line] : 0) + self % PIECES * 8;
        }
        auto take_lot = [&]($T *to, int k) {
            const i64 l = (i64)k * DEEP, rest = last - l;
            UNROLL for (int m = 0; m < MINE; m++) {
                const int  line = self / PIECES + m * LINES, term = self % PIECES * 8;
                const bool live = line < high && term < rest;
                copy_ahead(to + tile_piece<true>(line, term), live ? lines[m] + l : a, live);
            }
            tile_ahead<$RIGHTFAST, WIDE, COPIERS>(self, to + LEFTSIZE, b + l * $RIGHTTERM, $RIGHT, $RIGHTTERM, wide, rest);
        };
$LOTSLOOP
    }
    $D *c = out0 + ($OUT + column * $OUTALONG);
$PUT

//: sums
    const i64 column = BLOCK % $STRIPS * $WIDETILE, row = BLOCK / $STRIPS % $TILES * $HIGHTILE;
    const i64 group = BLOCK / $STRIPS / $TILES % $GROUPS, number = BLOCK / $STRIPS / $TILES / $GROUPS;
$WORDS
$SHAPE
    SHARED i64 lines[2][DEEP][2];
    $LOOPS
    const i64  high = $HIGH - row < HIGH ? $HIGH - row : (i64)HIGH, wide = $COLUMNS - column < WIDE ? $COLUMNS - column : (i64)WIDE;
    const i32 *rows = starts + group * (NESTS + 1);
    const i64  last = rows[NESTS];
    const $T  *a = in$LEFTIN + ($A + row * $LEFT), *b = in$RIGHTIN + ($B + column * $RIGHT);
    // Where the rows of a lot are: the first 64 copiers look for the left factor's.
    i32  more = 0;
    auto find_lines = [&](int k) {
        const i64 v = (i64)k * DEEP + self % DEEP;
        if (v >= last) return;
        while (rows[more + 1] <= v) more++;
        const i64 line = firsts[group * NESTS + more] + (v - rows[more]);
        $MORELOOPS
        if (self < DEEP) lines[k % 2][self][0] = $MOREA + line * $LEFTTERM;
        else lines[k % 2][self - DEEP][1] = $MOREB + line * $RIGHTTERM;
    };
    auto take_lot = [&]($T *to, int k) {
        const i64 rest = last - (i64)k * DEEP;
        if (k == 0) find_lines(0);
        MEET(AMONG_COPIERS, COPIERS);
        tile_ahead_of<HIGH, COPIERS, 0>(self, to, a, lines[k % 2], high, rest);
        tile_ahead_of<WIDE, COPIERS, 1>(self, to + LEFTSIZE, b, lines[k % 2], wide, rest);
        find_lines(k + 1);
    };
$LOTSLOOP
    $D *c = out0 + ($OUT + group * $APART + row * $OUTDOWN + column * $OUTALONG);
$PUT

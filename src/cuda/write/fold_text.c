/* Folds as kernels: sums, products, extremes and their positions.
 *
 * By rows, where the elements to be reduced are adjacent: each row is reduced by one thread, by
 * several, or by a block.  By columns, where the elements that are kept are adjacent: neighbouring
 * threads take neighbouring columns, and several threads share a column.  Where that gives too few
 * blocks, columns or rows are split into chunks, whose results a second kernel combines.  Which
 * thread reduces what follows from the sizes alone: the bits are the same in each run.
 */
#include "cuda/write/fold_text.h"

#include "base/dtype.h"
#include "cuda/write/prelude_assets.h"

static const kernel_patterns patterns = {asset_fold, &asset_fold_bytes};

enum {
    LONG_ROW = 2048, /* pieces from which on a row has a block */
    SOME_PIECES = 4, /* a thread has no fewer where a row is split into chunks */
};

bool fold_seeks(fold_kind kind)
{
    return kind == FOLD_ARGMAX || kind == FOLD_ARGMIN;
}

/* What is written for positions, where they are sought. */
static void set_positions(kernel_text *k, bool sought)
{
    static const struct {
        const char *name, *pattern;
    } words[] = {
        {"W", "i32 w = $NOWHERE;"},
        {"WS", "i32 ws[$V];"},
        {"WSNONE", "ws[e] = $NOWHERE;"},
        {"WFIRST", "i32 w = ws[0];"},
        {"WOFE", "i32 wx = ws[e];"},
        {"WINE", "i32 &w = ws[e];"},
        {"WOFLANE", "i32 wx = shuffle_xor(w, mask);"},
        {"WSHARED", "SHARED i32 where[$ROOM];"},
        {"WKEEP", "where[$SLOT] = $KEPTW;"},
        {"WBEGIN", "i32 w = where[c];"},
        {"WOFPART", "i32 wx = where[$OTHER];"},
        {"WOFCHUNK", "i32 wx = ((const i32 *)(scratch + $WHEREAT))[$CHUNKAT];"},
        {"WSAVE", " ((i32 *)(scratch + $WHEREAT))[$CHUNKAT] = w;"},
    };
    for (size_t n = 0; n < sizeof words / sizeof *words; n++)
        kernel_set_pattern(k, words[n].name, sought ? words[n].pattern : "");
}

void fold_set_words(kernel_text *k, fold_kind kind, bool adds)
{
    static const char *const none[] = {"($C)0", "lowest<$C>()", "highest<$C>()",
                                       "($C)1", "lowest<$C>()", "highest<$C>()"};
    static const char *const join[] = {"v = ADD(v, x);", "v = LARGER(v, x);", "v = SMALLER(v, x);",
                                       "v = MUL(v, x);"};
    bool                     positions = fold_seeks(kind);
    kernel_set(k, "T", "%s", kernel_type(k->i->in[0].type));
    kernel_set(k, "C", "%s", kernel_type(dtype_compute(k->i->in[0].type)));
    kernel_set_pattern(k, "NONE", none[kind]);
    kernel_set_pattern(k, "ABOVE", kind == FOLD_ARGMAX ? ">" : "<");
    kernel_set_pattern(k, "NOWHERE", "0x7fffffff");
    /* NaN before numbers, then the better one, then the lower position. */
    kernel_set_pattern(k, "JOIN",
                       !positions ? join[kind]
                                  : "if ((x != x) != (v != v) ? x != x : x $ABOVE v || "
                                    "(!(v $ABOVE x) && wx < w)) v = x, w = wx;");
    kernel_set_pattern(k, "PUT",
                       positions ? "store(to, w);"
                       : adds    ? "store(to, ADD(load(to), v));"
                                 : "store(to, v);");
    set_positions(k, positions);
}

/* ---- partial results ---- */

static int64_t bytes_of_numbers(const kernel_text *k, int64_t n)
{
    int64_t bytes = n * (int64_t)mtf_dtype_bytes(dtype_compute(k->i->in[0].type));
    return kernel_parts(bytes, PACK_BYTES) * PACK_BYTES;
}

int64_t fold_parts_bytes(const kernel_text *k, fold_kind kind, int64_t parts, int64_t kept)
{
    return bytes_of_numbers(k, parts * kept) + (fold_seeks(kind) ? parts * kept * 4 : 0);
}

bool fold_join_parts(kernel_text *k, kernel_plan *plan, int64_t parts, int64_t kept)
{
    int64_t x = kernel_power(kept, WARP_SIZE);
    kernel_set_number(k, "X", x);
    kernel_set_number(k, "Y", BLOCK_THREADS / x);
    kernel_set_number(k, "KEPT", kept);
    kernel_set_number(k, "CHUNKS", parts);
    kernel_set_number(k, "ROOM", BLOCK_THREADS);
    kernel_set_number(k, "WHEREAT", bytes_of_numbers(k, parts * kept));
    kernel_set_pattern(k, "CHUNKAT", "chunk * $KEPT + row");
    kernel_set_pattern(k, "SLOT", "THREAD");
    kernel_set_pattern(k, "KEPTW", "w");
    kernel_set_pattern(k, "OTHER", "k * $X + lane");
    kernel_say_from(k, &patterns, "join_parts");
    return kernel_done(k, plan, kernel_parts(kept, x), BLOCK_THREADS, 0);
}

/* ---- reading ---- */

static const char finish[] = "{ auto *to = out0 + $OUT; $PUT }";
static const char keep_chunk[] = "{ (($C *)scratch)[$CHUNKAT] = v;$WSAVE }";

typedef struct folding {
    kernel_text  k;
    kernel_plan *plan;
    nest         kept, reduced;
    fold_text    how;
    int          v;
    int64_t      chunks;
} folding;

static void set_chunks(folding *f, int64_t pieces, int64_t apart)
{
    kernel_text *k = &f->k;
    int64_t      per = kernel_parts(pieces, f->chunks);
    f->chunks = kernel_parts(pieces, per);
    int64_t together =
        kernel_power(kernel_parts(per, apart), kernel_together(f->v, k->i->in[0].type));
    kernel_set_number(k, "V", f->v);
    kernel_set_number(k, "PER", per);
    kernel_set_number(k, "PIECES", pieces);
    kernel_set_number(k, "APART", apart);
    kernel_set_number(k, "TOGETHER", together);
    kernel_set_number(k, "CHUNKS", f->chunks);
    kernel_set_number(k, "KEPT", f->kept.elements);
    kernel_set_number(k, "WHEREAT", bytes_of_numbers(k, f->chunks * f->kept.elements));
    kernel_set_pattern(k, "CHUNKAT", "chunk * $KEPT + row");
    kernel_set_pattern(k, "FINISH", f->chunks > 1 ? keep_chunk : finish);
    kernel_set_loops(k, "OUTLOOPS", &f->kept, 'm', "row", 1);
    kernel_set_offset(k, "OUT", &f->kept, 'm', &k->i->out[0]);
    kernel_set_offset(k, "KEPTIN", &f->kept, 'm', &k->i->in[0]);
    kernel_set_offset(k, "IN", &f->reduced, 'l', &k->i->in[0]);
}

static bool add_kernels(folding *f, int64_t blocks)
{
    TRY(kernel_done(&f->k, f->plan, blocks * f->chunks, BLOCK_THREADS, 0));
    if (f->chunks == 1) return true;
    int64_t bytes = fold_parts_bytes(&f->k, f->how.kind, f->chunks, f->kept.elements);
    f->plan->scratch_bytes = bytes;
    return fold_join_parts(&f->k, f->plan, f->chunks, f->kept.elements);
}

/* ---- by rows ---- */

static const char begin_row[] =
    "    $U row = ($U)BLOCK / $CHUNKS * $ROWS + THREAD / $G, chunk = ($U)BLOCK % $CHUNKS;\n"
    "    bool on = row < $KEPT && THREAD % $G == 0;\n"
    "    if (row >= $KEPT) row = $KEPT - 1;\n"
    "    $OUTLOOPS\n"
    "    const $T *from = in0 + $KEPTIN;\n";

static bool fold_rows(folding *f)
{
    kernel_text *k = &f->k;
    f->v = kernel_pack(&f->reduced, &f->kept, &k->i->in[0]);
    int64_t pieces = f->reduced.elements / f->v, kept = f->kept.elements;
    int64_t g = kernel_power(kernel_parts(pieces, 2), WARP_SIZE);
    if (pieces >= LONG_ROW || (pieces >= LONG_ROW / 4 && kept < kernel_full(f->k.source) * 8))
        g = BLOCK_THREADS;
    int64_t blocks = kernel_parts(kept, BLOCK_THREADS / g);
    f->chunks = 1;
    if (g == BLOCK_THREADS && blocks < kernel_full(f->k.source) / 2)
        f->chunks =
            kernel_least(kernel_full(f->k.source) / blocks, pieces / (BLOCK_THREADS * SOME_PIECES));
    if (f->chunks < 1) f->chunks = 1;
    set_chunks(f, pieces, g);
    kernel_set_number(k, "G", g);
    kernel_set_number(k, "ROWS", BLOCK_THREADS / g);
    kernel_set_number(k, "LANES", kernel_least(g, WARP_SIZE));
    kernel_set_number(k, "ROOM", BLOCK_THREADS / WARP_SIZE);
    kernel_set_pattern(k, "FIRST", "THREAD % $G");
    kernel_set_pattern(k, "SLOT", "WARP_OF_BLOCK");
    kernel_set_pattern(k, "KEPTW", "w");
    kernel_set_pattern(k, "OTHER", "k");
    kernel_set_pattern(k, "POSITION",
                       fold_seeks(f->how.kind) ? " i32 wx = (i32)(at * $V + e);" : "");
    kernel_set_loops(k, "LOOPS", &f->reduced, 'l', "at", f->v);
    kernel_say(k, begin_row);
    kernel_say_from(k, &patterns, "begin_numbers");
    kernel_say_from(k, &patterns, "take_pieces");
    kernel_say_from(k, &patterns, "join_lanes");
    if (g == BLOCK_THREADS) kernel_say_from(k, &patterns, "join_warps");
    kernel_say(k, "    if (on) $FINISH\n");
    return add_kernels(f, blocks);
}

/* ---- by columns ---- */

static bool fold_columns(folding *f)
{
    kernel_text *k = &f->k;
    f->v = kernel_pack(&f->kept, &f->reduced, &k->i->in[0]);
    int64_t columns = f->kept.elements / f->v, x = kernel_power(columns, WARP_SIZE);
    int64_t tiles = kernel_parts(columns, x), y = BLOCK_THREADS / x;
    f->chunks = 1;
    if (tiles < kernel_full(f->k.source))
        f->chunks =
            kernel_least(kernel_full(f->k.source) / tiles, f->reduced.elements / (y * SOME_PIECES));
    if (f->chunks < 1) f->chunks = 1;
    set_chunks(f, f->reduced.elements, y);
    kernel_set_number(k, "X", x);
    kernel_set_number(k, "Y", y);
    kernel_set_number(k, "COLUMNS", columns);
    kernel_set_number(k, "ROOM", BLOCK_THREADS * f->v);
    kernel_set_pattern(k, "FIRST", "high");
    kernel_set_pattern(k, "SLOT", "(high * $X + lane) * $V + e");
    kernel_set_pattern(k, "KEPTW", "ws[e]");
    kernel_set_pattern(k, "OTHER", "k * ($X * $V) + c");
    kernel_set_pattern(k, "POSITION", fold_seeks(f->how.kind) ? " i32 wx = (i32)at;" : "");
    kernel_set_loops(k, "KEPTLOOPS", &f->kept, 'm', "piece", f->v);
    kernel_set_loops(k, "LOOPS", &f->reduced, 'l', "at", 1);
    kernel_say_from(k, &patterns, "begin_columns");
    kernel_say_from(k, &patterns, "begin_numbers");
    kernel_say_from(k, &patterns, "take_pieces");
    kernel_say_from(k, &patterns, "join_columns");
    return add_kernels(f, tiles);
}

/* ---- the writer ---- */

/* Adjacent elements are reduced ones, or there are hardly any others. */
static bool prefers_rows(const folding *f)
{
    const access *a = &f->k.i->in[0];
    int64_t       line = nest_stride(&f->reduced, a, 0), front = nest_stride(&f->kept, a, 0);
    if (f->kept.nloops == 0) return true;
    return front == 0 || (line < 0 ? -line : line) <= (front < 0 ? -front : front);
}

/* The fold of nothing. */
static bool fill(folding *f)
{
    kernel_set_pattern(&f->k, "NOWHERE", "0");
    kernel_set_loops(&f->k, "OUTLOOPS", &f->kept, 'm', "row", 1);
    kernel_set_offset(&f->k, "OUT", &f->kept, 'm', &f->k.i->out[0]);
    return fold_join_parts(&f->k, f->plan, 0, f->kept.elements);
}

bool write_fold_of(kernel_source *s, const instr *i, kernel_plan *plan, fold_text how)
{
    const access *order = fold_seeks(how.kind) ? NULL : &i->in[0];
    folding       f = {.k = kernel_text_of(s, i, 0),
                       .plan = plan,
                       .how = how,
                       .kept = nest_of(i, how.kept, &i->in[0], 0),
                       .reduced = nest_of(i, how.reduced, order, 0)};
    fold_set_words(&f.k, how.kind, how.adds);
    if (f.kept.elements == 0) return true;
    if (f.reduced.elements == 0) return fill(&f);
    return prefers_rows(&f) ? fold_rows(&f) : fold_columns(&f);
}

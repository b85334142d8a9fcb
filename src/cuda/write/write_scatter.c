/* Writing elements at computed indices, as kernels.
 *
 *     out[i.., index[i..], j..] += or = data[i.., j..]
 *
 * The same bits in each run: no element has two writers at a time.  Loops i are those that
 * move the output, and those along which several indices may be equal: places.  With few
 * places, the first of equal ones adds the data of all of them (of a store: the last one
 * stores).  Many are sorted by their index, in tiles that are then joined.  The sorted list is gone through in tiles; a run
 * of equal indices that begins in a tile and goes on beyond it is completed by a further
 * kernel from what the next tiles found.  Sums are made in the compute type.
 */
#include "base/dtype.h"
#include "cuda/write/write_sort.h"
#include "cuda/write/prelude_assets.h"

static const kernel_patterns patterns = {asset_scatter, &asset_scatter_bytes};

enum {
    FEW_PLACES = 512,
    RUN_TILE = 32, /* places of the sorted list that a thread goes through */
};

typedef struct scattering {
    kernel_text  k;
    const instr *i;
    kernel_plan *plan;
    nest         outer, places, each;
    int64_t      items;  /* of outer and places */
    int64_t      pieces; /* of the data of one place */
    int          v;
} scattering;

/* What a thread does with the numbers vs[] of a piece, at `to`. */
static const char add_up[] =
    "{ $T ys[$V]; load_packs<$V>(ys, to); "
    "UNROLL for (int e = 0; e < $V; e++) ys[e] = narrow_$T(ADD(widen(ys[e]), vs[e])); "
    "store_packs<$V>(to, ys); }";

/* ---- few places ---- */

static bool scatter_few(scattering *c)
{
    kernel_text *k = &c->k;
    int64_t      units = c->items * c->pieces;
    kernel_set_number(k, "UNITS", units);
    kernel_say_from(k, &patterns, "few_begin");
    kernel_say_from(k, &patterns, c->i->gather.set ? "few_set" : "few_add");
    return kernel_done(k, c->plan, kernel_parts(units, BLOCK_THREADS), BLOCK_THREADS, 0);
}

/* ---- many places ---- */

/* How sorted tiles are joined.  In a pass each item finds its place among the `fan` tiles of its group, by
 * halving, and groups become the tiles of the next pass. */
typedef struct joining {
    int64_t tiles, n; /* of n items, a power of two */
    int64_t fan;      /* a power of two */
    int     passes;
} joining;

/* With sort_tiles and add_runs a plan has at most MOST_LAUNCHES kernels. */
enum { JOIN_PASSES = 3, JOIN_FAN = 8 };

static joining joining_of(int64_t items)
{
    joining j = {.n = kernel_power(items, SORT_TILE), .fan = JOIN_FAN};
    j.tiles = kernel_parts(items, j.n);
    while (j.fan * j.fan * j.fan < j.tiles) j.fan *= 2;
    for (int64_t left = j.tiles; left > 1; left = kernel_parts(left, j.fan)) j.passes++;
    return j;
}

static bool add_runs(scattering *c)
{
    kernel_text *k = &c->k;
    int64_t      units = c->items * c->pieces;
    if (c->i->gather.set) {
        kernel_set_number(k, "UNITS", units);
        kernel_say_from(k, &patterns, "run_set");
        return kernel_done(k, c->plan, kernel_parts(units, BLOCK_THREADS), BLOCK_THREADS, 0);
    }
    units = kernel_parts(c->items, RUN_TILE) * c->pieces;
    kernel_set_number(k, "UNITS", units);
    c->plan->scratch_bytes +=
        units * c->v * (int64_t)mtf_dtype_bytes(dtype_compute(c->i->out[0].type));
    kernel_say_from(k, &patterns, "run_begin");
    kernel_say_from(k, &patterns, "run_add");
    TRY(kernel_done(k, c->plan, kernel_parts(units, BLOCK_THREADS), BLOCK_THREADS, 0));
    kernel_say_from(k, &patterns, "run_begin");
    kernel_say_from(k, &patterns, "run_join");
    return kernel_done(k, c->plan, kernel_parts(units, BLOCK_THREADS), BLOCK_THREADS, 0);
}

/* From the first `bytes` of the working space to the next ones, and back. */
static bool join_sorted(scattering *c, const joining *j, int64_t bytes)
{
    kernel_text *k = &c->k;
    int64_t      size = j->n;
    kernel_set_number(k, "FAN", j->fan);
    for (int pass = 0; pass < j->passes; pass++, size *= j->fan) {
        kernel_set_number(k, "SIZE", size);
        kernel_set_number(k, "JOINFROM", pass % 2 ? bytes : 0);
        kernel_set_number(k, "JOINTO", pass % 2 ? 0 : bytes);
        kernel_say_from(k, &patterns, "join_tiles");
        TRY(kernel_done(k, c->plan, kernel_parts(c->items, BLOCK_THREADS), BLOCK_THREADS, 0));
    }
    return true;
}

static bool scatter_sorted(scattering *c)
{
    kernel_text *k = &c->k;
    joining      j = joining_of(c->items);
    int64_t bytes = j.tiles * j.n * (int64_t)sizeof(uint64_t), all = j.passes ? 2 * bytes : bytes;
    sort_set_words(k, j.n, j.n, false);
    kernel_set_number(k, "ITEMS", c->items);
    kernel_set_number(k, "RUN", RUN_TILE);
    kernel_set_number(k, "SORTEDAT", j.passes % 2 ? bytes : 0);
    kernel_set_number(k, "PARTSAT", all);
    kernel_set_pattern(k, "SORTED", "const u64 *sorted = (const u64 *)(scratch + $SORTEDAT);");
    kernel_set_pattern(
        k, "FROM",
        "$U outer = item_at / $PLACES, place = item_at % $PLACES; $OUTERLOOPS $PLACELOOPS "
        "const $T *from = in0 + ($OUTERIN + $PLACEIN + $EACHIN);");
    kernel_set_pattern(k, "TO",
                       "$U goal = key / $ALONG; $GOALLOOPS "
                       "$T *to = out0 + ($GOALOUT + $EACHOUT + ($I)(key % $ALONG) * $STRIDE);");
    kernel_set_loops(k, "GOALLOOPS", &c->outer, 'g', "goal", 1);
    kernel_set_offset(k, "GOALOUT", &c->outer, 'g', &c->i->out[0]);
    c->plan->scratch_bytes = all;
    kernel_say_from(k, &patterns, "sort_tiles");
    TRY(kernel_done(k, c->plan, j.tiles, BLOCK_THREADS, 0));
    return join_sorted(c, &j, bytes) && add_runs(c);
}

/* ---- outputs that overlap ---- */

static bool scatter_in_order(scattering *c, bool each_apart)
{
    kernel_set_pattern(&c->k, "PUT",
                       c->i->gather.set ? "*to = x;" : "store(to, ADD(load(to), widen(x)));");
    kernel_set_offset(&c->k, "PLACEOUT", &c->places, 'p', &c->i->out[0]);
    kernel_say_from(&c->k, &patterns, "in_order");
    return kernel_done(&c->k, c->plan, 1, each_apart ? BLOCK_THREADS : 1, 0);
}

/* ---- the writer ---- */

/* Do the loops in the set, and the indexed dimension, if `along`, reach different elements? */
static bool are_distinct(const instr *i, uint32_t loops, bool along)
{
    int64_t stride[MAX_LOOPS + 1] = {i->gather.along_stride};
    int64_t size[MAX_LOOPS + 1] = {along ? i->gather.along : 1};
    int     n = 1;
    for (int l = 0; l < i->nloops; l++) {
        if (i->size[l] == 1 || !(loops >> l & 1)) continue;
        stride[n] = i->out[0].stride[l];
        size[n++] = i->size[l];
    }
    return nest_distinct(n, size, stride);
}

static void set_words(scattering *c)
{
    kernel_text  *k = &c->k;
    const instr  *i = c->i;
    const access *out = &i->out[0], *in = &i->in[0], *index = &i->in[1];
    c->v = (int)kernel_least(
        kernel_pack(&c->each, &c->outer, out),
        kernel_least(kernel_pack(&c->each, &c->outer, in), kernel_pack(&c->each, &c->places, in)));
    while (c->v > 1 && i->gather.along_stride % c->v != 0) c->v /= 2;
    c->pieces = c->each.elements / c->v;
    kernel_set(k, "T", "%s", kernel_type(out->type));
    kernel_set(k, "C", "%s", kernel_type(dtype_compute(out->type)));
    kernel_set(k, "X", "%s", kernel_type(index->type));
    kernel_set_pattern(k, "ADDUP", add_up);
    kernel_set_number(k, "V", c->v);
    kernel_set_number(k, "PIECES", c->pieces);
    kernel_set_number(k, "PLACES", c->places.elements);
    kernel_set_number(k, "ALONG", i->gather.along);
    kernel_set_number(k, "STRIDE", i->gather.along_stride);
    kernel_set_loops(k, "OUTERLOOPS", &c->outer, 'o', "outer", 1);
    kernel_set_loops(k, "PLACELOOPS", &c->places, 'p', "place", 1);
    kernel_set_loops(k, "EACHLOOPS", &c->each, 'l', "at % $PIECES", c->v);
    kernel_set_offset(k, "OUTERINDEX", &c->outer, 'o', index);
    kernel_set_offset(k, "OUTERIN", &c->outer, 'o', in);
    kernel_set_offset(k, "OUTEROUT", &c->outer, 'o', out);
    kernel_set_offset(k, "PLACEINDEX", &c->places, 'p', index);
    kernel_set_offset(k, "PLACEIN", &c->places, 'p', in);
    kernel_set_offset(k, "EACHIN", &c->each, 'l', in);
    kernel_set_offset(k, "EACHOUT", &c->each, 'l', out);
}

bool write_scatter(kernel_source *s, const instr *i, kernel_plan *plan)
{
    const gather_args *how = &i->gather;
    uint32_t           outer = 0, places = 0, each = loops_between(how->nindex, i->nloops);
    if (instr_elements(i) == 0 || how->along == 0) return true;
    for (int l = 0; l < how->nindex; l++)
        *(i->out[0].stride[l] != 0 ? &outer : &places) |= (uint32_t)1 << l;
    bool apart = are_distinct(i, outer | each, true);
    if (!apart) places |= outer, outer = 0;
    scattering c = {.k = kernel_text_of(s, i, kernel_reach(how->along, how->along_stride)),
                    .i = i,
                    .plan = plan,
                    .outer = nest_of(i, outer, NULL, 0),
                    .places = nest_of(i, places, NULL, 0),
                    .each = nest_of(i, each, &i->out[0], 0)};
    c.items = c.outer.elements * c.places.elements;
    set_words(&c);
    if (!apart) {
        c.v = 1;
        c.pieces = c.each.elements;
        kernel_set_number(&c.k, "PIECES", c.pieces);
        kernel_set_loops(&c.k, "EACHLOOPS", &c.each, 'l', "at", 1);
        return scatter_in_order(&c, are_distinct(i, each, false));
    }
    bool keys_fit = c.outer.elements < UINT32_MAX / how->along && c.items < UINT32_MAX;
    if (c.places.elements <= FEW_PLACES || !keys_fit) return scatter_few(&c);
    return scatter_sorted(&c);
}

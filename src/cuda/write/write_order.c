/* Sorting, and the first few in sorted order, as kernels.
 *
 *     values[i.., j] = in[i.., indices[i.., j]], j < k, in order
 *
 * Keys are integers with the order of the elements, as on the CPU: NaN above everything,
 * both zeros equal, all reversed when descending; the index makes them unique.  A block
 * sorts rows that fit into its shared memory, or a tile of a longer row; then each item of
 * a tile finds its place among all tiles of its row.
 */
#include "cuda/write/write_sort.h"
#include "cuda/write/prelude_assets.h"

static const kernel_patterns patterns = {asset_order, &asset_order_bytes};

enum { ITEMS = 512 }; /* that a block sorts at least, if there are so many */

static const char *key_text(mtf_dtype type)
{
    switch (type) {
    case MTF_F32:
    case MTF_BF16:
    case MTF_F16:
    case MTF_F8E4M3:
    case MTF_F8E5M2:
        return "f32 x = load(from); u32 bits = bits_of(x + 0.0f); "
               "u32 key = x != x ? ~0u : bits >> 31 ? ~bits : bits | 0x80000000u;";
    case MTF_F64:
        return "f64 x = load(from); u64 bits = bits_of(x + 0.0); "
               "u64 key = x != x ? ~0ull : bits >> 63 ? ~bits : bits | 1ull << 63;";
    case MTF_I32: return "u32 key = (u32)*from ^ 0x80000000u;";
    case MTF_I64: return "u64 key = (u64)*from ^ 1ull << 63;";
    case MTF_BOOL: break;
    }
    return "u32 key = *from != 0;";
}

static const char put[] = "out0[$VALUES + rank * $VALUESTEP] = in0[$IN + found * $INSTEP]; "
                          "out1[$INDICES + rank * $INDEXSTEP] = (i32)found;";

static const char keep_tile[] = "    for (int t = THREAD; t < $N; t += THREADS) {\n"
                                "        ((u64 *)scratch)[BLOCK * $N + t] = item[t];\n"
                                "        $INDEXKEEP\n"
                                "    }\n";

static void set_words(kernel_text *k, const nest *n, bool pairs)
{
    const instr      *i = k->i;
    const order_args *how = &i->order;
    kernel_set(k, "T", "%s", kernel_type(i->in[0].type));
    kernel_set_number(k, "LINES", n->elements);
    kernel_set_number(k, "ALONG", how->along);
    kernel_set_number(k, "K", how->k);
    kernel_set_number(k, "INSTEP", how->in_stride);
    kernel_set_number(k, "VALUESTEP", how->value_stride);
    kernel_set_number(k, "INDEXSTEP", how->index_stride);
    kernel_set_loops(k, "LOOPS", n, 'l', "row", 1);
    kernel_set_offset(k, "IN", n, 'l', &i->in[0]);
    kernel_set_offset(k, "VALUES", n, 'l', &i->out[0]);
    kernel_set_offset(k, "INDICES", n, 'l', &i->out[1]);
    kernel_set_pattern(k, "PUT", put);
    kernel_set_pattern(k, "KEY", key_text(i->in[0].type));
    kernel_set_pattern(k, "MIRROR", how->descending ? "~key" : "key");
    kernel_set_pattern(k, "ITEM",
                       pairs ? "item[t] = $MIRROR; index[t] = (u32)j;"
                             : "item[t] = (u64)($MIRROR) << 32 | (u32)j;");
    kernel_set_pattern(k, "FOUND", pairs ? "index[place]" : "item[place]");
    kernel_set_pattern(k, "FOUNDMINE", pairs ? "my_index" : "mine");
    kernel_set_pattern(k, "INDEXNONE", pairs ? "index[t] = ~0u;" : "");
    kernel_set_pattern(k, "INDEXKEEP",
                       pairs ? "((u32 *)(scratch + $INDEXAT))[BLOCK * $N + t] = index[t];" : "");
    kernel_set_pattern(k, "INDEXMINE",
                       pairs ? "const u32 *indices = (const u32 *)(scratch + $INDEXAT) + "
                               "row * ($TILES * $N); u32 my_index = indices[own * $N + t];"
                             : "");
}

static bool order_in_tiles(kernel_text *k, kernel_plan *plan, int64_t lines, bool pairs)
{
    const order_args *how = &k->i->order;
    int64_t           tiles = kernel_parts(how->along, SORT_TILE);
    int64_t           few = kernel_least(how->k, SORT_TILE), units = lines * tiles * few;
    int64_t           items = lines * tiles * SORT_TILE;
    sort_set_words(k, SORT_TILE, SORT_TILE, pairs);
    kernel_set_number(k, "ROWS", 1);
    kernel_set_number(k, "TILES", tiles);
    kernel_set_number(k, "FEW", few);
    kernel_set_number(k, "UNITS", units);
    kernel_set_number(k, "INDEXAT", items * 8);
    plan->scratch_bytes = items * (pairs ? 12 : 8);
    kernel_say_from(k, &patterns, "sort_rows");
    kernel_say(k, keep_tile);
    TRY(kernel_done(k, plan, lines * tiles, BLOCK_THREADS, 0));
    kernel_say_from(k, &patterns, "join_tiles");
    return kernel_done(k, plan, kernel_parts(units, BLOCK_THREADS), BLOCK_THREADS, 0);
}

bool write_order(kernel_source *s, const instr *i, kernel_plan *plan)
{
    const order_args *how = &i->order;
    nest              n = nest_of(i, loops_between(0, i->nloops), NULL, 0);
    int64_t           far = kernel_reach(how->along, how->in_stride) +
                  kernel_reach(how->k, how->value_stride) + kernel_reach(how->k, how->index_stride);
    bool pairs = i->in[0].type == MTF_F64 || i->in[0].type == MTF_I64;
    if (n.elements * how->k == 0) return true;
    kernel_text k = kernel_text_of(s, i, far + n.elements * how->along);
    set_words(&k, &n, pairs);
    if (how->along > SORT_TILE) return order_in_tiles(&k, plan, n.elements, pairs);
    int64_t size = kernel_power(how->along, SORT_TILE);
    int64_t rows = size < ITEMS ? kernel_least(ITEMS / size, n.elements) : 1;
    sort_set_words(&k, size, rows * size, pairs);
    kernel_set_number(&k, "ROWS", rows);
    kernel_set_number(&k, "TILES", 1);
    kernel_say_from(&k, &patterns, "sort_rows");
    kernel_say_from(&k, &patterns, "put_rows");
    return kernel_done(&k, plan, kernel_parts(n.elements, rows), BLOCK_THREADS, 0);
}

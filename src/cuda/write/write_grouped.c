/* Products whose rows are in groups, as kernels.
 *
 * A block computes a tile of the result.  The ends of the groups are read on the GPU: there are as many
 * blocks as the most tiles that the rows can have, however they are grouped, and those without a tile
 * end at once.  An element is summed by one thread, term by term, so a row's result does not depend on
 * where the row is.
 */
#include "base/dtype.h"
#include "base/whole.h"
#include "cuda/write/kernel_text.h"
#include "cuda/write/prelude_assets.h"
#include "cuda/write/tile_sizes.h"

static const kernel_patterns patterns = {asset_grouped, &asset_grouped_bytes};

enum { THREADS_ALONG = 16, DEEP = 16 };

/* How the tile's rows, columns and terms lie in an instruction's last three loops: rows, n, k. */
typedef struct tiling {
    int     down, along, terms; /* loops, counted from the rows' */
    int64_t high, wide;         /* of the result of one group */
} tiling;

static int64_t magnitude(int64_t stride)
{
    return stride < 0 ? -stride : stride;
}

static void set_factor(kernel_text *k, const instr *i, int operand, const char *name,
                       const char *term, const char *fast, int lane_loop, int term_loop)
{
    const int64_t *stride = i->in[operand].stride + i->nloops - 3;
    kernel_set_number(k, name, stride[lane_loop]);
    kernel_set_number(k, term, stride[term_loop]);
    kernel_set_number(k, fast, magnitude(stride[term_loop]) < magnitude(stride[lane_loop]));
}

static void set_numbers(kernel_text *k, const instr *i, const tiling *t, int each)
{
    const grouped_args *how = &i->grouped;
    const int64_t      *size = i->size + i->nloops - 3, *out = i->out[0].stride + i->nloops - 3;
    kernel_set(k, "C", "%s", kernel_type(dtype_compute(i->in[0].type)));
    kernel_set(k, "T", "%s", kernel_type(i->in[0].type));
    kernel_set(k, "D", "%s", kernel_type(i->out[0].type));
    kernel_set_number(k, "EACH", each);
    kernel_set_number(k, "SIDE", each * THREADS_ALONG);
    kernel_set_number(k, "DEEP", DEEP);
    kernel_set_number(k, "ROWS", size[0]);
    kernel_set_number(k, "HIGH", t->high);
    kernel_set_number(k, "COLUMNS", t->wide);
    kernel_set_number(k, "TERMS", size[t->terms]);
    kernel_set_number(k, "GROUPS", how->groups);
    kernel_set_number(k, "APART", how->group_stride);
    kernel_set_number(k, "FIRSTGROUP", how->first_group);
    kernel_set_number(k, "FIRSTROW", how->first_row);
    kernel_set_number(k, "ENDSTEP", how->ends_stride);
    kernel_set_number(k, "OUTDOWN", out[t->down]);
    kernel_set_number(k, "OUTALONG", out[t->along]);
    set_factor(k, i, 0, "LEFT", "LEFTTERM", "LEFTFAST", t->down, t->terms);
    set_factor(k, i, 1, "RIGHT", "RIGHTTERM", "RIGHTFAST", t->along, t->terms);
}

static void set_batch(kernel_text *k, const instr *i, const nest *batch, const nest *summed)
{
    static const char *const names[] = {"A", "B", "ENDS"}, *const more[] = {"MOREA", "MOREB",
                                                                            "MOREENDS"};
    kernel_set_loops(k, "LOOPS", batch, 'l', "number", 1);
    kernel_set_loops(k, "MORELOOPS", summed, 'm', "more", 1);
    kernel_set_number(k, "SUMMED", summed->elements);
    kernel_set_offset(k, "OUT", batch, 'l', &i->out[0]);
    for (int o = 0; o < 3; o++) {
        kernel_set_offset(k, names[o], batch, 'l', &i->in[o]);
        kernel_set_offset(k, more[o], summed, 'm', &i->in[o]);
    }
    kernel_set_from(k, "PLACES", &patterns, "places");
    kernel_set_from(k, "STEP", &patterns, "step");
    kernel_set_from(k, "PUT", &patterns, "put");
}

bool write_grouped(kernel_source *s, const instr *i, kernel_plan *plan)
{
    const grouped_args *how = &i->grouped;
    int                 row = i->nloops - 3;
    const int64_t      *size = i->size + row;
    const tiling        t =
        how->sums ? (tiling){2, 1, 0, size[2], size[1]} : (tiling){0, 1, 2, size[0], size[1]};
    uint32_t adds = 0;
    for (int l = 0; l < row && how->sums; l++)
        if (i->out[0].stride[l] == 0) adds |= (uint32_t)1 << l;
    nest batch = nest_of(i, loops_between(0, row) & ~adds, NULL, 0),
         summed = nest_of(i, adds, NULL, 0);
    /* Rows of a group, on average: larger tiles would be empty for the most part. */
    int64_t least = kernel_least(t.wide, how->sums ? t.high : ceil_div(t.high, how->groups));
    int     each = tile_each(TILE_GROUPED, least);
    int64_t side = each * THREADS_ALONG, strips = ceil_div(t.wide, side);
    /* Each group, and the rows before and after all of them, may end with a tile that is not full. */
    int64_t tiles =
        how->sums ? ceil_div(t.high, side) : kernel_least(t.high, t.high / side + how->groups + 2);
    int64_t blocks = batch.elements * strips * tiles * (how->sums ? how->groups : 1);
    if (blocks == 0) return true;
    int64_t     far = kernel_reach(how->groups, how->group_stride);
    kernel_text k = kernel_text_of(s, i, far);
    set_numbers(&k, i, &t, each);
    set_batch(&k, i, &batch, &summed);
    kernel_set_number(&k, "STRIPS", strips);
    kernel_set_number(&k, "TILES", tiles);
    kernel_say_from(&k, &patterns, how->sums ? "sums" : "products");
    return kernel_done(&k, plan, blocks, THREADS_ALONG * THREADS_ALONG, 0);
}

/* Products whose rows are in groups, of short floats, by tensor cores.
 *
 * As in write_grouped.c a block finds its tile by the ends of the groups.  Tiles are as high as a group has
 * rows on average, in 16 to 128: with few rows, as in decoding, weights are read once all the same.
 */
#include "base/dtype.h"
#include "base/whole.h"
#include "cuda/write/grouped_form.h"
#include "cuda/write/prelude_assets.h"

static const kernel_patterns patterns = {asset_grouped_matrix, &asset_grouped_matrix_bytes};

enum { PACK = 8, LEAST_HIGH = 16, MOST_HIGH = 128, THREADS = 256 };

/* How factors come through shared memory, for a tile of so many columns: terms at a time, and how many times are
 * there or on their way. */
typedef struct tile_form {
    int wide, deep, lots;
} tile_form;

/* A warp with 64 x 64 results reads the least from shared memory for each of them.  On an H200 the second is 5 %
 * faster than the first for a layer with 8 experts; with 64 terms the first is 8 % slower. */
static const tile_form narrow = {128, 32, 3}, wide = {256, 64, 2};
enum { TOGETHER = 2 }; /* blocks on a multiprocessor, where their registers suffice */

/* ---- which ones ---- */

bool lies_in_packs(const instr *i, const access *a, int fast, int64_t group_stride)
{
    bool packs = a->stride[fast] == 1 && a->offset % PACK == 0 && i->size[fast] % PACK == 0 &&
                 group_stride % PACK == 0;
    for (int l = 0; l < i->nloops; l++)
        packs = packs && (l == fast || i->size[l] == 1 || a->stride[l] % PACK == 0);
    return packs;
}

bool grouped_suits_matrices(const instr *i)
{
    int           n = i->nloops - 2, k = i->nloops - 1;
    int64_t       apart = i->grouped.group_stride;
    const access *a = &i->in[0], *b = &i->in[1];
    if ((a->type != MTF_BF16 && a->type != MTF_F16) || b->type != a->type) return false;
    if (i->grouped.sums) return lies_in_packs(i, a, k, 0) && lies_in_packs(i, b, n, 0);
    return lies_in_packs(i, a, k, 0) &&
           (lies_in_packs(i, b, k, apart) || lies_in_packs(i, b, n, apart));
}

/* ---- the kernel ---- */

static int tile_high(const instr *i, const grouped_form *f)
{
    const grouped_args *how = &i->grouped;
    int64_t             rows = how->sums ? f->high : ceil_div(f->high, how->groups);
    int                 high = LEAST_HIGH;
    while (high < MOST_HIGH && 4 * rows >= 6 * (int64_t)high) high *= 2;
    return high;
}

/* Bytes of a factor's part of a lot; `fast`: elements are adjacent along the terms. */
static int lot_bytes(const tile_form *t, bool fast, int lanes)
{
    return (fast ? lanes * (t->deep + PACK) : t->deep * (lanes + PACK)) * 2;
}

/* Does each pair of neighbours in a row begin at a multiple of a pair? */
static bool stores_pairs(const instr *i, const grouped_form *f)
{
    const access *c = &i->out[0];
    int           along = i->nloops - 3 + f->along;
    bool          pairs = c->stride[along] == 1 && c->offset % 2 == 0 && f->wide % 2 == 0 &&
                 (!i->grouped.sums || i->grouped.group_stride % 2 == 0);
    for (int l = 0; l < i->nloops; l++)
        pairs = pairs && (l == along || i->size[l] == 1 || c->stride[l] % 2 == 0);
    return pairs;
}

bool write_grouped_matrix(kernel_source *s, const instr *i, kernel_plan *plan)
{
    const grouped_args *how = &i->grouped;
    bool                turned = how->sums && i->out[0].stride[i->nloops - 1] == 1;
    grouped_form        f = grouped_form_of(i, turned, false);
    int                 high = tile_high(i, &f);
    kernel_text         k = kernel_text_of(s, i, kernel_reach(how->groups, how->group_stride));
    const tile_form    *t = f.wide > narrow.wide ? &wide : &narrow;
    int64_t             blocks = grouped_set_words(&k, i, &f, high, t->wide);
    bool                left_fast = !how->sums;
    bool right_fast = !how->sums && lies_in_packs(i, &i->in[1], i->nloops - 1, how->group_stride);
    if (blocks == 0) return true;
    kernel_set_number(&k, "LEFTFAST", left_fast);
    kernel_set_number(&k, "RIGHTFAST", right_fast);
    kernel_set_number(&k, "HIGHTILE", high);
    kernel_set_number(&k, "WIDETILE", t->wide);
    kernel_set_number(&k, "DEEP", t->deep);
    kernel_set_number(&k, "LOTS", t->lots);
    kernel_set_number(&k, "PAIRS", stores_pairs(i, &f));
    kernel_set_from(&k, "SHAPE", &patterns, "shape");
    kernel_set_from(&k, "ADD", &patterns, "add");
    kernel_set_from(&k, "PUT", &patterns, "put");
    kernel_say_from(&k, &patterns, how->sums ? "sums" : "products");
    int bytes = t->lots * (lot_bytes(t, left_fast, high) + lot_bytes(t, right_fast, t->wide));
    int together = t == &wide && high == MOST_HIGH ? 1 : TOGETHER;
    return kernel_done_shaped(&k, plan, blocks, &(kernel_shape){THREADS, bytes, together, 1});
}

/* Products whose rows are in groups, of short floats and with many rows in each, by tensor cores.
 *
 * Groups of several nests, such as sequences, that multiply with the same factor are one group here: then
 * few tiles are not full, however few rows a group has in one nest.  A first kernel finds where the rows are, so that
 * a block of the second one does not have to read the ends of all groups.
 */
#include "base/dtype.h"
#include "base/whole.h"
#include "cuda/write/grouped_form.h"
#include "cuda/write/prelude_assets.h"

static const kernel_patterns patterns = {asset_grouped_tiles, &asset_grouped_tiles_bytes};

enum { HIGH = 128, NARROW = 128, WIDE = 256, DEEP = 64, THREADS = 384, TABLE_THREADS = 1024 };
enum { LEAST_ROWS = 96, LEAST_COLUMNS = 64 }; /* below these smaller tiles have less to do */
/* Tiles of terms in shared memory: two that are multiplied, others on their way. */
enum { LEAST_LOTS = 3, MOST_LOTS = 4 };
enum {
    BESIDE = 8 << 10
}; /* of shared memory: where rows are, and up to the first tile's beginning */
enum { PACK = 8 };

/* ---- which ones ---- */

/* Rows that a group of this result has on average. */
static int64_t rows_each(const instr *i, const grouped_form *f)
{
    return f->summed.elements * i->size[i->nloops - 3] / i->grouped.groups;
}

static int lots_of(const kernel_source *s, int wide)
{
    return (int)kernel_least((s->shared_bytes - BESIDE) / ((HIGH + wide) * DEEP * 2), MOST_LOTS);
}

bool grouped_fits_tiles(const kernel_source *s)
{
    return lots_of(s, WIDE) >= LEAST_LOTS;
}

bool grouped_suits_tiles(const instr *i)
{
    grouped_form f = grouped_form_of(i, false, true);
    return grouped_suits_matrices(i) && f.wide >= LEAST_COLUMNS && rows_each(i, &f) >= LEAST_ROWS &&
           f.summed.elements <= INT32_MAX / (i->size[i->nloops - 3] + 1);
}

/* Does each pack of the result lie in memory as it is computed, and begin at a multiple of a pack? */
static bool stores_packs(const instr *i, const grouped_form *f)
{
    const access *c = &i->out[0];
    int           along = i->nloops - 3 + f->along;
    bool packs = mtf_dtype_bytes(c->type) == 2 && c->stride[along] == 1 && c->offset % PACK == 0 &&
                 f->wide % PACK == 0 && (!i->grouped.sums || i->grouped.group_stride % PACK == 0);
    for (int l = 0; l < i->nloops; l++)
        packs = packs && (l == along || i->size[l] == 1 || c->stride[l] % PACK == 0);
    return packs;
}

/* ---- the kernels ---- */

static int64_t table_bytes(const instr *i, const grouped_form *f)
{
    return f->batch.elements * (i->grouped.groups + 2) * (2 * f->summed.elements + 2) *
           (int64_t)sizeof(int32_t);
}

static bool say_table(kernel_text *k, kernel_plan *plan, const grouped_form *f)
{
    kernel_say_from(k, &patterns, "table");
    return kernel_done(k, plan, f->batch.elements, TABLE_THREADS, 0);
}

bool write_grouped_tiles(kernel_source *s, const instr *i, kernel_plan *plan)
{
    const grouped_args *how = &i->grouped;
    bool                turned = how->sums && i->out[0].stride[i->nloops - 1] == 1;
    grouped_form        f = grouped_form_of(i, turned, true);
    int                 wide = f.wide > NARROW ? WIDE : NARROW, lots = lots_of(s, wide);
    kernel_text         k = kernel_text_of(s, i, kernel_reach(how->groups, how->group_stride));
    int64_t             blocks = grouped_set_words(&k, i, &f, HIGH, wide);
    bool right_fast = !how->sums && lies_in_packs(i, &i->in[1], i->nloops - 1, how->group_stride);
    plan->scratch_bytes = table_bytes(i, &f);
    if (blocks == 0) return true;
    kernel_set_number(&k, "LEFTFAST", !how->sums);
    kernel_set_number(&k, "RIGHTFAST", right_fast);
    kernel_set_number(&k, "HIGHTILE", HIGH);
    kernel_set_number(&k, "WIDETILE", wide);
    kernel_set_number(&k, "LOTS", lots);
    kernel_set_number(&k, "PACKS", stores_packs(i, &f));
    kernel_set_pattern(&k, "ROWAT", how->sums ? "down * $OUTDOWN" : "to[down]");
    kernel_set_from(&k, "WORDS", &patterns, "words");
    kernel_set_from(&k, "SHAPE", &patterns, "shape");
    kernel_set_from(&k, "LOTSLOOP", &patterns, "lots");
    kernel_set_from(&k, "PUT", &patterns, "put");
    if (!say_table(&k, plan, &f)) return false;
    kernel_say_from(&k, &patterns, how->sums ? "sums" : "products");
    int bytes = lots * (HIGH + wide) * DEEP * 2 + BESIDE / 2;
    return kernel_done_shaped(&k, plan, blocks, &(kernel_shape){THREADS, bytes, 1, 1});
}

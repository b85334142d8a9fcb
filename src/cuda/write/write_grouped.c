/* Products whose rows are in groups, as kernels.
 *
 * A block computes a tile of the result.  The ends of the groups are read on the GPU: there are as many
 * blocks as the most tiles that the rows can have, however they are grouped, and those without a tile
 * end at once.  An element is summed by one thread, term by term, so a row's result does not depend on
 * where the row is.
 */
#include "base/dtype.h"
#include "base/whole.h"
#include "cuda/write/grouped_form.h"
#include "cuda/write/prelude_assets.h"
#include "cuda/write/tile_sizes.h"

static const kernel_patterns patterns = {asset_grouped, &asset_grouped_bytes};

enum { THREADS_ALONG = 16, DEEP = 16 };

bool write_grouped(kernel_source *s, const instr *i, kernel_plan *plan)
{
    const grouped_args *how = &i->grouped;
    if (grouped_suits_tiles(i) && (s->only_sizes || grouped_fits_tiles(s)))
        return write_grouped_tiles(s, i, plan);
    if (grouped_suits_matrices(i)) return write_grouped_matrix(s, i, plan);
    grouped_form f = grouped_form_of(i, false, false);
    /* Rows of a group, on average: larger tiles would be empty for the most part. */
    int64_t     least = kernel_least(f.wide, how->sums ? f.high : ceil_div(f.high, how->groups));
    int         each = tile_each(TILE_GROUPED, least);
    int         side = each * THREADS_ALONG;
    kernel_text k = kernel_text_of(s, i, kernel_reach(how->groups, how->group_stride));
    int64_t     blocks = grouped_set_words(&k, i, &f, side, side);
    if (blocks == 0) return true;
    kernel_set(&k, "C", "%s", kernel_type(dtype_compute(i->in[0].type)));
    kernel_set_number(&k, "EACH", each);
    kernel_set_number(&k, "SIDE", side);
    kernel_set_number(&k, "DEEP", DEEP);
    kernel_set_from(&k, "PLACES", &patterns, "places");
    kernel_set_from(&k, "STEP", &patterns, "step");
    kernel_set_from(&k, "PUT", &patterns, "put");
    kernel_say_from(&k, &patterns, how->sums ? "sums" : "products");
    return kernel_done(&k, plan, blocks, THREADS_ALONG * THREADS_ALONG, 0);
}

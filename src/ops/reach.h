/* Fetches elements beyond a processor's part of a dimension.
 *
 * Operations that move data along a dimension need, for their part of the
 * result, a span of the input that neighbours may have.  On an input that
 * is not cut along the dimension nothing is fetched.
 */
#ifndef OPS_REACH_H
#define OPS_REACH_H

#include "ops/lowering.h"
#include "space/internal.h"

/* Is dimension `dim` of s cut? */
bool reach_is_cut(const slice *s, const char *dim);
/* s becomes the elements floor((mult*b + low) / div) .. floor((mult*(e-1) + high) / div) along dim of
 * tensor x, as far as they exist, where [b, e) is this processor's part of a result of `size`. */
bool reach(emitter *e, const mtf_tensor *x, const char *dim, int64_t size, const span_map *how,
           slice *s, span *got);
/* The same along several dimensions at once: one exchange fetches their margins, corners too. */
typedef struct margin {
    const char *dim;
    int64_t     size;
    span_map    how;
    span        got; /* an output */
} margin;
bool reach_margins(emitter *e, const mtf_tensor *x, int n, margin *margins, slice *s);
/* s becomes [parts, rest..]: each part's own reduction along dim, gathered from all parts. */
#define PARTS_DIM SLICE_DIM("parts")
bool reach_totals(emitter *e, const mtf_tensor *x, const char *dim, fold_kind kind, slice *s);
/* The same for something that each part has already: s [rest..] becomes [parts, rest..]. */
bool reach_all_parts(emitter *e, const mtf_tensor *x, const char *dim, unsigned x_cut, slice *s);
/* s becomes all of the dimension. */
bool reach_whole(emitter *e, const mtf_tensor *x, const char *dim, slice *s);
/* s becomes all of the dimension and a part of another, which is cut in its place; or everything is
 * gathered where no other has enough elements.  `where` receives how x is cut then. */
bool reach_moved(emitter *e, const mtf_tensor *x, const char *dim, slice *s, placement *where);
/* Which dimensions of the shape the layout cuts, as bits; except `but`. */
unsigned spread_over(const emitter *e, const mtf_shape *shape, const char *but);
/* This processor's part of the result along dim: all of it where `out` is not cut. */
span reach_part(const emitter *e, const slice *out, const char *dim, int64_t size);

#endif

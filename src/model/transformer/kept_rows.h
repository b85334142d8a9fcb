/* The rows of a cache that a program uses.
 *
 * A decoder keeps keys and values of all its sequences; a program computes those in use only.  They are
 * the first rows of each part into which the layout cuts the cache, so that no row leaves its processor.
 */
#ifndef MODEL_KEPT_ROWS_H
#define MODEL_KEPT_ROWS_H

#include "mtf.h"

typedef struct kept_rows {
    mtf_dim all;   /* the dimension of the cache */
    int64_t parts; /* equal ones that the layout cuts it into, or 1 */
    int64_t used;  /* rows of the program, as many of each part */
} kept_rows;

/* [.., all, ..] to [.., used, ..]: the rows of the program, without a copy. */
mtf_tensor *kept_rows_take(const kept_rows *r, mtf_tensor *x);
/* [.., used, ..] to [.., all, ..]: the other rows have this value. */
mtf_tensor *kept_rows_spread(const kept_rows *r, mtf_tensor *x, double value);
/* x [.., all, ..] with the rows y [.., used, ..]. */
mtf_tensor *kept_rows_put(const kept_rows *r, mtf_tensor *x, mtf_tensor *y);
/* x [.., all, ..] in which row `from` of each part has been copied to row `to`; both are i32 [parts]. */
mtf_tensor *kept_rows_move(const kept_rows *r, mtf_tensor *x, mtf_tensor *from, mtf_tensor *to);

#endif

/* Converts elements of files to the types of a program.
 *
 * A format offers the elements of an example from the first on; the wanted
 * ones are converted, the others skipped.
 */
#ifndef DATA_CONVERT_H
#define DATA_CONVERT_H

#include "base/raw_type.h"

typedef struct wanted {
    int64_t   begin, end; /* which elements of the example */
    int64_t   offered;    /* how many the format has given so far */
    double    scale;
    mtf_dtype type;
    void     *out;
    int64_t   epoch;      /* for examples that differ from epoch to epoch */
    raw_type  offered_as; /* the type that the format gave last */
    /* The first number that the integer type cannot hold; "": all fit. */
    char    misfit[32];
    int64_t misfit_at; /* its element */
} wanted;

/* The example's next `count` elements, packed at `from`, which needs no alignment. */
void offer(wanted *w, raw_type type, const void *from, int64_t count);
/* Zeros for whatever is wanted and was not offered. */
void offer_zeros(wanted *w);
/* The first wanted element that was offered and lies outside of least to most; -1: none. */
int64_t wanted_outside(const wanted *w, double least, double most);

#endif

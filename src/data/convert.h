/* Elements as files have them, made into those of a program.
 *
 * A format offers the elements of an example from the first on; of these the
 * wanted ones are converted, and the others passed over.
 */
#ifndef DATA_CONVERT_H
#define DATA_CONVERT_H

#include "mtf.h"

/* An element type of programs, or whole numbers from 0 to 255. */
enum { RAW_BYTES = MTF_BOOL + 1 };
typedef int raw_type;

typedef struct wanted {
    int64_t   begin, end; /* which elements of the example */
    int64_t   offered;    /* how many the format has given so far */
    double    scale;
    mtf_dtype type;
    void     *out;
} wanted;

/* The example's next `count` elements, packed at `from`, which needs no alignment. */
void offer(wanted *w, raw_type type, const void *from, int64_t count);
/* Zeros for whatever is wanted and was not offered. */
void   offer_zeros(wanted *w);
size_t raw_bytes(raw_type type);

#endif

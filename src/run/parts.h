/* Cuts arrays of the host into parts, and joins them. */
#ifndef RUN_PARTS_H
#define RUN_PARTS_H

#include "run/store.h"

/* Processor p's part of a tensor, as users see it. */
mtf_part part_of(const store *s, int p, const mtf_shape *shape, const placement *where, void *data);
/* Copies processor p's part of a whole row-major array to dense memory of the host, */
void part_pack(const store *s, int p, mtf_dtype type, const mtf_shape *shape,
               const placement *where, const char *whole, char *dense);
/* to dense memory of the device, or from the device; false after an error. */
bool part_write(const store *s, int p, mtf_dtype type, const mtf_shape *shape,
                const placement *where, const char *whole, void *part);
bool part_read(const store *s, int p, mtf_dtype type, const mtf_shape *shape,
               const placement *where, const char *part, const int64_t *stride, char *whole);
/* The whole of a variable, in its own type, in every process. */
bool parts_get(store *s, const store_entry *e, void *whole);

#endif

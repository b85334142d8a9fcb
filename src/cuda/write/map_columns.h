/* Sums of columns in kernels of maps that go by rows.
 *
 * A block goes through many rows.  A thread has the same columns in all of them and adds
 * these up; the sums of each group of threads that has a row go to scratch, and a second
 * kernel joins them in a fixed order.
 */
#ifndef CUDA_WRITE_MAP_COLUMNS_H
#define CUDA_WRITE_MAP_COLUMNS_H

#include "cuda/write/map_text.h"

enum {
    MOST_PARTS = 16
}; /* groups of threads for each multiprocessor: enough for it, and soon joined */

typedef struct map_columns {
    int     sums;        /* outputs that are sums; 0: nothing is written */
    int64_t columns;     /* elements of a row */
    int64_t parts;       /* groups of threads */
    int     pieces_each; /* pieces of a row that a thread has */
} map_columns;

void map_columns_declare(map_text *m, const map_columns *c); /* what threads add up, as zeros */
void map_columns_add(map_text *m); /* an element: `k` is the piece of the thread, `e` as ever */
/* Writes the sums to scratch; `part` and `piece` are expressions, with `k` as the piece of the thread. */
void map_columns_keep(map_text *m, const map_columns *c, const char *part, const char *piece);
/* Adds the kernel that joins them. */
bool map_columns_join(kernel_source *s, const map_text *m, const map_columns *c, kernel_plan *plan);

#endif

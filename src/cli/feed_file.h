/* Values of inputs from files, for mtf run. */
#ifndef CLI_FEED_FILE_H
#define CLI_FEED_FILE_H

#include "graph/node.h"
#include "mtf_data.h"

/* One --feed NAME=FILES[:...]. */
typedef struct feed_file {
    mtf_field   from;
    mtf_tensor *tensor;
} feed_file;

/* Reads the value of feed k of n into memory of the session's allocator, which the caller frees with block_free:
 * a whole array of NumPy, or rows of any file that mtf train reads, as many as the first dimension has.  NULL
 * after an error. */
void *feed_file_read(mtf_session *s, const feed_file *feeds, int n, int k);

#endif

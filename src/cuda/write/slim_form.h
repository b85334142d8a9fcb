/* Products with few columns: their loops, and how these are spread over blocks. */
#ifndef CUDA_WRITE_SLIM_FORM_H
#define CUDA_WRITE_SLIM_FORM_H

#include "cuda/write/slim.h"

enum {
    SLIM_BLOCK = 512
}; /* threads, whatever a block computes: so sums do not depend on the group */

/* The loops of a product: w has `big` and k, x has k and `slim`. */
typedef struct slim_form {
    const access *w, *x, *c;
    int           big, slim, k; /* loops */
    int64_t       batches;
    bool          adjacent_terms; /* of w along k; else along `big` */
    int           vector;         /* elements of w that are read at once */
} slim_form;

slim_form slim_form_of(const instr *i);
/* Elements that can be read at once, as far as offset and strides allow it. */
int slim_widest(const instr *i, const access *a, int along);

/* How a product is spread over blocks. */
typedef struct slim_tiles {
    int     lanes;       /* across: threads side by side */
    int     shared;      /* blocks that share rows, a cluster */
    int     group, rows; /* along: threads of a row, rows of such a group */
    int64_t tiles;       /* blocks of a batch */
} slim_tiles;

slim_tiles slim_tiles_of(const kernel_source *s, const instr *i, const slim_form *f);

#endif

/* Rows of temporary matrices, put apart: what plan/row_strides.c did, for plan/even_products.c. */
#ifndef PLAN_ROW_STRIDES_H
#define PLAN_ROW_STRIDES_H

#include "program/program.h"

typedef struct row_stride {
    int64_t length; /* elements; 0: the buffer stays as it is */
    int64_t apart;  /* elements between the beginnings of rows, when this is done */
    size_t  bytes;  /* of an element */
} row_stride;

/* Fills in `rows`, by buffer, on devices where that is faster; after updating in place. */
bool stride_rows(program *p, row_stride *rows);

#endif

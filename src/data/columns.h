/* Which columns of a table a field has. */
#ifndef DATA_COLUMNS_H
#define DATA_COLUMNS_H

#include "data/cells.h"
#include "data/format.h"

/* The first row of a file, which may have the names of its columns. */
typedef struct table_head {
    const char       *path, *row, *end;
    const cell_style *style;
    int64_t           columns;
} table_head;

/* Fills in the shard's spans from the field's part; without a part, all columns. */
bool columns_find(mtf_session *s, const field *f, const table_head *h, shard *part);
/* What a message about a row may add where semicolons are in its cells, outside of quotes; "": nothing. */
const char *columns_advice(const cell_style *style, const char *row, const char *end);
int64_t     columns_count(const shard *part);
int64_t columns_nth(const shard *part, int64_t element); /* the column that element comes from */

#endif

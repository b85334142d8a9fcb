/* Lines of TSV: cells with tabs between them. */
#ifndef DATA_TEXT_TSV_LINE_H
#define DATA_TEXT_TSV_LINE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct text_span {
    const char *at;
    int64_t     size;
} text_span;

/* Cell number `column`; false: the line has fewer. */
bool tsv_cell(const char *line, int64_t n, int64_t column, text_span *cell);
/* The number of a column by its number, or by its name in the line; false: the line has no such name. */
bool tsv_is_number(const char *text);
bool tsv_find(const char *line, int64_t n, const char *name, int64_t *column);

#endif

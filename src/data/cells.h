/* Cells of a table: text between separators, quoted or not. */
#ifndef DATA_CELLS_H
#define DATA_CELLS_H

#include <stdbool.h>
#include <stdint.h>

#include "data/convert.h"

typedef struct cell_style {
    char separator;
    bool quotes; /* "a ""b"", c" is one cell; numbers and names may have spaces around them */
} cell_style;

/* The text of a cell, without the quotes around it; quotes inside are then doubled. */
typedef struct cell {
    const char *text;
    int64_t     size;
    bool        quoted;
} cell;

/* Reads the cell at `at`, and returns what ends it: a separator, the line's end, or `end`.  NULL:
 * its quotes are wrong; `text` is then NULL where they are never closed, else what follows them. */
const char *cell_take(const cell_style *style, const char *at, const char *end, cell *c);
cell        cell_without_blanks(cell c); /* without those around its text */
bool        cell_is(const cell *c, const char *text);
/* Writes the cell as a text of less than `room` bytes, cut where it is longer. */
void cell_show(const cell *c, char *text, int64_t room);

void cell_offer_bytes(const cell *c, wanted *w);
/* Offers the cell as one number: an integer, kept exact, or any other.  False: it is not a
 * number. */
bool cell_offer_number(const cell *c, wanted *w);

#endif

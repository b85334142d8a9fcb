/* The order of examples that lie in sections.
 *
 * Shuffled, an epoch takes the sections in an order of its own, and from them windows: the first of one
 * section, so that it is there soon, each further one of twice as many as the one before, up to
 * WINDOW_SECTIONS.  The examples of a window are permuted.  Without shuffling a window is a section, and
 * all stays in order.  A cursor says where in this order a stream is; it depends neither on the size of
 * batches nor on processes.
 */
#ifndef DATA_ROW_STREAM_H
#define DATA_ROW_STREAM_H

#include "data/row_sections.h"
#include "data/shuffle.h"

enum { WINDOW_SECTIONS = 16 };

typedef struct row_cursor {
    int64_t epoch, window;
    int64_t row; /* examples of the window that have been taken */
} row_cursor;

/* Can a stream come here?  None gets so far that the places of sections would overflow. */
bool row_cursor_possible(const row_cursor *c);

typedef struct row_stream {
    const row_sections *sections;
    bool                shuffle;
    uint64_t            seed;
    row_cursor          at;
    /* The window that the cursor is in. */
    row_cursor known; /* which one; its row is not used */
    bool       is_known;
    int        nsections; /* 0: the epoch is over before it */
    int64_t    section[WINDOW_SECTIONS];
    int64_t    first[WINDOW_SECTIONS + 1]; /* examples of the window before each section */
    shuffle    order;
    int        expected; /* sections of the next window that were loaded ahead */
} row_stream;

/* The next example; -1: the epoch is over, and the stream at the beginning of the next. */
bool row_stream_next(row_stream *s, int64_t *row, fault *why);

#endif

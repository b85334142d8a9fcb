/* Pieces of text and their ids, found by their bytes. */
#ifndef DATA_TEXT_PIECE_TABLE_H
#define DATA_TEXT_PIECE_TABLE_H

#include "base/session.h"

typedef struct text_piece {
    const char *bytes; /* NULL: no piece has the id */
    int32_t     size;
} text_piece;

typedef struct piece_table {
    text_piece *pieces; /* by id */
    int64_t     count;
    int32_t    *slots; /* by hash: an id, or -1 */
    size_t      nslots;
    int32_t     longest;
} piece_table;

/* Room for `count` ids in the session's arena. */
bool piece_table_make(mtf_session *s, int64_t count, piece_table *t);
/* Sets the piece of an id below the count; its bytes are borrowed.  False where another id had the same
 * piece, which then belongs to this one. */
bool piece_table_put(piece_table *t, int32_t id, const char *bytes, size_t n);
/* The id of a piece, or -1. */
int32_t piece_table_find(const piece_table *t, const char *bytes, size_t n);

#endif

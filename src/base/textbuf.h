/* Text that grows as it is written. */
#ifndef BASE_TEXTBUF_H
#define BASE_TEXTBUF_H

#include "base/memory.h"

typedef struct textbuf {
    arena *arena;
    char  *text; /* always ends in a zero byte once something was written */
    int    used, room;
    bool   failed;
    bool   discards; /* stays empty: only what its writer computes besides is wanted */
} textbuf;

void  text_add(textbuf *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *text_done(textbuf *t); /* the text, "" where empty, NULL where memory ran out */
/* The text with \xNN in place of each byte that is a control character or invalid UTF-8; in the
 * arena, or the text itself where it has none.  NULL: no memory. */
const char *text_printable(arena *a, const char *text);

#endif

/* Finds stop strings in a text that arrives in pieces.
 *
 * Text that may be the beginning of a stop string is held back until more
 * arrives, so that no part of a stop string is ever returned.
 */
#ifndef SERVE_STOP_TEXT_H
#define SERVE_STOP_TEXT_H

#include "base/byte_list.h"

typedef struct stop_text {
    const char *const *stops; /* ended by NULL; NULL: none */
    byte_list          held;  /* text that is not yet returned */
    size_t             given; /* bytes of it that the last call returned */
    bool               found;
} stop_text;

/* Adds a piece, and returns the text that is now certain, valid until the next call; NULL: no memory.
 * `found` is set where a stop string was found; after it nothing more is returned. */
const char *stop_text_add(stop_text *s, const char *piece);
/* The text that was held back, at the end of the input. */
const char *stop_text_end(stop_text *s);
void        stop_text_free(stop_text *s);

#endif

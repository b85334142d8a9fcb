/* Stop strings: where a text that comes in pieces ends.
 *
 * What may be the beginning of a stop string is held back until more is known,
 * so that nothing of it is ever said.
 */
#ifndef SERVE_STOP_TEXT_H
#define SERVE_STOP_TEXT_H

#include <stdbool.h>
#include <stddef.h>

typedef struct stop_text {
    const char *const *stops; /* ended by NULL; NULL: none */
    char              *held;  /* text that was not given yet, and room for more */
    size_t             used, room;
    size_t             given; /* of it, by the last call */
    bool               found;
} stop_text;

/* Adds a piece, and gives what may be said of all so far, which stays until the next call; NULL: no
 * memory.  `found` tells whether a stop string came, after which there is nothing more. */
const char *stop_text_add(stop_text *s, const char *piece);
/* What was held back, once nothing follows. */
const char *stop_text_end(stop_text *s);
void        stop_text_free(stop_text *s);

#endif

/* Names: tables keyed by text, and the nearest name to a misspelt one. */
#ifndef BASE_NAMES_H
#define BASE_NAMES_H

#include "base/memory.h"

/* An insert-only table from text to pointer, in an arena; keys are borrowed. */
typedef struct name_table {
    arena *arena;
    struct name_entry {
        const char *name;
        void       *value;
    } * entries;
    int count, room; /* room is a power of two */
} name_table;

bool  names_put(name_table *t, const char *name, void *value); /* replaces; false: no memory */
void *names_get(const name_table *t, const char *name);        /* NULL where absent */

uint64_t hash_text(const char *text);
uint64_t hash_bytes(uint64_t seed, const void *data, size_t bytes);

/* Takes candidates one by one and keeps the likeliest: names that begin with `wanted`, then those
 * of which it is a misspelling, then those that contain it. */
typedef struct nearest {
    const char *wanted, *best;
    const char *before; /* what the hint puts before the name, as "--"; NULL: nothing */
    int         score;
} nearest;
void nearest_offer(nearest *n, const char *candidate);
/* The same for a name that the user did not give, which is less likely. */
void        nearest_offer_foreign(nearest *n, const char *candidate);
const char *nearest_hint(const nearest *n, char *text, size_t room); /* "; did you mean x?" or "" */

#endif

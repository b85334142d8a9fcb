/* The first error, kept in words.
 *
 * The place that detects a problem calls fail() and returns its false or NULL;
 * everyone above passes that on with TRY.  Later errors are consequences of
 * the first and are dropped.  The text sits in a fixed array, so that even
 * running out of memory can be said.
 */
#ifndef BASE_FAULT_H
#define BASE_FAULT_H

#include <stdatomic.h>
#include <stdbool.h>

typedef enum error_kind {
    ERR_NONE,
#define ERROR(kind, word) ERR_##kind,
#include "base/errors.h"
#undef ERROR
} error_kind;

/* Threads may fail at once: one writes its text, and then the kind; the others wait for that. */
typedef struct fault {
    _Atomic int  kind;
    _Atomic bool writing;
    bool         named; /* the text says whose error it is */
    char         text[1000];
} fault;

/* Records the first error as "word: sentence"; always returns false. */
bool fail(fault *f, error_kind kind, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Records an error that another process met, in its own words; false where there was one already. */
bool fault_take(fault *f, int kind, const char *text);
void fault_clear(fault *f); /* forgets it, while no other thread can fail */
/* "value: ..." becomes "value: processor x=1: ...": whose error it is.  The first to say so does. */
void fault_whose(fault *f, const char *whose);

#define TRY(call)                                                                                  \
    do {                                                                                           \
        if (!(call)) return false;                                                                 \
    } while (0)

#endif

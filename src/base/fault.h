/* The first error, kept in words.
 *
 * The place that detects a problem calls fail() and returns its false or NULL;
 * its callers pass that on with TRY.  Later errors are consequences of the
 * first and are dropped.  The text is in a fixed array, so that running out of
 * memory can be reported too.
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

/* Several threads may fail at once: the first writes its text and then the kind; the others wait
 * until it has. */
typedef struct fault {
    _Atomic int  kind;
    _Atomic bool writing;
    bool         named; /* the text names the processor */
    char         text[1000];
} fault;

/* Records the first error as "word: sentence"; always returns false. */
bool fail(fault *f, error_kind kind, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Records another process's error as it is; false where there was one already. */
bool fault_take(fault *f, int kind, const char *text);
void fault_clear(fault *f); /* only while no other thread can fail */
/* "value: ..." becomes "value: processor x=1: ...".  Only the first call has an effect. */
void fault_whose(fault *f, const char *whose);

/* Adds words to the end of an error of this kind, such as what memory was for. */
void fault_more(fault *f, error_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#define TRY(call)                                                                                  \
    do {                                                                                           \
        if (!(call)) return false;                                                                 \
    } while (0)

#endif

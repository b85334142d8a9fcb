/* Writes files atomically: a reader never sees a partial one. */
#ifndef BASE_PUT_FILE_H
#define BASE_PUT_FILE_H

#include <limits.h>
#include <stddef.h>

#include "base/fault.h"

typedef struct piece {
    const void *bytes;
    size_t      n;
} piece;

/* Replaces a regular file, or makes a new one, by renaming; anything else that is there (a
 * terminal, a pipe) is written to as it is.  False after an error, which names the path. */
bool put_file(fault *f, const char *path, int n, const piece *pieces);
/* The same for what comes piece by piece; the file is there when it is closed, if it is to be kept. */
typedef struct put_stream {
    const char *path;
    char        target[PATH_MAX], temporary[PATH_MAX];
    int         file;
    bool        replace;
    int         wrong; /* errno of the first failure */
} put_stream;

bool put_open(put_stream *to, fault *f, const char *path);
bool put_piece(put_stream *to, fault *f, const void *bytes, size_t n);
bool put_close(put_stream *to, fault *f, bool keep);
/* Could a file be written there?  For callers that have long work to do before they write. */
bool put_file_check(fault *f, const char *path);

#endif

/* Files of text that are read in pieces, at any place.
 *
 * Only what is asked for is read, so that a corpus may be larger than memory.  A plain file is opened for
 * each piece; of gzip files one at a time is unpacked, from its beginning on.  A file that has
 * changed since the corpus was opened is an error.
 */
#ifndef DATA_TEXT_CORPUS_H
#define DATA_TEXT_CORPUS_H

#include "base/session.h"

typedef struct corpus_file {
    const char *path;
    int64_t     size;   /* bytes of text; -1: a gzip file whose end has not been reached yet */
    bool        packed; /* gzip */
    int64_t     stored, changed[2]; /* when it was opened: bytes, and the time of its last change */
} corpus_file;

typedef struct unpacked unpacked;

typedef struct corpus {
    mtf_session *session;
    corpus_file *files;
    int          nfiles;
    bool         packed; /* one file at least is gzip */
    unpacked    *gz;     /* the gzip file that was read last */
} corpus;

/* The files that a pattern names. */
bool corpus_open(mtf_session *s, const char *pattern, corpus *c);
void corpus_close(corpus *c);

/* Reads up to `n` bytes of the text at `at`; fewer only where the file ends.  Not for two threads
 * at once. */
bool corpus_read(corpus *c, corpus_file *f, int64_t at, void *to, size_t n, size_t *got,
                 fault *why);
/* Is all the text together at most this long?  Of gzip files this much is unpacked. */
bool corpus_within(corpus *c, int64_t bytes, bool *within);
/* Bytes of all files, as they are stored. */
int64_t corpus_stored(const corpus *c);

#endif

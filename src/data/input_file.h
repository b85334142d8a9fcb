/* Files of examples, in memory: mapped, read or unpacked.
 *
 * A plain file that is large is mapped, so that only what is read is loaded; a
 * small one is read; a gzip file is unpacked, a large one of several processes
 * into a file that all of them map.  A file must not change while a dataset has
 * it open.
 */
#ifndef DATA_INPUT_FILE_H
#define DATA_INPUT_FILE_H

#include "base/session.h"

/* Where examples of varying size begin: the first of each INDEX_STRIDE.  Those between are found from there. */
enum { INDEX_STRIDE = 16 };
typedef struct place_index {
    int64_t *at;
    int64_t  count; /* examples */
} place_index;

typedef struct input_file {
    const char             *path;
    const uint8_t          *bytes;
    size_t                  size;
    bool                    mapped;
    struct shared_unpacked *shared;               /* NULL: no other process has these bytes */
    place_index             lines, rows, records; /* made by the format that needs them */
    /* Of a section of a file: what the file has before it, for messages. */
    int64_t bytes_before, lines_before, records_before;
} input_file;

enum {
    INPUT_LEAST_MAPPED = 1 << 20
}; /* plain files of so many bytes are mapped, smaller ones read */
/* How many bytes a gzip file probably has unpacked, of which `most` are allowed, and one more. */
size_t input_unpacked_guess(int file, size_t size, size_t most);

/* Each file once, however many fields it has. */
typedef struct input_files {
    mtf_session *session;
    bool share; /* other processes open the same files: they unpack large ones once, together */
    input_file **all;
    int          count, room;
} input_files;

/* The paths that a pattern names, sorted; an existing path is not a pattern.  Their number,
 * or 0 after an error. */
int         input_paths(mtf_session *s, const char *pattern, const char ***paths);
input_file *input_open(input_files *f, const char *path); /* NULL after an error */
/* Room for an index of `count` examples. */
bool input_index(mtf_session *s, place_index *index, int64_t count);
/* Example k begins at `at`; called for each k in turn. */
static inline void index_put(place_index *index, int64_t k, int64_t at)
{
    if (k % INDEX_STRIDE == 0) index->at[k / INDEX_STRIDE] = at;
}

/* For a first reading of a file from beginning to end, which has come to `at`: lets go of mapped pages that were
 * read, up to *given_up. */
void input_passed(const input_file *f, int64_t at, int64_t *given_up);
/* For long readings of mapped files: lets go of pages that were read, and fails where a file has become
 * shorter.  Any thread may call it. */
bool input_refresh(const input_files *f, fault *why);
void input_close(input_files *f);

#endif

/* NumPy's .npy files, read and written.
 *
 * A file is a magic word, a version, a header that is a Python dictionary,
 * and the elements.  Files are data from outside: every number in them is
 * checked against the file's real size before anything is allocated.  NumPy
 * has no bf16; such files carry two opaque bytes an element, "<V2".
 */
#ifndef RUN_NPY_H
#define RUN_NPY_H

#include "mtf.h"

typedef struct npy_array {
    mtf_dtype type;
    int       ndims;
    int64_t   size[MTF_MAX_DIMS];
    size_t    bytes;
    void     *data; /* row-major, little-endian; belongs to the session's allocator */
} npy_array;

/* All three return false after an error, which names the file; `out` then holds nothing. */
bool npy_read(mtf_session *s, const char *path, npy_array *out);
bool npy_parse(mtf_session *s, const char *name, const unsigned char *bytes, size_t n,
               npy_array *out);
/* A reader of `path` finds the old file or the whole new one, never a part. */
bool npy_write(mtf_session *s, const char *path, mtf_dtype type, int ndims, const int64_t *sizes,
               const void *data);
void npy_release(mtf_session *s, npy_array *a);

/* Type and shape for messages: "f32 (3, 4)". */
enum { NPY_TEXT = 400 };
const char *npy_text(mtf_dtype type, int ndims, const int64_t *sizes, char text[NPY_TEXT]);

#endif

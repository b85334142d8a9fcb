/* NumPy's .npy files, read and written.
 *
 * Files are parsed in memory, so that a fuzzer can reach all of it;
 * npy_header.c parses the header.
 */
#include "run/npy.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/byte_order.h"
#include "base/npy_header.h"
#include "base/put_file.h"
#include "base/session.h"

const char *npy_text(mtf_dtype type, int ndims, const int64_t *sizes, char text[NPY_TEXT])
{
    int used = snprintf(text, NPY_TEXT, "%s (", mtf_dtype_name(type));
    for (int i = 0; i < ndims && used < NPY_TEXT; i++)
        used += snprintf(text + used, (size_t)(NPY_TEXT - used), i ? ", %lld" : "%lld",
                         (long long)sizes[i]);
    if (used < NPY_TEXT) snprintf(text + used, (size_t)(NPY_TEXT - used), ndims == 1 ? ",)" : ")");
    return text;
}

/* ---- reading ---------------------------------------------------------------------------- */

/* to[i0, i1, ..] = from[.., i1, i0]: from column-major order to row-major. */
static void to_row_major(const npy_array *a, const unsigned char *from, int64_t count)
{
    size_t         element = mtf_dtype_bytes(a->type);
    unsigned char *to = a->data;
    int64_t        index[MTF_MAX_DIMS] = {0}, stride[MTF_MAX_DIMS], where = 0;
    assert(a->ndims >= 0);
    for (int64_t i = 0, step = 1; i < a->ndims; step *= a->size[i], i++) stride[i] = step;
    for (int64_t done = 0; done < count; done++) {
        memcpy(to + (size_t)done * element, from + (size_t)where * element, element);
        for (int d = a->ndims - 1; d >= 0; d--) {
            where += stride[d];
            if (++index[d] < a->size[d]) break;
            where -= stride[d] * a->size[d];
            index[d] = 0;
        }
    }
}

bool npy_parse(mtf_session *s, const char *name, const unsigned char *bytes, size_t n,
               npy_array *out)
{
    *out = (npy_array){0};
    TRY(mtf_ok(s));
    npy_header h;
    TRY(npy_header_parse(s, name, bytes, n, false, &h));
    mtf_dtype type = (mtf_dtype)h.type;
    size_t    wanted = (size_t)h.count * mtf_dtype_bytes(type), given = n - h.data_at;
    char      text[NPY_TEXT];
    if (given != wanted)
        return fail(&s->fault, ERR_FILE,
                    "\"%s\": its header says %s, which is %zu bytes of data, "
                    "but %zu bytes follow: the file is %s",
                    name, npy_text(type, h.ndims, h.size, text), wanted, given,
                    given < wanted ? "cut short" : "longer than it should be");
    void *data = block_alloc(&s->allocator, &s->fault, wanted, false);
    TRY(data != NULL);
    *out = (npy_array){.type = type, .ndims = h.ndims, .bytes = wanted, .data = data};
    memcpy(out->size, h.size, sizeof out->size);
    if (h.fortran_order)
        to_row_major(out, bytes + h.data_at, h.count);
    else if (wanted)
        memcpy(data, bytes + h.data_at, wanted);
    /* NumPy treats any byte but 0 as true; here a bool is 0 or 1. */
    if (type == MTF_BOOL)
        for (size_t i = 0; i < wanted; i++)
            ((unsigned char *)data)[i] = ((unsigned char *)data)[i] != 0;
    return true;
}

/* Reads an open file, at most `room` bytes; -1 after an error. */
static ssize_t read_all(int file, unsigned char *bytes, size_t room)
{
    size_t have = 0;
    while (have < room) {
        ssize_t got = read(file, bytes + have, room - have);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return -1;
        if (got == 0) break;
        have += (size_t)got;
    }
    return (ssize_t)have;
}

static bool read_open(mtf_session *s, const char *path, int file, npy_array *out)
{
    struct stat about;
    if (fstat(file, &about) != 0)
        return fail(&s->fault, ERR_FILE, "\"%s\": %s", path, strerror(errno));
    if (!S_ISREG(about.st_mode))
        return fail(&s->fault, ERR_FILE, "\"%s\" is %s; a .npy file is needed", path,
                    S_ISDIR(about.st_mode) ? "a folder" : "not a regular file");
    size_t         room = (size_t)about.st_size;
    unsigned char *bytes = block_alloc(&s->allocator, &s->fault, room, false);
    TRY(bytes != NULL);
    ssize_t got = read_all(file, bytes, room);
    bool    ok = got < 0 ? fail(&s->fault, ERR_FILE, "\"%s\": %s", path, strerror(errno))
                         : npy_parse(s, path, bytes, (size_t)got, out);
    block_free(&s->allocator, bytes);
    return ok;
}

bool npy_read(mtf_session *s, const char *path, npy_array *out)
{
    *out = (npy_array){0};
    TRY(mtf_ok(s));
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* opening a pipe must not block */
    if (file < 0) return fail(&s->fault, ERR_FILE, "\"%s\": %s", path, strerror(errno));
    bool ok = read_open(s, path, file, out);
    close(file);
    return ok;
}

void npy_release(mtf_session *s, npy_array *a)
{
    if (s && a) block_free(&s->allocator, a->data);
    if (a) *a = (npy_array){0};
}

/* ---- writing ---------------------------------------------------------------------------- */

bool npy_write(mtf_session *s, const char *path, mtf_dtype type, int ndims, const int64_t *sizes,
               const void *data)
{
    TRY(mtf_ok(s) && byte_order_suits(&s->fault, path, HOST_IS_LITTLE_ENDIAN));
    char   header[NPY_HEADER_ROOM];
    size_t header_bytes = npy_header_print(type, ndims, sizes, header);
    size_t bytes = mtf_dtype_bytes(type);
    for (int i = 0; i < ndims; i++) bytes *= (size_t)sizes[i];
    return put_file(&s->fault, path, 2, (const piece[]){{header, header_bytes}, {data, bytes}});
}

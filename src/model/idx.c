/* IDX files: arrays of bytes, plain or gzip.
 *
 * Two zero bytes, the element type, the number of dimensions, each size as
 * four bytes with the highest first, then the elements.  zlib reads plain
 * files as they are.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/session.h"
#include "mtf_nn.h"

enum { UNSIGNED_BYTE = 0x08, MOST_DIMS = 4 };

/* Deflate cannot expand beyond 1032 to 1: a header that promises more is lying. */
enum { MOST_EXPANSION = 1032 };

typedef struct idx_file {
    mtf_session *session;
    const char  *path;
    gzFile       gz;
} idx_file;

/* Exactly `n` bytes, or an error that says what is wrong with the file. */
static bool take_bytes(idx_file *f, uint8_t *to, size_t n)
{
    while (n > 0) {
        unsigned piece = n < INT_MAX / 2 ? (unsigned)n : INT_MAX / 2;
        errno = 0;
        int got = gzread(f->gz, to, piece);
        if (got > 0) {
            to += got;
            n -= (size_t)got;
            continue;
        }
        int         code = Z_OK;
        const char *words = gzerror(f->gz, &code);
        if (code == Z_ERRNO) words = strerror(errno);
        if (code == Z_BUF_ERROR || code == Z_OK)
            return fail(&f->session->fault, ERR_FILE, "\"%s\" is cut short: %zu bytes are missing",
                        f->path, n);
        return fail(&f->session->fault, ERR_FILE, "\"%s\" is damaged: %s", f->path, words);
    }
    return true;
}

/* The end of the data, which for gzip is also where the checksum is compared. */
static bool expect_end(idx_file *f)
{
    uint8_t one;
    int     got = gzread(f->gz, &one, 1), code = Z_OK;
    if (got > 0)
        return fail(&f->session->fault, ERR_FILE, "\"%s\" has more bytes than its header says",
                    f->path);
    const char *words = gzerror(f->gz, &code);
    if (got < 0 || (code != Z_OK && code != Z_STREAM_END))
        return fail(&f->session->fault, ERR_FILE, "\"%s\" is damaged: %s", f->path, words);
    return true;
}

static bool take_header(idx_file *f, uint64_t file_bytes, mtf_idx *out, size_t *count)
{
    uint8_t  word[4];
    uint64_t total = 1, most = (file_bytes + 1) * MOST_EXPANSION;
    TRY(take_bytes(f, word, sizeof word));
    if (word[0] || word[1])
        return fail(&f->session->fault, ERR_FILE,
                    "\"%s\" is no IDX file: it does not begin with two zero bytes", f->path);
    if (word[2] != UNSIGNED_BYTE)
        return fail(&f->session->fault, ERR_FILE,
                    "\"%s\" has elements of type 0x%02x; only unsigned bytes, 0x08, are read",
                    f->path, word[2]);
    if (word[3] < 1 || word[3] > MOST_DIMS)
        return fail(&f->session->fault, ERR_FILE, "\"%s\" has %d dimensions; 1 to %d are read",
                    f->path, word[3], MOST_DIMS);
    out->ndims = word[3];
    for (int i = 0; i < out->ndims; i++) {
        TRY(take_bytes(f, word, sizeof word));
        uint32_t size = (uint32_t)word[0] << 24 | (uint32_t)word[1] << 16 | (uint32_t)word[2] << 8 |
                        word[3];
        if (size == 0)
            return fail(&f->session->fault, ERR_FILE, "\"%s\": dimension %d has size 0", f->path,
                        i);
        out->size[i] = size;
        if (__builtin_mul_overflow(total, (uint64_t)size, &total) || total > most)
            return fail(&f->session->fault, ERR_FILE,
                        "\"%s\" is cut short: its header promises more elements than it can hold",
                        f->path);
    }
    *count = (size_t)total;
    return true;
}

static bool take_file(idx_file *f, uint64_t file_bytes, mtf_idx *out)
{
    size_t count = 0;
    TRY(take_header(f, file_bytes, out, &count));
    out->data = block_alloc(&f->session->allocator, &f->session->fault, count, false);
    TRY(out->data != NULL);
    TRY(take_bytes(f, out->data, count));
    return expect_end(f);
}

bool mtf_read_idx(mtf_session *s, const char *path, mtf_idx *out)
{
    *out = (mtf_idx){0};
    TRY(mtf_ok(s));
    struct stat about;
    if (stat(path, &about) != 0)
        return fail(&s->fault, ERR_FILE, "\"%s\": %s", path, strerror(errno));
    if (!S_ISREG(about.st_mode))
        return fail(&s->fault, ERR_FILE, "\"%s\" is %s; an IDX file is needed", path,
                    S_ISDIR(about.st_mode) ? "a folder" : "no regular file");
    errno = 0;
    idx_file f = {s, path, gzopen(path, "rb")};
    if (!f.gz)
        return fail(&s->fault, ERR_FILE, "\"%s\": %s", path, strerror(errno ? errno : ENOMEM));
    bool ok = take_file(&f, (uint64_t)about.st_size, out);
    gzclose_r(f.gz);
    if (!ok) mtf_idx_free(s, out);
    return ok;
}

void mtf_idx_free(mtf_session *s, mtf_idx *a)
{
    if (s && a) block_free(&s->allocator, a->data);
    if (a) *a = (mtf_idx){0};
}

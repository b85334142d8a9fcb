/* Examples of one size: IDX and .npy files.
 *
 * The first dimension counts the examples.  An IDX file, as MNIST comes, is
 * two zero bytes, the element type, the number of dimensions, each size as
 * four bytes with the highest first, then the elements.
 */
#include <string.h>

#include "base/npy_header.h"
#include "data/format.h"

/* A shard whose first dimension counts the examples, at byte `at` of its file; all shards of a field have
 * examples of as many elements. */
static bool open_array(mtf_session *s, field *f, shard *part, raw_type type, int ndims,
                       const int64_t *sizes, size_t at)
{
    const shard *one = &f->shards[0];
    int64_t      elements = 1;
    for (int d = 1; d < ndims && sizes[0]; d++) elements *= sizes[d];
    part->nsizes = ndims - 1;
    part->sizes = arena_copy(&s->arena, sizes + 1, sizeof *sizes * (size_t)(ndims - 1));
    TRY(part->sizes != NULL);
    if (f->as.length && f->as.length != elements)
        return fail(
            &s->fault, ERR_USAGE,
            "field \"%s\" has the length %lld, but every example of \"%s\" has %lld elements",
            f->as.name, (long long)f->as.length, part->file->path, (long long)elements);
    if (part == one) {
        f->type = type;
        f->elements = elements;
    } else if (f->elements != elements || f->type != type) {
        return fail(&s->fault, ERR_FILE,
                    "\"%s\" has examples of %lld elements of %zu bytes, but \"%s\" of %lld of %zu; "
                    "the files of a field must be alike",
                    part->file->path, (long long)elements, raw_bytes(type), one->file->path,
                    (long long)f->elements, raw_bytes(f->type));
    }
    part->count = sizes[0];
    part->elements = part->file->bytes + at;
    return true;
}

static bool read_array(const field *f, const shard *part, int64_t k, wanted *w, fault *why)
{
    (void)why; /* errors were found at opening */
    size_t bytes = (size_t)f->elements * raw_bytes(f->type);
    offer(w, f->type, part->elements + (size_t)k * bytes, f->elements);
    return true;
}

/* Shuffled examples are anywhere in memory: prefetches their first cache lines.  The hardware
 * prefetches what follows in order. */
static void expect_array(const field *f, const shard *part, int64_t k)
{
    enum { LINE = 64, LINES = 16 };
    size_t         bytes = (size_t)f->elements * raw_bytes(f->type);
    const uint8_t *first = part->elements + (size_t)k * bytes;
    for (size_t at = 0; at < bytes && at < LINE * LINES; at += LINE) __builtin_prefetch(first + at);
}

/* ---- IDX ---- */

enum { UNSIGNED_BYTE = 0x08, MOST_DIMS = 4 };

static bool begins_idx(const field *f, const uint8_t *bytes, size_t n)
{
    (void)f;
    return n >= 4 && !bytes[0] && !bytes[1] && bytes[2] == UNSIGNED_BYTE && bytes[3] >= 1 &&
           bytes[3] <= MOST_DIMS;
}

static bool open_idx(mtf_session *s, field *f, shard *part)
{
    const input_file *file = part->file;
    const uint8_t    *head = file->bytes;
    if (file->size < 4)
        return fail(&s->fault, ERR_FILE, "\"%s\" is cut short: it ends inside its header",
                    file->path);
    if (head[0] || head[1])
        return fail(&s->fault, ERR_FILE,
                    "\"%s\" is not an IDX file: it does not begin with two zero bytes", file->path);
    if (head[2] != UNSIGNED_BYTE)
        return fail(&s->fault, ERR_FILE,
                    "\"%s\" has elements of type 0x%02x; only unsigned bytes, 0x08, are read",
                    file->path, head[2]);
    int ndims = head[3];
    if (ndims < 1 || ndims > MOST_DIMS)
        return fail(&s->fault, ERR_FILE, "\"%s\" has %d dimensions; 1 to %d are read", file->path,
                    ndims, MOST_DIMS);
    size_t  at = 4 + 4 * (size_t)ndims;
    int64_t sizes[MOST_DIMS], total = 1;
    if (file->size < at)
        return fail(&s->fault, ERR_FILE, "\"%s\" is cut short: it ends inside its header",
                    file->path);
    for (int i = 0; i < ndims; i++) {
        const uint8_t *word = head + 4 + 4 * i;
        int64_t        size = (int64_t)word[0] << 24 | word[1] << 16 | word[2] << 8 | word[3];
        if (size == 0)
            return fail(&s->fault, ERR_FILE, "\"%s\": dimension %d has size 0", file->path, i);
        if (__builtin_mul_overflow(total, size, &total))
            return fail(&s->fault, ERR_FILE,
                        "\"%s\" is cut short: its header promises more elements than any file has",
                        file->path);
        sizes[i] = size;
    }
    uint64_t there = file->size - at;
    if (there < (uint64_t)total)
        return fail(&s->fault, ERR_FILE, "\"%s\" is cut short: %llu of its %lld bytes are missing",
                    file->path, (unsigned long long)((uint64_t)total - there), (long long)total);
    if (there > (uint64_t)total)
        return fail(&s->fault, ERR_FILE, "\"%s\" has more bytes than its header says", file->path);
    return open_array(s, f, part, RAW_U8, ndims, sizes, at);
}

const format format_idx = {.name = "idx",
                           .seeks = true,
                           .begins = begins_idx,
                           .open = open_idx,
                           .expect = expect_array,
                           .read = read_array};

/* ---- .npy ---- */

static bool begins_npy(const field *f, const uint8_t *bytes, size_t n)
{
    (void)f;
    return n >= 6 && memcmp(bytes, "\x93NUMPY", 6) == 0;
}

static bool open_npy(mtf_session *s, field *f, shard *part)
{
    const input_file *file = part->file;
    npy_header        h;
    TRY(npy_header_parse(s, file->path, file->bytes, file->size, true, &h));
    if (h.ndims == 0)
        return fail(&s->fault, ERR_FILE,
                    "\"%s\" is a single number; its first dimension should count the examples",
                    file->path);
    if (h.fortran_order && h.ndims > 1)
        return fail(&s->fault, ERR_FILE,
                    "\"%s\" is in Fortran order, which scatters an example; save it with "
                    "numpy.ascontiguousarray",
                    file->path);
    size_t wanted_bytes = (size_t)h.count * raw_bytes(h.type);
    size_t given = file->size - h.data_at;
    if (given != wanted_bytes)
        return fail(&s->fault, ERR_FILE,
                    "\"%s\" is %s: its header says %zu bytes of elements, and %zu follow",
                    file->path, given < wanted_bytes ? "cut short" : "longer than it should be",
                    wanted_bytes, given);
    if (h.count == 0 && h.size[0] > 0)
        return fail(&s->fault, ERR_FILE, "\"%s\": its examples have no elements", file->path);
    return open_array(s, f, part, h.type, h.ndims, h.size, h.data_at);
}

const format format_npy = {.name = "npy",
                           .seeks = true,
                           .begins = begins_npy,
                           .open = open_npy,
                           .expect = expect_array,
                           .read = read_array};

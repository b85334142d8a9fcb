/* Windows of a file of bytes or tokens.
 *
 * A file of tokens, such as nanoGPT's train.bin, is a list of little-endian
 * integers of two or four bytes.  Its windows are whole, and at least one token
 * follows the last, so that a field shifted by one, the targets, has as many.
 * The last window of bytes is padded with zeros.
 */
#include <stdio.h>

#include "base/byte_order.h"
#include "data/format.h"
#include "data/token_head.h"

static int64_t elements_of(const field *f, const shard *part)
{
    size_t head = (size_t)(part->elements - part->file->bytes);
    return (int64_t)((part->file->size - head) / raw_bytes(f->type));
}

static bool open_windows(mtf_session *s, field *f, raw_type type)
{
    f->type = type;
    f->elements = f->as.length;
    if (f->as.length < 1)
        return fail(&s->fault, ERR_USAGE,
                    "field \"%s\" is read as windows of %s; its length should say how long one is",
                    f->as.name, f->format->name);
    if (f->as.shift < 0)
        return fail(&s->fault, ERR_USAGE, "field \"%s\" has a negative shift", f->as.name);
    return true;
}

static bool open_bytes(mtf_session *s, field *f, shard *part)
{
    TRY(open_windows(s, f, RAW_U8));
    part->elements = part->file->bytes;
    int64_t total = elements_of(f, part);
    part->count = total / f->elements + (total % f->elements != 0);
    return true;
}

static bool open_tokens(mtf_session *s, field *f, shard *part, raw_type type)
{
    TRY(byte_order_suits(&s->fault, part->file->path, HOST_IS_LITTLE_ENDIAN));
    raw_type told = type;
    part->elements = part->file->bytes + token_head(part->file->bytes, part->file->size, &told);
    if (told != type)
        return fail(&s->fault, ERR_USAGE, "\"%s\" has tokens of the format %s, not %s",
                    part->file->path, told == RAW_U16 ? "u16" : "u32", f->format->name);
    TRY(open_windows(s, f, type));
    size_t over = part->file->size % raw_bytes(type);
    if (over)
        return fail(
            &s->fault, ERR_FILE,
            "\"%s\" is cut short, or no file of %s: its %zu bytes are not a multiple of %zu",
            part->file->path, f->format->name, part->file->size, raw_bytes(type));
    int64_t follow = f->as.shift > 1 ? f->as.shift : 1, total = elements_of(f, part);
    part->count = total > follow ? (total - follow) / f->elements : 0;
    return true;
}

static bool open_u16(mtf_session *s, field *f, shard *part)
{
    return open_tokens(s, f, part, RAW_U16);
}

static bool open_u32(mtf_session *s, field *f, shard *part)
{
    return open_tokens(s, f, part, RAW_U32);
}

static bool read_window(const field *f, const shard *part, int64_t k, wanted *w, fault *why)
{
    int64_t begin, total = elements_of(f, part);
    (void)why; /* any bytes are valid */
    if (__builtin_add_overflow(k * f->elements, f->as.shift, &begin) || begin > total)
        begin = total;
    int64_t rest = total - begin;
    offer(w, f->type, part->elements + (size_t)begin * raw_bytes(f->type),
          rest < f->elements ? rest : f->elements);
    return true;
}

static void where_window(const field *f, const shard *part, int64_t k, int64_t element,
                         char text[PLACE_ROOM])
{
    (void)part;
    snprintf(text, PLACE_ROOM, "element %lld",
             (long long)(k * f->elements + f->as.shift + element));
}

const format format_bytes = {.name = "bytes",
                             .seeks = true,
                             .takes = TAKES_SHIFT,
                             .open = open_bytes,
                             .read = read_window,
                             .where = where_window};
const format format_u16 = {.name = "u16",
                           .seeks = true,
                           .takes = TAKES_SHIFT,
                           .open = open_u16,
                           .read = read_window,
                           .where = where_window};
const format format_u32 = {.name = "u32",
                           .seeks = true,
                           .takes = TAKES_SHIFT,
                           .open = open_u32,
                           .read = read_window,
                           .where = where_window};

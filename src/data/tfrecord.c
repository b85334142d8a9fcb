/* TFRecord files: framed records, each a tf.Example.
 *
 * A record is its length in eight bytes, the masked CRC-32C of these, the
 * bytes, and their masked CRC-32C; all numbers are little-endian.
 * Lengths are checked when the file is opened, contents when they are read.
 */
#include <stdio.h>
#include <string.h>

#include "base/byte_order.h"
#include "data/format.h"
#include "data/tf_example.h"

enum { HEAD = 12, FOOT = 4 };

static uint64_t take_number(const uint8_t *bytes, int n)
{
    uint64_t number = 0;
    for (int i = n - 1; i >= 0; i--) number = number << 8 | bytes[i];
    return number;
}

static bool sound(const field *f, const uint8_t *bytes, size_t n, const uint8_t *checksum)
{
    return crc32c_masked(crc32c(f->crc, bytes, n)) == (uint32_t)take_number(checksum, 4);
}

static bool begins_tfrecord(const field *f, const uint8_t *bytes, size_t n)
{
    return n >= HEAD && sound(f, bytes, 8, bytes + 8);
}

/* The offset of the next record; -1 after an error. */
static int64_t next_record(mtf_session *s, const field *f, const input_file *file, int64_t at,
                           int64_t number)
{
    const uint8_t *head = file->bytes + at;
    uint64_t       rest = file->size - (uint64_t)at;
    long long      n = number + file->records_before, place = at + file->bytes_before;
    if (rest < HEAD) {
        fail(&s->fault, ERR_FILE,
             "\"%s\" is cut short: record %lld, at byte %lld, has no whole head", file->path, n,
             place);
        return -1;
    }
    if (!sound(f, head, 8, head + 8)) {
        fail(
            &s->fault, ERR_FILE,
            "\"%s\" is damaged, or no TFRecord file: the length of record %lld, at byte %lld, does "
            "not match its checksum",
            file->path, n, place);
        return -1;
    }
    uint64_t length = take_number(head, 8);
    if (rest - HEAD < FOOT || length > rest - HEAD - FOOT) {
        fail(&s->fault, ERR_FILE,
             "\"%s\" is cut short: record %lld, at byte %lld, should take %llu bytes and %llu "
             "follow",
             file->path, n, place, (unsigned long long)length, (unsigned long long)(rest - HEAD));
        return -1;
    }
    return at + HEAD + (int64_t)length + FOOT;
}

static uint64_t body_of(const input_file *file, int64_t at)
{
    return take_number(file->bytes + at, 8);
}

/* The offset of the record after one that is sound. */
static int64_t record_after(const input_file *file, int64_t at)
{
    return at + HEAD + (int64_t)body_of(file, at) + FOOT;
}

static bool is_inside(const input_file *file, int64_t at)
{
    uint64_t rest = file->size - (uint64_t)at;
    return at >= 0 && (uint64_t)at <= file->size && rest >= HEAD + FOOT &&
           body_of(file, at) <= rest - HEAD - FOOT;
}

/* The offset of record k; -1: the file is another than it was. */
static int64_t record_at(const input_file *file, int64_t k)
{
    int64_t at = file->records.at[k / INDEX_STRIDE];
    for (int64_t i = k % INDEX_STRIDE; i > 0 && is_inside(file, at); i--)
        at = record_after(file, at);
    return is_inside(file, at) ? at : -1;
}

static bool index_records(mtf_session *s, const field *f, input_file *file)
{
    int64_t count = 0, size = (int64_t)file->size, at = 0, passed = 0;
    if (file->records.at) return true;
    for (; at < size; count++) {
        input_passed(file, at, &passed);
        TRY((at = next_record(s, f, file, at, count)) >= 0);
    }
    TRY(input_index(s, &file->records, count));
    at = passed = 0;
    for (int64_t k = 0; k < count; k++, at = record_after(file, at)) {
        index_put(&file->records, k, at);
        input_passed(file, at, &passed);
    }
    return true;
}

static bool open_tfrecord(mtf_session *s, field *f, shard *part)
{
    if (!f->as.part)
        return fail(&s->fault, ERR_USAGE,
                    "field \"%s\" is read from TFRecord files; its part should name the feature",
                    f->as.name);
    TRY(byte_order_suits(&s->fault, part->file->path, HOST_IS_LITTLE_ENDIAN));
    TRY(index_records(s, f, part->file));
    f->elements = f->as.length;
    part->count = part->file->records.count;
    return true;
}

static bool read_tfrecord(const field *f, const shard *part, int64_t k, wanted *w, fault *why)
{
    const input_file *file = part->file;
    int64_t           at = record_at(file, k);
    if (at < 0)
        return fail(why, ERR_FILE,
                    "\"%s\" has changed since it was opened; data must stay as they are while they "
                    "are read",
                    file->path);
    const uint8_t *bytes = file->bytes + at + HEAD;
    size_t         length = (size_t)body_of(file, at);
    long long      n = k + file->records_before, place = at + file->bytes_before;
    if (!sound(f, bytes, length, bytes + length))
        return fail(why, ERR_FILE,
                    "\"%s\" is damaged: record %lld, at byte %lld, does not match its checksum",
                    file->path, n, place);
    example_state state = example_read(bytes, length, f->as.part, w);
    if (state == EXAMPLE_LACKS)
        return fail(why, ERR_NAME, "\"%s\": record %lld, at byte %lld, has no feature \"%s\"",
                    file->path, n, place, f->as.part);
    if (state == EXAMPLE_DAMAGED)
        return fail(why, ERR_FILE, "\"%s\": record %lld, at byte %lld, is not a tf.Example",
                    file->path, n, place);
    return true;
}

static void where_tfrecord(const field *f, const shard *part, int64_t k, int64_t element,
                           char text[PLACE_ROOM])
{
    (void)f, (void)part;
    snprintf(text, PLACE_ROOM, "record %lld, element %lld", (long long)k, (long long)element);
}

const format format_tfrecord = {.name = "tfrecord",
                                .ending = ".tfrecord",
                                .takes = TAKES_PART,
                                .begins = begins_tfrecord,
                                .open = open_tfrecord,
                                .read = read_tfrecord,
                                .where = where_tfrecord};

/* Gives arbitrary bytes to the readers of TFRecord files and of tf.Example.
 *
 * The first byte says whether the rest is a file, whose checksums hardly any
 * input passes, or a message.
 */
#include <stdlib.h>
#include <string.h>

#include "data/format.h"
#include "data/tf_example.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

enum { ELEMENTS = 5 };

static void read_message(const uint8_t *bytes, size_t n)
{
    int64_t       values[ELEMENTS];
    wanted        w = {.begin = 2, .end = 2 + ELEMENTS, .scale = 1, .type = MTF_I64, .out = values};
    example_state state = example_read(bytes, n, "a", &w);
    if (state == EXAMPLE_READ) offer_zeros(&w);
    /* A list cannot have more elements than the message has bytes. */
    if (w.offered < 0 || (uint64_t)w.offered > n) abort();
}

static void read_file(const uint8_t *bytes, size_t n)
{
    mtf_session  *s = mtf_open_with(NULL);
    crc32c_tables crc;
    input_file    file = {.path = "fuzz.tfrecord", .bytes = bytes, .size = n};
    shard         part = {.file = &file};
    field f = {.as = {.name = "x", .part = "label"}, .crc = &crc, .shards = &part, .nshards = 1};
    fault why = {0};
    crc32c_fill(&crc);
    bool ok = format_tfrecord.open(s, &f, &part);
    if (ok != mtf_ok(s) || (ok && (part.count < 0 || (uint64_t)part.count > n / 16))) abort();
    for (int64_t k = 0; ok && k < part.count; k++) {
        float  values[ELEMENTS];
        wanted w = {.end = ELEMENTS, .scale = 1, .type = MTF_F32, .out = values};
        if (!format_tfrecord.read(&f, &part, k, &w, &why)) break;
    }
    block_free(&s->allocator, file.records.at);
    mtf_close(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    if (n == 0) return 0;
    if (bytes[0] & 1)
        read_file(bytes + 1, n - 1);
    else
        read_message(bytes + 1, n - 1);
    return 0;
}

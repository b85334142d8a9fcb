/* Gives arbitrary bytes to the readers of TSV files and of text.
 *
 * The first byte says which column, and whether it is a number or a text.
 */
#include <stdlib.h>
#include <string.h>

#include "data/format.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

enum { LENGTH = 7 };

static void read_all(const format *format, const uint8_t *bytes, size_t n, const char *column,
                     int64_t length)
{
    mtf_session *s = mtf_open_with(NULL);
    input_file   file = {.path = "fuzz.tsv", .bytes = bytes, .size = n};
    shard        part = {.file = &file};
    field        f = {
               .as = {.name = "x", .part = column, .length = length}, .shards = &part, .nshards = 1};
    if (!format->open(s, &f, &part) || part.count < 0 || (uint64_t)part.count > n) abort();
    for (int64_t k = 0; k < part.count; k++) {
        double values[LENGTH];
        fault  why = {0};
        wanted w = {.end = length ? length : 1, .scale = 1, .type = MTF_F64, .out = values};
        bool   ok = format->read(&f, &part, k, &w, &why);
        if (ok != (why.kind == ERR_NONE) || (ok && !length && w.offered != 1)) abort();
        if ((uint64_t)w.offered > n) abort();
    }
    block_free(&s->allocator, file.lines.at);
    mtf_close(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    if (n == 0) return 0;
    char column[2] = {(char)('0' + bytes[0] % 5), 0};
    read_all(&format_tsv, bytes + 1, n - 1, column, bytes[0] & 0x80 ? LENGTH : 0);
    read_all(&format_text, bytes + 1, n - 1, NULL, LENGTH);
    return 0;
}

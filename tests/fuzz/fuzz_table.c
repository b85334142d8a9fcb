/* Gives arbitrary bytes to the readers of tables, text and windows.
 *
 * The first byte says which columns of which kind of table, and whether they
 * are numbers or a text.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/format.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

enum { LENGTH = 7, MOST = 64 };

static void read_all(const format *format, const uint8_t *bytes, size_t n, mtf_field as)
{
    mtf_session *s = mtf_open_with(NULL);
    input_file   file = {.path = "fuzz.csv", .bytes = bytes, .size = n};
    shard        part = {.file = &file};
    field        f = {.as = as, .format = format, .shards = &part, .nshards = 1};
    bool         ok = format->open(s, &f, &part);
    if (ok != mtf_ok(s) || (ok && (part.count < 0 || (uint64_t)part.count > n))) abort();
    for (int64_t k = 0; ok && k < part.count; k++) {
        int64_t values[MOST];
        char    place[PLACE_ROOM];
        fault   why = {0};
        wanted  w = {.end = f.elements < MOST ? f.elements : MOST,
                     .scale = 1,
                     .type = MTF_I64,
                     .out = values};
        bool    read = format->read(&f, &part, k, &w, &why);
        if (read != (why.kind == ERR_NONE) || (read && !as.length && w.offered != f.elements))
            abort();
        if ((uint64_t)w.offered > n + 1) abort();
        format->where(&f, &part, k, 0, place);
        if (strlen(place) >= PLACE_ROOM - 1) abort();
    }
    block_free(&s->allocator, file.lines.at);
    block_free(&s->allocator, file.rows.at);
    mtf_close(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    char part[16];
    if (n == 0) return 0;
    int first = bytes[0] % 5;
    if (bytes[0] & 0x10)
        snprintf(part, sizeof part, "%d,0-%d", first, first + 1);
    else if (bytes[0] & 0x20)
        snprintf(part, sizeof part, "%d,b", first);
    else
        snprintf(part, sizeof part, "%d", first);
    mtf_field table = {.name = "x", .part = part, .length = bytes[0] & 0x80 ? LENGTH : 0};
    table.header = bytes[0] & 0x20;
    read_all(bytes[0] & 0x40 ? &format_csv : &format_tsv, bytes + 1, n - 1, table);
    mtf_field window = {.name = "x", .length = LENGTH, .shift = first};
    read_all(&format_text, bytes + 1, n - 1, window);
    read_all(&format_bytes, bytes + 1, n - 1, window);
    read_all(&format_u16, bytes + 1, n - 1, window);
    read_all(&format_u32, bytes + 1, n - 1, window);
    return 0;
}

/* Writes sorted tables, with all entries in one block that is not compressed. */
#include <string.h>

#include "checkpoint/sorted_table.h"

static bool add_number(byte_list *to, uint64_t x, int bytes)
{
    message_out m = {.used = 0};
    message_put_fixed(&m, x, bytes);
    return bytes_add(to, m.bytes, m.used);
}

/* An entry shares nothing with the one before it. */
static bool add_entry(byte_list *to, const char *key, message value)
{
    size_t      n = strlen(key), length = (size_t)(value.end - value.at);
    message_out m = {.used = 0};
    message_put_varint(&m, 0);
    message_put_varint(&m, n);
    message_put_varint(&m, length);
    return bytes_add(to, m.bytes, m.used) && bytes_add(to, key, n) &&
           bytes_add(to, value.at, length);
}

bool table_add(table_writer *w, const char *key, message value)
{
    uint32_t *starts = list_grow(w->bytes.from, w->bytes.why, w->starts, sizeof *starts, w->count,
                                 w->count + 1, &w->room);
    TRY(starts != NULL);
    w->starts = starts;
    w->starts[w->count++] = (uint32_t)w->bytes.count;
    return add_entry(&w->bytes, key, value);
}

/* Ends the block that begins at `from`: where its entries start, its kind, its CRC. */
static bool end_block(byte_list *b, int64_t from, const uint32_t *starts, int64_t count,
                      const crc32c_tables *crc)
{
    for (int64_t i = 0; i < count; i++) TRY(add_number(b, starts[i], 4));
    TRY(add_number(b, (uint64_t)count, 4) && add_number(b, 0, 1));
    return add_number(b, crc32c_masked(crc32c(crc, b->bytes + from, (size_t)(b->count - from))), 4);
}

static void put_handle(message_out *m, int64_t from, int64_t end)
{
    enum { TRAILER = 5 };
    message_put_varint(m, (uint64_t)from);
    message_put_varint(m, (uint64_t)(end - from - TRAILER));
}

bool table_end(table_writer *w, const crc32c_tables *crc)
{
    static const char after_all[] = "\xff";
    const uint32_t    first = 0;
    byte_list        *b = &w->bytes;
    message_out       footer = {.used = 0}, entries = {.used = 0};
    TRY(end_block(b, 0, w->starts, w->count, crc));
    int64_t others = b->count; /* a block that is required, of which nothing is known */
    TRY(end_block(b, others, &first, 1, crc));
    int64_t index = b->count;
    put_handle(&entries, 0, others);
    TRY(add_entry(b, after_all, (message){entries.bytes, entries.bytes + entries.used}) &&
        end_block(b, index, &first, 1, crc));
    put_handle(&footer, others, index);
    put_handle(&footer, index, b->count);
    while (footer.used < 40) footer.bytes[footer.used++] = 0;
    message_put_fixed(&footer, TABLE_MARK, 8);
    return bytes_add(b, footer.bytes, footer.used);
}

void table_close(table_writer *w)
{
    block_free(w->bytes.from, w->starts);
    w->starts = NULL;
}

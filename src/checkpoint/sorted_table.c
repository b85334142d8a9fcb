/* Reads sorted tables: files of keys and values, as LevelDB has them. */
#include "checkpoint/sorted_table.h"

#include <string.h>

#include "base/snappy.h"

enum {
    FOOTER = 48,     /* two places, filled up with zeros, and the format's mark */
    TRAILER = 5,     /* the kind of a block and its CRC */
    MOST_KEY = 4096, /* of variables' names, and more */
};
typedef enum block_kind { BLOCK_PLAIN = 0, BLOCK_SNAPPY = 1 } block_kind;

static bool damaged(const sorted_table *t, const char *how)
{
    return fail(t->arena->fault, ERR_DAMAGED, "\"%s\" is damaged: %s", t->path, how);
}

static uint64_t number_at(const uint8_t *at, int bytes)
{
    uint64_t number = 0;
    for (int i = bytes - 1; i >= 0; i--) number = number << 8 | at[i];
    return number;
}

/* ---- blocks ---- */

/* A block's entries, and the memory that holds them, if it was expanded. */
typedef struct table_block {
    message  entries;
    uint8_t *expanded;
} table_block;

static bool block_expand(const sorted_table *t, message packed, table_block *b)
{
    size_t n = (size_t)(packed.end - packed.at), length;
    if (!snappy_length(packed.at, n, &length))
        return damaged(t, "a compressed block has no length");
    b->expanded = block_alloc(t->arena->from, t->arena->fault, length + 1, false);
    TRY(b->expanded != NULL);
    if (!snappy_expand(packed.at, n, b->expanded, length))
        return damaged(t, "a compressed block cannot be expanded");
    b->entries = (message){b->expanded, b->expanded + length};
    return true;
}

/* Leaves out the list of entries that begin with a whole key, which serves searches. */
static bool block_drop_starts(const sorted_table *t, message *block)
{
    uint64_t n = (uint64_t)(block->end - block->at);
    uint64_t starts = n >= 4 ? number_at(block->end - 4, 4) : 0;
    if (n < 4 || starts > (n - 4) / 4) return damaged(t, "a block is too short");
    block->end -= 4 + 4 * starts;
    return true;
}

/* The block at the place that `handle` begins with. */
static bool block_open(const sorted_table *t, message *handle, table_block *b)
{
    uint64_t at, n, size = (uint64_t)(t->all.end - t->all.at);
    *b = (table_block){.expanded = NULL};
    if (!message_take_varint(handle, &at) || !message_take_varint(handle, &n))
        return damaged(t, "it does not say where a block is");
    if (at > size || n > size - at || size - at - n < TRAILER)
        return damaged(t, "a block would lie outside the file: it may be cut short");
    const uint8_t *first = t->all.at + at, *end = first + n;
    uint32_t       crc = crc32c_masked(crc32c(t->crc, first, n + 1));
    if (crc != (uint32_t)number_at(end + 1, 4)) return damaged(t, "a block has another checksum");
    b->entries = (message){first, end};
    if (*end == BLOCK_SNAPPY) TRY(block_expand(t, b->entries, b));
    if (*end > BLOCK_SNAPPY) return damaged(t, "a block is compressed in an unknown way");
    return block_drop_starts(t, &b->entries);
}

static void block_close(const sorted_table *t, table_block *b)
{
    block_free(t->arena->from, b->expanded);
}

/* ---- entries ---- */

/* The key of an entry is built from that of the one before. */
typedef struct table_key {
    char   text[MOST_KEY];
    size_t used;
} table_key;

static bool key_take(const sorted_table *t, table_key *k, uint64_t shared, message rest)
{
    size_t n = (size_t)(rest.end - rest.at), before = k->used;
    if (shared > k->used) return damaged(t, "an entry shares more of a name than there is");
    if (shared + n >= MOST_KEY) return damaged(t, "a name is longer than 4095 bytes");
    size_t common = before - shared < n ? before - shared : n;
    int    order = common ? memcmp(rest.at, k->text + shared, common) : 0;
    if (before && (order < 0 || (order == 0 && n <= before - shared)))
        return damaged(t, "its names are not sorted");
    memcpy(k->text + shared, rest.at, n);
    k->used = shared + n;
    k->text[k->used] = 0;
    return true;
}

static bool entries_read(const sorted_table *t, message entries, table_key *key, table_visit *visit,
                         void *context)
{
    while (entries.at < entries.end) {
        uint64_t shared, own, length;
        message  rest, value;
        if (!message_take_varint(&entries, &shared) || !message_take_varint(&entries, &own) ||
            !message_take_varint(&entries, &length) || !message_take_bytes(&entries, own, &rest) ||
            !message_take_bytes(&entries, length, &value))
            return damaged(t, "an entry of a block is cut short");
        TRY(key_take(t, key, shared, rest) && visit(context, key->text, key->used, value));
    }
    return true;
}

/* ---- the whole table ---- */

typedef struct table_reading {
    const sorted_table *table;
    table_visit        *visit;
    void               *context;
    table_key           key; /* keys rise through all blocks, but a block begins with a whole one */
} table_reading;

/* An entry of the index: its value is the place of a block. */
static bool block_read(void *context, const char *last_key, size_t key_bytes, message handle)
{
    table_reading      *r = context;
    const sorted_table *t = r->table;
    table_block         b;
    (void)last_key, (void)key_bytes;
    bool ok =
        block_open(t, &handle, &b) && entries_read(t, b.entries, &r->key, r->visit, r->context);
    block_close(t, &b);
    return ok;
}

bool table_read(const sorted_table *t, table_visit *visit, void *context)
{
    table_reading r = {.table = t, .visit = visit, .context = context};
    table_key     key = {.used = 0};
    table_block   index;
    uint64_t      at, bytes; /* of a block that nothing is in */
    if (t->all.end - t->all.at < FOOTER || number_at(t->all.end - 8, 8) != TABLE_MARK)
        return fail(t->arena->fault, ERR_DAMAGED,
                    "\"%s\" is not the index of a checkpoint of TensorFlow: it lacks the mark at "
                    "its end",
                    t->path);
    message footer = {t->all.end - FOOTER, t->all.end - 8};
    if (!message_take_varint(&footer, &at) || !message_take_varint(&footer, &bytes))
        return damaged(t, "it does not say where its blocks are");
    bool ok =
        block_open(t, &footer, &index) && entries_read(t, index.entries, &key, block_read, &r);
    block_close(t, &index);
    return ok;
}

/* Gives arbitrary bytes to the reader of TensorFlow's checkpoints.
 *
 * As an index, as compressed bytes, as one block with a right checksum in an index that is sound otherwise,
 * and as messages in such a block: checksums would keep almost all inputs from the inner readers.
 */
#include <stdlib.h>
#include <string.h>

#include "base/session.h"
#include "base/snappy.h"
#include "checkpoint/bundle.h"
#include "checkpoint/sorted_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void check(const contents *c)
{
    for (int i = 0; i < c->ntensors; i++) {
        const kept_tensor *t = c->tensors[i];
        if (t->at < 0 || t->bytes < 0 || t->file < 0 || t->file >= c->nfiles) abort();
        if (t->shape.ndims < 0 || t->shape.ndims > MTF_MAX_DIMS) abort();
        if (contents_find(c, t->name) != t || strchr(c->files[t->file].name, '/')) abort();
        if (!t->foreign && shape_size(&t->shape) * (int64_t)mtf_dtype_bytes(t->type) != t->bytes)
            abort();
    }
    bundle_fits(c);
}

static void parse(const void *bytes, size_t n)
{
    mtf_session *s = mtf_open_with(NULL);
    contents     c = contents_make(&s->arena);
    void        *own = malloc(n + !n); /* so that a read past its end is seen */
    if (n) memcpy(own, bytes, n);
    bool ok = bundle_parse(&c, "folder/fuzz.index", own, n);
    if (ok != mtf_ok(s)) abort();
    if (ok) check(&c);
    free(own);
    mtf_close(s);
}

static void expand(const uint8_t *bytes, size_t n)
{
    size_t length;
    if (!snappy_length(bytes, n, &length)) return;
    uint8_t *to = malloc(length + !length);
    snappy_expand(bytes, n, to, length);
    free(to);
}

/* The bytes after the first, which says whether they are compressed, are a block; the rest is that of an
 * index whose only block has as many bytes. */
static void parse_block(const uint8_t *bytes, size_t n)
{
    crc32c_tables crc;
    table_writer  w = {.bytes = {.from = NULL}};
    message_out   trailer = {.used = 0}, head = {.used = 0}, footer = {.used = 0};
    size_t        length = n - 1;
    byte_list    *b = &w.bytes;
    crc32c_fill(&crc);
    message_put_varint(&head, 0);
    message_put_varint(&head, length);
    if (!bytes_add(b, bytes + 1, length) || !bytes_add(b, bytes, 1)) abort();
    message_put_fixed(&trailer, crc32c_masked(crc32c(&crc, b->bytes, n)), 4);
    if (!bytes_add(b, trailer.bytes, trailer.used)) abort();
    int64_t     index = b->count;
    message_out entry = {.used = 0};
    message_put_varint(&entry, 0);
    message_put_varint(&entry, 0);
    message_put_varint(&entry, head.used);
    message_put_bytes(&entry, head.bytes, head.used);
    message_put_fixed(&entry, 0, 4 + 1);
    message_put_fixed(&entry, crc32c_masked(crc32c(&crc, entry.bytes, entry.used)), 4);
    if (!bytes_add(b, entry.bytes, entry.used)) abort();
    message_put_varint(&footer, 0);
    message_put_varint(&footer, 0);
    message_put_varint(&footer, (uint64_t)index);
    message_put_varint(&footer, entry.used - 5);
    while (footer.used < 40) message_put_fixed(&footer, 0, 1);
    message_put_fixed(&footer, TABLE_MARK, 8);
    if (!bytes_add(b, footer.bytes, footer.used)) abort();
    parse(b->bytes, (size_t)b->count);
    bytes_free(b);
}

/* A first entry, then one for each piece, which begins with its length. */
static void parse_messages(const uint8_t *bytes, size_t n)
{
    static const uint8_t head[] = {0x08, 0x02};
    crc32c_tables        crc;
    table_writer         w = {.bytes = {.from = NULL}};
    message              rest = {bytes, bytes + n}, piece;
    uint64_t             length;
    char                 name[3] = "aa";
    crc32c_fill(&crc);
    if (!table_add(&w, "", (message){head, head + sizeof head})) abort();
    while (message_take_varint(&rest, &length) && message_take_bytes(&rest, length, &piece) &&
           name[0] < 'z') {
        if (!table_add(&w, name, piece)) abort();
        name[1] == 'z' ? name[0]++, name[1] = 'a' : name[1]++;
    }
    if (!table_end(&w, &crc)) abort();
    parse(w.bytes.bytes, (size_t)w.bytes.count);
    free(w.starts);
    bytes_free(&w.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    parse(bytes, n);
    expand(bytes, n);
    if (n) parse_block(bytes, n);
    parse_messages(bytes, n);
    return 0;
}

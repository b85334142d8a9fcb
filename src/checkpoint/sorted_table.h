/* Sorted tables: files of keys and values, as LevelDB has them.
 *
 * Blocks of entries come first, each followed by a byte that says whether it is compressed and a CRC; then
 * a block whose entries say where those are; last a footer, which says where that one is.  An entry shares
 * the beginning of its key with the entry before it.  Files are untrusted.
 */
#ifndef CHECKPOINT_SORTED_TABLE_H
#define CHECKPOINT_SORTED_TABLE_H

#include "base/byte_list.h"
#include "base/crc32c.h"
#include "base/message.h"

#define TABLE_MARK 0xdb4775248b80fb57u /* the last eight bytes */

typedef struct sorted_table {
    arena               *arena;
    const crc32c_tables *crc;
    const char          *path; /* for messages */
    message              all;  /* the file's bytes */
} sorted_table;

/* Takes an entry; its key ends in a zero byte, which is not counted.  False ends the reading. */
typedef bool table_visit(void *context, const char *key, size_t key_bytes, message value);

/* Gives each entry to `visit`, in the order of the keys; false after an error. */
bool table_read(const sorted_table *t, table_visit *visit, void *context);

/* The same file from entries that are added in the order of their keys. */
typedef struct table_writer {
    byte_list bytes;
    uint32_t *starts; /* of the entries */
    int64_t   count, room;
} table_writer;

bool table_add(table_writer *w, const char *key, message value);
/* After the last one: the file is w->bytes. */
bool table_end(table_writer *w, const crc32c_tables *crc);
void table_close(table_writer *w); /* all but the bytes */

#endif

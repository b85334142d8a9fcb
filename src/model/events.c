/* Event files: scalars by step, as TensorBoard reads them.
 *
 * A file is a sequence of records: length, checksum of the length, bytes,
 * checksum of the bytes.  The bytes are an Event in the format of protocol
 * buffers, of which only a few fields are written:
 *
 *     Event   { 1: double wall_time, 2: int64 step, 3: string file_version, 5: Summary }
 *     Summary { 1: Value { 1: string tag, 2: float simple_value } }
 */
#include "model/events.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "checkpoint/folder.h"

enum { MOST_TAG = 400, MOST_EVENT = MOST_TAG + 100 };
static const time_t flush_seconds = 5; /* how long an event may stay in memory */

struct events {
    mtf_session  *session;
    FILE         *file;
    char          path[4096];
    time_t        flushed;
    crc32c_tables tables;
};

/* ---- protocol buffers ---- */

typedef struct message {
    uint8_t bytes[MOST_EVENT];
    size_t  used;
} message;

enum wire_type { VARINT = 0, EIGHT_BYTES = 1, COUNTED = 2, FOUR_BYTES = 5 };

static void put_bytes(message *m, const void *bytes, size_t n)
{
    memcpy(m->bytes + m->used, bytes, n);
    m->used += n;
}

/* Seven bits a byte, lowest first; the highest bit is set where more follow. */
static void put_varint(message *m, uint64_t x)
{
    for (; x >= 128; x >>= 7) m->bytes[m->used++] = (uint8_t)(x | 128);
    m->bytes[m->used++] = (uint8_t)x;
}

static void put_key(message *m, int field, enum wire_type type)
{
    put_varint(m, (uint64_t)field << 3 | type);
}

static void put_fixed(message *m, uint64_t x, int bytes)
{
    for (int i = 0; i < bytes; i++) m->bytes[m->used++] = (uint8_t)(x >> 8 * i);
}

static void put_double(message *m, int field, double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    put_key(m, field, EIGHT_BYTES);
    put_fixed(m, bits, 8);
}

static void put_float(message *m, int field, float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    put_key(m, field, FOUR_BYTES);
    put_fixed(m, bits, 4);
}

static void put_counted(message *m, int field, const void *bytes, size_t n)
{
    put_key(m, field, COUNTED);
    put_varint(m, n);
    put_bytes(m, bytes, n);
}

/* ---- records ---- */

static bool write_failed(events *e)
{
    return fail(&e->session->fault, ERR_FILE, "\"%s\": %s", e->path, strerror(errno ? errno : EIO));
}

static uint32_t checksum(const events *e, const message *m)
{
    return crc32c_masked(crc32c(&e->tables, m->bytes, m->used));
}

static bool write_event(events *e, const message *event)
{
    message length = {.used = 0}, check = {.used = 0};
    time_t  now = time(NULL);
    put_fixed(&length, event->used, 8);
    put_fixed(&length, checksum(e, &length), 4);
    put_fixed(&check, checksum(e, event), 4);
    errno = 0;
    bool ok = fwrite(length.bytes, 1, length.used, e->file) == length.used &&
              fwrite(event->bytes, 1, event->used, e->file) == event->used &&
              fwrite(check.bytes, 1, check.used, e->file) == check.used;
    if (ok && now - e->flushed >= flush_seconds) {
        ok = fflush(e->file) == 0;
        e->flushed = now;
    }
    return ok || write_failed(e);
}

static message begin_event(void)
{
    message         m = {.used = 0};
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    put_double(&m, 1, (double)now.tv_sec + 1e-9 * (double)now.tv_nsec);
    return m;
}

bool events_scalar(events *e, int64_t step, const char *tag, double value)
{
    message event = begin_event(), scalar = {.used = 0}, summary = {.used = 0};
    size_t  length = strlen(tag);
    put_counted(&scalar, 1, tag, length < MOST_TAG ? length : MOST_TAG);
    put_float(&scalar, 2, (float)value);
    put_counted(&summary, 1, scalar.bytes, scalar.used);
    put_key(&event, 2, VARINT);
    put_varint(&event, (uint64_t)step);
    put_counted(&event, 5, summary.bytes, summary.used);
    return write_event(e, &event);
}

/* ---- files ---- */

/* Two runs that begin in the same second must not share a file: the second gets another name. */
static bool create(events *e, const char *directory)
{
    char host[256] = "host";
    gethostname(host, sizeof host - 1);
    for (int attempt = 0; attempt < 100 && !e->file; attempt++) {
        char suffix[16] = "";
        if (attempt) snprintf(suffix, sizeof suffix, ".%d", attempt);
        snprintf(e->path, sizeof e->path, "%s/events.out.tfevents.%010lld.%s%s", directory,
                 (long long)time(NULL), host, suffix);
        e->file = fopen(e->path, "wbx");
        if (!e->file && errno != EEXIST) break;
    }
    return e->file || write_failed(e);
}

events *events_open(mtf_session *s, const char *directory)
{
    static const char version[] = "brain.Event:2";
    events           *e = block_alloc(&s->allocator, &s->fault, sizeof *e, true);
    if (!e) return NULL;
    e->session = s;
    e->flushed = time(NULL);
    crc32c_fill(&e->tables);
    message head = begin_event();
    put_counted(&head, 3, version, strlen(version));
    if (folder_make(directory, &s->fault) && create(e, directory) && write_event(e, &head) &&
        fflush(e->file) == 0)
        return e;
    events_close(e);
    return NULL;
}

bool events_close(events *e)
{
    if (!e) return true;
    errno = 0;
    bool ok = !e->file || fclose(e->file) == 0 || write_failed(e);
    block_free(&e->session->allocator, e);
    return ok;
}

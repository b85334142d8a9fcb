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
#include "base/message.h"
#include "checkpoint/folder.h"

enum { MOST_TAG = MOST_MESSAGE - 100 };
static const time_t flush_seconds = 5; /* how long an event may stay in memory */

struct events {
    mtf_session  *session;
    FILE         *file;
    char          path[4096];
    time_t        flushed;
    crc32c_tables tables;
};

/* ---- fields ---- */

static void put_double(message_out *m, int field, double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    message_put_key(m, field, WIRE_FIXED64);
    message_put_fixed(m, bits, 8);
}

static void put_float(message_out *m, int field, float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    message_put_key(m, field, WIRE_FIXED32);
    message_put_fixed(m, bits, 4);
}

/* ---- records ---- */

static bool write_failed(events *e)
{
    return fail(&e->session->fault, ERR_FILE, "\"%s\": %s", e->path, strerror(errno ? errno : EIO));
}

static uint32_t checksum(const events *e, const message_out *m)
{
    return crc32c_masked(crc32c(&e->tables, m->bytes, m->used));
}

static bool write_event(events *e, const message_out *event)
{
    message_out length = {.used = 0}, check = {.used = 0};
    time_t      now = time(NULL);
    message_put_fixed(&length, event->used, 8);
    message_put_fixed(&length, checksum(e, &length), 4);
    message_put_fixed(&check, checksum(e, event), 4);
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

static message_out begin_event(void)
{
    message_out     m = {.used = 0};
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    put_double(&m, 1, (double)now.tv_sec + 1e-9 * (double)now.tv_nsec);
    return m;
}

bool events_scalar(events *e, int64_t step, const char *tag, double value)
{
    message_out event = begin_event(), scalar = {.used = 0}, summary = {.used = 0};
    size_t      length = strlen(tag);
    message_put_counted(&scalar, 1, tag, length < MOST_TAG ? length : MOST_TAG);
    put_float(&scalar, 2, (float)value);
    message_put_counted(&summary, 1, scalar.bytes, scalar.used);
    message_put_key(&event, 2, WIRE_VARINT);
    message_put_varint(&event, (uint64_t)step);
    message_put_counted(&event, 5, summary.bytes, summary.used);
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
    message_out head = begin_event();
    message_put_counted(&head, 3, version, strlen(version));
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

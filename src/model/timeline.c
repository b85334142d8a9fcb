/* A timeline of all processors, for Perfetto or Chrome.
 *
 * The Trace Event format: a list of JSON objects, here of complete events, with
 * one "thread" for each processor.  Times are microseconds since the first
 * event of all processors.  Ranks on several machines align their times by the
 * machines' real-time clocks, and only as exactly as these agree.
 */
#include "model/timeline.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_EVENTS = 1 << 16 }; /* of a processor */

bool timeline_prepare(mtf_program *p)
{
    for (int k = p->store->first; k < p->store->end; k++)
        TRY(counts_keep_events(&p->processors[k].counts, p->processors[k].program, MOST_EVENTS));
    return true;
}

void timeline_record(mtf_program *p, bool on)
{
    for (int k = p->store->first; k < p->store->end; k++) p->processors[k].counts.recording = on;
}

/* Whole nanoseconds: they are exact, even for the real-time clock, so that an event never begins before
 * the previous one ends. */
static int64_t nanoseconds(double seconds)
{
    return llround(1e9 * seconds);
}

/* Real-time clock minus monotonic clock. */
static int64_t clock_offset(void)
{
    struct timespec day, since;
    clock_gettime(CLOCK_REALTIME, &day);
    clock_gettime(CLOCK_MONOTONIC, &since);
    return (int64_t)(day.tv_sec - since.tv_sec) * 1000000000 + (day.tv_nsec - since.tv_nsec);
}

static void write_text(FILE *f, const char *text)
{
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fprintf(f, "\\%c", *text);
        else if ((unsigned char)*text < 0x20)
            fprintf(f, "\\u%04x", (unsigned)*text);
        else
            fputc(*text, f);
    }
}

/* In microseconds, the format's unit; never negative. */
static void write_time(FILE *f, const char *key, int64_t time)
{
    fprintf(f, ",\"%s\":%lld.%03lld", key, (long long)(time / 1000), (long long)(time % 1000));
}

/* `origin` is the start of the timeline on the monotonic clock of this process. */
static void write_processor(const mtf_program *p, int number, int64_t origin, FILE *f)
{
    const processor *q = &p->processors[number];
    mesh_point       here = mesh_place(&p->store->mesh, number);
    char             place[200] = "";
    mesh_write_place(&p->store->mesh, &here, place, sizeof place);
    fprintf(f,
            "%s{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":0,\"tid\":%d,\"args\":{\"name\":"
            "\"processor %s\"}}",
            number ? ",\n" : "", number, place);
    for (int i = 0; i < q->counts.nevents; i++) {
        const run_event *e = &q->counts.events[i];
        const instr     *x = &q->program->instrs[e->instr];
        int64_t          begin = nanoseconds(e->begin), end = nanoseconds(e->end);
        fprintf(f, ",\n{\"name\":\"%s ", instr_name(x->kind));
        write_text(f, mtf_name_of_tensor(x->cause));
        fprintf(f, "\",\"cat\":\"%s\",\"ph\":\"X\",\"pid\":0,\"tid\":%d",
                instr_is_collective(x) ? "wire" : "compute", number);
        write_time(f, "ts", begin - origin);
        write_time(f, "dur", end - begin);
        fputs("}", f);
    }
}

/* The first event of all processors on the real-time clock, which is `ahead` of this process's
 * monotonic clock. */
static bool find_origin(const mtf_program *p, int64_t ahead, int64_t *origin)
{
    const store *s = p->store;
    int64_t      first = INT64_MAX;
    for (int k = s->first; k < s->end; k++) {
        const run_counts *c = &p->processors[k].counts;
        int64_t           begin = c->nevents ? nanoseconds(c->events[0].begin) + ahead : INT64_MAX;
        if (begin < first) first = begin;
    }
    *origin = first;
    if (!s->ranks) return true;
    arena_mark mark = arena_here(&p->session->arena);
    int64_t   *all = arena_array(&p->session->arena, int64_t, ranks_count(s->ranks));
    TRY(all && ranks_gather(s->ranks, "beginning the timeline", &first, all, (int)sizeof first));
    for (int r = 0; r < ranks_count(s->ranks); r++)
        if (all[r] < *origin) *origin = all[r];
    arena_back(&p->session->arena, mark);
    return true;
}

static bool write_own(const mtf_program *p, int64_t origin, const char *path)
{
    const store *s = p->store;
    FILE        *f = fopen(path, s->first == 0 ? "w" : "a");
    if (f && s->first == 0) fputs("[\n", f);
    for (int k = s->first; f && k < s->end; k++) write_processor(p, k, origin, f);
    if (f && s->end == s->processors) fputs("\n]\n", f);
    bool ok = f && !ferror(f);
    if (f) ok = fclose(f) == 0 && ok;
    return ok || fail(&p->session->fault, ERR_FILE, "the timeline \"%s\": %s", path,
                      strerror(errno ? errno : EIO));
}

bool timeline_write(const mtf_program *p, const char *path)
{
    store  *s = p->store;
    int     count = s->ranks ? ranks_count(s->ranks) : 1;
    int64_t ahead = clock_offset(), origin;
    TRY(find_origin(p, ahead, &origin));
    for (int r = 0; r < count; r++) {
        if (!s->ranks || ranks_number(s->ranks) == r) TRY(write_own(p, origin - ahead, path));
        TRY(!s->ranks || ranks_meet(s->ranks, "writing the timeline"));
    }
    return true;
}

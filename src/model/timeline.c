/* A timeline of some steps of all processors, for Perfetto or Chrome.
 *
 * The Trace Event format: a list of JSON objects, here of complete events, with
 * one "thread" for each processor.  Times are microseconds of the day's clock,
 * so that ranks on several machines agree as well as their clocks do.
 */
#include "model/timeline.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/numbers.h"
#include "base/put_file.h"

enum { MOST_EVENTS = 1 << 16 }; /* of a processor */

bool timeline_prepare(mtf_program *p, const char *path)
{
    TRY(!mtf_is_first(p->session) || put_file_check(&p->session->fault, path));
    for (int k = p->store->first; k < p->store->end; k++)
        TRY(counts_keep_events(&p->processors[k].counts, p->processors[k].program, MOST_EVENTS));
    return true;
}

void timeline_record(mtf_program *p, bool on)
{
    for (int k = p->store->first; k < p->store->end; k++) p->processors[k].counts.recording = on;
}

/* What the day's clock is ahead of the monotonic one. */
static double clock_offset(void)
{
    struct timespec day, since;
    clock_gettime(CLOCK_REALTIME, &day);
    clock_gettime(CLOCK_MONOTONIC, &since);
    return (double)(day.tv_sec - since.tv_sec) + 1e-9 * (double)(day.tv_nsec - since.tv_nsec);
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

static void write_processor(const mtf_program *p, int number, FILE *f)
{
    const processor *q = &p->processors[number];
    mesh_point       here = mesh_place(&p->store->mesh, number);
    double           offset = clock_offset();
    char             place[200] = "";
    mesh_write_place(&p->store->mesh, &here, place, sizeof place);
    fprintf(f,
            "%s{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":0,\"tid\":%d,\"args\":{\"name\":"
            "\"processor %s\"}}",
            number ? ",\n" : "", number, place);
    for (int i = 0; i < q->counts.nevents; i++) {
        const run_event *e = &q->counts.events[i];
        const instr     *x = &q->program->instrs[e->instr];
        fprintf(f, ",\n{\"name\":\"%s ", instr_name(x->kind));
        write_text(f, mtf_name_of_tensor(x->cause));
        number_print(
            f, "\",\"cat\":\"%s\",\"ph\":\"X\",\"ts\":%.3f,\"dur\":%.3f,\"pid\":0,\"tid\":%d}",
            instr_is_collective(x) ? "wire" : "compute", 1e6 * (e->begin + offset),
            1e6 * (e->end - e->begin), number);
    }
}

static bool write_own(const mtf_program *p, const char *path)
{
    const store *s = p->store;
    FILE        *f = fopen(path, s->first == 0 ? "w" : "a");
    if (f && s->first == 0) fputs("[\n", f);
    for (int k = s->first; f && k < s->end; k++) write_processor(p, k, f);
    if (f && s->end == s->processors) fputs("\n]\n", f);
    bool ok = f && !ferror(f);
    if (f) ok = fclose(f) == 0 && ok;
    return ok || fail(&p->session->fault, ERR_FILE, "the timeline \"%s\": %s", path,
                      strerror(errno ? errno : EIO));
}

bool timeline_write(const mtf_program *p, const char *path)
{
    store *s = p->store;
    int    count = s->ranks ? ranks_count(s->ranks) : 1;
    for (int r = 0; r < count; r++) {
        if (!s->ranks || ranks_number(s->ranks) == r) TRY(write_own(p, path));
        TRY(!s->ranks || ranks_meet(s->ranks, "writing the timeline"));
    }
    return true;
}

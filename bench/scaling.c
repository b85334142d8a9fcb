/* Tokens a second on more and more processors, beside what the plan says.
 *
 * The Transformer of the other groups, on threads and on ranks, one core each:
 * its batch cut, its heads, units and vocabulary cut, or both.  The machine is
 * calibrated in the same state first, so that the plan is about it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cores.h"
#include "groups.h"
#include "mpirun.h"
#include "mtf_build.h"

enum { MOST_PROCESSORS = 16, LENGTH = 256, MOST_TEXT = 5000, STEPS = 3 };

typedef struct way {
    const char *name, *mesh, *layout;
} way;

/* What all measurements of a wire have in common. */
typedef struct wire_run {
    bench      *bench;
    const char *name;
    bool        ranks;
    int         batch;         /* as many rows as there are cores */
    char        machine[1000]; /* the file that describes it */
    char        launch[1000];  /* the command's prefix */
} wire_run;

/* clang-format off */
static const struct {
    int processors;
    way ways[4];
} meshes[] = {
    { 1, {{"whole", "p:1",     ""}}},
    { 2, {{"batch", "p:2",     "batch:p"}, {"model", "p:2",  "heads:p,ff:p,vocab:p"}}},
    { 4, {{"batch", "p:4",     "batch:p"}, {"model", "p:4",  "heads:p,ff:p,vocab:p"},
          {"both",  "p:2,q:2", "batch:p,heads:q,ff:q,vocab:q"}}},
    { 8, {{"batch", "p:8",     "batch:p"}, {"model", "p:8",  "heads:p,ff:p,vocab:p"},
          {"both",  "p:4,q:2", "batch:p,heads:q,ff:q,vocab:q"}}},
    {16, {{"batch", "p:16",    "batch:p"}, {"model", "p:16", "heads:p,ff:p,vocab:p"},
          {"both",  "p:4,q:4", "batch:p,heads:q,ff:q,vocab:q"}}},
};
/* clang-format on */

/* The first line that a command prints; false where it fails. */
static bool run(bench *b, const char *command, char *line, int room)
{
    FILE *f = popen(command, "r");
    bool  said = f && fgets(line, room, f);
    bool  ok = f && pclose(f) == 0 && said;
    if (!ok) bench_error(b, "failed: %s", command);
    return ok;
}

static void measure(wire_run *r, int processors, const way *w)
{
    char   command[MOST_TEXT], line[200];
    double seconds, predicted;
    figure f = {.group = "scaling", .aim = AT_LEAST};
    snprintf(f.name, sizeof f.name, "%d %s, %s%s", processors, r->name, w->name,
             processors > 1 ? " cut" : "");
    bench_progress(r->bench, "%s", f.name);
    snprintf(command, sizeof command,
             "%s '%s/mtf_train' --network language_model --batch %d --threads %d --mesh %s "
             "--layout '%s' --machine '%s' --steps %d </dev/null",
             r->launch, r->bench->folder, r->batch, r->ranks ? 1 : processors, w->mesh, w->layout,
             r->machine, STEPS);
    if (!run(r->bench, command, line, sizeof line)) return;
    if (sscanf(line, "%lf %lf", &seconds, &predicted) != 2) return;
    f.seconds = seconds, f.other = predicted;
    snprintf(f.versus, sizeof f.versus, "%.0f tokens/s : predicted", r->batch * LENGTH / seconds);
    bench_figure(r->bench, &f);
}

static bool calibrate_wire(wire_run *r, int processors)
{
    char command[MOST_TEXT];
    bench_progress(r->bench, "calibrating for %d %s", processors, r->name);
    snprintf(command, sizeof command,
             "%s '%s/../mtf' calibrate --mesh x:%d --threads %d --anyway --out '%s' </dev/null",
             r->launch, r->bench->folder, processors, r->ranks ? 1 : processors, r->machine);
    bool ok = system(command) == 0;
    if (!ok) bench_error(r->bench, "failed: %s", command);
    return ok;
}

static void measure_wire(wire_run *r, int cores)
{
    for (size_t k = 0; k < sizeof meshes / sizeof *meshes; k++) {
        int  n = meshes[k].processors;
        char name[40];
        snprintf(name, sizeof name, "%d %s", n, r->name);
        if (n > cores || (r->ranks && n == 1) || !bench_wants(r->bench, name)) continue;
        if (r->ranks) snprintf(r->launch, sizeof r->launch, "%s -n %d", mpirun(), n);
        if (!calibrate_wire(r, n)) return;
        for (const way *w = meshes[k].ways; w->name; w++) measure(r, n, w);
    }
}

void scaling_measure(bench *b)
{
    int cores = cores_count();
    int batch = cores < MOST_PROCESSORS ? cores : MOST_PROCESSORS;
    for (int k = 0; k < 1 + MTF_HAVE_MPI; k++) {
        wire_run r = {b, k ? "ranks" : "threads", k, batch, "", ""};
        snprintf(r.machine, sizeof r.machine, "%s/scaling.machine", b->folder);
        measure_wire(&r, cores);
        unlink(r.machine);
    }
}

/* Collectives on threads, on MPI, and by plain MPI calls.
 *
 * The race itself is run by mpirun, for all who take part must be ranks of one
 * job: ranks/wire_race.c.  Here its lines become figures.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "groups.h"
#include "mpirun.h"
#include "mtf_build.h"

static void add_figures(bench *b, const char *line, int processors)
{
    char   collective[32], size[32];
    long   bytes;
    double threads, ranks, plain;
    if (sscanf(line, "%31s %ld %lf %lf %lf", collective, &bytes, &threads, &ranks, &plain) != 5)
        return;
    figure f = {.group = "wires", .aim = AT_LEAST};
    snprintf(f.name, sizeof f.name, "%s of %s, %d processors", collective,
             bench_bytes(bytes, size, sizeof size), processors);
    snprintf(f.versus, sizeof f.versus, "threads : ranks");
    f.seconds = threads, f.other = ranks, f.target = 1;
    bench_figure(b, &f);
    snprintf(f.versus, sizeof f.versus, "threads : plain MPI call");
    f.seconds = threads, f.other = plain, f.target = 1;
    bench_figure(b, &f);
    snprintf(f.versus, sizeof f.versus, "ranks : plain MPI call");
    f.seconds = ranks, f.other = plain, f.target = 0.95;
    bench_figure(b, &f);
    bench_progress(b, "%s", f.name);
}

static void measure_mesh(bench *b, int processors)
{
    char command[5000], line[200];
    snprintf(command, sizeof command, "%s -n %d '%s/wire_race' </dev/null", mpirun(), processors,
             b->folder);
    FILE *race = popen(command, "r");
    while (race && fgets(line, sizeof line, race)) add_figures(b, line, processors);
    if (!race || pclose(race) != 0)
        bench_error(b, "the race of %d ranks failed: %s", processors, command);
}

void wires_measure(bench *b)
{
    if (!MTF_HAVE_MPI) {
        bench_progress(b, "wires: this build has no MPI\n");
        return;
    }
    bench_progress(b, "wires");
    measure_mesh(b, 2);
    measure_mesh(b, 4);
}

/* Collectives on threads, on MPI, and by plain MPI calls.
 *
 * The race itself is run by mpirun, for all who take part must be ranks of one
 * job: ranks/wire_race.c.  Here its lines become figures.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "groups.h"
#include "mtf_build.h"

enum { TIME_LIMIT = 240 }; /* seconds, for one mesh */

/* What mpirun must be told: to run as root, more ranks than cores, without binding each to a core,
 * for the threads of one rank take part as well, and on this machine's loopback alone. */
static void prepare_environment(void)
{
    char limit[20];
    snprintf(limit, sizeof limit, "%d", TIME_LIMIT);
    setenv("MPIEXEC_TIMEOUT", limit, 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 0);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0);
    setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "none", 0); /* containers forbid it */
    setenv("HWLOC_HIDE_ERRORS", "2", 0);                           /* no /sys to look at */
}

static const char *mpirun_flags(void)
{
    return strncmp(MTF_BUILD_MPI, "Open MPI", 8) == 0
               ? "--oversubscribe --quiet --bind-to none --mca oob_tcp_if_include lo"
               : "";
}

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
    snprintf(command, sizeof command, "mpirun %s -n %d '%s/wire_race' </dev/null", mpirun_flags(),
             processors, b->folder);
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
    prepare_environment();
    measure_mesh(b, 2);
    measure_mesh(b, 4);
}

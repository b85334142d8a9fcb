/* Runs collectives over ranks on several hosts: the numbers of one processor.
 *
 * Started by mpirun, ranks pretend to be on two and on three hosts
 * (MTF_HOSTS).  Sums of small whole numbers are the same in every order, so
 * nothing may differ, whether a collective takes one stage or two; and the
 * harness compares what was moved with the plan, inside hosts and between
 * them.  Without mpirun there is nothing to do.
 *
 * Usage: mpirun -n N test_hosts [layouts of each mesh]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness_mesh.h"
#include "machine/launch.h"
#include "mtf_build.h"

#if MTF_HAVE_MPI

#include <mpi.h>

enum { LIMIT = 12, TEXT_ROOM = 1000 };

/* Summed and scattered, the largest likewise; gathered along the outermost and the innermost dimension,
 * and one of two axes at a time. */
static const char text[] = "x: i32[a=7, n=%d] = input\n"
                           "v: %s = cast(x)\n"
                           "s: [n] = reduce_sum(v)\n"
                           "d: [n] = reduce_sum(v + v)\n"
                           "t: [m=%d] = reshape(d)\n"
                           "e: [n] = reduce_max(v)\n"
                           "u: [m=%d] = reshape(e)\n"
                           "p = rename_dimension(v, from=a, to=b)\n"
                           "q = rename_dimension(v, from=n, to=o)\n"
                           "#< x = ?\n"
                           "#> s = 0\n#> t = 0\n#> e = 0\n#> u = 0\n#> p = 0\n#> q = 0\n"
                           "#! gradient 0\n";

/* The library looks at the environment: whether this process is alone, and on how many hosts all are. */
static const char launched[] = "OMPI_COMM_WORLD_SIZE", launched_mpich[] = "PMI_SIZE";

static void alone(void)
{
    unsetenv(launched);
    unsetenv(launched_mpich);
    unsetenv("MTF_HOSTS");
}

static void together(const launch *l, int hosts)
{
    char size[20], number[20];
    snprintf(size, sizeof size, "%d", l->size);
    snprintf(number, sizeof number, "%d", hosts);
    setenv(getenv("OMPI_COMM_WORLD_RANK") ? launched : launched_mpich, size, 1);
    setenv("MTF_HOSTS", number, 1);
}

/* Meshes of as many processors as ranks, and one of more: two processors in some ranks. */
static void try_meshes(mesh_trials *t, const launch *l)
{
    static const struct {
        int         ranks;
        const char *mesh;
    } meshes[] = {{2, "x:2"},     {2, "x:3"},         {3, "x:3"},     {4, "x:4"},
                  {4, "x:2,y:2"}, {4, "x:5"},         {6, "x:2,y:3"}, {6, "x:6"},
                  {6, "x:3,y:2"}, {8, "x:2,y:2,z:2"}, {8, "x:8"},     {8, "x:2,y:4"}};
    for (int hosts = 2; hosts <= 4 && hosts <= l->size; hosts++)
        for (size_t k = 0; k < sizeof meshes / sizeof *meshes; k++) {
            if (meshes[k].ranks != l->size) continue;
            together(l, hosts);
            trials_on(t, meshes[k].mesh);
            alone();
        }
}

/* A few elements, and more than is swapped at once. */
static void try_type(mesh_trials *t, const launch *l, const char *type, int n)
{
    char      path[80], error[ERROR_ROOM] = "", *made = malloc(TEXT_ROOM);
    test_case c;
    snprintf(path, sizeof path, "%s of %d elements", type, n);
    snprintf(made, TEXT_ROOM, text, n, type, n, n);
    if (!case_take(&c, made, path, error, ERROR_ROOM)) {
        t->failed++;
        printf("%s: %s\n", path, error);
        return;
    }
    t->c = &c;
    alone();
    if (trials_begin(t)) try_meshes(t, l);
    trials_end(t);
    case_free(&c);
}

int main(int argc, char **argv)
{
    static const char *const types[] = {"f32", "bf16", "f64", "i32", "f16", "i64"};
    launch                   l = launch_find();
    mesh_trials              t = {.limit = argc > 1 ? atoi(argv[1]) : LIMIT};
    int                      has;
    if (l.size == 1) {
        printf("no mpirun started this\ntest_hosts: 0 passed, 0 failed\n");
        return 0;
    }
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &has); /* here, to open many sessions */
    for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
        try_type(&t, &l, types[k], 5);
        try_type(&t, &l, types[k], k < 4 ? 9001 : 101);
    }
    together(&l, 1);
    MPI_Finalize();
    if (l.rank == 0) printf("test_hosts: %d passed, %d failed\n", t.passed, t.failed);
    return t.failed != 0;
}

#else

int main(void)
{
    printf("this build has no MPI\ntest_hosts: 0 passed, 0 failed\n");
    return 0;
}

#endif

/* Runs every case over MPI: bit for bit as on threads.
 *
 * Started by mpirun, each rank runs a few layouts of each case twice: on the
 * mesh whose processors the ranks share, and on the same mesh inside this
 * process. Both wires must give the same bits.  Without mpirun there is
 * nothing to do.
 *
 * Usage: mpirun -n N test_ranks [part of a path] [layouts of each mesh]
 */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "asked.h"
#include "harness_mesh.h"
#include "machine/launch.h"
#include "mtf_build.h"

#if MTF_HAVE_MPI

#include <mpi.h>

static const char folder[] = MTF_SOURCE_DIR "/tests/cases/";
static const char launched[] = "OMPI_COMM_WORLD_SIZE", launched_mpich[] = "PMI_SIZE";

typedef struct tally {
    launch launch;
    int    passed, failed;
} tally;

/* ---- inside this process, or over the ranks: the library looks at the environment ---- */

static void alone(void)
{
    unsetenv(launched);
    unsetenv(launched_mpich);
}

static void together(const tally *t)
{
    char size[20];
    snprintf(size, sizeof size, "%d", t->launch.size);
    setenv(getenv("OMPI_COMM_WORLD_RANK") ? launched : launched_mpich, size, 1);
}

/* ---- one layout ---- */

/* Of a NaN, the sign may differ: which one a sum of several takes is up to the compiler. */
static bool same_values(const fetched *a, const fetched *b)
{
    size_t each = mtf_dtype_bytes(a->type);
    for (int64_t k = 0; k < a->n; k++) {
        const char *x = (const char *)a->data + (size_t)k * each,
                   *y = (const char *)b->data + (size_t)k * each;
        if (memcmp(x, y, each) == 0) continue;
        if (!dtype_is_float(a->type)) return false;
        double p = dtype_load(a->type, a->data, k), q = dtype_load(b->type, b->data, k);
        if (p == p || q == q) return false;
    }
    return true;
}

static bool same_bits(const outcome *a, const outcome *b, char *error)
{
    for (int i = 0; i < a->n; i++) {
        if (i < b->n && same_values(&a->values[i], &b->values[i])) continue;
        snprintf(error, ERROR_ROOM, "%.60s differs between threads and ranks", a->names[i]);
        return false;
    }
    return true;
}

static void try_layout(tally *t, const test_case *c, const char *mesh, const char *layout,
                       const char *state)
{
    outcome threads, ranks = {0};
    char    error[ERROR_ROOM] = "";
    stage   where = {.mesh = mesh, .layout = layout, .state_layout = state, .unproved = true};
    alone();
    where.unmeasured = true;
    if (!run_on(c, &where, &threads)) {
        snprintf(error, ERROR_ROOM, "on threads: %.500s", threads.error);
    } else {
        together(t);
        where.unmeasured = false;
        if (!run_on(c, &where, &ranks))
            snprintf(error, ERROR_ROOM, "%s", ranks.error);
        else
            same_bits(&threads, &ranks, error);
    }
    if (error[0])
        printf("rank %d: %s: --mesh %s --layout %s --state-layout \"%s\": %s\n", t->launch.rank,
               c->path, mesh, layout, state, error);
    t->failed += error[0] != 0;
    t->passed += error[0] == 0;
    outcome_free(&threads);
    outcome_free(&ranks);
}

/* ---- some layouts ---- */

/* All ranks draw the same: the state follows from the case alone. */
static unsigned draw(unsigned *state, int n)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % (unsigned)n;
}

/* A legal layout: no tensor has two dimensions on one axis.  The first dimension that is asked, which
 * is another one in each try, is cut. */
static void draw_layout(const case_dims *dims, int try, int naxes, unsigned *state, char *layout,
                        size_t room)
{
    static const char *const texts[] = {"x", "y", "x+y", "y+x"};
    static const unsigned    axes[] = {1, 2, 3, 3};
    unsigned                 of[MESH_DIMS] = {0};
    size_t                   used = 0;
    for (int k = 0; k < dims->n; k++) {
        int  d = (k + try) % dims->n, choice = (int)draw(state, naxes == 2 ? 4 : 1);
        bool fits = k == 0 || draw(state, 2);
        for (int j = 0; j < dims->n; j++)
            fits = fits && !(dims->together[d][j] && of[j] & axes[choice]);
        if (!fits) continue;
        of[d] = axes[choice];
        used += (size_t)snprintf(layout + used, room - used, "%s%s:%s", used ? "," : "",
                                 dims->names[d], texts[choice]);
    }
}

static void try_mesh(tally *t, const test_case *c, const case_dims *dims, const char *mesh,
                     int processors, int tries)
{
    unsigned state = (unsigned)strlen(c->text);
    for (int k = 0; k < tries && dims->n && processors >= t->launch.size; k++) {
        char layout[1200] = "", stored[80] = "";
        draw_layout(dims, k, strchr(mesh, 'y') ? 2 : 1, &state, layout, sizeof layout);
        if (k % 2) /* half of them would be declined where they raise the memory */
            snprintf(stored, sizeof stored, "%s:x%s", dims->names[dims->n - 1],
                     k % 4 == 1 ? "!" : "");
        try_layout(t, c, mesh, layout, stored);
    }
}

static void run_file(tally *t, const char *file, int tries)
{
    test_case c;
    case_dims dims;
    char      error[ERROR_ROOM] = "";
    if (!case_read(&c, file, file + strlen(folder), error, ERROR_ROOM)) {
        t->failed++;
        printf("%s: %s\n", file, error);
        return;
    }
    alone();
    if (case_dims_of(&c, &dims)) {
        try_mesh(t, &c, &dims, "x:2", 2, tries);
        try_mesh(t, &c, &dims, "x:3", 3, tries);
        try_mesh(t, &c, &dims, "x:2,y:2", 4, tries);
        try_mesh(t, &c, &dims, "x:2,y:3", 6, tries);
    } else {
        t->failed++;
        printf("%s: there is no graph\n", c.path);
    }
    case_free(&c);
}

static void run_all(tally *t, const char *part, int tries)
{
    glob_t files;
    char   pattern[sizeof folder + 16];
    int    has;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &has); /* here, to open many sessions */
    snprintf(pattern, sizeof pattern, "%s*/*.mtf", folder);
    if (glob(pattern, 0, NULL, &files) == 0) {
        for (size_t i = 0; i < files.gl_pathc; i += (size_t)asked_much(1, 5))
            if (strstr(files.gl_pathv[i] + strlen(folder), part))
                run_file(t, files.gl_pathv[i], tries);
        globfree(&files);
    }
    together(t);
    MPI_Finalize();
}

int main(int argc, char **argv)
{
    tally t = {.launch = launch_find()};
    if (t.launch.size == 1) {
        printf("no mpirun started this\ntest_ranks: 0 passed, 0 failed\n");
        return 0;
    }
    run_all(&t, argc > 1 ? argv[1] : "", argc > 2 ? atoi(argv[2]) : 2);
    if (t.launch.rank == 0) printf("test_ranks: %d passed, %d failed\n", t.passed, t.failed);
    return t.failed != 0;
}

#else

int main(void)
{
    printf("this build has no MPI\ntest_ranks: 0 passed, 0 failed\n");
    return 0;
}

#endif

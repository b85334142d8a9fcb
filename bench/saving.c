/* Checkpoints of 1 GiB against copies of a file.
 *
 * A copy reads a file and writes another, and both sides wait until the disk
 * has what they wrote.  Both write new files: to free those of the round before
 * can take a disk longer than to write, and is not timed.  Files that are read
 * were just written.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "groups.h"
#include "mtf_train.h"

enum { VARIABLES = 16 };
static const int64_t elements = (int64_t)1 << 24; /* of a variable: 64 MiB */

typedef struct job {
    mtf_session *session;
    char         folder[200], from[260], to[260];
    bool         failed;
} job;

static void save(void *context)
{
    job *j = context;
    j->failed |= !mtf_save(j->session, j->folder, &(mtf_save_opts){.step = 1});
}

static void forget_save(void *context)
{
    job *j = context;
    char command[300];
    snprintf(command, sizeof command, "rm -rf '%s'/step_*", j->folder);
    j->failed |= system(command) != 0;
}

static void forget_copy(void *context)
{
    job *j = context;
    unlink(j->to);
}

static void load(void *context)
{
    job *j = context;
    j->failed |= !mtf_load(j->session, j->folder, NULL, NULL);
}

/* Bytes through memory, as a program without a format would do it. */
static void copy(void *context)
{
    job        *j = context;
    static char block[1 << 22];
    int         in = open(j->from, O_RDONLY), out = open(j->to, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    ssize_t     n = in < 0 || out < 0 ? -1 : 0;
    while (n >= 0 && (n = read(in, block, sizeof block)) > 0)
        if (write(out, block, (size_t)n) != n) n = -1;
    j->failed |= n < 0 || fsync(out) != 0;
    if (in >= 0) close(in);
    if (out >= 0) close(out);
}

/* The same without writing: what loading is measured against. */
static void read_file(void *context)
{
    job  *j = context;
    char *block = malloc((size_t)1 << 30);
    int   in = open(j->from, O_RDONLY);
    for (int64_t at = 0; block && in >= 0 && at < (int64_t)1 << 30;) {
        ssize_t n = read(in, block + at, (size_t)(((int64_t)1 << 30) - at));
        if (n <= 0) break;
        at += n;
    }
    j->failed |= !block || in < 0;
    if (in >= 0) close(in);
    free(block);
}

static bool prepare(job *j)
{
    mtf_graph *g = mtf_graph_new(j->session);
    float      zero = 0;
    FILE      *file = fopen(j->from, "wb");
    for (int i = 0; i < VARIABLES; i++) {
        char name[20];
        snprintf(name, sizeof name, "w%d", i);
        mtf_tensor *w = mtf_variable(g, name, mtf_shape((mtf_dim){"n", elements}),
                                     &(mtf_variable_opts){.init = "uniform(-1, 1)"});
        if (!mtf_step(mtf_compile(g, mtf_reduce_sum(w, MTF_ALL)))) break;
    }
    bool ok = file && mtf_ok(j->session);
    for (int64_t i = 0; ok && i < VARIABLES * elements; i += 1024) {
        float block[1024];
        for (int k = 0; k < 1024; k++) block[k] = zero += 1;
        ok = fwrite(block, sizeof block, 1, file) == 1;
    }
    if (file) ok = fclose(file) == 0 && ok;
    return ok;
}

static void race(bench *b, job *j, const char *name, const char *versus, racer ours, racer theirs)
{
    racer  racers[] = {ours, theirs};
    figure f = {.group = "saving", .aim = AT_LEAST, .target = 0.8};
    bench_progress(b, "%s", name);
    bench_race(2, racers, 10);
    snprintf(f.name, sizeof f.name, "%s", name);
    snprintf(f.versus, sizeof f.versus, "%s", versus);
    f.seconds = racers[0].best, f.other = racers[1].best;
    if (j->failed || !mtf_ok(j->session))
        bench_error(b, "%s: %s", name, *mtf_error(j->session) ? mtf_error(j->session) : "no file");
    else
        bench_figure(b, &f);
}

void saving_measure(bench *b)
{
    job         j = {.session = mtf_open_with(NULL)};
    const char *temporary = getenv("TMPDIR");
    char        command[300];
    snprintf(j.folder, sizeof j.folder, "%.150s/mtf_bench_XXXXXX", temporary ? temporary : "/tmp");
    if (!j.session || !mkdtemp(j.folder)) {
        bench_error(b, "there is no room for 3 GiB of files in %s", j.folder);
        mtf_close(j.session);
        return;
    }
    snprintf(j.from, sizeof j.from, "%s/from", j.folder);
    snprintf(j.to, sizeof j.to, "%s/to", j.folder);
    if (prepare(&j)) {
        race(b, &j, "saving 1 GiB", "mtf_save : copying a file", (racer){save, &j, 0, forget_save},
             (racer){copy, &j, 0, forget_copy});
        race(b, &j, "loading 1 GiB", "mtf_load : reading a file", (racer){load, &j, 0, NULL},
             (racer){read_file, &j, 0, NULL});
    } else {
        bench_error(b, "1 GiB cannot be prepared in %s: %s", j.folder, mtf_error(j.session));
    }
    mtf_close(j.session);
    snprintf(command, sizeof command, "rm -rf '%s'", j.folder);
    if (system(command) != 0) bench_error(b, "%s is left over", j.folder);
}

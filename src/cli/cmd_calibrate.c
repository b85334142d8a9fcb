/* mtf calibrate: measures this machine, for plans and layouts. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cores.h"
#include "base/core_load.h"
#include "base/numbers.h"
#include "base/put_file.h"
#include "cli/commands.h"
#include "cli/graph_file.h"
#include "cli/thread_limit.h"
#include "machine/launch.h"
#include "measure/calibrate.h"

static bool write_out(mtf_session *s, const char *path, const char *text)
{
    if (path) return put_file(&s->fault, path, 1, &(piece){text, strlen(text)});
    return fputs(text, stdout) >= 0 ||
           fail(&s->fault, ERR_FILE, "standard output: %s", strerror(errno));
}

/* A progress line: overwritten each time on a terminal, else one for each trial. */
static void tell(void *start, int done, int trials)
{
    double spent = difftime(time(NULL), *(const time_t *)start);
    bool   over = isatty(STDERR_FILENO);
    if (!over && done == trials) return;
    fprintf(stderr, "%scalibrating: trial %d of %d", over ? "\r\033[K" : "",
            done < trials ? done + 1 : trials, trials);
    if (done) number_print(stderr, ", %.0f s left", spent * (trials - done) / done);
    if (!over) fputs("\n", stderr);
    if (done == trials) fprintf(stderr, "\r\033[K");
    fflush(stderr);
}

/* Others are worth a note where they need the cores that will be measured. */
static void note_load(int wanted)
{
    core_load l;
    if (!load_measure(&l) || l.busy < 0.5 || l.busy + wanted <= l.all) return;
    number_print(stderr, "mtf: note: other processes use %.1f", l.busy);
    fprintf(stderr, " of %d cores: figures will be too low\n", l.all);
}

static const char *describe(mtf_session *s, const char *given, const price_rates *r,
                            const disturbance *d)
{
    textbuf t = {.arena = &s->arena};
    if (r->gpu)
        text_add(
            &t,
            "# A processor of mesh %s on %s, all busy: measured by mtf calibrate --device cuda.\n",
            given, "cuda");
    else
        text_add(
            &t,
            "# A processor of mesh %s of this machine, all busy, %s: measured by mtf calibrate.\n",
            given, launch_find().size > 1 ? "over MPI" : "as threads");
    if (calibrate_is_disturbed(d))
        text_add(&t,
                 "# Others used the machine meanwhile: trials differ by %.0f %%, cores were "
                 "taken away for %.0f %% of the time.\n",
                 100 * d->spread, 100 * d->lost);
    rates_write(r, &t);
    return text_done(&t);
}

/* Unreliable measurements are not written. */
static bool check_calm(const options *o, mtf_session *s, const disturbance *d)
{
    if (option_given(o, "anyway") || !calibrate_is_disturbed(d)) return true;
    return fail(&s->fault, ERR_VALUE,
                "others used the machine meanwhile: trials differ by %.0f %%, cores were taken "
                "away for %.0f %% of the time; calibrate when it is idle, or take it as it is "
                "with --anyway",
                100 * d->spread, 100 * d->lost);
}

static bool measure(const options *o, mtf_session *s)
{
    const char    *path = option_nth(o, "out", 0), *given = s->opts.mesh;
    price_rates    r;
    disturbance    d;
    time_t         start = time(NULL);
    bool           tells = mtf_is_first(s) && !option_given(o, "quiet");
    calibrate_opts how = {.tell = tells ? tell : NULL, .context = &start};
    TRY(!path || !mtf_is_first(s) || put_file_check(&s->fault, path));
    if (tells) note_load(s->opts.threads);
    if (!calibrate(s, &how, &r, &d)) {
        if (how.tell) tell(&start, 1, 1); /* so that the error begins on its own line */
        return false;
    }
    if (!mtf_is_first(s)) return true;
    const char *text = describe(s, given, &r, &d);
    return text && check_calm(o, s, &d) && write_out(s, path, text);
}

static int run(const options *o)
{
    uint64_t    threads = 0;
    char        each[30];
    int         processes = launch_find().size;
    const char *given = option_nth(o, "mesh", 0);
    if (!option_number(o, "threads", 1, 1024, &threads)) return STATUS_USAGE;
    long        cores = threads ? (long)threads : cores_count();
    const char *device = option_nth(o, "device", 0);
    if (device) cores = calibrate_busy(device, cores);
    snprintf(each, sizeof each, "x:%ld", processes > 1 ? processes : cores > 1 ? cores : 1);
    mtf_session *s = file_session(&(mtf_session_opts){
        .threads = (int)threads, .device = device, .mesh = given ? given : each});
    if (!s) return STATUS_FAILED;
    if (threads_suit(o, s)) measure(o, s);
    return close_session(s);
}

static const option_spec table[] = {
    {"out", "FILE", false, "where to write the description; default: standard output",
     .writes = true},
    {"anyway", NULL, false, "write it even if others used the machine meanwhile"},
    {"quiet", NULL, false, "no progress, and no note of other processes"},
    {"device", "cpu|cuda", false, "what is measured; cuda: one of NVIDIA's GPUs", "cpu|cuda"},
    {"mesh", "MESH", false,
     "the processors; default: x, one for each core, or each rank of MPI; with cuda, one"},
    {"threads", "N", false, "threads to use in all; default: all cores it may use"},
    {"oversubscribe", NULL, false, "start far more threads than this machine has cores"},
    {0},
};

static const char *const examples[] = {
    "mtf calibrate --out here.machine",
    "mtf layout net.mtf --optimizer adam --mesh x:4 --machine here.machine",
    "mpirun -n 16 mtf calibrate --out cluster.machine",
    "mtf calibrate --device cuda --out gpu.machine",
    NULL,
};

const command command_calibrate = {
    .name = "calibrate",
    .says = "measure this machine, and describe it for plan and layout",
    .words = "",
    .least = 0,
    .most = 0,
    .options = table,
    .examples = examples,
    .teaches =
        "All processors work at once, as in a step: matrix products of several sizes and types,\n"
        "convolutions with few channels and with many, a pass over memory, elementwise work, an\n"
        "instruction that does almost nothing, and sums over all processors and along each axis.\n"
        "The file has a line for each, and may be edited.  It takes less than a minute; let\n"
        "nothing else run: where trials differ, or cores are taken away, it says so and writes\n"
        "nothing.\n"
        "\n"
        "With --device cuda, kernels are timed in captured steps: products by type, terms and\n"
        "results, attention and its gradients, convolutions, and passes over memory by kind of\n"
        "instruction.  Several processors, as in --mesh x:2, share the GPUs that are there.",
    .run = run,
};

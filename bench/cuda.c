/* GPT-2 on a GPU, by PyTorch and by mtf.
 *
 * The other side is peers/torch_gpt2_gpu.py, started by MTF_BENCH_PYTHON (python3) where that has torch
 * and a GPU; without it times are compared with what is aimed at on an H200.  If MTF_BENCH_TINY is set
 * all sizes are tiny, and no figure has a target: an emulated GPU can run everything.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "contestant.h"
#include "cuda_f8.h"
#include "cuda_kernels.h"
#include "gpt2.h"
#include "groups.h"

/* What a size is to reach: against PyTorch, against its products and attention alone, and on an
 * H200. */
typedef struct aim {
    const char *size;
    double      faster, limit, memory; /* ratios */
    double      tokens, bytes;         /* a second; peak */
    double      cold, warm;            /* seconds of a first step */
} aim;

/* clang-format off */
static const aim aims[] = {
    {"124M",  1.23, 0.87, 0.70, 640e3, 20.0 * (1 << 30), 2, 0.3},
    {"1558M", 1.28, 0.87, 0.84,  55e3, 36.0 * (1 << 30), 2, 0.3},
};
/* clang-format on */
static const double decoding_seconds = 1.1e-3, decoding_torch = 8.9 / 1.1;
static const double cut_target = 0.9;

static bool has_torch(void)
{
    const char *python = getenv("MTF_BENCH_PYTHON");
    char        command[5000];
    snprintf(command, sizeof command,
             "%s -c 'import torch, sys; sys.exit(not torch.cuda.is_available())' >/dev/null 2>&1",
             python ? python : "python3");
    return system(command) == 0;
}

static void write_own(const bench *b, const char *work, const char *size, int processors,
                      contestant *c)
{
    char mesh[60] = "";
    if (processors > 1) snprintf(mesh, sizeof mesh, " --mesh p:%d --layout batch:p", processors);
    snprintf(c->command, sizeof c->command,
             "exec '%s/mtf_gpt2' --device cuda --work %s --size %s%s", b->folder, work, size, mesh);
}

static void write_torch(const char *work, const char *size, contestant *c)
{
    const char *python = getenv("MTF_BENCH_PYTHON");
    snprintf(c->command, sizeof c->command, "exec %s '" MTF_BENCH_PEERS "/torch_gpt2_gpu.py' %s %s",
             python ? python : "python3", work, size);
}

/* ---- figures ---- */

void cuda_add(bench *b, const char *name, const char *versus, double seconds, double other,
              double target)
{
    figure f = {.group = "cuda", .seconds = seconds, .other = other, .aim = AT_LEAST};
    f.target = gpt2_is_tiny() ? 0 : target;
    snprintf(f.name, sizeof f.name, "%s", name);
    snprintf(f.versus, sizeof f.versus, "%s", versus);
    bench_figure(b, &f);
}

static void add_bytes(bench *b, const char *name, const char *versus, double bytes, double other,
                      double target)
{
    figure f = {.group = "cuda", .seconds = bytes, .other = other, .bytes = true, .aim = AT_MOST};
    f.target = gpt2_is_tiny() ? INT32_MAX : target;
    snprintf(f.name, sizeof f.name, "%s", name);
    snprintf(f.versus, sizeof f.versus, "%s", versus);
    bench_figure(b, &f);
}

static void stop_all(contestant *all, int n)
{
    for (int k = 0; k < n; k++) contestant_stop(&all[k]);
}

/* ---- training ---- */

/* The number at a place among those that the command prints; 0: none. */
static double read_number(const char *command, int place)
{
    FILE  *f = popen(command, "r");
    double number = 0;
    for (int k = 0; f && k <= place; k++)
        if (fscanf(f, "%lf", &number) != 1) number = 0;
    if (f) pclose(f);
    return number;
}

/* What the driver says that a run by itself takes: beside others it would count theirs. */
static double own_bytes(const bench *b, const char *size)
{
    contestant own;
    write_own(b, "memory", size, 1, &own);
    return read_number(own.command, 1);
}

static void race_training(bench *b, const aim *a, bool torch)
{
    contestant all[3] = {{.process = 0}};
    char       name[60];
    gpt2_size  size;
    gpt2_find(a->size, &size);
    snprintf(name, sizeof name, "GPT-2 %s, batch %lld", a->size, (long long)size.batch);
    if (!bench_wants(b, name)) return;
    bench_progress(b, "%s", name);
    write_own(b, "train", a->size, 1, &all[0]);
    write_torch("train", a->size, &all[1]);
    write_torch("limit", a->size, &all[2]);
    int    n = torch ? 3 : 1;
    double bytes = own_bytes(b, a->size);
    if (!(bytes > 0)) bench_error(b, "mtf_gpt2 --work memory prints no bytes");
    if (contestants_race(b, all, n)) {
        double tokens = (double)(size.batch * size.length);
        cuda_add(b, name, "mtf : aim on an H200", all[0].seconds, tokens / a->tokens, 1);
        if (torch)
            cuda_add(b, name, "mtf : PyTorch, compiled", all[0].seconds, all[1].seconds, a->faster);
        if (torch)
            cuda_add(b, name, "mtf : its products alone", all[0].seconds, all[2].seconds, a->limit);
        strncat(name, ", memory", sizeof name - strlen(name) - 1);
        if (bytes > 0) add_bytes(b, name, "mtf : aim", bytes, a->bytes, 1);
        if (bytes > 0 && torch)
            add_bytes(b, name, "mtf : PyTorch, compiled", bytes, all[1].peak_bytes, a->memory);
    }
    stop_all(all, n);
}

/* A cache of kernels of its own, empty before the first. */
static void measure_first_steps(bench *b, const aim *a)
{
    char       name[60], folder[] = "/tmp/mtf_bench_XXXXXX", command[7000], remove[100];
    contestant own;
    snprintf(name, sizeof name, "GPT-2 %s, first step", a->size);
    if (!bench_wants(b, name) || !mkdtemp(folder)) return;
    bench_progress(b, "%s", name);
    write_own(b, "first", a->size, 1, &own);
    snprintf(command, sizeof command, "MTF_CACHE_DIR=%s %s", folder, own.command);
    double cold = read_number(command, 0), warm = cold > 0 ? read_number(command, 0) : 0;
    if (warm > 0) {
        cuda_add(b, name, "empty cache : aim", cold, a->cold, 1);
        cuda_add(b, name, "filled cache : aim", warm, a->warm, 1);
    } else {
        bench_error(b, "no first step comes from: %s", own.command);
    }
    snprintf(remove, sizeof remove, "rm -rf %s", folder);
    if (system(remove) != 0) bench_error(b, "%s could not be removed", folder);
}

static void race_decoding(bench *b, bool torch)
{
    static const char name[] = "GPT-2 1558M, decoding, batch 1";
    contestant        all[2] = {{.process = 0}};
    int               n = torch ? 2 : 1;
    if (!bench_wants(b, name)) return;
    bench_progress(b, "%s", name);
    write_own(b, "decode", "1558M", 1, &all[0]);
    write_torch("decode", "1558M", &all[1]);
    if (contestants_race(b, all, n)) {
        cuda_add(b, name, "mtf : aim on an H200", all[0].seconds, decoding_seconds, 1);
        if (torch)
            cuda_add(b, name, "mtf : PyTorch, compiled", all[0].seconds, all[1].seconds,
                     decoding_torch);
    }
    stop_all(all, n);
}

/* Only two at a time are in the GPU's memory. */
static void race_processors(bench *b)
{
    static const char name[] = "GPT-2 124M, batch cut on one GPU";
    if (!bench_wants(b, name)) return;
    for (int n = 2; n <= 4; n *= 2) {
        contestant all[2] = {{.process = 0}};
        char       versus[40];
        bench_progress(b, "%s, %d processors", name, n);
        snprintf(versus, sizeof versus, "%d processors : 1", n);
        write_own(b, "train", "124M", n, &all[0]);
        write_own(b, "train", "124M", 1, &all[1]);
        if (contestants_race(b, all, 2))
            cuda_add(b, name, versus, all[0].seconds, all[1].seconds, cut_target);
        stop_all(all, 2);
    }
}

void cuda_measure(bench *b)
{
    bool torch = !gpt2_is_tiny() && has_torch();
    if (!torch)
        fprintf(stderr,
                "mtf_bench: no PyTorch with a GPU: times are beside those aimed at on an H200\n");
    cuda_measure_kernels(b);
    cuda_measure_convolutions(b);
    cuda_measure_attention(b, torch);
    cuda_measure_attention_forms(b);
    cuda_measure_experts(b, torch);
    cuda_measure_f8(b);
    for (size_t k = 0; k < sizeof aims / sizeof *aims; k++) {
        measure_first_steps(b, &aims[k]);
        race_training(b, &aims[k], torch);
    }
    cuda_measure_presets(b, torch);
    cuda_measure_trainings(b, torch);
    race_processors(b);
    race_decoding(b, torch);
}

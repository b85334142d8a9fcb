/* Transformers of the library against PyTorch: training, decoding, memory.
 *
 * As in peers.c each is a process that takes steps when asked; of PyTorch the better of eager and
 * compiled counts.  MTF_PEERS names a folder with the Python environment torch.
 */
#include <stdlib.h>

#include "bare.h"
#include "contestant.h"
#include "groups.h"

#if defined(__x86_64__)
static const double training_target = 1.1;
#else
static const double training_target = 1.15;
#endif

typedef struct contest {
    const char *name, *model, *job, *type;
    int         batch;
    double      target;  /* 0: training_target */
    bool        memory;  /* the whole process's is compared, too */
    int64_t     weights; /* that a token reads, which is compared with reading them; 0: not */
} contest;

/* Weights of the layers and of the logits, not the rows of tables. */
enum { LM_WEIGHTS = 6 * (4 * 512 * 512 + 2 * 512 * 2048) + 512 * 256 };

/* clang-format off */
static const contest contests[] = {
    {"6 layers, d_model 512, length 256, batch 8",  "lm",   "train",  "f32",  8, 0,   true,  0},
    {"4 layers, d_model 768, length 1024, batch 2", "gpt2", "train",  "f32",  2, 1.3, true,  0},
    {"6 layers in bf16, batch 8",                   "lm",   "train",  "bf16", 8, 1.0, false, 0},
    {"a token, greedy, batch 1",                    "lm",   "decode", "f32",  1, 2,   false, LM_WEIGHTS},
    {"a token of each, greedy, batch 16",           "lm",   "decode", "f32", 16, 2,   false, 0},
};
/* clang-format on */

static void add(bench *b, const contest *k, const char *what, const char *versus, figure f)
{
    f.group = "transformer";
    snprintf(f.name, sizeof f.name, "%s%s", k->name, what);
    snprintf(f.versus, sizeof f.versus, "mtf : %s", versus);
    bench_figure(b, &f);
}

static void write_commands(const bench *b, const char *peers, const contest *k, contestant *all)
{
    static const char *const modes[] = {"eager", "compiled"};
    snprintf(all[0].command, sizeof all[0].command,
             "exec '%s/mtf_transformer' --model %s --job %s --batch %d --type %s --threads %d",
             b->folder, k->model, k->job, k->batch, k->type, limit_threads());
    for (int i = 0; i < 2; i++)
        snprintf(all[1 + i].command, sizeof all[1 + i].command,
                 "exec '%s/torch/bin/python' '" MTF_BENCH_PEERS
                 "/torch_transformer.py' %d %s %s %s %d %s",
                 peers, limit_threads(), modes[i], k->model, k->job, k->batch, k->type);
}

/* How much of the time of a token is that of reading the weights once. */
static void compare_with_reading(bench *b, const contest *k, double seconds)
{
    limit l = limit_read(k->weights);
    racer r = {l.run, &l, 0, NULL};
    bench_race(1, &r, 1);
    add(b, k, "", "reading the weights once",
        (figure){.seconds = seconds, .other = r.best * l.scale, .target = 0.85});
    limit_free(&l);
}

static void meet(bench *b, const char *peers, const contest *k)
{
    contestant all[3] = {{.process = 0}};
    write_commands(b, peers, k, all);
    bench_progress(b, "PyTorch: %s", k->name);
    bool ok = contestants_race(b, all, 3);
    for (int i = 0; i < 3; i++) contestant_stop(&all[i]);
    if (!ok) return;
    bool        faster = all[2].seconds < all[1].seconds;
    const char *versus[] = {"PyTorch, eager", "PyTorch, compiled"};
    add(b, k, "", versus[faster],
        (figure){.seconds = all[0].seconds,
                 .other = all[1 + faster].seconds,
                 .target = k->target > 0 ? k->target : training_target});
    bool leaner = all[2].peak_bytes < all[1].peak_bytes;
    if (k->memory)
        add(b, k, ", memory", versus[leaner],
            (figure){.seconds = all[0].peak_bytes,
                     .other = all[1 + leaner].peak_bytes,
                     .bytes = true,
                     .aim = AT_MOST,
                     .target = 0.4});
    if (k->weights) compare_with_reading(b, k, all[0].seconds);
}

void transformer_measure(bench *b)
{
    const char *peers = getenv("MTF_PEERS");
    if (!peers) return; /* the group peers says what is missing */
    setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
    if (!contestants_python(peers, "torch")) {
        bench_error(b, "%s/torch/bin/python is missing", peers);
        return;
    }
    for (size_t i = 0; i < sizeof contests / sizeof *contests; i++)
        if (bench_wants(b, contests[i].name)) meet(b, peers, &contests[i]);
}

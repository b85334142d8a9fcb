/* Networks as users train them, by `mtf train` and by PyTorch.
 *
 * Both sides get the same options.  The command's speed is what it prints after some seconds, with its
 * input; PyTorch's step takes a batch that lies where it computes.  On a CPU they run alternately, with
 * equally many threads.  Of PyTorch the fastest way counts: eager, compiled, compiled with channels last,
 * compiled into CUDA graphs.
 */
#include <stdlib.h>
#include <string.h>

#include "bare.h"
#include "contestant.h"
#include "cuda_kernels.h"
#include "gpt2.h"
#include "groups.h"
#include "train_command.h"
#include "written_data.h"

enum { MODES = 3, ROUNDS = 3, GPU_ROUNDS = 1, COMMAND_SECONDS = 12, TINY_STEPS = 3 };
static const double torch_seconds = 3; /* of a round of PyTorch's steps */

typedef struct training {
    const char *name, *model, *script;
    int64_t     batch;
    int64_t     size, depth;  /* of volumes; 0: the data is text */
    const char *options;      /* $data: the folder of the data */
    const char *modes[MODES]; /* of PyTorch */
    double      target;
} training;

#define UNET "unet", "torch_unet.py"
#define BERT "bert-pretrain", "torch_bert.py"

/* clang-format off */
static const training on_cpu[] = {
    {"U-Net of 32x32x16, batch 8",        UNET, 8, 32, 16,  "--filters 16 --levels 3",                                            {"eager", "compiled", "channels_last"}, 1},
    {"BERT tiny, 128 words, batch 32",    BERT, 32, 0, 0,   "--bert-config tiny --length 128 --predictions 20",                   {"eager", "compiled"},                  1},
    {"BERT small, 128 words, batch 8",    BERT, 8, 0, 0,    "--bert-config $data/small.json --length 128 --predictions 20",       {"eager", "compiled"},                  1},
};
static const training on_cuda[] = {
    {"U-Net of 32x32x16, batch 8, tf32",   UNET, 8, 32, 16,  "--filters 16 --levels 3 --tf32",                                    {"compiled", "channels_last", "graphs"}, 1},
    {"U-Net of 128x128x64, batch 2, tf32", UNET, 2, 128, 64, "--filters 32 --levels 4 --tf32",                                    {"compiled", "channels_last"},          1},
    {"U-Net of 128x128x64, batch 2, bf16", UNET, 2, 128, 64, "--filters 32 --levels 4 --dtype bf16",                              {"compiled", "channels_last"},          1},
    {"BERT base, 128 words, batch 256, bf16", BERT, 256, 0, 0, "--bert-config base --length 128 --predictions 20 --dtype bf16",   {"compiled"},                           1},
    {"BERT base, 512 words, batch 64, bf16",  BERT, 64, 0, 0,  "--bert-config base --length 512 --predictions 76 --dtype bf16",   {"compiled"},                           1},
};
/* clang-format on */
enum { ON_CPU = sizeof on_cpu / sizeof *on_cpu, ON_CUDA = sizeof on_cuda / sizeof *on_cuda };

/* Of the sizes on an emulated GPU. */
static const training tiny_unet = {
    .batch = 2, .size = 8, .depth = 4, .options = "--filters 2 --levels 2"};
static const training tiny_bert = {
    .batch = 2, .options = "--bert-config $data/emulated.json --length 16 --predictions 2"};

/* What a row runs on. */
typedef struct place {
    const char *device, *python; /* NULL: there is no PyTorch */
    const char *folder;          /* of its data */
    int         rounds;
} place;

/* ---- data ---- */

/* BERT's words have some before them that are none of the text's. */
enum { BERT_WORDS = 30522 - 5, DOCUMENTS = 2000, SENTENCES = 20, SENTENCE = 50 };
static const char special_words[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
static const char small_config[] =
    "{\"vocab_size\": 30522, \"hidden_size\": 512, \"num_hidden_layers\": 4, "
    "\"num_attention_heads\": 8, \"intermediate_size\": 2048, \"type_vocab_size\": 2}\n";
static const char emulated_config[] =
    "{\"vocab_size\": 30522, \"hidden_size\": 16, \"num_hidden_layers\": 1, "
    "\"num_attention_heads\": 2, \"intermediate_size\": 32, \"type_vocab_size\": 2}\n";

static bool write_text(bench *b, const char *folder, const char *name, const char *text)
{
    FILE *f = written_open(b, folder, name);
    if (f) fputs(text, f);
    return f && fclose(f) == 0;
}

/* A sentence a line, a blank line between documents. */
static bool write_documents(bench *b, const char *folder)
{
    random_words text = {written_open(b, folder, "text.txt"), 1, BERT_WORDS};
    int          documents = gpt2_is_tiny() ? 10 : DOCUMENTS;
    for (int k = 0; text.to && k < documents * SENTENCES; k++) {
        written_words(&text, SENTENCE, '\n');
        if (k % SENTENCES == SENTENCES - 1) fputc('\n', text.to);
    }
    return text.to && fclose(text.to) == 0 && write_text(b, folder, "small.json", small_config) &&
           write_text(b, folder, "emulated.json", emulated_config) &&
           written_vocabulary(b, folder, "vocab.txt", special_words, BERT_WORDS);
}

static bool write_data(bench *b, const training *t, const char *folder)
{
    return t->size ? written_volumes(b, folder, t->batch, t->size, t->depth)
                   : write_documents(b, folder);
}

/* ---- sides ---- */

static void write_options(const training *t, const place *p, char *text, size_t room)
{
    int used = snprintf(text, room, "--device %s --batch %lld %s", p->device, (long long)t->batch,
                        t->options);
    if (t->size)
        used += snprintf(text + used, room - (size_t)used, " --size %lld --depth %lld",
                         (long long)t->size, (long long)t->depth);
    if (strcmp(p->device, "cpu") == 0)
        snprintf(text + used, room - (size_t)used, " --threads %d", limit_threads());
}

/* A step's seconds; 0 where there are none.  The command is interrupted after some seconds. */
static double own_seconds(bench *b, const training *t, const place *p)
{
    char        options[500], command[6000];
    const char *data =
        t->size ? "--data-dir $data" : "--vocab $data/vocab.txt --train-files $data/text.txt";
    bool tiny = gpt2_is_tiny();
    write_options(t, p, options, sizeof options);
    snprintf(command, sizeof command,
             "data=%s; timeout --signal=INT --kill-after=60 %d '%s/../mtf' train %s %s %s --steps "
             "%d 2>&1 || "
             "[ $? = 124 ]",
             p->folder, tiny ? 0 : COMMAND_SECONDS, b->folder, t->model, options, data,
             tiny ? TINY_STEPS : 1000000);
    double speed = train_command_speed(command);
    if (!(speed > 0)) bench_error(b, "no speed is printed by: %s", command);
    return speed > 0 ? (double)t->batch / speed : 0;
}

/* How many there are. */
static int write_others(const training *t, const place *p, contestant *all)
{
    char options[500];
    int  n = 0;
    write_options(t, p, options, sizeof options);
    for (; p->python && n < MODES && t->modes[n]; n++)
        snprintf(all[n].command, sizeof all[n].command,
                 "data=%s; exec %s '" MTF_BENCH_PEERS "/%s' %s %s", p->folder, p->python, t->script,
                 t->modes[n], options);
    return n;
}

static bool start_others(bench *b, contestant *all, int n)
{
    for (int k = 0; k < n; k++)
        if (!contestant_start(&all[k]) || !contestant_steps(&all[k], 1)) {
            bench_error(b, "no training step comes from: %s", all[k].command);
            return false;
        }
    return true;
}

static bool run_others(contestant *all, int n)
{
    for (int k = 0; k < n; k++)
        if (!contestant_steps(&all[k], (int)(torch_seconds / all[k].seconds) + 1)) return false;
    return true;
}

/* ---- rows ---- */

static void add(bench *b, const training *t, const place *p, double own, const contestant *all,
                int n)
{
    int    best = 0;
    figure f = {.group = "commands", .seconds = own, .aim = AT_LEAST, .target = t->target};
    for (int k = 1; k < n; k++)
        if (all[k].seconds < all[best].seconds) best = k;
    f.other = n ? all[best].seconds : own;
    snprintf(f.name, sizeof f.name, "%s", t->name);
    snprintf(f.versus, sizeof f.versus, "mtf train : %s%s", n ? "PyTorch, " : "itself",
             n ? t->modes[best] : "");
    if (strcmp(p->device, "cpu") == 0)
        bench_figure(b, &f);
    else
        cuda_add(b, f.name, f.versus, f.seconds, f.other, n ? f.target : 0);
}

static void meet(bench *b, const training *t, const place *p)
{
    contestant all[MODES] = {{.process = 0}};
    int        n = write_others(t, p, all);
    double     own = 1e9;
    bench_progress(b, "%s", t->name);
    bool ok = write_data(b, t, p->folder) && start_others(b, all, n) && run_others(all, n);
    for (int round = 0; ok && round < p->rounds; round++) {
        double seconds = own_seconds(b, t, p);
        if (seconds > 0 && seconds < own) own = seconds;
        ok = seconds > 0 && run_others(all, n);
    }
    for (int k = 0; k < n; k++) contestant_stop(&all[k]);
    if (ok) add(b, t, p, own, all, n);
}

static void meet_all(bench *b, const training *table, int n, place p)
{
    char folder[] = "/tmp/mtf_bench_XXXXXX";
    bool wanted = false;
    for (int k = 0; k < n; k++) wanted = wanted || bench_wants(b, table[k].name);
    if (!wanted || !written_begin(b, folder)) return;
    p.folder = folder;
    for (int k = 0; k < n; k++) {
        training t = table[k], tiny = t.size ? tiny_unet : tiny_bert;
        if (gpt2_is_tiny()) t.batch = tiny.batch, t.size = tiny.size, t.depth = tiny.depth;
        if (gpt2_is_tiny()) t.options = tiny.options;
        if (bench_wants(b, t.name)) meet(b, &t, &p);
    }
    written_end(b, folder);
}

void cuda_measure_trainings(bench *b, bool torch)
{
    const char *python = getenv("MTF_BENCH_PYTHON");
    place       p = {.device = "cuda", .python = python ? python : "python3", .rounds = GPU_ROUNDS};
    if (!torch) p.python = NULL;
    meet_all(b, on_cuda, ON_CUDA, p);
}

void commands_measure(bench *b)
{
    const char *peers = getenv("MTF_PEERS");
    char        python[5000];
    if (!peers) return; /* the group peers says what is missing */
    setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
    if (!contestants_python(peers, "torch")) {
        bench_error(b, "%s/torch/bin/python is missing", peers);
        return;
    }
    snprintf(python, sizeof python, "'%s/torch/bin/python'", peers);
    meet_all(b, on_cpu, ON_CPU, (place){.device = "cpu", .python = python, .rounds = ROUNDS});
}

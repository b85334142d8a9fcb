/* Configurations as users train them on a GPU, by `mtf train`.
 *
 * Each row runs the command with random words in files of its own.  The other side is
 * peers/torch_t5_gpu.py, or mtf_gpt2, which trains the same model from C.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contestant.h"
#include "cuda_kernels.h"
#include "gpt2.h"
#include "train_command.h"
#include "written_data.h"

typedef struct preset {
    const char *name, *config, *with; /* further options */
    const char *data;                 /* a file that write_data makes, with how it is read */
    int64_t     batch;
    bool        gpt2;    /* the other side is mtf_gpt2, which has no dropout */
    const char *dropout; /* for the other side */
    double      target;  /* how many times as fast as the other side */
} preset;

/* clang-format off */
static const preset presets[] = {
    {"gpt2_124m, batch 64",              "gpt2_124m",   "",                                     "joined.txt:joined", 64, true,  "0",   0.8},
    {"gpt2_124m, batch 64, no dropout",  "gpt2_124m",   "--gin_param 'dropout_rate = 0.0' ",    "joined.txt:joined", 64, true,  "0",   0.9},
    {"t5_1_1_base, batch 32",            "t5_1_1_base", "",                                     "pairs.tsv:pack",    32, false, "0",   1.6},
    {"t5_base with dropout, batch 32",   "t5_base",     "--gin_param 'dropout_rate = 0.1' ",    "pairs.tsv:pack",    32, false, "0.1", 1.4},
};
/* clang-format on */
enum { GPT2_WORDS = 50254, T5_WORDS = 32000, JOINED_WORDS = 400000, PAIRS = 8000, PAIR_WORDS = 80 };
enum { STEPS = 120, TINY_STEPS = 3 };

/* ---- data ---- */

static bool write_data(bench *b, const char *folder)
{
    random_words joined = {written_open(b, folder, "joined.txt"), 1, GPT2_WORDS};
    random_words pairs = {written_open(b, folder, "pairs.tsv"), 2, T5_WORDS};
    if (joined.to) written_words(&joined, JOINED_WORDS, '\n');
    for (int k = 0; pairs.to && k < PAIRS; k++) {
        written_words(&pairs, PAIR_WORDS, '\t');
        written_words(&pairs, PAIR_WORDS, '\n');
    }
    bool ok = joined.to && fclose(joined.to) == 0;
    return pairs.to && fclose(pairs.to) == 0 && ok &&
           written_vocabulary(b, folder, "gpt2.words", "", GPT2_WORDS) &&
           written_vocabulary(b, folder, "t5.words", "", T5_WORDS);
}

/* ---- sides ---- */

/* What makes a model small enough for an emulated GPU. */
static const char tiny[] =
    "--gin_param 'num_layers = 1' --gin_param 'd_model = 32' --gin_param 'd_ff = 32' "
    "--gin_param 'num_heads = 2' --gin_param 'd_kv = 16' "
    "--gin_param \"run.sequence_length = {'inputs': 64, 'targets': 64}\" ";
static const char tiny_lm[] =
    "--gin_param 'num_layers = 1' --gin_param 'd_model = 32' --gin_param 'd_ff = 32' "
    "--gin_param 'num_heads = 2' --gin_param 'd_kv = 16' "
    "--gin_param \"run.sequence_length = {'targets': 64}\" ";

static double own_seconds(bench *b, const preset *p, const char *folder)
{
    char        command[3000], sequences[100];
    bool        small = gpt2_is_tiny();
    int64_t     batch = small ? 2 : p->batch;
    const char *sizes = !small ? "" : p->gpt2 ? tiny_lm : tiny;
    snprintf(sequences, sizeof sequences, "run.batch_size = ('sequences_per_batch', %lld)",
             (long long)batch);
    snprintf(command, sizeof command,
             "'%s/../mtf' train --device cuda --gin_file %s %s%s--gin_param \"%s\" --vocabulary "
             "'words:%s/%s' "
             "--text '%s/%s' --steps %d 2>&1",
             b->folder, p->config, p->with, sizes, sequences, folder,
             p->gpt2 ? "gpt2.words" : "t5.words", folder, p->data, small ? TINY_STEPS : STEPS);
    double speed = train_command_speed(command);
    if (!(speed > 0)) bench_error(b, "no speed is printed by: %s", command);
    return speed > 0 ? (double)batch / speed : 0;
}

static double other_seconds(bench *b, const preset *p)
{
    contestant  other = {.process = 0};
    const char *python = getenv("MTF_BENCH_PYTHON");
    if (p->gpt2)
        snprintf(other.command, sizeof other.command,
                 "exec '%s/mtf_gpt2' --device cuda --work train --size 124M", b->folder);
    else
        snprintf(other.command, sizeof other.command,
                 "exec %s '" MTF_BENCH_PEERS "/torch_t5_gpu.py' %s %lld %s",
                 python ? python : "python3", p->config, (long long)p->batch, p->dropout);
    bool ok = contestants_race(b, &other, 1);
    contestant_stop(&other);
    return ok ? other.seconds : 0;
}

static void compare(bench *b, const preset *p, const char *folder, bool torch)
{
    if (!bench_wants(b, p->name)) return;
    bench_progress(b, "%s", p->name);
    double own = own_seconds(b, p, folder), other = p->gpt2 || torch ? other_seconds(b, p) : own;
    const char *versus = p->gpt2 ? "mtf train : mtf_gpt2"
                         : torch ? "mtf train : transformers, compiled"
                                 : "mtf train : itself";
    if (own > 0 && other > 0)
        cuda_add(b, p->name, versus, own, other, p->gpt2 || torch ? p->target : 0);
}

static bool is_wanted(const bench *b)
{
    for (size_t k = 0; k < sizeof presets / sizeof *presets; k++)
        if (bench_wants(b, presets[k].name)) return true;
    return false;
}

void cuda_measure_presets(bench *b, bool torch)
{
    char folder[] = "/tmp/mtf_bench_XXXXXX";
    if (!is_wanted(b) || !written_begin(b, folder)) return;
    if (write_data(b, folder))
        for (size_t k = 0; k < sizeof presets / sizeof *presets; k++)
            compare(b, &presets[k], folder, torch);
    written_end(b, folder);
}

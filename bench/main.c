/* mtf_bench: measures, and prints one table of ratios with their targets. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "groups.h"

typedef struct group {
    const char *name, *says;
    void (*measure)(bench *b);
    bool on_request; /* takes long: only where --only names it */
} group;

/* clang-format off */
static const group groups[] = {
    {"wires",    "collectives on threads, on MPI, and by plain MPI calls",           wires_measure, false},
    {"lowering", "building and planning a Transformer for 1 to 4096 processors",     lowering_measure, false},
    {"layout",   "finding the best layout of models with 48 layers",                 layout_measure, false},
    {"prediction",    "every layout of three models: predicted against measured; only if asked for", prediction_measure, true},
    {"scaling",  "tokens a second on 1 to 16 processors, threads and ranks, beside the plan's", scaling_measure, false},
    {"kernels",  "products against GEMM calls, the rest against memory bandwidth",   kernels_measure, false},
    {"bf16",     "products in bf16 against the same in f32",                         bf16_measure, false},
    {"experts",  "mixtures of experts against a dense layer of the same active work, and PyTorch", experts_measure, false},
    {"training", "training steps against their matrix products alone",               training_measure, false},
    {"data",     "the input pipeline against a plain loop, and inside of training",   data_measure, false},
    {"peers",    "the same training by PyTorch and Mesh TensorFlow, where MTF_PEERS is", peers_measure, false},
    {"transformer", "Transformers of the library by PyTorch: training, decoding, memory", transformer_measure, false},
    {"epochs",   "MNIST epochs, input included, by PyTorch, where MTF_PEERS is",     epochs_measure, false},
    {"commands", "mtf train of a U-Net and of BERT by PyTorch, where MTF_PEERS is",  commands_measure, false},
    {"saving",   "checkpoints of 1 GiB against copies of a file",                    saving_measure, false},
    {"cuda",     "trainings on a GPU by PyTorch, and kernels against copies; only if asked for", cuda_measure, true},
};
/* clang-format on */
enum { GROUPS = sizeof groups / sizeof *groups };

static void print_help(void)
{
    printf("usage: mtf_bench [--only PART] [--match TEXT] [--json]\n\n"
           "Measures ratios, each in one run, and prints them beside their targets; where it is\n"
           "interrupted, those it has.\n\n"
           "  --only PART  one group of figures:\n");
    for (int i = 0; i < GROUPS; i++)
        printf("                 %-10s %s\n", groups[i].name, groups[i].says);
    printf("  --match TEXT of prediction, peers, transformer, epochs, commands, experts, training, "
           "scaling\n"
           "               and cuda, only what has this in its name\n"
           "  --json       one object for each figure, after one for the machine\n"
           "  --help       this text\n");
}

static bool is_group(const char *name)
{
    for (int i = 0; i < GROUPS; i++)
        if (strcmp(groups[i].name, name) == 0) return true;
    return false;
}

/* False, with a sentence, where the arguments are not understood. */
static bool read_arguments(int argc, char **argv, bench *b, const char **only)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0) {
            b->json = true;
        } else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc && is_group(argv[i + 1])) {
            *only = argv[++i];
        } else if (strcmp(argv[i], "--match") == 0 && i + 1 < argc) {
            b->match = argv[++i];
        } else {
            fprintf(stderr, "mtf_bench: \"%s\" %s; mtf_bench --help lists what is\n", argv[i],
                    strcmp(argv[i], "--only") == 0    ? "is not followed by a group"
                    : strcmp(argv[i], "--match") == 0 ? "is not followed by a text"
                                                      : "is not an option");
            return false;
        }
    }
    return true;
}

int main(int argc, char **argv)
{
    char        path[4096];
    const char *only = NULL;
    ssize_t     length = readlink("/proc/self/exe", path, sizeof path - 1);
    bench       b = {.progress = isatty(STDERR_FILENO)};
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        print_help();
        return 0;
    }
    if (!read_arguments(argc, argv, &b, &only)) return 2;
    path[length > 0 ? length : 0] = 0;
    char *slash = strrchr(path, '/');
    if (slash) *slash = 0;
    b.folder = slash ? path : ".";

    bench_print_machine(&b);
    fflush(stdout);
    bench_heed_signals();
    for (int i = 0; i < GROUPS; i++)
        if (only ? strcmp(only, groups[i].name) == 0 : !groups[i].on_request) groups[i].measure(&b);
    bench_progress(&b, "%s", "");
    bench_print_table(&b);
    free(b.figures);
    return b.errors ? 1 : 0;
}

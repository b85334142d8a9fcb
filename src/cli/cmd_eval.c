/* mtf eval: loss and accuracy of a trained model. */
#include "cli/commands.h"
#include "cli/config_setup.h"
#include "cli/eval_checkpoints.h"
#include "cli/shared_options.h"
#include "cli/train_setup.h"

/* clang-format off */
static const option_spec table[] = {
    OPTION_GROUP("what is evaluated"),
    OPTION_TABLE(checkpoint_options),
    {"bleu", NULL, false, "for text with inputs and targets: also decode answers to the inputs, and print BLEU and the share of exact answers"},
    {"output", "NAME", false, "with --bleu: write NAME_inputs, NAME_targets and, for each checkpoint, NAME_STEP_predictions; bert-span: write that, an object of JSON a question"},
    OPTION_TABLE(config_options),
    OPTION_TABLE(config_data_options),
    OPTION_TABLE(model_options),
    OPTION_TABLE(file_options),
    OPTION_TABLE(judging_options),
    OPTION_TABLE(mesh_options),
    OPTION_TABLE(running_options),
    {0},
};
/* clang-format on */

static const char *const examples[] = {
    "mtf eval mnist --checkpoint-dir run",
    "mtf eval mnist --checkpoint-dir run --eval-checkpoints 600,1200 --mesh all:4 --json",
    "mtf eval model.mtf --checkpoint-dir run --eval-data x=x.npy --eval-data y=y.npy --right hit",
    "mtf eval run --eval-text dev.txt --eval-checkpoints all",
    "mtf eval translator --eval-text dev.tsv --bleu --output dev",
    "mtf eval bert-span --vocab vocab.txt --eval-files dev.tsv --checkpoint-dir run --output dev",
    NULL,
};

const command command_eval = {
    .name = "eval",
    .says = "compute the loss and accuracy of a trained model on test data",
    .words = "NAME|FILE.mtf|FOLDER|--gin_file FILE",
    .least = 1,
    .most = 1,
    .from_folder = true,
    .options = table,
    .examples = examples,
    .teaches =
        "Reads checkpoints, on any mesh and layout, and gives the mean loss over the test data,\n"
        "and the accuracy where the model or --right says what is right.  Every example counts\n"
        "once.  FOLDER has checkpoints and what describes their model, which mtf train writes: a\n"
        "configuration, a model file, or the name and the options of a built-in model.  Beside\n"
        "--checkpoint-dir options that shape the network, such as --hidden, must be those of the\n"
        "training.\n"
        "\n"
        "For text, every token counts once: it prints accuracy, loss, perplexity, bits per byte "
        "of\n"
        "the text and, where there are inputs, the share of targets with every token right.",
    .run = eval_checkpoints,
    .concerns = setup_concerns,
    .adds = setup_list_models,
};

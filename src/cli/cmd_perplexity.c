/* mtf perplexity: how well a model predicts text. */
#include "cli/commands.h"
#include "cli/config_setup.h"
#include "cli/eval_checkpoints.h"
#include "cli/model_open.h"
#include "cli/shared_options.h"
#include "data/text/text_option.h"

/* clang-format off */
static const option_spec table[] = {
    OPTION_GROUP("what is evaluated"),
    {"eval-text", "FILES[:...]", false, "the text; default: the configuration's; " TEXT_WORDS},
    OPTION_TABLE(checkpoint_options),
    {"batch", "N", false, "sequences of a step; default: as the configuration says"},
    OPTION_TABLE(config_options),
    OPTION_TABLE(mesh_options),
    OPTION_TABLE(running_options),
    {0},
};
/* clang-format on */

static const char *const examples[] = {
    "mtf perplexity run --eval-text dev.txt:documents=file:joined",
    "mtf perplexity run --eval-text dev.txt --eval-checkpoints all --json",
    NULL,
};

const command command_perplexity = {
    .name = "perplexity",
    .says = "compute the loss and perplexity of a trained model on text",
    FOLDER_COMMAND,
    .spare = "the text comes from --eval-text FILES",
    .options = table,
    .examples = examples,
    .teaches =
        "FOLDER has the checkpoints of a model and the configuration that mtf train writes there.\n"
        "The loss is the mean of -log p over all tokens, end tokens included; the perplexity is e "
        "to\n"
        "the power of the loss.  Bits per byte are the loss of all tokens in bits, divided by the\n"
        "bytes of the text: so models with different vocabularies can be compared.",
    .run = eval_checkpoints,
};

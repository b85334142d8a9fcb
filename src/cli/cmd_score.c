/* mtf score: how probable given texts are. */
#include "cli/commands.h"
#include "cli/graph_file.h"
#include "cli/model_open.h"
#include "cli/shared_options.h"
#include "serve/score_lines.h"

static int run(const options *o)
{
    int              status;
    uint64_t         batch = 8;
    score_lines_opts s = {.inputs = option_nth(o, "inputs", 0),
                          .targets = option_nth(o, "targets", 0),
                          .output = option_nth(o, "output", 0),
                          .each = option_given(o, "tokens")};
    if (!option_number(o, "batch", 1, 1 << 16, &batch)) return STATUS_USAGE;
    if (!s.targets)
        return usage_error(o->command, "mtf score needs --targets FILE, a text on each line; - is "
                                       "standard input");
    s.batch = (int64_t)batch;
    config_setup  c;
    opened_model *m = model_open(o, &c, &status);
    if (!m) return status;
    score_lines(m, &s);
    return close_session(m->session);
}

static const option_spec table[] = {
    OPTION_GROUP("texts and scores"),
    {"targets", "FILE", false, "the texts to score, one on each line; -: standard input"},
    {"inputs", "FILE", false, "what precedes each of them, or an encoder's inputs; default: nothing"},
    {"output", "FILE", false, "write FILE-STEP.scores, .targets, .lengths and .inputs; default: scores to standard output"},
    {"tokens", NULL, false, "after each score the scores of its tokens"},
    {"batch", "N", false, "texts that are scored together; default 8"},
    OPTION_TABLE(opening_options),
    OPTION_TABLE(mesh_options),
    OPTION_TABLE(running_options),
    {0},
};

static const char *const examples[] = {
    "mtf score run --targets texts.txt",
    "mtf score run --inputs english.txt --targets german.txt --output scores",
    NULL,
};

const command command_score = {
    .name = "score",
    .says = "say how probable given texts are to a trained model",
    .words = FOLDER_WORDS,
    .most = 1,
    .from_folder = true,
    .options = table,
    .examples = examples,
    .teaches =
        FOLDER_TEACHES
        "The score of a text is the natural logarithm of its probability, its end included, given\n"
        "what precedes it: the sum over its tokens.  The longer and the stranger, the lower.",
    .run = run,
};

/* mtf score: the log probability of given texts. */
#include "cli/commands.h"
#include "cli/dataset_lines.h"
#include "cli/graph_file.h"
#include "cli/model_open.h"
#include "cli/outputs.h"
#include "cli/shared_options.h"
#include "data/text/text_option.h"
#include "serve/decode_lines.h"
#include "serve/score_lines.h"

/* Takes the texts of a dataset, or of files that the configuration names. */
static bool take_texts(config_setup *c, const opened_model *m, dataset_lines *lines,
                       score_lines_opts *s)
{
    const mtf_config_score *named = &c->run.score;
    TRY(dataset_lines_open(c, m, lines));
    if (lines->source.name) {
        s->source = &lines->source;
        s->targets = s->inputs = lines->source.name;
        return true;
    }
    if (!s->targets && named->targets && named->targets[0] != '[') {
        s->targets = named->targets;
        if (!s->inputs) s->inputs = named->inputs;
        if (!s->output) s->output = named->scores_file;
    }
    return s->targets || fail(&c->session->fault, ERR_USAGE,
                              "mtf score needs --targets FILE, a text on each line; - is standard "
                              "input");
}

/* The files that are written, OUTPUT-STEP with a suffix, must not be those that are read. */
static bool spares_texts(const options *o, const opened_model *m, const score_lines_opts *s)
{
    static const char *const suffixes[] = {".scores", ".targets", ".lengths", ".inputs"};
    for (int k = 0; s->output && k < 4; k++) {
        const char *path = step_path(m, s->output, suffixes[k]);
        TRY(path && output_spares(o, m->session, "output", path) &&
            output_spares_files(m->session, "output", path, s->inputs, "the inputs") &&
            output_spares_files(m->session, "output", path, s->targets, "the targets"));
    }
    return true;
}

static int run(const options *o)
{
    int              status;
    uint64_t         batch = 8;
    score_lines_opts s = {.inputs = option_nth(o, "inputs", 0),
                          .targets = option_nth(o, "targets", 0),
                          .output = option_nth(o, "output", 0),
                          .each = option_given(o, "tokens")};
    if (!option_number(o, "batch", 1, 1 << 16, &batch)) return STATUS_USAGE;
    if (!s.targets && !option_given(o, "eval-text") && !config_given(o))
        return usage_error(o->command, "mtf score needs --targets FILE, a text on each line; - is "
                                       "standard input");
    if (s.targets && option_given(o, "eval-text"))
        return usage_error(o->command, "--targets and --eval-text both name texts: leave one out");
    s.batch = (int64_t)batch;
    config_setup  c;
    opened_model *m = model_open(o, &c, &status);
    if (!m) return status;
    dataset_lines lines;
    if (take_texts(&c, m, &lines, &s) && spares_texts(o, m, &s)) score_lines(m, &s);
    dataset_lines_close(&lines);
    return close_session(m->session);
}

static const option_spec table[] = {
    OPTION_GROUP("texts and scores"),
    {"targets", "FILE", false, "the texts to score, one on each line; -: standard input"},
    {"inputs", "FILE", false,
     "what precedes each of them, or an encoder's inputs; default: nothing"},
    {"eval-text", "FILES[:...]", false,
     "the targets of this data, after its inputs, or its texts; " TEXT_WORDS},
    {"output", "FILE", false,
     "write FILE-STEP.scores, .targets, .lengths and .inputs; default: scores to standard output",
     .writes = true},
    {"tokens", NULL, false, "print the scores of the tokens after each score"},
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
    .says = "compute how probable given texts are for a trained model",
    FOLDER_COMMAND,
    .spare = "texts come from --targets FILE, or from --eval-text FILES",
    .options = table,
    .examples = examples,
    .teaches = FOLDER_TEACHES
    "The score of a text is the natural logarithm of its probability, its end included, given\n"
    "what precedes it: the sum over its tokens.  The longer and the stranger, the lower.",
    .run = run,
};

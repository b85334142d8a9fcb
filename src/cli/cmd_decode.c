/* mtf decode: answers prompts, line by line. */
#include <stdio.h>
#include <unistd.h>

#include "cli/answering_options.h"
#include "cli/commands.h"
#include "cli/dataset_lines.h"
#include "cli/graph_file.h"
#include "cli/model_open.h"
#include "cli/outputs.h"
#include "cli/shared_options.h"
#include "machine/launch.h"
#include "data/text/text_option.h"
#include "serve/decode_lines.h"

/* OUTPUT-STEP and the files beside it must not be what is read. */
static bool spares_inputs(const options *o, const opened_model *m, const decode_lines_opts *d)
{
    static const char *const suffixes[] = {"", ".inputs", ".targets"};
    for (int k = 0; d->output && k < (d->source ? 3 : 1); k++) {
        const char *path = step_path(m, d->output, suffixes[k]);
        TRY(path && output_spares(o, m->session, "output", path) &&
            output_spares_files(m->session, "output", path, d->inputs, "the prompts"));
    }
    return true;
}

static int run(const options *o)
{
    int               status;
    decode_lines_opts d = {.inputs = option_nth(o, "inputs", 0),
                           .output = option_nth(o, "output", 0)};
    const char       *stops[MOST_STOPS];
    if (option_given(o, "inputs") && option_given(o, "eval-text"))
        return usage_error(o->command, "--inputs and --eval-text both name prompts: leave one out");
    if (!read_limits(o, &d.limits) || !read_question(o, &d.like, stops)) return STATUS_USAGE;
    config_setup  c;
    opened_model *m = model_open(o, &c, &status);
    if (!m) return status;
    decode_as_configured(o, &c.run.decode, &d.limits, &d.like);
    if (!d.inputs) d.inputs = c.run.decode.input_file;
    if (!d.output) d.output = c.run.decode.output_file;
    dataset_lines lines;
    if (!dataset_lines_open(&c, m, &lines)) return close_session(m->session);
    if (lines.source.name) d.inputs = lines.source.name, d.source = &lines.source;
    bool spares = spares_inputs(o, m, &d);
    bool talks = !d.inputs && !d.output && isatty(STDIN_FILENO) && launch_find().size <= 1;
    if (spares && talks)
        decode_dialogue(m, &d, stdin, stdout);
    else if (spares && decode_lines(m, &d) && d.output)
        dataset_lines_write(&lines, d.output);
    dataset_lines_close(&lines);
    return close_session(m->session);
}

/* clang-format off */
static const option_spec table[] = {
    OPTION_GROUP("prompts and answers"),
    {"inputs", "FILE", false, "a prompt on each line; default: standard input"},
    {"eval-text", "FILES[:...]", false, "prompts are the inputs of this data, or its texts, one per answer; " TEXT_WORDS},
    {"output", "FILE", false, "write FILE-STEP, STEP being the checkpoint's, and with --eval-text FILE-STEP.inputs and .targets; default: standard output", .writes = true},
    OPTION_TABLE(sampling_options),
    OPTION_TABLE(opening_options),
    OPTION_TABLE(mesh_options),
    OPTION_TABLE(running_options),
    {0},
};
/* clang-format on */

static const char *const examples[] = {
    "mtf decode run < prompts.txt",
    "mtf decode run --inputs prompts.txt --output answers --beams 4",
    "mtf decode run --temperature 0.8 --top-p 0.95 --max-tokens 100",
    "mtf decode translator --eval-text dev.tsv --output dev --beams 4",
    "mtf ckpt import downloads/t5-small t5 && mtf decode t5",
    NULL,
};

const command command_decode = {
    .name = "decode",
    .says = "answer prompts with a trained model, line by line",
    FOLDER_COMMAND,
    .spare = "prompts come from standard input, or from --inputs FILE",
    .options = table,
    .examples = examples,
    .teaches = FOLDER_TEACHES
    "Reads prompts, one a line, and writes the answers in the same order, each on a line of its\n"
    "own, as soon as they are known, with spaces for newlines.  The model is loaded and planned\n"
    "once.  At a terminal it asks for prompts, and prints each answer as it is decoded.",
    .run = run,
};

/* mtf decode: answers prompts, line by line. */
#include <stdio.h>
#include <unistd.h>

#include "cli/answering_options.h"
#include "cli/commands.h"
#include "cli/graph_file.h"
#include "cli/model_open.h"
#include "cli/shared_options.h"
#include "machine/launch.h"
#include "serve/decode_lines.h"

static int run(const options *o)
{
    int               status;
    decode_lines_opts d = {.inputs = option_nth(o, "inputs", 0), .output = option_nth(o, "output", 0)};
    const char       *stops[MOST_STOPS];
    if (!read_limits(o, &d.limits) || !read_question(o, &d.like, stops)) return STATUS_USAGE;
    opened_model *m = model_open(o, &status);
    if (!m) return status;
    bool talks = !d.inputs && !d.output && isatty(STDIN_FILENO) && launch_find().size <= 1;
    if (talks)
        decode_dialogue(m, &d, stdin, stdout);
    else
        decode_lines(m, &d);
    return close_session(m->session);
}

static const option_spec table[] = {
    OPTION_GROUP("prompts and answers"),
    {"inputs", "FILE", false, "a prompt on each line; default: standard input"},
    {"output", "FILE", false, "write FILE-STEP, STEP being the checkpoint's; default: standard output"},
    OPTION_TABLE(sampling_options),
    OPTION_TABLE(opening_options),
    OPTION_TABLE(mesh_options),
    OPTION_TABLE(running_options),
    {0},
};

static const char *const examples[] = {
    "mtf decode --checkpoint-dir run < prompts.txt",
    "mtf decode --checkpoint-dir run --inputs prompts.txt --output answers --beams 4",
    "mtf decode --checkpoint-dir run --temperature 0.8 --top-p 0.95 --max-tokens 100",
    NULL,
};

const command command_decode = {
    .name = "decode",
    .says = "answer prompts with a trained model, line by line",
    .options = table,
    .examples = examples,
    .teaches =
        "Reads prompts, one a line, and writes the answers in the same order, each on a line of its\n"
        "own, as soon as they are known, with blanks for newlines.  The model is loaded and planned\n"
        "once.  At a terminal it asks for prompts, and prints each answer as it is decoded.",
    .run = run,
};

/* mtf eval: how good a trained model is. */
#include "cli/commands.h"
#include "cli/evaluation.h"
#include "cli/graph_file.h"
#include "cli/shared_options.h"

static bool evaluate(setup *s)
{
    const options *o = s->options;
    uint64_t       step = 0;
    evaluation     e;
    mtf_loaded     from;
    TRY(option_number(o, "step", 1, INT64_MAX, &step) && evaluation_open(&e, s));
    if (!e.data)
        return fail(&s->session->fault, ERR_USAGE, "%s has no data to be evaluated on%s", s->word,
                    s->ready ? "" : "; name it with --eval-data NAME=FILES");
    /* The network's variables must be there before a checkpoint is read into them. */
    return evaluation_prepare(&e, NULL) &&
           mtf_load(s->session, option_nth(o, "checkpoint-dir", 0),
                    &(mtf_load_opts){.step = (int64_t)step}, &from) &&
           evaluation_show(&e, from.step, true);
}

static int run(const options *o)
{
    setup s;
    if (!option_given(o, "checkpoint-dir"))
        return usage_error(o->command, "mtf eval needs --checkpoint-dir DIR, where mtf train saved");
    if (!o->nwords)
        return usage_error(o->command,
                           "\"%s\" has no " CONFIG_KEPT ", as mtf train --gin_file writes it: say "
                           "what the model is, %s",
                           option_nth(o, "checkpoint-dir", 0), o->command->words);
    bool ok = setup_open(o, &s);
    if (!s.session) return STATUS_USAGE;
    if (ok) ok = evaluate(&s);
    bool said = !ok && mtf_ok(s.session);
    int  status = close_session(s.session);
    return said ? STATUS_USAGE : status;
}

static const option_spec table[] = {
    OPTION_GROUP("what is evaluated"),
    {"checkpoint-dir", "DIR", false, "where mtf train saved"},
    {"step", "N", false, "the checkpoint of this step; default: the newest"},
    {"averages", NULL, false, "evaluate the running averages that mtf train --average kept"},
    {"json", NULL, false, "print one JSON object"},
    OPTION_TABLE(config_options),
    OPTION_TABLE(config_data_options),
    OPTION_TABLE(model_options),
    OPTION_TABLE(file_options),
    OPTION_TABLE(judging_options),
    OPTION_TABLE(mesh_options),
    OPTION_TABLE(running_options),
    {0},
};

static const char *const examples[] = {
    "mtf eval mnist --checkpoint-dir run",
    "mtf eval mnist --checkpoint-dir run --step 600 --mesh all:4 --layout batch:all --json",
    "mtf eval model.mtf --checkpoint-dir run --eval-data x=x.npy --eval-data y=y.npy --right hit",
    NULL,
};

const command command_eval = {
    .name = "eval",
    .says = "say how good a trained model is on data it has not seen",
    .words = "NAME|FILE.mtf|FOLDER|--gin_file FILE",
    .least = 1,
    .most = 1,
    .from_folder = true,
    .options = table,
    .examples = examples,
    .teaches =
        "Reads a checkpoint, on any mesh and layout, and gives the mean loss over the test data,\n"
        "and the accuracy where the model or --right says what is right.  Every example counts\n"
        "once.  The options that shape the network, such as --hidden, must be those of the\n"
        "training.",
    .run = run,
    .concerns = setup_concerns,
    .adds = setup_list_models,
};

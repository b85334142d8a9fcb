/* mtf eval: how good a trained model is. */
#include <math.h>
#include <stdio.h>

#include "base/numbers.h"
#include "cli/commands.h"
#include "cli/graph_file.h"
#include "cli/shared_options.h"
#include "cli/train_setup.h"
#include "mtf_train.h"

static bool evaluate(setup *s)
{
    const options *o = s->options;
    uint64_t       step = 0;
    network        n;
    mtf_loaded     from;
    double         accuracy, loss;
    TRY(option_number(o, "step", 1, INT64_MAX, &step));
    /* The network's variables must be there before a checkpoint is read into them. */
    TRY(setup_network(s, false, &n) && mtf_compile(n.graph, n.loss));
    TRY(mtf_load(s->session, option_nth(o, "checkpoint-dir", 0),
                 &(mtf_load_opts){.step = (int64_t)step}, &from));
    TRY(setup_evaluate(s, &accuracy, &loss));
    if (isnan(accuracy) && isnan(loss))
        return fail(&s->session->fault, ERR_USAGE, "%s has no data to be evaluated on%s", s->word,
                    s->ready ? "" : "; name it with --eval-data NAME=FILES");
    bool right = !isnan(accuracy);
    if (option_given(o, "json"))
        number_print(stdout, "{\"step\":%lld,\"%s\":%.9g}\n", (long long)from.step,
                     right ? "accuracy" : "eval_loss", right ? accuracy : loss);
    else if (right)
        number_print(stdout, "step %lld   test accuracy %.2f %%\n", (long long)from.step,
                     100 * accuracy);
    else
        number_print(stdout, "step %lld   test loss %.6g\n", (long long)from.step, loss);
    return true;
}

static int run(const options *o)
{
    setup s;
    if (!option_given(o, "checkpoint-dir"))
        return usage_error(o->command, "mtf eval needs --checkpoint-dir DIR, where mtf train saved");
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
    .words = "NAME|FILE.mtf",
    .least = 1,
    .most = 1,
    .options = table,
    .examples = examples,
    .teaches =
        "Reads a checkpoint, on any mesh and layout, and gives the accuracy over the test data,\n"
        "or the mean loss where nothing is right or wrong.  The options that shape the network,\n"
        "such as --hidden, must be those of the training.",
    .run = run,
    .concerns = setup_concerns,
    .adds = setup_list_models,
};

/* mtf train: trains a built-in model or a model file. */
#include <stdio.h>
#include <string.h>

#include "base/textbuf.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/evaluation.h"
#include "cli/graph_file.h"
#include "cli/idle_axes.h"
#include "cli/model_folder.h"
#include "cli/other_runs.h"
#include "cli/outputs.h"
#include "cli/rate_note.h"
#include "cli/shared_options.h"
#include "cli/teacher.h"
#include "cli/train_facts.h"
#include "data/field_text.h"
#include "graph/node.h"
#include "model/model_mark.h"

enum { SIGNAL_STATUS = 128 }; /* plus the signal's number, as in shells */

typedef struct job {
    setup            setup;
    network          network;
    mtf_dataset     *data;
    mtf_train_opts   train;
    mtf_batches_opts batches;
    mtf_load_opts    init;
    int64_t          epoch;  /* steps in an epoch; 0: unknown */
    double           passed; /* epochs so far; NAN: unknown */
    mtf_trained      trained;
    bool             stepped;    /* at least once */
    bool             rated;      /* a step had a rate above 0 */
    evaluation       evaluation; /* holds the report, if there is one */
} job;

/* ---- number of steps -------------------------------------------------------------------- */

/* Examples in a step: the size of the inputs' first dimension. */
static int64_t batch_size(const job *j)
{
    const mtf_graph *g = j->network.graph;
    for (int i = 0; i < g->ntensors; i++) {
        const mtf_tensor *x = g->all[i];
        int at = strcmp(x->node->op->name, "input") == 0 ? mtf_shape_find(x->shape, "batch") : -1;
        if (at >= 0) return x->shape.dims[at].size;
    }
    return 0;
}

/* Batches of an epoch.  They are counted only where they are needed: large text is read for it. */
static int64_t epoch_of(job *j)
{
    int64_t batch = j->data ? batch_size(j) : 0;
    if (!j->epoch) j->epoch = batch ? mtf_dataset_size(j->data) / batch : 0;
    return j->epoch;
}

/* From --steps, --epochs, or the model's default. */
static bool choose_steps(job *j)
{
    const options  *o = j->setup.options;
    const settings *v = &j->setup.settings;
    mtf_session    *s = j->setup.session;
    uint64_t        steps = 0, epochs = 0;
    int64_t         batch = j->data ? batch_size(j) : 0, usual = 0;
    TRY(option_number(o, "steps", 0, INT64_MAX, &steps) &&
        option_number(o, "epochs", 1, INT32_MAX, &epochs));
    bool none = option_given(o, "steps") && steps == 0;
    if (none && !option_given(o, "checkpoint-dir"))
        return fail(&s->fault, ERR_USAGE,
                    "--steps 0 saves the initial weights: say where, with --checkpoint-dir DIR");
    if (option_given(o, "steps") && option_given(o, "epochs"))
        return fail(&s->fault, ERR_USAGE,
                    "--steps and --epochs both say how long to train: leave one out");
    if (none) {
        j->train.steps = -1;
        return true;
    }
    if (!steps && !epochs && j->setup.config) steps = (uint64_t)j->setup.config->run.train_steps;
    if (!steps && !epochs && settings_has(v, "steps")) {
        TRY(setting_count(v, "steps", 1, &usual));
        steps = (uint64_t)usual;
    } else if (!steps && !epochs && settings_has(v, "epochs")) {
        TRY(setting_count(v, "epochs", 1, &usual));
        epochs = (uint64_t)usual;
    }
    if (!steps && !epochs)
        return fail(&s->fault, ERR_USAGE, "say how long to train, with --steps N%s",
                    batch ? " or --epochs N" : "");
    if (epochs && !epoch_of(j))
        return fail(&s->fault, ERR_USAGE,
                    "--epochs needs data with at least a batch of examples; say --steps N instead");
    j->train.steps = steps ? (int64_t)steps : (int64_t)epochs * epoch_of(j);
    return mtf_ok(s);
}

/* ---- evaluating ------------------------------------------------------------------------- */

/* Written beside the checkpoints, so that other commands find the model's description. */
static bool keep_model(job *j)
{
    const char *folder = j->train.checkpoint_dir;
    return !folder || !mtf_is_first(j->setup.session) || model_folder_keep(&j->setup, folder);
}

static bool ready(void *context)
{
    job *j = context;
    if (!j->train.quiet && mtf_is_first(j->setup.session))
        TRY(idle_axes_note(j->setup.options, j->network.graph));
    TRY(!j->setup.config || teacher_load(j->setup.config, j->network.graph));
    return keep_model(j) && evaluation_prepare(&j->evaluation, j->train.events_dir);
}

static bool evaluate(job *j, int64_t step, double epoch)
{
    int64_t steps = j->train.steps > 0 ? j->train.steps : 0;
    return evaluation_show(&j->evaluation, &(evaluation_place){step, steps, epoch});
}

/* The result is what was evaluated, or else the last loss, which the progress has shown already. */
static bool conclude(job *j)
{
    const mtf_trained *t = &j->trained;
    if (j->evaluation.data) return evaluate(j, t->step, t->epoch);
    if (j->train.quiet && j->stepped)
        evaluation_show_loss(&j->evaluation, &(evaluation_place){t->step, j->train.steps, t->epoch},
                             t->loss);
    return true;
}

static bool look(void *context, int64_t step)
{
    job *j = context; /* the last step is always evaluated */
    return step == j->train.steps || evaluate(j, step, j->passed);
}

/* ---- the report ------------------------------------------------------------------------- */

static bool after_step(void *context, const mtf_train_step *now)
{
    job *j = context;
    j->passed = now->epoch;
    j->stepped = true;
    j->rated = j->rated || now->rate != 0; /* NAN: there is no rate */
    return train_report_step(j->evaluation.report, now);
}

static bool open_report(job *j)
{
    textbuf           line = {.arena = &j->setup.session->arena};
    train_report_opts opts = {.path = option_nth(j->setup.options, "report", 0),
                              .what = j->setup.word,
                              .model = j->train.config,
                              .steps = j->train.steps > 0 ? j->train.steps : 0,
                              .peak = j->setup.peak,
                              .machine = j->setup.machine};
    if (opts.path) command_line_write(j->setup.options, &line);
    opts.command = text_done(&line);
    TRY(opts.command && other_runs(j->setup.options, j->setup.session, &opts));
    if (!opts.path) return true;
    j->evaluation.report = train_report_open(j->setup.session, &opts);
    j->train.measure = true;
    return j->evaluation.report != NULL;
}

/* ---- the command ------------------------------------------------------------------------ */

/* The description of the model that checkpoints store: a command line, or a configuration. */
static const char *model_text(job *j)
{
    textbuf         t = {.arena = &j->setup.session->arena};
    const settings *v = &j->setup.settings;
    if (j->setup.config) return config_text(j->setup.config);
    text_add(&t, "mtf train %s", j->setup.word);
    for (int i = 0; v->model->options[i].name; i++) {
        const char *name = v->model->options[i].name;
        if (strcmp(name, "epochs") == 0 || strcmp(name, "steps") == 0)
            continue; /* defaults: --steps may differ */
        if (*v->values[i]) text_add(&t, " --%s %s", name, v->values[i]);
    }
    if (j->train.steps > 0) text_add(&t, " --steps %lld", (long long)j->train.steps);
    return text_done(&t);
}

/* Pairs from --init-rename HERE=THERE. */
static bool choose_init(job *j, mtf_load_opts *init)
{
    const options *o = j->setup.options;
    arena         *a = &j->setup.session->arena;
    int            n = 0;
    while (option_nth(o, "init-rename", n)) n++;
    const char **pairs = arena_array(a, const char *, 2 * n + 1);
    TRY(pairs != NULL);
    for (int i = 0; i < n; i++) {
        const char *text = option_nth(o, "init-rename", i);
        char       *copy = arena_text(a, text), *equals = copy ? strchr(copy, '=') : NULL;
        TRY(copy != NULL);
        if (!equals)
            return fail(
                &j->setup.session->fault, ERR_USAGE,
                "--init-rename takes HERE=THERE, a pattern and what replaces it, not \"%s\"", text);
        *equals = 0;
        TRY(option_is_pattern(j->setup.session, "init-rename", copy));
        pairs[2 * i] = copy, pairs[2 * i + 1] = equals + 1;
    }
    TRY(option_is_pattern(j->setup.session, "init-only", option_nth(o, "init-only", 0)));
    const char *only = option_nth(o, "init-only", 0);
    if (!only && j->setup.config && !option_given(o, "init-from"))
        only = j->setup.config->run.init_filter;
    *init = (mtf_load_opts){.only = only,
                            .rename = n ? pairs : NULL,
                            .trainable = !option_given(o, "init-all"),
                            .partial = true,
                            .convert = option_given(o, "init-convert")};
    if (!j->train.init_from &&
        (n || option_given(o, "init-only") || !init->trainable || init->convert))
        return fail(
            &j->setup.session->fault, ERR_USAGE,
            "--init-only, --init-rename, --init-all and --init-convert are about --init-from: "
            "add it");
    return true;
}

/* What checkpoints keep, and a run that resumes compares; a configuration may name it as well. */
static const char *optimizer_name(const job *j)
{
    const char *chosen = setting_text(&j->setup.settings, "optimizer");
    const char *used = j->setup.minimize.optimizer;
    if (!j->train.rate) return "of the file";
    return *chosen ? chosen : used ? used : "adam";
}

static bool choose_saving(job *j)
{
    const options  *o = j->setup.options;
    mtf_train_opts *t = &j->train;
    uint64_t        every = 0, keep = 0, keep_every = 0;
    TRY(option_number(o, "save-every", 1, INT64_MAX, &every) &&
        option_number(o, "keep", 1, INT32_MAX, &keep) &&
        option_number(o, "keep-every", 1, INT64_MAX, &keep_every));
    t->checkpoint_dir = option_nth(o, "checkpoint-dir", 0);
    t->resume_anyway = option_given(o, "resume-anyway");
    t->resume = option_given(o, "resume") || t->resume_anyway;
    t->save_every = (int64_t)every;
    t->keep = (int)keep;
    const mtf_config_run *run = j->setup.config ? &j->setup.config->run : NULL;
    if (run && t->checkpoint_dir && !every) t->save_every = run->save_every;
    if (run && t->checkpoint_dir && !keep) t->keep = run->keep;
    t->keep_every = (int64_t)keep_every;
    t->init_from = option_nth(o, "init-from", 0);
    if (run && !t->init_from) t->init_from = run->init_checkpoint;
    t->config = model_text(j);
    t->optimizer = optimizer_name(j);
    if (!t->checkpoint_dir && (t->resume || every || keep || keep_every))
        return fail(&j->setup.session->fault, ERR_USAGE,
                    "--resume, --save-every, --keep and --keep-every need --checkpoint-dir DIR");
    return t->config != NULL;
}

static bool choose_showing(job *j)
{
    const options  *o = j->setup.options;
    mtf_train_opts *t = &j->train;
    uint64_t        every = 0, epochs = 0, steps = 0;
    TRY(option_number(o, "watch-every", 1, INT64_MAX, &every) &&
        option_number(o, "eval-every", 1, INT32_MAX, &epochs) &&
        option_number(o, "eval-steps", 1, INT64_MAX, &steps));
    t->events_dir = option_nth(o, "events-dir", 0);
    t->trace = option_nth(o, "trace", 0);
    t->watch = option_nth(o, "watch", 0);
    TRY(option_is_pattern(j->setup.session, "watch", t->watch));
    t->watch_every = (int64_t)every;
    t->profile = option_given(o, "profile");
    t->experts = t->events_dir || t->profile || option_nth(o, "report", 0);
    t->json = option_given(o, "json");
    t->quiet = option_given(o, "quiet");
    if (epochs && steps)
        return fail(&j->setup.session->fault, ERR_USAGE,
                    "--eval-every and --eval-steps both say when to evaluate: leave one out");
    if ((epochs || steps) && !j->evaluation.data)
        return fail(&j->setup.session->fault, ERR_USAGE, "--eval-%s needs data to evaluate on%s",
                    steps ? "steps" : "every",
                    j->setup.config  ? ": name it with --eval-text FILES"
                    : j->setup.ready ? ""
                                     : ": name it with --eval-data NAME=FILES");
    t->ready = ready;
    t->look_every = steps ? (int64_t)steps : epochs ? (int64_t)epochs * epoch_of(j) : 0;
    t->look = t->look_every ? look : NULL;
    t->after_step = after_step;
    t->look_context = j;
    return true;
}

/* Adds the optimizer, and finds the tensors to show. */
static bool minimize(job *j)
{
    int64_t steps = j->train.steps > 0 ? j->train.steps : 1; /* schedules divide by it */
    TRY(setup_minimize(&j->setup, &j->network, steps, &j->train.rate));
    if (j->train.rate) rate_note(&j->setup);
    mtf_tensor *norm = j->train.rate ? mtf_find(j->network.graph, "gradient_norm") : NULL;
    if (norm && norm->shape.ndims == 0)
        j->train.gradient_norm = norm; /* else a tensor of the model has that name */
    return mtf_ok(j->setup.session);
}

/* Outputs are files, and not those that a configuration has read. */
static bool check_outputs(job *j)
{
    static const char *const outputs[] = {"trace", "report"};
    mtf_session             *s = j->setup.session;
    for (int i = 0; i < 2; i++) {
        const char   *path = option_nth(j->setup.options, outputs[i], 0);
        mtf_text_opts text;
        TRY(option_names_file(s, outputs[i], path, path, "the progress of the run"));
        for (int training = 0; training < 2 && j->setup.config && path; training++) {
            TRY(config_text_opts(j->setup.config, training, &text));
            TRY(output_spares_files(s, outputs[i], path, text.files,
                                    "a file of the configuration's dataset"));
        }
    }
    return true;
}

static bool train(job *j)
{
    mtf_session *s = j->setup.session;
    TRY(setup_network(&j->setup, true, &j->network) && check_outputs(j));
    const char *mark =
        model_mark(j->network.graph); /* before the optimizer, which knows the number of steps */
    TRY(setup_data(&j->setup, true, &j->data) && choose_steps(j) && minimize(j));
    TRY(setup_check_feeds(&j->setup, true, &j->network));
    TRY(evaluation_open(&j->evaluation, &j->setup));
    TRY(choose_saving(j) && choose_showing(j) && choose_init(j, &j->init));
    bool shuffles = !j->setup.config || config_shuffles(j->setup.config);
    j->batches = (mtf_batches_opts){
        .shuffle = shuffles && !option_given(j->setup.options, "no-shuffle"), .seed = s->opts.seed};
    const char *order = j->batches.shuffle ? "shuffled" : "in the order of the files";
    j->train.facts = train_facts(&j->setup, mark, j->data ? order : NULL, j->train.rate != NULL);
    TRY(j->train.facts != NULL);
    j->train.data = j->data;
    j->train.batches = &j->batches;
    j->train.init = &j->init;
    j->train.trained = &j->trained;
    TRY(open_report(j));
    if (!mtf_train(j->network.graph, j->network.loss, &j->train)) {
        train_report_fail(j->evaluation.report);
        return false;
    }
    rate_note_zero(&j->setup, j->stepped && !j->rated);
    TRY(j->trained.interrupted || conclude(j));
    return train_report_write(j->evaluation.report,
                              j->trained.interrupted ? "stopped by a signal" : "finished");
}

static int run(const options *o)
{
    job  j = {.epoch = 0};
    bool ok = setup_open(o, &j.setup);
    if (!j.setup.session) return STATUS_USAGE;
    if (ok) ok = train(&j);
    ok = evaluation_close(&j.evaluation) && ok;
    /* An invalid number was already reported, and is not an error of the session. */
    bool said = !ok && mtf_ok(j.setup.session);
    int  status = close_session(j.setup.session);
    if (said) return STATUS_USAGE;
    return status == STATUS_DONE && j.trained.signal ? SIGNAL_STATUS + j.trained.signal : status;
}

static const option_spec table[] = {
    OPTION_GROUP("how long, and on what"),
    {"steps", "N", false,
     "the last step, counted from the model's beginning; 0: save initial weights"},
    {"epochs", "N", false, "how often to go through the data, instead of --steps"},
    {"data", "NAME=FILES[:...]", true, "the input NAME, from files; " FIELD_WORDS},
    {"eval-every", "EPOCHS", false, "evaluate during training, too, every so many epochs"},
    {"eval-steps", "N", false, "the same every N steps"},
    {"no-shuffle", NULL, false, "take the examples in the order of the files"},
    OPTION_TABLE(config_options),
    OPTION_TABLE(config_data_options),
    OPTION_TABLE(model_options),
    OPTION_TABLE(file_options),
    OPTION_TABLE(judging_options),
    OPTION_TABLE(mesh_options),
    OPTION_GROUP("checkpoints"),
    {"checkpoint-dir", "DIR", false, "save checkpoints there"},
    {"resume", NULL, false, "continue from the newest undamaged checkpoint, if there is one"},
    {"resume-anyway", NULL, false,
     "the same with another model, data set, batch size or other settings"},
    {"save-every", "N", false, "save every N steps, in the background; default: at the end"},
    {"keep", "N", false, "how many of the newest checkpoints to keep; default: all"},
    {"keep-every", "N", false, "also keep the checkpoints of every N-th step"},
    {"init-from", "PATH", false,
     "start with another checkpoint's variables of the model, trained or not"},
    {"init-only", "PATTERN", false, "only those whose names match"},
    {"init-all", NULL, false, "also those of training: optimizer state, averages, counters"},
    {"init-rename", "HERE=THERE", true,
     "a pattern in this model's names, and its replacement in the checkpoint's"},
    {"init-convert", NULL, false, "convert other floating types to those of the variables"},
    OPTION_TABLE(training_options),
    OPTION_GROUP("what is shown"),
    {"json", NULL, false, "print one JSON object a line: steps with losses, then the evaluation"},
    {"quiet", NULL, false, "no progress, only the result: the evaluation, or else the last loss"},
    {"report", "FILE.html", false,
     "a page with curves, evaluations and the profile, at each save and at the end",
     .writes = true},
    {"report-beside", "[NAME=]FILE", true,
     "another run, by the page that its --report wrote, drawn beside this one in --report"},
    {"profile", NULL, false, "a table of time by instruction and by scope at the end"},
    {"events-dir", "DIR", false, "write event files for TensorBoard"},
    {"watch", "PATTERN", false, "statistics of tensors whose names match"},
    {"watch-every", "N", false, "steps between them; default 100"},
    {"trace", "FILE.json", false, "a timeline of five steps of all processors, for Perfetto",
     .writes = true},
    OPTION_TABLE(running_options),
    {0},
};

static const char *const examples[] = {
    "mtf train mnist --mesh rows:2,cols:2 --layout batch:rows,hidden:cols",
    "mtf train mnist-conv --mesh b1:2,b2:2 --layout row_blocks:b1,col_blocks:b2",
    "mtf train toy --mesh all:8 --layout hidden_odd:all --steps 1000 --profile",
    "mtf train mnist --checkpoint-dir run --save-every 100 --keep 3 --resume",
    "mtf train model.mtf --data x=x.npy --data y=y.npy --loss loss --optimizer adam --steps 500",
    NULL,
};

const command command_train = {
    .name = "train",
    .says = "train a built-in model, or a model file, on a mesh",
    .words = "NAME|FILE.mtf|--gin_file FILE",
    .least = 1,
    .most = 1,
    .options = table,
    .examples = examples,
    .teaches =
        "NAME is a built-in model.  A file computes its loss from its inputs; an optimizer is "
        "added,\n"
        "unless the file assigns to trainable variables itself.\n"
        "\n"
        "The same seed gives the same curve on any mesh, up to rounding.  Control-C, SIGTERM,\n"
        "SIGHUP or SIGUSR1 ends it after the step and saves, where there is a --checkpoint-dir; "
        "the\n"
        "status is then 128 plus the signal's number.  A second signal ends it at once.  With\n"
        "--resume a run continues as if it had never stopped, bit for bit on the same mesh.",
    .run = run,
    .concerns = setup_concerns,
    .adds = setup_list_models,
};

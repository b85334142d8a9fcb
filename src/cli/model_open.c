/* Opens the model of decode, score and serve. */
#include "cli/model_open.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/printable.h"
#include "base/session.h"
#include "cli/choices.h"
#include "cli/graph_file.h"
#include "cli/load_step.h"
#include "cli/model_folder.h"
#include "model/config/optional_rules.h"

/* clang-format off */
const option_spec opening_options[] = {
    OPTION_GROUP("the model"),
    {"checkpoint-dir", "DIR", false, "where its weights were saved, as FOLDER; default: random weights"},
    {"step", "N", false, "the checkpoint of this step; default: as the configuration says, else the newest"},
    OPTION_TABLE(config_options),
    {0},
};
/* clang-format on */

/* Variables must exist before a checkpoint is loaded. */
static bool make_variables(const opened_model *m)
{
    mtf_graph  *g = mtf_graph_new(m->session);
    mtf_dim     batch = {"batch", 1}, length = {"length", 2};
    mtf_tensor *targets = g ? mtf_input(g, "targets", MTF_I32, mtf_shape(batch, length)) : NULL;
    TRY(targets != NULL);
    mtf_tensor            *inputs = transformer_has_encoder(m->model)
                                        ? mtf_input(g, "inputs", MTF_I32, mtf_shape(batch, length))
                                        : NULL;
    mtf_transformer_result r = mtf_transformer_apply(
        m->model, &(mtf_transformer_batch){.inputs = inputs, .targets = targets}, NULL);
    return r.logits && mtf_compile(g, r.logits);
}

/* The step of --step, or of the configuration; several of these are for evaluations, which is noted. */
static bool choose_step(const config_setup *c, int64_t *step)
{
    const char *which = c->run.eval_steps;
    uint64_t    given = 0;
    *step = NEWEST;
    TRY(option_number(c->options, "step", 0, INT64_MAX, &given));
    if (option_given(c->options, "step"))
        *step = (int64_t)given;
    else if (*which && !which[strspn(which, "0123456789")])
        *step = strtoll(which, NULL, 10);
    else if (*which && mtf_is_first(c->session))
        printable_print(stderr,
                        "mtf: note: run.eval_checkpoint_step names several checkpoints, %s: mtf %s "
                        "takes the newest; --step N names another\n",
                        which, c->options->command->name);
    return true;
}

/* Loads a checkpoint.  Without a folder weights stay random, which is noted. */
static bool model_load(const options *o, const config_setup *c, opened_model *m)
{
    const char *path = option_nth(o, "checkpoint-dir", 0);
    mtf_loaded  from;
    int64_t     step;
    if (!path) {
        if (mtf_is_first(m->session))
            fputs("mtf: note: there is no --checkpoint-dir, so the weights are random\n", stderr);
        return true;
    }
    mtf_load_opts how = {.convert = true}; /* published weights may be of any type */
    TRY(choose_step(c, &step) && make_variables(m) &&
        load_step(m->session, path, step, how, &from));
    m->step = from.step;
    return true;
}

opened_model *model_of(const config_setup *c)
{
    const char   *folder = option_nth(c->options, "checkpoint-dir", 0);
    opened_model *m = arena_new(&c->session->arena, opened_model);
    if (!m) return NULL;
    *m = (opened_model){.session = c->session,
                        .model = c->model,
                        .vocabulary = c->targets,
                        .inputs_vocabulary = c->inputs == c->targets ? NULL : c->inputs,
                        .name = folder ? folder : c->options->words[0],
                        .max_length = c->run.targets_length,
                        .max_inputs = c->run.inputs_length};
    return m;
}

/* Somebody must say what the model is. */
static bool described(const options *o)
{
    const char *folder = option_nth(o, "checkpoint-dir", 0);
    if (config_given(o)) return true;
    if (folder)
        model_folder_lacks(o, folder);
    else
        usage_error(o->command,
                    "mtf %s needs a model: the folder where mtf train saved it, or "
                    "--gin_file FILE",
                    o->command->name);
    return false;
}

opened_model *model_open(const options *o, config_setup *c, int *status)
{
    uint64_t ignored;
    *status = STATUS_USAGE;
    if (!described(o) || !option_number(o, "step", 0, INT64_MAX, &ignored)) return NULL;
    mtf_session *s = choose_session(o, false, status);
    if (!s) return NULL;
    if (s->opts.layout) s->opts.layout = mesh_optional_rules(&s->arena, s->opts.layout);
    opened_model *m = config_open(o, s, true, c) ? model_of(c) : NULL;
    if (m && model_load(o, c, m)) return m;
    *status = close_session(s);
    return NULL;
}

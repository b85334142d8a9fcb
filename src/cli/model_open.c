/* Opens the model of decode, score and serve. */
#include "cli/model_open.h"

#include <sys/stat.h>
#include <stdio.h>

#include "cli/choices.h"
#include "cli/graph_file.h"
#include "mtf_train.h"

/* clang-format off */
const option_spec opening_options[] = {
    OPTION_GROUP("the model"),
    {"checkpoint-dir", "DIR", false, "where its weights were saved, as FOLDER; default: random weights"},
    {"step", "N", false, "the checkpoint of this step; default: the newest"},
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

/* Loads the checkpoint of a step; 0: the newest.  Without a folder weights stay random, which is noted. */
static bool model_load(const options *o, int64_t step, opened_model *m)
{
    const char *path = option_nth(o, "checkpoint-dir", 0);
    mtf_loaded  from;
    if (!path) {
        if (mtf_is_first(m->session))
            fputs("mtf: note: there is no --checkpoint-dir, so the weights are random\n", stderr);
        return true;
    }
    mtf_load_opts how = {.step = step, .convert = true}; /* published weights may be of any type */
    TRY(make_variables(m) && mtf_load(m->session, path, &how, &from));
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
    struct stat about;
    if (config_given(o)) return true;
    if (folder && stat(folder, &about) != 0)
        usage_error(o->command,
                    "there is neither a folder of a run nor a configuration \"%s\": name the "
                    "folder where mtf "
                    "train saved, or --gin_file FILE",
                    folder);
    else if (folder)
        usage_error(o->command,
                    "\"%s\" has no " CONFIG_KEPT
                    ", as mtf train --gin_file writes it: say what the "
                    "model is with --gin_file FILE",
                    folder);
    else
        usage_error(o->command,
                    "mtf %s needs a model: the folder where mtf train saved it, or "
                    "--gin_file FILE",
                    o->command->name);
    return false;
}

opened_model *model_open(const options *o, config_setup *c, int *status)
{
    uint64_t step = 0;
    *status = STATUS_USAGE;
    if (!described(o) || !option_number(o, "step", 1, INT64_MAX, &step)) return NULL;
    mtf_session *s = choose_session(o, false, status);
    if (!s) return NULL;
    opened_model *m = config_open(o, s, true, c) ? model_of(c) : NULL;
    if (m && model_load(o, (int64_t)step, m)) return m;
    *status = close_session(s);
    return NULL;
}

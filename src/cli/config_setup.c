/* Transformers that configuration files describe, for the commands. */
#include "cli/config_setup.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/put_file.h"
#include "base/textbuf.h"
#include "cli/graph_file.h"
#include "data/text/text_option.h"
#include "graph/node.h"

/* clang-format off */
const option_spec config_options[] = {
    OPTION_GROUP("a configuration"),
    {"gin_file", "FILE", true, "a Transformer as configuration files describe it, read in this order: paths, or names that came with mtf, such as lm_base"},
    {"gin_param", "NAME = VALUE", true, "one more line, read after the files"},
    {"vocabulary", "SPEC", false, "bytes (default), sentencepiece:FILE, gpt2:DIR, subwords:FILE or words:FILE; :extra=N adds ids"},
    {0},
};

const option_spec config_data_options[] = {
    {"text", "FILES[:...]", false, "a configuration's text to train on; " TEXT_WORDS},
    {"eval-text", "FILES[:...]", false, "the same to evaluate on"},
    {0},
};
/* clang-format on */

static const char kept_name[] = "operative_config.gin";

bool config_given(const options *o)
{
    return option_given(o, "gin_file") || option_given(o, "gin_param");
}

/* ---- files ---- */

static const char *const *list_of(const options *o, arena *a, const char *name)
{
    int n = 0;
    while (option_nth(o, name, n)) n++;
    const char **list = arena_array(a, const char *, n + 1);
    for (int k = 0; list && k < n; k++) list[k] = option_nth(o, name, k);
    return list;
}

/* Batch sizes may go by the mesh, so the files must know which it is. */
static bool add_binding(const options *o, arena *a, const char *option, const char *name,
                        const char **list, int *n)
{
    const char *value = option_nth(o, option, 0);
    textbuf     t = {.arena = a};
    if (!value || strstr(value, "auto")) return true;
    text_add(&t, "%s = '%s'", name, value);
    list[(*n)++] = text_done(&t);
    return list[*n - 1] != NULL;
}

/* On a mesh that is yet to be found nobody knows how many sequences a processor will have: the batch
 * is not taken apart, unless a parameter that was given says so. */
static const char one_microbatch[] =
    "serialize_num_microbatches.tokens_per_microbatch_per_replica = None";

static bool mesh_is_open(const options *o)
{
    const char *mesh = option_nth(o, "mesh", 0);
    return mesh && strncmp(mesh, "auto:", 5) == 0;
}

static bool config_files(const options *o, mtf_session *s, mtf_config_opts *to)
{
    arena             *a = &s->arena;
    const char *const *given = list_of(o, a, "gin_param");
    int                n = 0;
    while (given && given[n]) n++;
    const char **params = arena_array(a, const char *, n + 4);
    TRY(given && params);
    bool open = mesh_is_open(o);
    if (open) params[0] = one_microbatch;
    memcpy(params + open, given, sizeof *params * (size_t)n);
    n += open;
    TRY(add_binding(o, a, "mesh", "run.mesh_shape", params, &n) &&
        add_binding(o, a, "layout", "run.layout_rules", params, &n));
    *to = (mtf_config_opts){.files = list_of(o, a, "gin_file"), .params = params};
    return to->files != NULL;
}

/* ---- completing a command line ---- */

static const option_spec *find_spec(const command *c, const char *name)
{
    option_walk        w = walk_options(c->options);
    const option_spec *spec;
    while ((spec = walk_next(&w)) != NULL)
        if (spec->name && strcmp(spec->name, name) == 0) return spec;
    return NULL;
}

/* As if it had been given; the text is the options'. */
static bool add_option(options *o, const char *name, const char *value)
{
    const option_spec *spec = find_spec(o->command, name);
    if (!spec || !value || !*value || option_given(o, name)) return true;
    size_t n = (size_t)o->nvalues + 1;
    void  *values = realloc(o->values, n * sizeof *o->values);
    char  *text = strdup(value);
    if (values) o->values = values;
    if (!values || !text || o->nowned == MOST_OWNED) {
        free(text);
        return false;
    }
    o->owned[o->nowned++] = text;
    o->values[o->nvalues++] = (struct option_value){spec, text};
    return true;
}

/* Rules of the files are for meshes that may have other axes. */
static bool add_layout(options *o, const mtf_config_run *r)
{
    bool mesh = option_given(o, "mesh");
    TRY(add_option(o, "mesh", r->mesh));
    return mesh || add_option(o, "layout", r->layout);
}

/* The configuration that a training left in the folder of its checkpoints. */
static bool find_kept(options *o)
{
    const char *folder = option_nth(o, "checkpoint-dir", 0);
    char        path[PATH_MAX];
    if (config_given(o) || o->nwords || !folder || !find_spec(o->command, "gin_file") ||
        o->command->least > 0)
        return true;
    if (snprintf(path, sizeof path, "%s/%s", folder, kept_name) >= (int)sizeof path) return true;
    return access(path, R_OK) != 0 || add_option(o, "gin_file", path);
}

int config_complete(options *o)
{
    const command *c = o->command;
    if (!find_kept(o)) return STATUS_FAILED;
    if (!config_given(o)) return -1;
    if (o->nwords)
        return usage_error(c, "\"%s\" is one model, and --gin_file another; leave one out",
                           o->words[0]);
    const char *first = option_nth(o, "gin_file", 0);
    o->words[o->nwords++] = first ? first : "configuration";
    if (!find_spec(c, "mesh") || option_given(o, "mesh")) return -1;
    mtf_session    *s = file_session(&(mtf_session_opts){0});
    mtf_config_opts files;
    mtf_config_run  run;
    if (!s) return STATUS_FAILED;
    mtf_config *config = config_files(o, s, &files) ? mtf_config_open(s, &files) : NULL;
    bool        ok = config && mtf_config_get_run(config, &run) && add_layout(o, &run);
    int         status = close_session(s);
    return ok ? -1 : status;
}

/* ---- vocabularies ---- */

/* As an option names it, or the files do; else bytes.  NULL after an error. */
static const mtf_vocabulary *open_vocabulary(config_setup *c, const mtf_config_call *named,
                                             const char *text)
{
    const char *spec = option_nth(c->options, "vocabulary", 0);
    if (!spec && named && !text) {
        fail(&c->session->fault, ERR_VALUE,
             "the files name the vocabulary %s, but not where it is; say it with --vocabulary",
             named->name);
        return NULL;
    }
    return mtf_vocabulary_open(c->session, spec ? spec : text);
}

static bool open_vocabularies(config_setup *c)
{
    const mtf_config_run *r = &c->run;
    c->targets = open_vocabulary(c, r->targets_vocabulary, r->targets_vocabulary_text);
    c->inputs = r->vocabulary == r->targets_vocabulary
                    ? c->targets
                    : open_vocabulary(c, r->vocabulary, r->vocabulary_text);
    return c->inputs && c->targets;
}

/* ---- the model ---- */

static void say_notes(const config_setup *c)
{
    const mtf_config_note *notes;
    int                    n = mtf_config_notes(c->config, &notes);
    for (int k = 0; k < n && mtf_is_first(c->session); k++)
        if (notes[k].warning) fprintf(stderr, "mtf: warning: %s\n", notes[k].text);
}

static bool has_text(const options *o)
{
    return option_given(o, "text") || option_given(o, "eval-text") || option_given(o, "vocabulary");
}

/* Plans of published shapes need no vocabulary: their files tell how many tokens there are. */
static bool describe(config_setup *c)
{
    fault *f = &c->session->fault;
    if (!has_text(c->options) && !c->answers) {
        if (mtf_config_get_model(c->config, 0, 0, &c->described)) return true;
        fault_clear(f);
    }
    return open_vocabularies(c) &&
           mtf_config_get_model(c->config, mtf_vocabulary_size(c->inputs),
                                mtf_vocabulary_size(c->targets), &c->described);
}

bool config_open(const options *o, mtf_session *s, bool answers, config_setup *c)
{
    mtf_config_opts files;
    uint64_t        batch = 0;
    *c = (config_setup){.options = o, .session = s, .answers = answers};
    TRY(config_files(o, s, &files) && option_number(o, "batch", 1, INT32_MAX, &batch));
    c->config = mtf_config_open(s, &files);
    TRY(c->config && mtf_config_get_run(c->config, &c->run) && describe(c) &&
        mtf_config_finish(c->config));
    say_notes(c);
    c->batch = batch ? (int64_t)batch : c->run.batch;
    c->model = mtf_transformer_new(s, &c->described.model);
    TRY(c->model != NULL);
    if (!c->described.teacher.stack.layers) return true;
    c->teacher = mtf_transformer_new(s, &c->described.teacher);
    return c->teacher != NULL;
}

const char *config_text(const config_setup *c)
{
    return mtf_config_operative(c->config);
}

bool config_keep(const config_setup *c, const char *folder)
{
    const char *text = config_text(c);
    textbuf     path = {.arena = &c->session->arena};
    text_add(&path, "%s/%s", folder, kept_name);
    const char *file = text_done(&path);
    return text && file && put_file(&c->session->fault, file, 1, &(piece){text, strlen(text)});
}

/* ---- networks ---- */

/* The features that packed text has: ids, segments, positions. */
static void read_side(mtf_graph *g, const char *name, mtf_shape shape, mtf_tensor *to[3])
{
    static const char *const more[] = {"", "_segmentation", "_position"};
    char                     full[40];
    for (int k = 0; k < 3; k++) {
        snprintf(full, sizeof full, "%s%s", name, more[k]);
        to[k] = mtf_input(g, full, MTF_I32, shape);
    }
}

static mtf_tensor *by_example(mtf_tensor *x, mtf_dim batch)
{
    return mtf_reduce_sum_to(x, mtf_shape(batch));
}

bool config_network(const config_setup *c, bool training, network *n)
{
    mtf_graph *g = mtf_graph_new(c->session);
    mtf_dim    batch = {"batch", c->batch};
    mtf_dim inputs = {"length", c->run.inputs_length}, targets = {"length", c->run.targets_length};
    mtf_transformer_call  how = {.training = training};
    mtf_transformer_batch b = {0};
    mtf_tensor           *in[3] = {0}, *out[3] = {0};
    bool reads = c->described.model.encoder.layers || c->described.model.bidirectional;
    if (!g) return false;
    if (targets.size < 1 || (reads && inputs.size < 1))
        return fail(&c->session->fault, ERR_VALUE,
                    "the files do not say how long sequences are; bind run.sequence_length, as in "
                    "--gin_param \"run.sequence_length = {'inputs': 512, 'targets': 512}\"");
    if (reads) read_side(g, "inputs", mtf_shape(batch, inputs), in);
    read_side(g, "targets", mtf_shape(batch, targets), out);
    b = (mtf_transformer_batch){in[0], in[1], in[2], out[0], out[1], out[2]};
    mtf_transformer_result r =
        c->teacher ? mtf_transformer_distill(c->model, c->teacher, &b, &how, &c->described.distill)
                   : mtf_transformer_apply(c->model, &b, &how);
    if (!r.loss) return false;
    *n = (network){.graph = g, .loss = mtf_name(r.loss, "loss")};
    if (training) return n->loss != NULL;
    n->token_losses = by_example(mtf_multiply(r.token_losses, r.weights), batch);
    n->token_counts = by_example(r.weights, batch);
    n->right = by_example(r.right, batch);
    return mtf_ok(c->session);
}

/* ---- data ---- */

/* What a model of this type learns from, where the option does not say it. */
static mtf_text_objective objective_of(const config_setup *c)
{
    switch (c->run.model_type) {
    case MTF_MODEL_LM: return MTF_TEXT_LM;
    case MTF_MODEL_DELIMITED_LM: return MTF_TEXT_DELIMITED;
    default: return MTF_TEXT_PAIRS;
    }
}

/* A dataset of the files as the option's text would be. */
static const char *dataset_text(mtf_session *s, const mtf_config_dataset *d)
{
    const struct {
        const char *word, *value;
    } words[] = {{"format", d->format},
                 {"objective", d->objective},
                 {"documents", d->documents},
                 {"inputs", d->inputs},
                 {"targets", d->targets}};
    const struct {
        const char *word;
        bool        given;
    } flags[] = {{"joined", d->joined},
                 {"split", d->split_long},
                 {"pack", d->pack},
                 {"ends", d->ensure_end}};
    textbuf t = {.arena = &s->arena};
    text_add(&t, "%s", d->files);
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        if (words[k].value) text_add(&t, ":%s=%s", words[k].word, words[k].value);
    for (size_t k = 0; k < sizeof flags / sizeof *flags; k++)
        if (flags[k].given) text_add(&t, ":%s", flags[k].word);
    return text_done(&t);
}

bool config_data(const config_setup *c, bool training, mtf_dataset **data)
{
    const char   *flag = training ? "text" : "eval-text", *text = option_nth(c->options, flag, 0);
    mtf_text_opts o = {0};
    const mtf_config_dataset *named = training ? c->run.train_data : c->run.eval_data;
    *data = NULL;
    if (!text && named) text = dataset_text(c->session, named);
    if (!text && training)
        return fail(&c->session->fault, ERR_USAGE,
                    "a model of text needs text to train on: name it with --text FILES");
    if (!text) return mtf_ok(c->session);
    TRY(text_option_parse(c->session, flag, text, &o));
    if (!strstr(text, ":objective=")) o.objective = objective_of(c);
    if (o.length || o.inputs_length)
        return fail(
            &c->session->fault, ERR_USAGE,
            "--%s: the files say how long sequences are; bind run.sequence_length instead of "
            ":length= and :inputs_length=",
            flag);
    o.length = c->run.targets_length;
    o.inputs_length = c->run.inputs_length;
    o.vocabulary = c->targets;
    if (c->inputs != c->targets) o.inputs_vocabulary = c->inputs;
    *data = mtf_text_open(c->session, &o);
    return *data != NULL;
}

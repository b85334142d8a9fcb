/* Transformers that configuration files describe, for the commands. */
#include "cli/config_setup.h"

#include <stdio.h>
#include <string.h>

#include "base/printable.h"
#include "base/put_file.h"
#include "base/textbuf.h"
#include "cli/graph_file.h"
#include "data/text/text_option.h"
#include "graph/node.h"

/* clang-format off */
const option_spec config_options[] = {
    OPTION_GROUP("a configuration"),
    {"gin_file", "FILE", true, "a Transformer described by configuration files, read in this order: paths, or names of installed files, such as lm_base"},
    {"gin_param", "NAME = VALUE", true, "one more line, read after the files"},
    {"gin_location_prefix", "DIR", true, "a folder in which files are looked for that are neither at their path nor beside the file that includes them"},
    {"gin_skip_unknown", NULL, false, "leave out lines with names that mtf does not know, with a warning for each; default: an error"},
    {"vocabulary", "SPEC", false, "bytes (default), sentencepiece:FILE, gpt2:DIR, wordpiece:FILE, subwords:FILE or words:FILE; :extra=N adds ids"},
    {0},
};

const option_spec config_data_options[] = {
    {"text", "FILES[:...]", false, "a configuration's text to train on; " TEXT_WORDS},
    {"eval-text", "FILES[:...]", false, "the same to evaluate on"},
    {0},
};
/* clang-format on */

bool config_given(const options *o)
{
    return option_given(o, "gin_file") || option_given(o, "gin_param");
}

/* ---- vocabularies ---- */

/* The vocabulary of the option, or else of the files, or else bytes.  NULL after an error. */
static const mtf_vocabulary *open_vocabulary(config_setup *c, const mtf_config_call *named,
                                             const char *text)
{
    const char *spec = option_nth(c->options, "vocabulary", 0);
    if (!spec && named && !text) {
        fail(&c->session->fault, ERR_VALUE,
             "the files name the vocabulary %s, but not its file; name it with --vocabulary",
             named->name);
        return NULL;
    }
    return mtf_vocabulary_open(c->session, spec ? spec : text);
}

static bool open_vocabularies(config_setup *c)
{
    const mtf_config_run *r = &c->run;
    if (c->targets) return true;
    c->targets = open_vocabulary(c, r->targets_vocabulary, r->targets_vocabulary_text);
    c->inputs = r->vocabulary == r->targets_vocabulary
                    ? c->targets
                    : open_vocabulary(c, r->vocabulary, r->vocabulary_text);
    return c->inputs && c->targets;
}

/* A model's embedding may have more rows than the vocabulary has ids, as T5's has, but not fewer. */
static bool check_size(const config_setup *c, const mtf_vocabulary *v, const char *parameter,
                       int64_t has)
{
    if (mtf_vocabulary_size(v) <= has) return true;
    return fail(&c->session->fault, ERR_VALUE,
                "the vocabulary has %lld ids, and the model %lld, as the files bind %s; give the "
                "model's own with --vocabulary",
                (long long)mtf_vocabulary_size(v), (long long)has, parameter);
}

static bool vocabularies_fit(const config_setup *c)
{
    const mtf_transformer_opts *m = &c->described.model;
    int64_t                     output = m->output_vocab ? m->output_vocab : m->input_vocab;
    return check_size(c, c->inputs, "input_vocab_size", m->input_vocab) &&
           check_size(c, c->targets, "output_vocab_size", output);
}

bool config_vocabularies(config_setup *c)
{
    return open_vocabularies(c) && vocabularies_fit(c);
}

/* ---- the model ---- */

/* What the note says to have no effect, without its place in the file; NULL: it says something else. */
static const char *without_effect(arena *a, const char *note)
{
    const char *end = strstr(note, " has no effect");
    const char *name = end;
    textbuf     t = {.arena = a};
    if (!end) return NULL;
    while (name > note && strncmp(name - 1, ": ", 2) != 0) name--;
    if (name > note) name++;
    text_add(&t, "%.*s", (int)(end - name), name);
    return text_done(&t);
}

/* A saved configuration has every parameter of its run; another mesh, for example, leaves some unused.
 * Files written for TPUs have many lines that have no effect here: a few are shown, the others named. */
static void say_notes(const config_setup *c)
{
    enum { MOST = 3 };
    const mtf_config_note *notes;
    textbuf                rest = {.arena = &c->session->arena};
    int                    n = mtf_config_notes(c->config, &notes), idle = 0;
    if (c->options->trial || !mtf_is_first(c->session)) return;
    for (int k = 0; k < n; k++) {
        bool warning = notes[k].warning, kept = strstr(notes[k].text, CONFIG_KEPT ":") != NULL;
        const char *name = warning ? NULL : without_effect(rest.arena, notes[k].text);
        if (name && idle++ >= MOST)
            text_add(&rest, "%s%s", rest.used ? ", " : "", name);
        else if (!warning || !kept)
            printable_print(stderr, "mtf: %s: %s\n", warning ? "warning" : "note", notes[k].text);
    }
    if (idle <= MOST || !text_done(&rest)) return;
    fprintf(stderr, "mtf: note: %d more line%s no effect in mtf: ", idle - MOST,
            idle == MOST + 1 ? " has" : "s have");
    printable_put(stderr, rest.text);
    fputc('\n', stderr);
}

/* Plans depend on the number of tokens, which nobody may have said. */
static void say_vocabulary(const config_setup *c)
{
    const options *o = c->options;
    const char    *first = option_nth(o, "gin_file", 0);
    bool named = option_given(o, "vocabulary") || c->run.vocabulary || c->run.targets_vocabulary ||
                 (first && strstr(first, CONFIG_KEPT)); /* the model was trained so */
    if (!o->command->only_plans || !c->targets || named || o->trial || !mtf_is_first(c->session))
        return;
    fprintf(stderr,
            "mtf: note: no vocabulary is named: this is for bytes, %lld ids; --vocabulary names "
            "another\n",
            (long long)mtf_vocabulary_size(c->targets));
}

static bool has_text(const options *o)
{
    return option_given(o, "text") || option_given(o, "eval-text") || option_given(o, "vocabulary");
}

/* Planning a published model needs no vocabulary: its files give the number of tokens. */
static bool describe(config_setup *c)
{
    bool told = mtf_config_get_model(c->config, 0, 0, &c->described);
    if (!told) fault_clear(&c->session->fault);
    if (told && !has_text(c->options) && !c->answers) return true;
    TRY(open_vocabularies(c));
    if (told) return vocabularies_fit(c);
    return mtf_config_get_model(c->config, mtf_vocabulary_size(c->inputs),
                                mtf_vocabulary_size(c->targets), &c->described);
}

/* Texts end as their vocabulary says, unless the files do. */
static void end_as_vocabulary(const config_setup *c, mtf_transformer_opts *o)
{
    int32_t end = c->targets ? mtf_vocabulary_end(c->targets) : 0;
    if (!o->end && end > 0) o->end = end;
}

/* Weights that are not trained are kept as layers use them: they are rounded when they are loaded, not
 * for each token. */
static void keep_short(mtf_transformer_opts *o)
{
    if (dtype_is_short(o->activation)) o->context.short_weights = true;
}

bool config_open(const options *o, mtf_session *s, bool answers, config_setup *c)
{
    mtf_config_opts files;
    uint64_t        batch = 0;
    *c = (config_setup){.options = o, .session = s, .answers = answers};
    TRY(config_files(o, s, false, &files) && option_number(o, "batch", 1, INT32_MAX, &batch));
    c->config = mtf_config_open(s, &files);
    TRY(c->config && mtf_config_get_run(c->config, &c->run) && describe(c) &&
        mtf_config_finish(c->config));
    say_notes(c);
    say_vocabulary(c);
    c->batch = batch ? (int64_t)batch : c->run.batch;
    end_as_vocabulary(c, &c->described.model);
    end_as_vocabulary(c, &c->described.teacher);
    if (answers) keep_short(&c->described.model);
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
    text_add(&path, "%s/%s", folder, CONFIG_KEPT);
    const char *file = text_done(&path);
    return text && file && put_file(&c->session->fault, file, 1, &(piece){text, strlen(text)});
}

/* ---- networks ---- */

/* [batch, ..] as [outer_batch, batch, ..], where the batch has parts of its own. */
static mtf_tensor *by_outer_batch(const config_setup *c, mtf_tensor *x)
{
    int64_t parts = c->run.outer_batch;
    if (parts == 1 || !x) return x;
    mtf_dim   batch = {"batch", c->batch}, outer = {"outer_batch", parts}, inner = batch;
    mtf_shape rest = mtf_shape_minus(x->shape, mtf_shape(batch));
    inner.size /= parts;
    return mtf_reshape(x, mtf_shape_plus(mtf_shape(outer, inner), rest));
}

/* The features that packed text has: ids, segments, positions. */
static void read_side(const config_setup *c, mtf_graph *g, const char *name, mtf_shape shape,
                      mtf_tensor *to[3])
{
    static const char *const more[] = {"", "_segmentation", "_position"};
    char                     full[40];
    for (int k = 0; k < 3; k++) {
        snprintf(full, sizeof full, "%s%s", name, more[k]);
        to[k] = by_outer_batch(c, mtf_input(g, full, MTF_I32, shape));
    }
}

static mtf_tensor *by_example(const config_setup *c, mtf_tensor *x)
{
    mtf_dim batch = {"batch", c->batch}, outer = {"outer_batch", c->run.outer_batch}, inner = batch;
    inner.size /= outer.size;
    if (outer.size == 1) return mtf_reduce_sum_to(x, mtf_shape(batch));
    return mtf_reshape(mtf_reduce_sum_to(x, mtf_shape(outer, inner)), mtf_shape(batch));
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
        return fail(
            &c->session->fault, ERR_VALUE,
            "the files do not give the length of sequences; bind run.sequence_length, as in "
            "--gin_param \"run.sequence_length = {'inputs': 512, 'targets': 512}\"");
    if (c->batch % c->run.outer_batch)
        return fail(&c->session->fault, ERR_VALUE,
                    "the batch of %lld is not divided by the outer_batch_size %lld",
                    (long long)c->batch, (long long)c->run.outer_batch);
    if (reads) read_side(c, g, "inputs", mtf_shape(batch, inputs), in);
    read_side(c, g, "targets", mtf_shape(batch, targets), out);
    b = (mtf_transformer_batch){.inputs = in[0],
                                .inputs_segment = in[1],
                                .inputs_position = in[2],
                                .targets = out[0],
                                .targets_segment = out[1],
                                .targets_position = out[2]};
    mtf_transformer_result r =
        c->teacher ? mtf_transformer_distill(c->model, c->teacher, &b, &how, &c->described.distill)
                   : mtf_transformer_apply(c->model, &b, &how);
    if (!r.loss) return false;
    *n = (network){.graph = g, .loss = mtf_name(r.loss, "loss")};
    if (training) return n->loss != NULL;
    n->token_losses = by_example(c, mtf_multiply(r.token_losses, r.weights));
    n->token_counts = by_example(c, r.weights);
    n->right = by_example(c, r.right);
    n->sequences = mtf_cast(mtf_greater(n->token_counts, mtf_zeros_like(n->token_counts)), MTF_F32);
    mtf_tensor *all = mtf_cast(mtf_equal(n->right, n->token_counts), MTF_F32);
    n->sequences_right = mtf_multiply(n->sequences, all);
    return mtf_ok(c->session);
}

/* Opens the model of decode, score and serve. */
#include "cli/model_open.h"

#include <stdio.h>

#include "cli/choices.h"
#include "cli/config_setup.h"
#include "cli/graph_file.h"
#include "mtf_train.h"

/* clang-format off */
const option_spec opening_options[] = {
    OPTION_GROUP("the model"),
    {"checkpoint-dir", "DIR", false, "where its weights were saved; default: random weights"},
    {"step", "N", false, "the checkpoint of this step; default: the newest"},
    OPTION_TABLE(config_options),
    {"d-model", "N", false, "size of a token's vector; default 64"},
    {"d-ff", "N", false, "hidden units of a feed-forward layer; default 256"},
    {"d-kv", "N", false, "size of a head; default 16"},
    {"heads", "N", false, "heads of attention; default 4"},
    {"layers", "N", false, "blocks of attention and feed-forward; default 2"},
    {"max-length", "N", false, "tokens of a sequence, its prompt included; default 256"},
    {0},
};
/* clang-format on */

typedef struct sizes {
    uint64_t d_model, d_ff, d_kv, heads, layers, max_length, step;
} sizes;

static bool read_sizes(const options *o, sizes *s)
{
    *s = (sizes){64, 256, 16, 4, 2, 256, 0};
    return option_number(o, "d-model", 1, 1 << 20, &s->d_model) &&
           option_number(o, "d-ff", 1, 1 << 24, &s->d_ff) &&
           option_number(o, "d-kv", 1, 1 << 16, &s->d_kv) &&
           option_number(o, "heads", 1, 1 << 16, &s->heads) &&
           option_number(o, "layers", 1, 1 << 12, &s->layers) &&
           option_number(o, "max-length", 2, 1 << 24, &s->max_length) &&
           option_number(o, "step", 1, INT64_MAX, &s->step);
}

static mtf_transformer *build(mtf_session *s, const sizes *n, int64_t vocab)
{
    mtf_transformer_layer layers[] = {
        {.kind = MTF_SELF_ATTENTION,
         .attention = {.heads = (int64_t)n->heads, .kv = (int64_t)n->d_kv}},
        {.kind = MTF_FEED_FORWARD, .feed_forward = {.hidden = (int64_t)n->d_ff}},
        {0}};
    return mtf_transformer_new(
        s, &(mtf_transformer_opts){.d_model = (int64_t)n->d_model,
                                   .input_vocab = vocab,
                                   .stack = {.layers = layers,
                                             .blocks = (int64_t)n->layers,
                                             .max_length = (int64_t)n->max_length}});
}

/* Variables must exist before a checkpoint is loaded. */
static bool make_variables(const opened_model *m)
{
    mtf_graph  *g = mtf_graph_new(m->session);
    mtf_dim     batch = {"batch", 1}, length = {"length", 2};
    mtf_tensor *targets = g ? mtf_input(g, "targets", MTF_I32, mtf_shape(batch, length)) : NULL;
    TRY(targets != NULL);
    mtf_tensor *inputs = transformer_has_encoder(m->model)
                             ? mtf_input(g, "inputs", MTF_I32, mtf_shape(batch, length))
                             : NULL;
    mtf_transformer_result r = mtf_transformer_apply(
        m->model, &(mtf_transformer_batch){.inputs = inputs, .targets = targets}, NULL);
    return r.logits && mtf_compile(g, r.logits);
}

static bool load(const options *o, int64_t step, opened_model *m)
{
    const char *path = option_nth(o, "checkpoint-dir", 0);
    mtf_loaded  from;
    if (!path) {
        if (mtf_is_first(m->session))
            fputs("mtf: note: there is no --checkpoint-dir, so the weights are random\n", stderr);
        return true;
    }
    TRY(make_variables(m) && mtf_load(m->session, path, &(mtf_load_opts){.step = step}, &from));
    m->step = from.step;
    return true;
}

/* The model of configuration files. */
static opened_model *open_config(const options *o, int64_t step, int *status)
{
    mtf_session *s = choose_session(o, false, status);
    if (!s) return NULL;
    opened_model *m = arena_new(&s->arena, opened_model);
    config_setup  c;
    if (m && config_open(o, s, true, &c)) {
        *m = (opened_model){.session = s,
                            .model = c.model,
                            .vocabulary = c.targets,
                            .inputs_vocabulary = c.inputs == c.targets ? NULL : c.inputs,
                            .name = o->words[0],
                            .max_length = c.run.targets_length,
                            .max_inputs = c.run.inputs_length};
        if (load(o, step, m)) return m;
    }
    *status = close_session(s);
    return NULL;
}

opened_model *model_open(const options *o, int *status)
{
    sizes n;
    *status = STATUS_USAGE;
    if (!read_sizes(o, &n)) return NULL;
    if (config_given(o)) return open_config(o, (int64_t)n.step, status);
    mtf_session *s = choose_session(o, false, status);
    if (!s) return NULL;
    opened_model *m = arena_new(&s->arena, opened_model);
    if (m) {
        *m = (opened_model){.session = s, .name = "bytes"};
        m->vocabulary = mtf_vocabulary_open(s, option_nth(o, "vocabulary", 0));
        if (m->vocabulary) m->model = build(s, &n, mtf_vocabulary_size(m->vocabulary));
        if (m->model && load(o, (int64_t)n.step, m)) return m;
    }
    *status = close_session(s);
    return NULL;
}

/* Compares config.json with the configuration that a checkpoint keeps.
 *
 * Weights of one shape may belong to different models: another number of heads or experts, another
 * activation.  Both descriptions become options of a model, and these are compared, where both say
 * something.  What only training knows, such as dropout, is not compared.
 */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/numbers.h"
#include "base/session.h"
#include "base/textbuf.h"
#include "checkpoint/json_in.h"
#include "model/config/kept.h"
#include "model/published/conversion.h"
#include "mtf_config.h"

typedef struct comparison {
    mtf_session            *session;
    const published_config *config;
    const char             *path, *kept; /* of config.json, and of the checkpoint's configuration */
    const cJSON            *root;
} comparison;

/* ---- the sentence ---- */

static const char *number_text(const comparison *c, double x)
{
    textbuf t = {.arena = &c->session->arena};
    text_add(&t, "%.9g", x);
    return text_done(&t);
}

static const cJSON *member_of(const comparison *c, const char *name)
{
    const cJSON *more = json_member(c->root, "rope_parameters");
    const cJSON *inner = more && !cJSON_IsNull(more) ? json_member(more, name) : NULL;
    return inner ? inner : json_member(c->root, name);
}

/* `here` and `there` are what config.json and the checkpoint's configuration say. */
static bool differs(const comparison *c, const char *name, const char *here, const char *there)
{
    const cJSON *x = member_of(c, name);
    bool         absent = !x || cJSON_IsNull(x);
    TRY(here && there);
    return fail(&c->session->fault, ERR_VALUE,
                "\"%s\": \"%s\" is %s%s, but %s in \"%s\", the configuration that belongs to the "
                "weights; give the config.json of this model with --config",
                c->path, name, absent ? "absent, which means " : "", here, there, c->kept);
}

static bool same_number(const comparison *c, const char *name, double here, double there)
{
    if (!name || fabs(here - there) <= 1e-6 * fabs(here)) return true;
    return differs(c, name, number_text(c, here), number_text(c, there));
}

static bool same_truth(const comparison *c, const char *name, bool here, bool there)
{
    static const char *const words[] = {"false", "true"};
    return here == there || differs(c, name, words[here], words[there]);
}

/* ---- what members are called ---- */

typedef struct member_names {
    const char *heads, *memory_heads, *kv, *max_distance, *scales, *rotary, *activation, *choices,
        *epsilon;
} member_names;

/* NULL: the family's config.json has no such member. */
static const member_names names_of[] = {
    [PUBLISHED_T5] = {.heads = "num_heads",
                      .kv = "d_kv",
                      .max_distance = "relative_attention_max_distance",
                      .activation = "feed_forward_proj",
                      .epsilon = "layer_norm_epsilon"},
    [PUBLISHED_GPT2] = {.heads = "n_head",
                        .scales = "scale_attn_weights",
                        .activation = "activation_function",
                        .epsilon = "layer_norm_epsilon"},
    [PUBLISHED_MIXTRAL] = {.heads = "num_attention_heads",
                           .memory_heads = "num_key_value_heads",
                           .kv = "head_dim",
                           .rotary = "rope_theta",
                           .activation = "hidden_act",
                           .choices = "num_experts_per_tok",
                           .epsilon = "rms_norm_eps"}};

/* ---- layers ---- */

static bool same_attention(const comparison *c, const mtf_attention_layer *o)
{
    const published_config *here = c->config;
    const member_names     *names = &names_of[here->family];
    TRY(same_number(c, names->heads, (double)here->heads, (double)o->heads));
    int64_t memory = o->memory_heads ? o->memory_heads : o->heads;
    TRY(same_number(c, names->memory_heads, (double)here->memory_heads, (double)memory) &&
        same_number(c, names->kv, (double)here->d_kv, (double)o->kv));
    if (o->relative)
        TRY(same_number(c, names->max_distance, (double)here->max_distance,
                        (double)o->max_distance));
    if (names->scales) TRY(same_truth(c, names->scales, here->scaled_queries, o->scale_queries));
    return same_number(c, names->rotary, here->rotary, o->rotary);
}

/* The word of config.json for one of our activations, in the arena. */
static const char *activation_text(const comparison *c, const char *ours)
{
    bool        t5 = c->config->family == PUBLISHED_T5, gated = t5 && c->config->gated;
    const char *theirs = published_activation(ours);
    textbuf     t = {.arena = &c->session->arena};
    if (gated && strcmp(theirs, "gelu_new") == 0) theirs = "gelu";
    text_add(&t, "\"%s%s\"", gated ? "gated-" : "", theirs);
    return text_done(&t);
}

/* The first of the activations; shapes tell whether there are two. */
static bool same_activation(const comparison *c, const char *const *there)
{
    const char *here = c->config->activation, *first = there[0];
    if (!first || strcmp(published_activation(here), published_activation(first)) == 0) return true;
    return differs(c, names_of[c->config->family].activation, activation_text(c, here),
                   activation_text(c, first));
}

static bool same_layers(const comparison *c, const mtf_transformer_layer *l)
{
    const char *choices = names_of[c->config->family].choices;
    for (; l && l->kind; l++) {
        if (l->kind == MTF_SELF_ATTENTION || l->kind == MTF_ENC_DEC_ATTENTION)
            TRY(same_attention(c, &l->attention));
        if (l->kind == MTF_FEED_FORWARD) TRY(same_activation(c, l->feed_forward.activation));
        if (l->kind != MTF_MOE) continue;
        TRY(same_activation(c, l->moe.activation));
        if (l->moe.gating && strcmp(l->moe.gating, "top_k") == 0 && l->moe.k > 0)
            TRY(same_number(c, choices, (double)c->config->choices, (double)l->moe.k));
    }
    return true;
}

/* ---- norms ---- */

/* Norms among these steps, as "rms_norm" or "rms_norm(1e-05)". */
static bool same_norms(const comparison *c, mtf_sublayers words, double usual)
{
    static const char *const norms[] = {"rms_norm", "layer_norm", "legacy_rms_norm",
                                        "legacy_final_rms_norm"};
    for (; words && *words; words++)
        for (size_t i = 0; i < sizeof norms / sizeof *norms; i++) {
            size_t      n = strlen(norms[i]);
            const char *end = *words + n;
            if (strncmp(*words, norms[i], n) != 0 || (*end && *end != '(')) continue;
            TRY(same_number(c, names_of[c->config->family].epsilon, c->config->epsilon,
                            *end ? number_read(end + 1, NULL) : usual));
        }
    return true;
}

static bool same_stack(const comparison *c, const mtf_stack_opts *o)
{
    double usual = o->epsilon > 0 ? o->epsilon : 1e-6;
    return same_layers(c, o->layers) && same_norms(c, o->per_layer, usual) &&
           same_norms(c, o->final, usual);
}

/* T5 scales logits of tied weights, unless its config.json says otherwise, which the member does that is
 * there: old files have only the latter. */
static bool same_scaling(const comparison *c, const mtf_transformer_opts *o)
{
    static const char *const names[] = {"scale_decoder_outputs", "tie_word_embeddings"};
    const char              *type = cJSON_GetStringValue(json_member(c->root, "model_type"));
    if (!type || strcmp(type, "t5") != 0 || !c->config->tied || !o->shared_softmax) return true;
    for (int i = 0; i < 2; i++)
        if (cJSON_IsBool(json_member(c->root, names[i])))
            return same_truth(c, names[i], !c->config->unscaled, !o->unscaled_softmax);
    return true;
}

/* ---- the checkpoint's configuration ---- */

/* Its path: beside the weights, or in the folder of the run; NULL: none is kept. */
static const char *kept_path(arena *a, const contents *c)
{
    const char *slash = strrchr(c->folder, '/'), *name = slash ? slash + 1 : c->folder;
    textbuf     own = {.arena = a}, above = {.arena = a};
    text_add(&own, "%s/" CONFIG_KEPT, c->folder);
    text_add(&above, "%.*s" CONFIG_KEPT, (int)(name - c->folder), c->folder);
    if (!c->manifest || !text_done(&own) || !text_done(&above)) return NULL;
    if (access(own.text, R_OK) == 0) return own.text;
    bool of_run = strncmp(name, "step_", strlen("step_")) == 0;
    return of_run && access(above.text, R_OK) == 0 ? above.text : NULL;
}

/* What the session cannot read contradicts nothing. */
static bool read_kept(const comparison *c, mtf_config_model *m)
{
    mtf_session    *s = c->session;
    mtf_config_opts opts = {.files = (const char *const[]){c->kept, NULL}, .skip_unknown = true};
    int64_t         vocab = c->config->vocab;
    mtf_config     *config = mtf_config_open(s, &opts);
    bool            ok = config && mtf_config_get_model(config, vocab, vocab, m);
    if (!ok && s->fault.kind != ERR_MEMORY) fault_clear(&s->fault);
    return ok;
}

bool published_agrees(const conversion *v, const char *path)
{
    mtf_session     *s = v->session;
    const char      *text = v->config.text, *kept = kept_path(&s->arena, &v->source);
    comparison       c = {.session = s, .config = &v->config, .path = path, .kept = kept};
    mtf_config_model m;
    if (v->config.family == PUBLISHED_BERT || !kept || !read_kept(&c, &m)) return mtf_ok(s);
    cJSON *root = json_read(text, strlen(text));
    c.root = root;
    bool ok = same_stack(&c, &m.model.encoder) && same_stack(&c, &m.model.stack) &&
              same_scaling(&c, &m.model);
    cJSON_Delete(root);
    return ok;
}

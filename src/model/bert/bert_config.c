/* BERT's configurations in JSON: the original's, and Hugging Face's.
 *
 * The original's members have names of their own, or those of the first BERT, which Hugging Face uses too.  A file
 * with a "model_type" is Hugging Face's, whose defaults differ; of such files some members must say nothing else
 * than what the model does.  Other members are about training, or about other programs.
 */
#include "model/bert/bert_config.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "checkpoint/json_file.h"
#include "checkpoint/json_in.h"
#include "model/bert/bert_presets.h"

typedef struct bert_reader {
    mtf_session *session;
    const char  *path;
    const cJSON *root;
} bert_reader;

static bool wrong(const bert_reader *r, const char *key, const char *should)
{
    return fail(&r->session->fault, ERR_FILE, "\"%s\": \"%s\" must be %s", r->path, key, should);
}

/* The member of either name, and its name; NULL where it is absent or null. */
static const cJSON *find(const bert_reader *r, const char *name, const char *first,
                         const char **found)
{
    const cJSON *x = json_member(r->root, *found = name);
    if ((!x || cJSON_IsNull(x)) && first) x = json_member(r->root, *found = first);
    return x && !cJSON_IsNull(x) ? x : NULL;
}

/* ---- numbers ---- */

typedef struct number_member {
    const char *name, *first; /* first: the first BERT's; NULL: the same */
    size_t      at;
} number_member;

#define AT(field) offsetof(mtf_bert_opts, field)
/* clang-format off */
static const number_member sizes[] = {
    {"vocab_size",                    NULL,                  AT(vocab_size)},
    {"d_model",                       "hidden_size",         AT(d_model)},
    {"num_blocks",                    "num_hidden_layers",   AT(num_blocks)},
    {"max_position_embeddings",       NULL,                  AT(max_positions)},
    {"type_vocab_size",               NULL,                  AT(type_vocab)},
    {"attention_num_heads",           "num_attention_heads", AT(num_heads)},
    {"attention_key_head_size",       "attention_head_size", AT(head_size)},
    {"attention_num_key_heads",       NULL,                  AT(key_heads)},
    {"attention_num_value_heads",     NULL,                  AT(value_heads)},
    {"attention_value_head_size",     "attention_head_size", AT(value_size)},
    {"feedforward_intermediate_size", "intermediate_size",   AT(intermediate_size)},
    {"moe_num_experts",               NULL,                  AT(moe_num_experts)},
    {"moe_intermediate_size",         NULL,                  AT(moe_intermediate_size)},
};
static const number_member rates[] = {
    {"layer_output_dropout_prob",             "hidden_dropout_prob", AT(output_dropout)},
    {"attention_probs_dropout_prob",          NULL,                  AT(attention_dropout)},
    {"feedforward_intermediate_dropout_prob", NULL,                  AT(intermediate_dropout)},
};
/* clang-format on */
#undef AT

static bool read_sizes(const bert_reader *r, mtf_bert_opts *o)
{
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const char  *key;
        int64_t     *to = (int64_t *)(void *)((char *)o + sizes[i].at);
        const cJSON *x = find(r, sizes[i].name, sizes[i].first, &key);
        if (x && !(json_whole(x, to) && *to > 0)) return wrong(r, key, "a whole number, 1 or more");
    }
    return o->vocab_size > 0 || wrong(r, "vocab_size", "a whole number, 1 or more");
}

/* A rate of 0 means none, which options write as a number below 0. */
static bool read_rates(const bert_reader *r, mtf_bert_opts *o)
{
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        const char  *key;
        double      *to = (double *)(void *)((char *)o + rates[i].at);
        const cJSON *x = find(r, rates[i].name, rates[i].first, &key);
        if (!x) continue;
        if (!cJSON_IsNumber(x) || !(x->valuedouble >= 0 && x->valuedouble < 1))
            return wrong(r, key, "a number from 0 up to, not including, 1");
        *to = x->valuedouble > 0 ? x->valuedouble : -1;
    }
    return true;
}

static bool read_epsilon(const bert_reader *r, mtf_bert_opts *o)
{
    static const char key[] = "layer_norm_eps";
    const cJSON      *x = json_member(r->root, key);
    if (!x) return true;
    o->epsilon = cJSON_IsNumber(x) ? x->valuedouble : 0;
    return o->epsilon > 0 || wrong(r, key, "a number above 0");
}

/* 0 or null: by the number of inputs. */
static bool read_initializer(const bert_reader *r, mtf_bert_opts *o)
{
    static const char key[] = "initializer_range";
    const cJSON      *x = json_member(r->root, key);
    if (!x) return true;
    if (!cJSON_IsNull(x) && (!cJSON_IsNumber(x) || !(x->valuedouble >= 0)))
        return wrong(r, key, "a number, 0 or more, or null");
    o->initializer_range = cJSON_IsNumber(x) && x->valuedouble > 0 ? x->valuedouble : -1;
    return true;
}

/* ---- words ---- */

/* The number of the member's word in a list that ends with NULL. */
static bool read_choice(const bert_reader *r, const char *key, const char *const *words,
                        const char *should, int *choice)
{
    const cJSON *x = json_member(r->root, key);
    const char  *word = cJSON_GetStringValue(x);
    *choice = 0;
    if (!x || cJSON_IsNull(x)) return true;
    for (int i = 0; word && words[i]; i++)
        if (strcmp(word, words[i]) == 0) {
            *choice = i;
            return true;
        }
    return wrong(r, key, should);
}

static bool read_structure(const bert_reader *r, mtf_bert_opts *o)
{
    static const char *const positions[] = {"embedding", "relative_attention_bias", NULL};
    static const char *const residuals[] = {"original", "direct", NULL};
    int                      position, residual;
    const cJSON             *bias = json_member(r->root, "use_bias");
    TRY(read_choice(r, "position_signal", positions, "\"embedding\" or \"relative_attention_bias\"",
                    &position) &&
        read_choice(r, "residual_structure", residuals, "\"original\" or \"direct\"", &residual));
    if (bias && !cJSON_IsBool(bias)) return wrong(r, "use_bias", "true or false");
    o->positions = (mtf_bert_positions)position;
    o->residual = (mtf_bert_residual)residual;
    o->no_bias = bias && cJSON_IsFalse(bias);
    return true;
}

/* "attention,feedforward", or a list of such words. */
static bool read_layers(const bert_reader *r, mtf_bert_opts *o)
{
    static const char key[] = "block_layers", should[] = "words as in \"attention,feedforward\"";
    const cJSON      *x = json_member(r->root, key);
    textbuf           t = {.arena = &r->session->arena};
    if (!x) return true;
    if (!cJSON_IsArray(x) && !cJSON_IsString(x)) return wrong(r, key, should);
    if (cJSON_IsString(x)) text_add(&t, "%s", cJSON_GetStringValue(x));
    for (const cJSON *one = cJSON_IsArray(x) ? x->child : NULL; one; one = one->next) {
        if (!cJSON_IsString(one)) return wrong(r, key, should);
        text_add(&t, "%s%s", t.used ? "," : "", cJSON_GetStringValue(one));
    }
    return (o->block_layers = text_done(&t)) != NULL;
}

/* Hugging Face's gelu is exact, the original's an approximation. */
static bool read_activation(const bert_reader *r, bool theirs, mtf_bert_opts *o)
{
    static const struct {
        const char *theirs, *ours;
    } names[] = {{"gelu", "gelu_exact"}, {"gelu_new", "gelu"}, {"gelu_pytorch_tanh", "gelu"},
                 {"gelu_fast", "gelu"},  {"silu", "swish"},    {"swish", "swish"},
                 {"relu", "relu"},       {"tanh", "tanh"}};
    const char  *key, *word;
    const cJSON *x = find(r, "feedforward_intermediate_act", "hidden_act", &key);
    if (theirs && !x) o->activation = "gelu_exact";
    if (!x) return true;
    if (!(word = cJSON_GetStringValue(x))) return wrong(r, key, "the name of an activation");
    for (size_t i = 0; theirs && i < sizeof names / sizeof *names; i++)
        if (strcmp(word, names[i].theirs) == 0) {
            o->activation = names[i].ours;
            return true;
        }
    if (theirs)
        return fail(&r->session->fault, ERR_FILE,
                    "\"%s\": \"%s\" is \"%s\", which mtf does not know", r->path, key, word);
    return (o->activation = arena_text(&r->session->arena, word)) != NULL;
}

/* ---- the whole ---- */

/* What Hugging Face's files may say, but the model does not do. */
static bool check_theirs(const bert_reader *r, mtf_bert_opts *o)
{
    static const char *const types[] = {"bert", NULL}, *const signals[] = {"absolute", NULL};
    int unused;
    if (cJSON_IsTrue(json_member(r->root, "is_decoder"))) return wrong(r, "is_decoder", "false");
    if (o->type_vocab == 0) o->type_vocab = 2;
    if (o->epsilon == 0) o->epsilon = 1e-12;
    return read_choice(r, "model_type", types, "\"bert\"", &unused) &&
           read_choice(r, "position_embedding_type", signals, "\"absolute\"", &unused);
}

bool bert_config_parse(mtf_session *s, const char *path, const cJSON *root, mtf_bert_opts *o)
{
    bert_reader r = {s, path, root};
    bool        theirs = json_member(root, "model_type") != NULL;
    *o = (mtf_bert_opts){0};
    TRY(read_sizes(&r, o) && read_rates(&r, o) && read_epsilon(&r, o) && read_initializer(&r, o) &&
        read_structure(&r, o) && read_layers(&r, o) && read_activation(&r, theirs, o));
    return !theirs || check_theirs(&r, o);
}

/* A word without a file may be a misspelt name. */
static bool file_is_there(mtf_session *s, const char *path)
{
    nearest near = {.wanted = path};
    char    hint[100];
    if (access(path, F_OK) == 0) return true;
    for (int i = 0; bert_preset_nth(i); i++) nearest_offer(&near, bert_preset_nth(i));
    return fail(&s->fault, ERR_FILE, "\"%s\" cannot be opened: %s%s", path, strerror(errno),
                nearest_hint(&near, hint, sizeof hint));
}

bool mtf_bert_read_config(mtf_session *s, const char *path, mtf_bert_opts *opts)
{
    if (!s || !mtf_ok(s)) return false;
    const mtf_bert_opts *known = bert_preset(path);
    if (known) {
        *opts = *known;
        return true;
    }
    TRY(file_is_there(s, path));
    const char *text = json_file_text(s, path);
    TRY(text != NULL);
    cJSON *root = json_read(text, strlen(text));
    if (!root) return fail(&s->fault, ERR_FILE, "\"%s\" is not a JSON object", path);
    bool ok = json_members_differ(s, path, root) && bert_config_parse(s, path, root, opts);
    cJSON_Delete(root);
    return ok;
}

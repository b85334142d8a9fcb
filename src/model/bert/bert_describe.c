/* Descriptions of BERT: checked, copied, completed with defaults. */
#include "model/bert/bert_describe.h"

#include <string.h>

#include "base/numbers.h"
#include "base/whole.h"
#include "model/bert/bert.h"
#include "nn/layer.h"

static const char *const layer_names[] = {"attention", "feedforward", "moe"};
enum { LAYER_NAMES = sizeof layer_names / sizeof *layer_names };

const char *bert_layer_name(bert_layer l)
{
    return layer_names[l];
}

/* ---- defaults ---- */

static void set_default(int64_t *value, int64_t otherwise)
{
    if (*value == 0) *value = otherwise;
}

static void set_rate(double *value, double otherwise)
{
    if (*value == 0) *value = otherwise;
    if (*value < 0) *value = 0;
}

void bert_set_defaults(mtf_bert_opts *o)
{
    set_default(&o->d_model, 768);
    set_default(&o->num_blocks, 12);
    set_default(&o->max_positions, 512);
    set_default(&o->type_vocab, 16);
    set_default(&o->num_heads, 12);
    set_default(&o->intermediate_size, 3072);
    set_default(&o->moe_num_experts, 32);
    set_default(&o->moe_intermediate_size, 6144);
    set_default(&o->key_heads, o->num_heads);
    set_default(&o->value_heads, o->num_heads);
    set_rate(&o->output_dropout, 0.1);
    set_rate(&o->attention_dropout, 0.1);
    set_rate(&o->intermediate_dropout, 0);
    if (o->epsilon == 0) o->epsilon = 1e-6;
    if (o->initializer_range == 0) o->initializer_range = 0.02;
    if (!o->block_layers) o->block_layers = "attention,feedforward";
    if (!o->activation) o->activation = "gelu";
}

/* ---- checks ---- */

static bool check_sizes(fault *f, const mtf_bert_opts *o)
{
    const struct {
        const char *name;
        int64_t     value;
    } sizes[] = {{"vocab_size", o->vocab_size},
                 {"d_model", o->d_model},
                 {"num_blocks", o->num_blocks},
                 {"max_positions", o->max_positions},
                 {"type_vocab", o->type_vocab},
                 {"num_heads", o->num_heads},
                 {"key_heads", o->key_heads},
                 {"value_heads", o->value_heads},
                 {"intermediate_size", o->intermediate_size},
                 {"moe_num_experts", o->moe_num_experts},
                 {"moe_intermediate_size", o->moe_intermediate_size}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (sizes[i].value < 1 || sizes[i].value > INT32_MAX - BERT_VOCAB_DIVISOR)
            return fail(f, ERR_VALUE, "bert: %s is %lld; it must be from 1 to %d", sizes[i].name,
                        (long long)sizes[i].value, INT32_MAX - BERT_VOCAB_DIVISOR);
    return o->num_blocks < 1000 ||
           fail(f, ERR_VALUE, "bert: %lld blocks are more than 999", (long long)o->num_blocks);
}

static bool check_rates(fault *f, const mtf_bert_opts *o)
{
    const struct {
        const char *name;
        double      value;
    } rates[] = {{"output_dropout", o->output_dropout},
                 {"attention_dropout", o->attention_dropout},
                 {"intermediate_dropout", o->intermediate_dropout}};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
        if (!(rates[i].value < 1))
            return fail(f, ERR_VALUE, "bert: %s is %g; it must be below 1, and below 0 means none",
                        rates[i].name, rates[i].value);
    return o->epsilon > 0 ||
           fail(f, ERR_VALUE, "bert: epsilon is %g; it must be above 0", o->epsilon);
}

static bool complete_heads(fault *f, mtf_bert_opts *o)
{
    if (o->head_size == 0 && o->d_model % o->num_heads)
        return fail(f, ERR_VALUE,
                    "bert: d_model is %lld, which %lld heads do not divide; say head_size",
                    (long long)o->d_model, (long long)o->num_heads);
    set_default(&o->head_size, o->d_model / o->num_heads);
    set_default(&o->value_size, o->head_size);
    return (o->head_size > 0 && o->value_size > 0) ||
           fail(f, ERR_VALUE, "bert: heads of size %lld and %lld; they must be 1 or more",
                (long long)o->head_size, (long long)o->value_size);
}

static bool check_activation(fault *f, const char *name)
{
    nearest near = {.wanted = name};
    char    hint[100];
    if (activation_exists(name)) return true;
    for (int i = 0; activation_nth(i); i++) nearest_offer(&near, activation_nth(i));
    return fail(f, ERR_VALUE, "bert: there is no activation \"%s\"%s", name,
                nearest_hint(&near, hint, sizeof hint));
}

/* ---- layers ---- */

static int layer_of(const char *word, size_t size)
{
    for (int i = 0; i < LAYER_NAMES; i++)
        if (strlen(layer_names[i]) == size && memcmp(layer_names[i], word, size) == 0) return i;
    return -1;
}

static bool read_layers(mtf_bert *m)
{
    const char *at = m->opts.block_layers;
    for (;; at++) {
        size_t size = strcspn(at, ",");
        int    found = layer_of(at, size);
        if (found < 0)
            return fail(&m->session->fault, ERR_VALUE,
                        "bert: \"%.*s\" in block_layers \"%s\" is none of attention, feedforward "
                        "and moe",
                        (int)size, at, m->opts.block_layers);
        if (m->nlayers == BERT_MOST_LAYERS)
            return fail(&m->session->fault, ERR_VALUE, "bert: a block has more than %d layers",
                        BERT_MOST_LAYERS);
        m->layers[m->nlayers++] = (bert_layer)found;
        at += size;
        if (!*at) return true;
    }
}

/* ---- models ---- */

static void set_dims(mtf_bert *m)
{
    const mtf_bert_opts *o = &m->opts;
    int64_t              rows = round_up(o->vocab_size, BERT_VOCAB_DIVISOR);
    m->vocab = (mtf_dim){"vocab", rows};
    m->hidden = (mtf_dim){"hidden", o->d_model};
    m->intermediate = (mtf_dim){"intermediate", o->intermediate_size};
    m->types = (mtf_dim){"token_type_vocab", o->type_vocab};
    m->positions = (mtf_dim){"max_position_embeddings", o->max_positions};
    m->heads = m->key_heads = m->value_heads = (mtf_dim){"num_heads", o->num_heads};
    if (o->key_heads != o->num_heads) m->key_heads = (mtf_dim){"key_heads", o->key_heads};
    if (o->value_heads != o->num_heads) m->value_heads = (mtf_dim){"value_heads", o->value_heads};
    m->key = m->value = (mtf_dim){"size_per_head", o->head_size};
    if (o->value_size != o->head_size) m->value = (mtf_dim){"value_size", o->value_size};
}

static void set_initializers(mtf_bert *m)
{
    double range = m->opts.initializer_range;
    if (range < 0) {
        snprintf(m->kernel_init, sizeof m->kernel_init, "variance_scaling(0.4, fan_in, normal)");
        memcpy(m->table_init, m->kernel_init, strlen(m->kernel_init) + 1);
        return;
    }
    number_format(m->kernel_init, sizeof m->kernel_init, "truncated_normal(0, %.17g)", range);
    memcpy(m->table_init, m->kernel_init, strlen(m->kernel_init) + 1);
}

static bool copy_texts(arena *a, mtf_bert_opts *o)
{
    return (o->block_layers = arena_text(a, o->block_layers)) &&
           (o->activation = arena_text(a, o->activation));
}

mtf_bert *mtf_bert_new(mtf_session *s, const mtf_bert_opts *opts)
{
    if (!s || !mtf_ok(s)) return NULL;
    mtf_bert *m = arena_new(&s->arena, mtf_bert);
    if (!m) return NULL;
    *m = (mtf_bert){.session = s, .opts = *opts};
    bert_set_defaults(&m->opts);
    bool ok = check_sizes(&s->fault, &m->opts) && check_rates(&s->fault, &m->opts) &&
              complete_heads(&s->fault, &m->opts) &&
              check_activation(&s->fault, m->opts.activation) && copy_texts(&s->arena, &m->opts) &&
              read_layers(m);
    if (!ok) return NULL;
    set_dims(m);
    set_initializers(m);
    return m;
}

/* Descriptions of Transformers: checked, copied, completed with defaults. */
#include <string.h>

#include "base/dtype.h"
#include "base/whole.h"
#include "model/transformer/funnel.h"
#include "model/transformer/layer_kind.h"
#include "model/transformer/sublayers.h"
#include "model/transformer/transparent.h"
#include "model/transformer/universal.h"
#include "model/transformer/vocab.h"

/* ---- stacks ---- */

static const char *const initial_default[] = {"dropout", NULL};
static const char *const per_layer_default[] = {"rms_norm", "call_layer", "dropout", "residual",
                                                NULL};
static const char *const half_default[] = {"rms_norm", "call_layer", "dropout", NULL};
static const char *const final_default[] = {"rms_norm", "dropout", NULL};

/* Returns the list itself where all its names are known; they are string literals of the program. */
static bool complete_sublayers(mtf_session *s, const char *whose, bool around_layer,
                               mtf_sublayers otherwise, mtf_sublayers *list)
{
    int n = 0, calls = 0;
    if (!*list) *list = otherwise;
    for (; (*list)[n]; n++) {
        nearest near = {.wanted = (*list)[n]};
        if (strcmp((*list)[n], "call_layer") == 0) calls++;
        if (sublayer_find((*list)[n])) continue;
        for (int k = 0; sublayer_nth(k); k++) nearest_offer(&near, sublayer_nth(k)->name);
        return fail(&s->fault, ERR_NAME, "%s: there is no sublayer \"%s\"; did you mean \"%s\"?",
                    whose, (*list)[n], near.best ? near.best : "rms_norm");
    }
    if (calls != around_layer)
        return fail(&s->fault, ERR_VALUE,
                    around_layer ? "%s: the sublayers of a layer must have \"call_layer\" once"
                                 : "%s: \"call_layer\" belongs to the sublayers of a layer, not to "
                                   "the initial or final ones",
                    whose);
    const char **own = arena_array(&s->arena, const char *, (size_t)n + 1);
    for (int k = 0; own && k < n; k++) own[k] = arena_text(&s->arena, (*list)[k]);
    *list = own;
    return own != NULL;
}

static bool check_reversible(fault *f, const stack *s)
{
    const mtf_stack_opts *o = &s->opts;
    for (int k = 0; o->reversible && k < s->nlayers; k++)
        if (layer_has_experts(&s->layers[k]))
            return fail(
                f, ERR_VALUE,
                "%s: the layers of a reversible stack give nothing but their result, and %s has a "
                "loss besides; use recompute",
                o->name, s->layers[k].name);
    for (int k = 0; o->reversible && o->per_layer[k]; k++)
        if (strcmp(o->per_layer[k], "residual") == 0)
            return fail(
                f, ERR_VALUE,
                "%s: a reversible stack adds what its layers give; leave \"residual\" out of "
                "the sublayers of a layer",
                o->name);
    return true;
}

/* How often blocks are applied, each pass counted. */
static bool check_applied(fault *f, const mtf_stack_opts *o)
{
    const mtf_universal_opts *u = o->universal;
    int64_t n = u ? o->blocks * (u->before + u->steps * u->inner + u->after) : o->blocks;
    for (int64_t k = 0; o->funnel && k < o->funnel->blocks; k++)
        n += o->funnel->layers[k] * (o->funnel->repeats[k] - 1);
    return n <= MOST_APPLIED ||
           fail(f, ERR_VALUE, "%s: %lld blocks, each pass counted, are more than %d", o->name,
                (long long)n, (int)MOST_APPLIED);
}

static bool complete_stack(mtf_session *s, const mtf_stack_opts *given, const char *name,
                           bool has_encoder, stack *to)
{
    mtf_stack_opts *o = &to->opts;
    *o = *given;
    o->name = arena_text(&s->arena, o->name ? o->name : name);
    TRY(o->name != NULL);
    set_default(&o->blocks, 6);
    set_default(&o->max_length, 512);
    if (o->epsilon == 0) o->epsilon = 1e-6;
    if (o->min_timescale == 0) o->min_timescale = 1;
    if (o->max_timescale == 0) o->max_timescale = 1e4;
    if (!(o->min_timescale > 0 && o->max_timescale > 0))
        return fail(&s->fault, ERR_VALUE,
                    "%s: sinusoids of timescales from %g to %g; both must be above 0", o->name,
                    o->min_timescale, o->max_timescale);
    while (o->layers && o->layers[to->nlayers].kind) to->nlayers++;
    if (!to->nlayers) return fail(&s->fault, ERR_VALUE, "%s: the stack has no layers", o->name);
    if (o->blocks < 1 || o->max_length < 1)
        return fail(&s->fault, ERR_VALUE, "%s: %lld blocks, %lld positions; both must be 1 or more",
                    o->name, (long long)o->blocks, (long long)o->max_length);
    if (o->blocks > MOST_BLOCKS)
        return fail(&s->fault, ERR_VALUE, "%s: %lld blocks are more than %d", o->name,
                    (long long)o->blocks, (int)MOST_BLOCKS);
    to->layers = arena_copy(&s->arena, o->layers, sizeof *to->layers * (size_t)to->nlayers);
    TRY(to->layers != NULL);
    o->layers = to->layers;
    for (int k = 0; k < to->nlayers; k++) {
        mtf_transformer_layer *l = &to->layers[k];
        TRY(layer_complete(s, l));
        l->name = arena_text(&s->arena, l->name);
        if (l->place) l->place = arena_text(&s->arena, l->place);
        TRY(l->name && (l->place || !given->layers[k].place));
        if (layer_attends_to_encoder(l) && !has_encoder)
            return fail(&s->fault, ERR_VALUE,
                        "%s: %s attends to an encoder, which the model does not have", o->name,
                        l->name);
    }
    return check_share(&s->fault, "the dropout of a stack", o->dropout) &&
           check_share(&s->fault, "the dropout of tokens", o->token_dropout) &&
           complete_sublayers(s, o->name, false, initial_default, &o->initial) &&
           complete_sublayers(s, o->name, true, o->reversible ? half_default : per_layer_default,
                              &o->per_layer) &&
           check_reversible(&s->fault, to) && universal_complete(s, o) && funnel_complete(s, o) &&
           check_applied(&s->fault, o) &&
           complete_sublayers(s, o->name, false, final_default, &o->final);
}

/* ---- models ---- */

static bool complete_sizes(mtf_transformer *m)
{
    mtf_transformer_opts *o = &m->opts;
    fault                *f = &m->session->fault;
    set_default(&o->d_model, 1024);
    set_default(&o->vocab_divisor, 128);
    set_default(&o->output_vocab, o->input_vocab);
    set_default(&o->ensemble, 1);
    if (o->end == 0) o->end = 1;
    if (o->z_loss == 0) o->z_loss = 1e-4;
    if (o->input_vocab < 2 || o->output_vocab < 2 || o->vocab_divisor < 1)
        return fail(
            f, ERR_VALUE,
            "a model of %lld input and %lld output tokens, rounded up to multiples of %lld; "
            "there must be 2 tokens or more, and the divisor is 1 or more",
            (long long)o->input_vocab, (long long)o->output_vocab, (long long)o->vocab_divisor);
    if (o->d_model < 1 || o->ensemble < 1 || o->loss_block < 0)
        return fail(f, ERR_VALUE,
                    "d_model is %lld, the ensemble has %lld members; both must be 1 or "
                    "more, and loss_block is 0 or more",
                    (long long)o->d_model, (long long)o->ensemble);
    if (o->end < 0 || o->end >= o->output_vocab)
        return fail(f, ERR_VALUE, "the token %d ends a sequence; there are %lld output tokens",
                    o->end, (long long)o->output_vocab);
    m->d_model = (mtf_dim){"d_model", o->d_model};
    m->input_vocab = (mtf_dim){"vocab", round_up(o->input_vocab, o->vocab_divisor)};
    m->output_vocab = (mtf_dim){"vocab", round_up(o->output_vocab, o->vocab_divisor)};
    if (o->ensemble > 1) m->ensemble = mtf_shape((mtf_dim){"ensemble", o->ensemble});
    return true;
}

static bool has_experts(const stack *s)
{
    for (int k = 0; k < s->nlayers; k++)
        if (layer_has_experts(&s->layers[k])) return true;
    return false;
}

static bool has_sinusoids(const stack *s)
{
    const mtf_universal_opts *u = s->opts.universal;
    return s->opts.positions == MTF_POSITIONS_SINUSOID ||
           (u && (!u->no_position_signal || (!u->no_step_signal && u->sinusoid_steps)));
}

static bool check_model(const mtf_transformer *m)
{
    const mtf_transformer_opts *o = &m->opts;
    fault                      *f = &m->session->fault;
    bool one_table = transformer_has_encoder(m) ? !o->separate_embedding : o->shared_softmax;
    if (one_table && m->input_vocab.size != m->output_vocab.size)
        return fail(
            f, ERR_VALUE,
            "a shared table needs one number of tokens; there are %lld input and %lld output "
            "tokens",
            (long long)o->input_vocab, (long long)o->output_vocab);
    if (m->decoder.opts.funnel)
        return fail(f, ERR_VALUE,
                    "%s: a funnel leaves fewer positions than there are tokens; it belongs to the "
                    "encoder of an encoder-decoder",
                    m->decoder.opts.name);
    if (o->bidirectional && (o->prefix || transformer_has_encoder(m)))
        return fail(f, ERR_VALUE, "a bidirectional model is one stack without a prefix");
    if (o->prefix && transformer_has_encoder(m))
        return fail(f, ERR_VALUE, "a prefix belongs to models of one stack");
    if (o->sentinels < 0 || o->sentinels > o->input_vocab)
        return fail(f, ERR_VALUE, "%lld of %lld tokens are sentinels; there must be fewer",
                    (long long)o->sentinels, (long long)o->input_vocab);
    if (!dtype_is_float(o->activation) || dtype_is_f8(o->activation))
        return fail(f, ERR_TYPE, "a Transformer computes in f32, bf16, f16 or f64");
    if (o->d_model % 2 && (has_sinusoids(&m->decoder) || has_sinusoids(&m->encoder)))
        return fail(f, ERR_VALUE, "sinusoid positions need an even d_model, not %lld",
                    (long long)o->d_model);
    if (!(o->init_deviation >= 0 && o->init_deviation < 1e3))
        return fail(f, ERR_VALUE, "initial weights of the deviation %g; it must be 0 or more",
                    o->init_deviation);
    if (o->ensemble > 1 && (has_experts(&m->decoder) || has_experts(&m->encoder)))
        return fail(f, ERR_VALUE, "the members of an ensemble have no mixtures of experts");
    if (!transparent_check(m)) return false;
    if (o->init_deviation > 0 && o->context.unit_scaling)
        return fail(f, ERR_VALUE, "with unit scaling, initial weights have the deviation 1, not %g",
                    o->init_deviation);
    return check_share(f, "label smoothing", o->label_smoothing);
}

static bool check_layers(const mtf_transformer *m, const stack *s)
{
    for (int k = 0; k < s->nlayers; k++) {
        const layer_kind *kind = layer_kind_of(s->layers[k].kind);
        if (kind->fits) TRY(kind->fits(m, s, &s->layers[k]));
    }
    return true;
}

mtf_transformer *mtf_transformer_new(mtf_session *s, const mtf_transformer_opts *opts)
{
    if (!s || !mtf_ok(s)) return NULL;
    mtf_transformer *m = arena_array(&s->arena, mtf_transformer, 1);
    if (!m) return NULL;
    *m = (mtf_transformer){.session = s, .opts = *opts, .decoders = arena_new(&s->arena, int)};
    if (!m->decoders) return NULL;
    if (opts->scope) m->opts.scope = arena_text(&s->arena, opts->scope);
    if (opts->scope && !m->opts.scope) return NULL;
    bool encodes = opts->encoder.layers != NULL;
    m->decoder.causal = !opts->bidirectional;
    m->decoder.has_logits = true;
    bool ok = complete_sizes(m) &&
              (!encodes || complete_stack(s, &opts->encoder, "encoder", false, &m->encoder)) &&
              complete_stack(s, &opts->stack, encodes ? "decoder" : "transformer", encodes,
                             &m->decoder) &&
              check_model(m) && check_layers(m, &m->encoder) && check_layers(m, &m->decoder) &&
              vocabs_complete(m);
    return ok ? m : NULL;
}

/* Vocabularies: the kinds, and what they have in common. */
#include "model/transformer/vocab.h"

#include <math.h>

#include "graph/node.h"

/* ---- kinds ---- */

static const vocab_kind *const vocab_kinds[] = {
    [MTF_VOCAB_TABLE] = &vocab_plain,
    [MTF_VOCAB_FACTORS] = &vocab_factors,
    [MTF_VOCAB_CLUSTERS] = &vocab_clusters,
    [MTF_VOCAB_ADAPTIVE_SOFTMAX] = &vocab_adaptive_softmax,
    [MTF_VOCAB_SOFTMAXES] = &vocab_softmaxes,
    [MTF_VOCAB_MIXTAPE] = &vocab_mixtape,
};

const vocab_kind *vocab_kind_of(mtf_vocab_kind kind)
{
    bool known = (size_t)kind < sizeof vocab_kinds / sizeof *vocab_kinds;
    return known ? vocab_kinds[kind] : NULL;
}

static bool complete(mtf_session *s, const vocab_sizes *z, mtf_vocab_opts *o)
{
    const vocab_kind *kind = vocab_kind_of(o->kind);
    if (!kind)
        return fail(&s->fault, ERR_VALUE, "there is no kind %d of vocabularies", (int)o->kind);
    return !kind->complete || kind->complete(s, z, o);
}

token_vocab vocab_of(const stack_call *c, mtf_dim dim)
{
    const mtf_transformer *m = c->model;
    bool                   inputs = c->stack == &m->encoder || !transformer_has_encoder(m);
    return (token_vocab){.call = c,
                         .opts = &c->stack->vocab,
                         .shared = transformer_has_encoder(m) && !m->opts.separate_embedding,
                         .dim = dim,
                         .tokens = inputs ? m->opts.input_vocab : m->opts.output_vocab};
}

/* ---- the options of a model ---- */

/* What kinds that give logits, or losses, of their own need of the model. */
static bool check_needs(const mtf_transformer *m)
{
    const mtf_transformer_opts *o = &m->opts;
    fault                      *f = &m->session->fault;
    const vocab_kind           *kind = vocab_kind_of(m->decoder.vocab.kind);
    if (kind->needs && !o->shared_softmax)
        return fail(f, ERR_VALUE, "%s needs shared_softmax: %s", kind->name, kind->needs);
    if (!kind->losses) return true;
    if (o->label_smoothing > 0)
        return fail(f, ERR_VALUE,
                    "%s trains each token's own cluster only, and label smoothing, here %g, needs "
                    "all tokens; leave it 0",
                    kind->name, o->label_smoothing);
    return o->loss_block == 0 ||
           fail(f, ERR_VALUE,
                "%s trains without logits of all tokens, which loss_block divides; leave it 0",
                kind->name);
}

bool vocabs_complete(mtf_transformer *m)
{
    const mtf_transformer_opts *o = &m->opts;
    bool                        apart = transformer_has_encoder(m) && o->separate_embedding;
    vocab_sizes                 z = {m->input_vocab, m->d_model, o->input_vocab};
    if (!apart && o->encoder_vocab.kind)
        return fail(&m->session->fault, ERR_VALUE,
                    "encoder_vocab is for an encoder-decoder with separate_embedding");
    m->decoder.vocab = o->vocab;
    m->encoder.vocab = apart ? o->encoder_vocab : o->vocab;
    TRY(complete(m->session, &z, &m->encoder.vocab));
    if (apart) z = (vocab_sizes){m->output_vocab, m->d_model, o->output_vocab};
    return complete(m->session, &z, &m->decoder.vocab) && check_needs(m);
}

/* ---- weights and numbers ---- */

mtf_tensor *vocab_weight(const token_vocab *v, const char *name, mtf_shape shape, double deviation)
{
    return call_table(v->call, v->shared, name, shape, deviation);
}

mtf_tensor *vocab_scaled(const token_vocab *v, mtf_tensor *x)
{
    const mtf_transformer *m = v->call->model;
    return m->opts.unscaled_softmax ? x : mtf_scale(x, pow((double)m->d_model.size, -0.5));
}

mtf_tensor *vocab_exact(mtf_tensor *x)
{
    return !x || x->type == MTF_F64 ? x : mtf_cast(x, MTF_F32);
}

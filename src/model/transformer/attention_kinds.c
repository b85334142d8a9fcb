/* Attention layers as kinds of layers: their options, and what they are asked. */
#include "graph/node.h"
#include "model/transformer/fixup.h"
#include "model/transformer/layer_kind.h"
#include "model/transformer/layer_parts.h"
#include "model/transformer/relative.h"
#include "model/transformer/transparent.h"

/* ---- options ---- */

static bool complete_attention(fault *f, const char *layer, mtf_attention_layer *o)
{
    set_default(&o->heads, 8);
    set_default(&o->kv, 128);
    set_default(&o->buckets, 32);
    set_default(&o->max_distance, 128);
    if (o->heads < 1 || o->kv < 1)
        return fail(f, ERR_VALUE, "%s: %lld heads of size %lld; both must be 1 or more", layer,
                    (long long)o->heads, (long long)o->kv);
    if (o->memory_heads < 0 || (o->memory_heads > 0 && o->heads % o->memory_heads))
        return fail(f, ERR_VALUE, "%s: %lld memory heads do not divide %lld heads", layer,
                    (long long)o->memory_heads, (long long)o->heads);
    if (o->window < 0)
        return fail(f, ERR_VALUE, "%s: the window is %lld; it must be 0 (none) or more", layer,
                    (long long)o->window);
    if (o->rotary_size < 0 || o->rotary_size > o->kv || o->rotary_size % 2 ||
        (o->rotary > 0 && o->rotary_size == 0 && o->kv % 2))
        return fail(
            f, ERR_VALUE,
            "%s: rotary positions rotate an even number of elements, of at most %lld, not %lld",
            layer, (long long)o->kv, (long long)(o->rotary_size ? o->rotary_size : o->kv));
    if (o->extra_logit && o->fixed_extra_logit)
        return fail(f, ERR_VALUE, "%s: the extra logit is either learned or fixed", layer);
    if (o->hybrid && (o->extra_logit || o->fixed_extra_logit))
        return fail(f, ERR_VALUE, "%s: hybrid attention has no extra logit", layer);
    return check_share(f, "the dropout of attention", o->dropout) &&
           relative_check(f, layer, o->relative, o->buckets, o->max_distance);
}

/* Projections by mixtures of experts: what they need, and a copy of their options. */
static bool complete_projections(mtf_session *s, const char *layer, mtf_attention_layer *o)
{
    if (!o->experts) return true;
    const char *which = !o->shared_kv               ? "need shared_kv"
                        : o->separate_heads         ? "need heads in one dimension"
                        : o->bias                   ? "have no biases"
                        : o->f8                     ? "have no products in f8"
                        : o->experts->bias_rate > 0 ? "have no biases of balance"
                                                    : NULL;
    if (which)
        return fail(&s->fault, ERR_VALUE,
                    "%s: its queries and keys come from mixtures of experts, which %s", layer,
                    which);
    o->experts = arena_copy(&s->arena, o->experts, sizeof *o->experts);
    return o->experts != NULL;
}

/* A feed-forward layer for each head. */
static bool complete_branches(mtf_session *s, const char *layer, mtf_attention_layer *o)
{
    if (!o->branches) return true;
    if (!o->separate_heads || o->memory_heads || o->experts || o->bias)
        return fail(&s->fault, ERR_VALUE,
                    "%s: branches need separate_heads, and as many heads of keys as of queries; "
                    "their projections have neither biases nor experts",
                    layer);
    mtf_feed_forward_layer *own = arena_copy(&s->arena, o->branches, sizeof *own);
    o->branches = own;
    return own && feed_forward_layer_check(s, layer, own);
}

static bool complete_fixup(mtf_session *s, const char *layer, mtf_attention_layer *o)
{
    if (o->fixup.layers && (o->experts || !o->scale_queries))
        return fail(&s->fault, ERR_VALUE,
                    "%s: fixup needs scale_queries, and projections that are not experts", layer);
    return fixup_complete(&s->fault, layer, "glorot", &o->fixup);
}

bool attention_layer_check(mtf_session *s, const char *layer, mtf_attention_layer *o)
{
    if (o->transparent) {
        o->transparent = arena_copy(&s->arena, o->transparent, sizeof *o->transparent);
        TRY(o->transparent != NULL);
    }
    return complete_attention(&s->fault, layer, o) && complete_projections(s, layer, o) &&
           complete_branches(s, layer, o) && complete_fixup(s, layer, o);
}

static bool self_complete(mtf_session *s, mtf_transformer_layer *l)
{
    if (l->attention.transparent)
        return fail(&s->fault, ERR_VALUE,
                    "%s: transparent attention is to an encoder; use MTF_ENC_DEC_ATTENTION",
                    l->name);
    return attention_layer_check(s, l->name, &l->attention);
}

static bool enc_dec_complete(mtf_session *s, mtf_transformer_layer *l)
{
    return attention_layer_check(s, l->name, &l->attention);
}

/* ---- what layers do ---- */

static mtf_tensor *apply_self(stack_call *c, const mtf_transformer_layer *l, mtf_tensor *x)
{
    return attention_to_itself(c, &l->attention, NULL, x);
}

static mtf_tensor *apply_enc_dec(stack_call *c, const mtf_transformer_layer *l, mtf_tensor *x)
{
    return attention_to_encoder(c, &l->attention, x);
}

static void keep_encoded(stack_call *c, const mtf_transformer_layer *l, mtf_tensor *encoded)
{
    attention_keep(c, &l->attention, encoded);
}

static const char *self_name(const mtf_transformer_layer *l)
{
    const mtf_attention_layer *o = &l->attention;
    return o->experts        ? "ExpertsSelfAttention"
           : o->branches     ? "BranchedSelfAttention"
           : o->fixup.layers ? "SelfAttentionFixup"
                             : "SelfAttention";
}

static const char *enc_dec_name(const mtf_transformer_layer *l)
{
    const mtf_attention_layer *o = &l->attention;
    return o->experts        ? "ExpertsEncDecAttention"
           : o->branches     ? "BranchedEncDecAttention"
           : o->transparent  ? "TransparentEncDecAttention"
           : o->fixup.layers ? "EncDecAttentionFixup"
                             : "EncDecAttention";
}

static void share_self(stack_call *c, const mtf_transformer_layer *l)
{
    if (l->attention.relative == MTF_RELATIVE_BIAS_SHARED) attention_share(c, &l->attention, false);
}

static void share_enc_dec(stack_call *c, const mtf_transformer_layer *l)
{
    if (l->attention.relative == MTF_RELATIVE_BIAS_SHARED) attention_share(c, &l->attention, true);
    if (l->attention.transparent) transparent_mix(c, l->attention.transparent);
}

static const mtf_transparent *transparent_of(const mtf_transformer_layer *l)
{
    return l->attention.transparent;
}

static bool attention_has_experts(const mtf_transformer_layer *l)
{
    return l->attention.experts != NULL;
}

static bool attention_is_relative(const mtf_transformer_layer *l)
{
    return l->attention.relative != MTF_RELATIVE_NONE;
}

static const char *attention_undecoded(const mtf_transformer_layer *l)
{
    return l->attention.hybrid ? "hybrid attention looks at later positions" : NULL;
}

const layer_kind kind_self_attention = {.name_by = self_name,
                                        .complete = self_complete,
                                        .apply = apply_self,
                                        .share = share_self,
                                        .has_experts = attention_has_experts,
                                        .undecoded = attention_undecoded};
const layer_kind kind_enc_dec_attention = {.name_by = enc_dec_name,
                                           .complete = enc_dec_complete,
                                           .apply = apply_enc_dec,
                                           .transparent = transparent_of,
                                           .share = share_enc_dec,
                                           .keep = keep_encoded,
                                           .has_experts = attention_has_experts,
                                           .asks_places = attention_is_relative,
                                           .undecoded = attention_undecoded};

/* Kinds of layers: what each of them does. */
#ifndef MODEL_LAYER_KIND_H
#define MODEL_LAYER_KIND_H

#include "model/transformer/stack_call.h"

/* Functions that are NULL: layers of this kind do no such thing. */
typedef struct layer_kind {
    const char *name;                                       /* of the original's class */
    const char *(*name_by)(const mtf_transformer_layer *l); /* the same, where options decide */
    /* Fills in defaults, and copies what options point to; false after an error. */
    bool (*complete)(mtf_session *s, mtf_transformer_layer *l);
    /* Is it right for the model and the stack?  An error if not. */
    bool (*fits)(const mtf_transformer *m, const stack *s, const mtf_transformer_layer *l);
    /* x [batch.., length, d_model] to the same. */
    mtf_tensor *(*apply)(stack_call *c, const mtf_transformer_layer *l, mtf_tensor *x);
    /* Makes the bias that such layers of a stack share, if this one shares one. */
    void (*share)(stack_call *c, const mtf_transformer_layer *l);
    /* Of layers that attend to an encoder: caches what they need of its output [batch.., length, d_model]. */
    void (*keep)(stack_call *c, const mtf_transformer_layer *l, mtf_tensor *encoded);
    /* Does it have mixtures of experts, whose losses are part of the model's? */
    bool (*has_experts)(const mtf_transformer_layer *l);
    /* Does it ask for the places of a decoder's tokens in the encoder's inputs? */
    bool (*asks_places)(const mtf_transformer_layer *l);
    /* What it asks of an encoder's layers; NULL: nothing. */
    const mtf_transparent *(*transparent)(const mtf_transformer_layer *l);
    /* Does it attend to an encoder?  NULL: if it keeps anything of its output. */
    bool (*attends_to_encoder)(const mtf_transformer_layer *l);
    /* Why it cannot be decoded; NULL: it can. */
    const char *(*undecoded)(const mtf_transformer_layer *l);
} layer_kind;

/* All kinds: each is a row here, and defined in a file of its own. */
/* clang-format off */
#define LAYER_KINDS(ROW)                                                \
    ROW(MTF_SELF_ATTENTION,                  kind_self_attention)       \
    ROW(MTF_ENC_DEC_ATTENTION,               kind_enc_dec_attention)    \
    ROW(MTF_TALKING_HEADS_SELF_ATTENTION,    kind_talking_self)         \
    ROW(MTF_TALKING_HEADS_ENC_DEC_ATTENTION, kind_talking_enc_dec)      \
    ROW(MTF_FEED_FORWARD,                    kind_feed_forward)         \
    ROW(MTF_MOE,                             kind_experts)              \
    ROW(MTF_CONVOLUTION,                     kind_convolution)          \
    ROW(MTF_SEPARABLE_CONVOLUTION,           kind_separable_convolution) \
    ROW(MTF_LIGHTWEIGHT_CONVOLUTION,         kind_lightweight_convolution) \
    ROW(MTF_DYNAMIC_CONVOLUTION,             kind_dynamic_convolution)  \
    ROW(MTF_LOCAL_CONV_BLOCK,                kind_local_conv_block)     \
    ROW(MTF_GATED_LINEAR_UNIT,               kind_gated_linear_unit)    \
    ROW(MTF_EVOLVED_ENCODER_CONVOLUTION,     kind_evolved_encoder)      \
    ROW(MTF_EVOLVED_DECODER_CONVOLUTION,     kind_evolved_decoder)      \
    ROW(MTF_TWO_ATTENTIONS,                  kind_two_attentions)       \
    ROW(MTF_BILINEAR_SELF_ATTENTION,         kind_bilinear_self)        \
    ROW(MTF_BILINEAR_ENC_DEC_ATTENTION,      kind_bilinear_enc_dec)     \
    ROW(MTF_SYNTHESIZER,                     kind_synthesizer)          \
    ROW(MTF_PRODUCT_KEY_MEMORY,              kind_product_key)          \
    ROW(MTF_PARALLEL,                        kind_parallel)
/* clang-format on */
#define LAYER_KIND_DECLARE(number, name) extern const layer_kind name;
LAYER_KINDS(LAYER_KIND_DECLARE)

const layer_kind      *layer_kind_of(mtf_layer_kind kind); /* NULL: there is none */
const char            *layer_class_name(const mtf_transformer_layer *l);
bool                   layer_attends_to_encoder(const mtf_transformer_layer *l);
bool                   layer_has_experts(const mtf_transformer_layer *l);
bool                   layer_asks_places(const mtf_transformer_layer *l);
const mtf_transparent *layer_transparent(const mtf_transformer_layer *l);
/* Fills in the name and what the kind has to complete. */
bool layer_complete(mtf_session *s, mtf_transformer_layer *l);

/* ---- for functions that complete layers ---- */

static inline void set_default(int64_t *value, int64_t otherwise)
{
    if (*value == 0) *value = otherwise;
}

/* Is x from 0 up to 1, 1 not included?  An error if not. */
bool check_share(fault *f, const char *what, double x);

#endif

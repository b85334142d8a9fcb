/* Parameters of layers besides the usual attention and feed-forward ones. */
#ifndef MODEL_KNOWN_LAYERS_H
#define MODEL_KNOWN_LAYERS_H

#include "model/config/known_model.h"

typedef struct fixup_args {
    int64_t     layers;
    const char *init, *distribution;
} fixup_args;

/* SelfAttentionFixup, TransparentEncDecAttention and Synthesizer: `attention` is the first, since the table of
 * SelfAttention holds offsets in it. */
typedef struct fixup_attention_args {
    attention_args attention;
    fixup_args     fixup;
} fixup_attention_args;

typedef struct transparent_args {
    attention_args attention;
    int64_t        encoder_layers, encoder_modules, decoder_layers, decoder_modules;
} transparent_args;

typedef struct synthesizer_args {
    attention_args attention;
    const char    *mode;
    int64_t        length, factors;
} synthesizer_args;

typedef struct fixup_dense_args {
    dense_args dense;
    fixup_args fixup;
} fixup_dense_args;

typedef struct bilinear_args {
    const gin_value *heads;
    double           dropout;
    const char      *relative;
    int64_t          buckets, max_distance;
} bilinear_args;

typedef struct product_key_args {
    int64_t key_size, keys, heads, nearest;
} product_key_args;

typedef struct parallel_args {
    const gin_value *layers;
} parallel_args;

extern const configurable known_transparent, known_bilinear, known_bilinear_enc_dec, known_branched,
    known_branched_enc_dec, known_synthesizer, known_synthetic_attention, known_parallel,
    known_product_key, known_dense_fixup, known_attention_fixup, known_enc_dec_fixup;

#endif

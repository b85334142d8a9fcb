/* Published models: T5, GPT-2, Mixtral and BERT as Hugging Face keeps them.
 *
 * A published folder has config.json, which describes the model, and safetensors files with weights,
 * whose names and orientations differ from mtf's.  A table (weight_names.c) maps each of them to a
 * variable of this library.
 */
#ifndef MODEL_PUBLISHED_H
#define MODEL_PUBLISHED_H

#include "base/memory.h"
#include "mtf_bert.h"
#include "mtf_transformer.h"

typedef enum published_family {
    PUBLISHED_T5,
    PUBLISHED_GPT2,
    PUBLISHED_MIXTRAL,
    PUBLISHED_BERT
} published_family;

/* The contents of config.json. */
typedef struct published_config {
    published_family family;
    const char      *text; /* the whole file */
    int64_t          vocab, d_model, d_kv, d_ff, heads;
    int64_t          layers, encoder_layers; /* of the only stack, or the decoder; 0: no encoder */
    int64_t          buckets, max_distance;  /* T5 */
    int64_t          positions;              /* longest sequence */
    int64_t          memory_heads, experts, choices; /* Mixtral */
    double           rotary, balance;                /* the coefficient of the experts' loss */
    double           epsilon, dropout, attention_dropout;
    const char      *activation; /* this library's name for it */
    bool             gated;      /* hidden units are products of two projections */
    bool             tied;       /* logits are products with the embedding */
    bool             unscaled;   /* tied logits are not divided by sqrt(d_model) */
    bool             scaled_queries;
    bool          legacy_names; /* T5's norms have the names of the original's first checkpoints */
    mtf_bert_opts bert;         /* BERT: the model, and which heads the files have */
    bool          pooled, masks, follows;
    const char   *folder; /* absolute path of the imported folder; NULL: unknown */
} published_config;

/* Reads config.json at this path.  False after an error, such as an unknown kind of model. */
bool published_read(mtf_session *s, const char *path, published_config *c);
/* The same for the text of the file at `path`. */
bool published_parse(mtf_session *s, const char *path, const char *text, published_config *c);

/* The word of config.json for an activation of this library; itself where there is none. */
const char *published_activation(const char *ours);

/* The options of a Transformer; `room` holds its layers. */
typedef struct published_layers {
    mtf_transformer_layer encoder[3], decoder[4];
} published_layers;
mtf_transformer_opts published_opts(const published_config *c, published_layers *room);
/* The same as the text of a gin file, in the arena; NULL after an error, and for BERT. */
const char *published_gin(arena *a, const published_config *c);

typedef struct published_call {
    const char *from, *to;
    const char *config; /* path of config.json; NULL: the one beside the weights for import, the one
                           that was imported for export */
    bool        force;  /* replaces what exists */
    bool        gin;    /* import: published_gin will be asked for */
} published_call;

typedef struct published_done {
    published_config config;
    int              tensors; /* how many were written */
    /* import: tensors that no variable needs, each with its reason; export: what is left out; NULL: none */
    const char *spare;
    bool unlike; /* export: the model read some of these, the biases that choose among experts */
} published_done;

/* Converts Hugging Face's weights, a folder or one of its files, to a checkpoint of this library with a
 * configuration, which BERT has not.  Norms of T5 1.0 get the names of the original's first checkpoints, which its published
 * configurations use. */
bool published_import(mtf_session *s, const published_call *call, published_done *done);
/* Converts a model's variables in a checkpoint to a folder that the transformers library opens. */
bool published_export(mtf_session *s, const published_call *call, published_done *done);

#endif

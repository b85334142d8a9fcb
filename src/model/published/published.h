/* Published models: T5 and GPT-2 as Hugging Face keeps them.
 *
 * A folder of theirs has config.json, which says what the model is, and safetensors files with weights
 * under names and in orientations of their own.  A table (weight_names.c) says which variable of this library
 * each of them is.
 */
#ifndef MODEL_PUBLISHED_H
#define MODEL_PUBLISHED_H

#include "base/memory.h"
#include "mtf_transformer.h"

typedef enum published_family { PUBLISHED_T5, PUBLISHED_GPT2 } published_family;

/* What config.json says. */
typedef struct published_config {
    published_family family;
    const char      *text; /* all of it */
    int64_t          vocab, d_model, d_kv, d_ff, heads;
    int64_t          layers, encoder_layers; /* of the only stack, or the decoder; 0: no encoder */
    int64_t          buckets, max_distance;  /* T5 */
    int64_t          positions;              /* longest sequence */
    double           epsilon, dropout, attention_dropout;
    const char      *activation; /* as this library calls it */
    bool             gated;      /* the hidden units are products of two */
    bool             tied;       /* logits are products with the embedding */
    bool             unscaled;   /* such logits are not divided by sqrt(d_model) */
    bool             scaled_queries;
    bool legacy_names; /* T5's norms are called as in the original's first checkpoints */
    const char *folder; /* where it was published, as an absolute path; NULL: nobody knows */
} published_config;

/* Reads config.json, at this path.  False after an error, such as a kind of model that is not known. */
bool published_read(mtf_session *s, const char *path, published_config *c);
/* The same of a text, which a file at `path` has. */
bool published_parse(mtf_session *s, const char *path, const char *text, published_config *c);

/* The model as a literal; `room` holds its layers. */
typedef struct published_layers {
    mtf_transformer_layer encoder[3], decoder[4];
} published_layers;
mtf_transformer_opts published_opts(const published_config *c, published_layers *room);
/* The same as a file in gin's syntax, in the arena; NULL after an error. */
const char *published_gin(arena *a, const published_config *c);

typedef struct published_call {
    const char *from, *to;
    const char *config; /* path of config.json; NULL: import: beside the weights, export: as it was
                           when the weights were imported */
    bool force;         /* replaces what is there already */
} published_call;

typedef struct published_done {
    published_config config;
    int              tensors; /* that were written */
} published_done;

/* Weights in Hugging Face's layout, a folder or one of its files, become a checkpoint of this library,
 * with a configuration beside it.  Norms of T5 1.0 have the names that its published configurations
 * give them, which are the original's first. */
bool published_import(mtf_session *s, const published_call *call, published_done *done);
/* The variables of a model in a checkpoint become a folder that the transformers library opens. */
bool published_export(mtf_session *s, const published_call *call, published_done *done);

#endif

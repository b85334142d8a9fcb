/* The programs of a decoder: the next positions of its sequences. */
#ifndef MODEL_DECODE_GRAPH_H
#define MODEL_DECODE_GRAPH_H

#include "model/transformer/apply.h"

/* What a decoder's programs share. */
typedef struct decode_sizes {
    const mtf_transformer *model;
    const char            *scope;   /* of what is kept */
    int64_t                rows;    /* sequences */
    int64_t                length;  /* positions of each that are kept */
    int64_t                inputs;  /* longest input of an encoder; 0: there is none */
    bool                   reorder; /* each sequence may go on from another's: beams */
} decode_sizes;

typedef struct decode_graph {
    mtf_program *program;
    int64_t      length; /* positions that it advances by */
    mtf_tensor  *ids;    /* [rows, length], or [length] of one row */
    mtf_tensor  *first;  /* [rows]: position of the first; beyond the end: nothing is kept */
    mtf_tensor  *seen;   /* [rows]: prefix models: how many positions every one sees; or NULL */
    mtf_tensor  *row;    /* scalar: which it is; or NULL */
    mtf_tensor  *parent; /* [rows]; or NULL */
    mtf_tensor  *logits; /* [rows, vocab], f32, of the last position; or NULL */
    mtf_tensor  *best, *log_probability; /* [rows]: the most probable token; or NULL */
} decode_graph;

typedef enum decode_kind {
    DECODE_PROMPT,     /* fills in what is kept */
    DECODE_PROMPT_ROW, /* the same for one sequence */
    DECODE_STEP,       /* one position, and its logits */
    DECODE_STEP_BEST   /* one position, and its most probable token */
} decode_kind;

bool decode_graph_make(const decode_sizes *d, decode_kind kind, int64_t length, decode_graph *g);

/* Inputs through the encoder; keeps what the decoder needs of them. */
typedef struct encode_graph {
    mtf_program *program;
    int64_t      length;
    mtf_tensor  *ids;     /* [rows, length] */
    mtf_tensor  *segment; /* [rows, inputs]: 1 where there is a token */
    mtf_tensor  *first;   /* [rows]: 0; beyond the end: nothing of this row is kept */
} encode_graph;
bool encode_graph_make(const decode_sizes *d, int64_t length, encode_graph *g);

#endif

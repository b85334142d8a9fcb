/* The programs of a decoder. */
#ifndef MODEL_DECODE_GRAPH_H
#define MODEL_DECODE_GRAPH_H

#include "model/transformer/apply.h"

/* What a decoder's programs share. */
typedef struct decode_sizes {
    const mtf_transformer *model;
    const char            *scope;   /* of the cache variables */
    int64_t                rows;    /* sequences */
    int64_t                length;  /* cached positions of each */
    int64_t                inputs;  /* longest input of an encoder; 0: there is none */
    bool                   reorder; /* beams: a sequence may continue another's cache */
} decode_sizes;

typedef struct decode_graph {
    mtf_program *program;
    int64_t      length; /* positions that a step processes */
    mtf_tensor  *ids;    /* [rows, length], or [length] of one row */
    mtf_tensor  *first;  /* [rows]: position of the first; beyond the end: this row is not cached */
    mtf_tensor  *seen;   /* [rows]: prefix models: how many first positions see each other; or NULL */
    mtf_tensor  *row;    /* scalar: the row, in a program for one; or NULL */
    mtf_tensor  *parent; /* [rows]: the row that each continues; or NULL */
    mtf_tensor  *logits; /* [rows, vocab], f32, of the last position; or NULL */
    mtf_tensor  *best, *log_probability; /* [rows]: the most probable token; or NULL */
    mtf_tensor  *barred; /* [rows, MOST_BARRED]: tokens that are not chosen, or -1; or NULL */
} decode_graph;

typedef enum decode_kind {
    DECODE_PROMPT,     /* fills the cache */
    DECODE_PROMPT_ROW, /* the same for one sequence */
    DECODE_STEP,       /* one position, and its logits */
    DECODE_STEP_BEST,  /* one position, and its most probable token */
    DECODE_STEP_BARRED /* the same, but for some tokens */
} decode_kind;
enum { MOST_BARRED = 4 };

bool decode_graph_make(const decode_sizes *d, decode_kind kind, int64_t length, decode_graph *g);

/* Runs the encoder, and caches the keys and values that the decoder needs. */
typedef struct encode_graph {
    mtf_program *program;
    int64_t      length;
    mtf_tensor  *ids;     /* [rows, length] */
    mtf_tensor  *segment; /* [rows, inputs]: 1 where there is a token */
    mtf_tensor  *first;   /* [rows]: 0; beyond the end: this row is not cached */
} encode_graph;
bool encode_graph_make(const decode_sizes *d, int64_t length, encode_graph *g);

#endif

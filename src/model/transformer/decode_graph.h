/* The programs of a decoder. */
#ifndef MODEL_DECODE_GRAPH_H
#define MODEL_DECODE_GRAPH_H

#include "model/transformer/apply.h"

/* What a decoder's programs share. */
typedef struct decode_sizes {
    const mtf_transformer *model;
    const char            *scope;  /* of the cache variables */
    int64_t                rows;   /* sequences, or beams of sequences */
    int64_t                parts;  /* equal ones that the layout cuts the rows into, or 1 */
    int64_t                length; /* cached positions of each */
    int64_t                inputs; /* longest input of an encoder; 0: there is none */
    int64_t                beams;  /* above 1: a row may continue another's cache */
    int64_t                barred; /* tokens that may be ruled out in a row */
} decode_sizes;

typedef struct decode_graph {
    mtf_program *program;
    int64_t      rows;   /* that it computes */
    int64_t      length; /* positions that a step processes */
    mtf_tensor  *ids;    /* [rows, length], or [length] of one row */
    mtf_tensor  *first;  /* [rows]: position of the first; beyond the end: this row is not cached */
    mtf_tensor  *seen; /* [rows]: prefix models: how many first positions see each other; or NULL */
    mtf_tensor  *row;  /* scalar: the row, in a program for one; or NULL */
    mtf_tensor  *past; /* scalar: how many of its ids precede the first step; or NULL */
    mtf_tensor  *parent;                  /* [rows]: the row that each continues; or NULL */
    mtf_tensor  *logits;                  /* [rows, vocab], f32, of the last position; or NULL */
    mtf_tensor  *token, *log_probability; /* [rows]: the one that was chosen; or NULL */
    mtf_tensor  *barred; /* [rows, barred]: tokens that are not chosen, or -1; or NULL */
    /* How tokens are drawn: NULL where the most probable one is taken */
    mtf_tensor *stream;        /* [rows], i64: of random numbers */
    mtf_tensor *temperature;   /* [rows]; 0: the most probable token */
    mtf_tensor *top_k, *top_p; /* [rows]; NULL where all tokens may be drawn */
} decode_graph;

typedef enum decode_kind {
    DECODE_STEP,        /* one position, and its logits */
    DECODE_STEP_BEST,   /* one position, and its most probable token */
    DECODE_STEP_BARRED, /* the same, but for some tokens */
    DECODE_STEP_DRAW,   /* one position, and a token drawn among all */
    DECODE_STEP_SOME,   /* the same among some: not the barred ones, by top-k and top-p */
    DECODE_STEP_SHOWN,  /* the same, and the logits */
    DECODE_PROMPT_ROW   /* fills the cache of one sequence */
} decode_kind;

/* A program of the first `rows` rows of the cache, as many of each part. */
bool decode_graph_make(const decode_sizes *d, decode_kind kind, int64_t rows, int64_t length,
                       decode_graph *g);

/* Runs the encoder for one sequence, and caches the keys and values that the decoder needs. */
typedef struct encode_graph {
    mtf_program *program;
    int64_t      length;
    mtf_tensor  *ids;     /* [length] */
    mtf_tensor  *segment; /* [inputs, as many as a funnel leaves]: 1 where there is a token */
    mtf_tensor  *row;     /* scalar: the first of its rows */
} encode_graph;
bool encode_graph_make(const decode_sizes *d, int64_t length, encode_graph *g);

/* Copies a row of the cache to another, in each part by itself. */
typedef struct move_graph {
    mtf_program *program;
    mtf_tensor  *from, *to; /* [parts]: rows of the part */
} move_graph;
bool move_graph_make(const decode_sizes *d, move_graph *g);

#endif

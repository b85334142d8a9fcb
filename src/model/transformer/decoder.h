/* The state of a decoder. */
#ifndef MODEL_DECODER_H
#define MODEL_DECODER_H

#include "model/transformer/beam.h"
#include "model/transformer/decode_graph.h"
#include "model/transformer/sample.h"

enum { CHUNKS = 5, STEP_KINDS = DECODE_PROMPT_ROW, STEP_SIZES = 64 };

/* One sequence that is being decoded. */
typedef struct slot {
    mtf_decode_job *job; /* NULL: free */
    mtf_sampling    how;
    int64_t         position; /* of the next input */
    int64_t         most;     /* tokens at most */
    int64_t         made;
    int32_t         next;   /* the next input */
    int64_t         stream; /* of random numbers */
    int64_t         seen;   /* prefix models: the number of positions that see each other */
    double          score;
    int32_t        *ids; /* of a sequence that is sampled */
    beam_search    *beam;
    int32_t *beam_next, *beam_parent; /* of each beam: its next input, the beam it continues */
} slot;

/* A slot has as many rows of the cache as there are beams.  The slots of a part are used from the first
 * one on: a program computes the first 1, 2, 3, 4, 6, 8, 12, .. of each part, or all. */
struct mtf_decoder {
    mtf_session *session;
    decode_sizes sizes;
    int64_t      slots, beams;
    int64_t      least; /* slots of a part that the smallest program computes; 0: not known yet */
    slot        *slot;
    decode_graph steps[STEP_KINDS][STEP_SIZES]; /* by size (decode_places.c) */
    decode_graph rows[CHUNKS];
    encode_graph encoders[CHUNKS];
    move_graph   move;
    const decode_graph *last; /* that ran a step */
    /* buffers for feeds and fetches */
    int32_t *ids, *first, *seen, *parent, *tokens, *segment;
    float   *logits, *log_probability;
    /* of rows, fed when they change */
    int32_t            *not_chosen, *top_k;
    int64_t            *stream;
    float              *temperature, *top_p;
    const decode_graph *told; /* the program that has them; NULL: none */
    int32_t end_only[2];      /* the model's end, which stops a sequence unless a job says more */
};

/* Is it a variable that decoders keep for themselves, such as cached keys?  No checkpoint has it. */
bool decoder_keeps(const char *variable);

/* ---- choices of tokens (decode_choices.c) ---- */

bool choices_new(mtf_decoder *d);
/* Makes room for the tokens that a sequence never chooses. */
bool choices_fit(mtf_decoder *d, const mtf_sampling *how);
/* The least program that does what all sequences ask for. */
decode_kind choices_kind(const mtf_decoder *d);
/* Tells a program how rows choose, where that has changed. */
bool choices_feed(mtf_decoder *d, const decode_graph *g);

/* ---- places of sequences (decode_places.c) ---- */

/* Finds out how the layout cuts the slots; false after an error. */
bool places_prepare(mtf_decoder *d);
/* A free slot, the first one of a part before the second of any; -1: none. */
int64_t places_free(const mtf_decoder *d);
/* Chooses the smallest program of this kind that computes all sequences, after moving some of them to
 * slots that it has.  NULL after an error. */
decode_graph *places_program(mtf_decoder *d, decode_kind kind);
/* The slot that a row of a program belongs to. */
slot *places_slot(const mtf_decoder *d, const decode_graph *g, int64_t row);

#endif

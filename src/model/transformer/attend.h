/* Queries attend to a memory: which positions see which, and the sum. */
#ifndef MODEL_ATTEND_H
#define MODEL_ATTEND_H

#include "model/transformer/stack_call.h"

/* What a query sees.  All of it must hold. */
typedef struct visibility {
    bool        causal; /* the memory's priority is at most the query's */
    int64_t     window; /* less than this before it, and at most this after it; 0: any distance */
    mtf_tensor *place;  /* of queries, i32; NULL: their index, as the memory's is */
    mtf_tensor *read, *write; /* priorities of queries and of the memory, i32; NULL: their places */
    mtf_tensor *query_segment, *memory_segment; /* must be equal; NULL: there are none */
} visibility;

typedef struct attend_opts {
    mtf_dim     memory, key, value; /* the bias calls the memory so */
    bool        self; /* k, v and what belongs to them have the query's length instead of memory */
    visibility  sees;
    mtf_tensor *bias; /* added to the logits; NULL: none */
    mtf_tensor *extra_logit;
    double      dropout;
    mtf_shape   dropout_shared; /* dimensions that share decisions */
    bool        hybrid;
    bool        composed; /* by products and a softmax, even where one operation could */
} attend_opts;

/* Sum over the memory of softmax(q k + bias) v: q's dimensions with value in place of key.  Dimensions
 * of q that k and v lack share these. */
mtf_tensor *attend(const stack_call *c, const attend_opts *o, mtf_tensor *q, mtf_tensor *k,
                   mtf_tensor *v);
/* 0 where a query sees the memory, -1e9 where not; NULL: everything is seen. */
mtf_tensor *attend_mask(const stack_call *c, const visibility *sees, mtf_dim memory);

#endif

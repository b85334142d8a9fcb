/* Attention of queries to a memory, with masks. */
#ifndef MODEL_ATTEND_H
#define MODEL_ATTEND_H

#include "model/transformer/stack_call.h"

/* Which positions a query sees: those for which all of these hold. */
typedef struct visibility {
    bool        causal; /* the memory's priority is at most the query's */
    int64_t     window; /* less than this before it, and at most this after it; 0: any distance */
    mtf_tensor *place;  /* of queries, i32; NULL: their index, as the memory's is */
    mtf_tensor *read, *write; /* priorities of queries and of the memory, i32; NULL: their places */
    mtf_tensor *query_segment, *memory_segment; /* must be equal; NULL: there are none */
} visibility;

/* Logits that are not, or not only, products of queries and keys. */
typedef struct attend_made {
    mtf_tensor *(*logits)(const stack_call *c, const void *context, mtf_tensor *q, mtf_tensor *k,
                          mtf_dim memory); /* [.., memory] */
    const void *context;
    mtf_shape   rows; /* the logits' dimensions without memory */
} attend_made;

typedef struct attend_opts {
    mtf_dim            memory, key, value; /* `memory`: as named in the bias */
    bool               self; /* k, v and memory_segment have the query's length instead of memory */
    visibility         sees;
    double             scale; /* of the products of queries and keys; 0: none */
    mtf_tensor        *bias;  /* added to the logits; NULL: none */
    mtf_tensor        *extra_logit;
    double             dropout;
    mtf_shape          dropout_shared; /* dimensions that share the dropout mask */
    bool               hybrid;
    const attend_made *made; /* NULL: products */
    bool composed; /* from einsums and a softmax, even where the fused operation is possible */
} attend_opts;

/* Sum over the memory of softmax(scale q k + bias) v: q's dimensions with value in place of key.  k and v are
 * broadcast along dimensions of q that they lack. */
mtf_tensor *attend(const stack_call *c, const attend_opts *o, mtf_tensor *q, mtf_tensor *k,
                   mtf_tensor *v);
/* What positions of the stack see of their own sequence; in CALL_DECODE, of its cache. */
visibility attend_to_own(const stack_call *c, int64_t window);
/* 0 where a query sees the memory, -1e9 where not; NULL: everything is seen. */
mtf_tensor *attend_mask(const stack_call *c, const visibility *sees, mtf_dim memory);

#endif

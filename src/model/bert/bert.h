/* BERT: a model whose options are complete. */
#ifndef MODEL_BERT_H
#define MODEL_BERT_H

#include "graph/node.h"
#include "mtf_bert.h"

typedef enum bert_layer { BERT_ATTENTION, BERT_FEEDFORWARD, BERT_MOE } bert_layer;
enum { BERT_MOST_LAYERS = 64, BERT_INIT = 80 };

struct mtf_bert {
    mtf_session  *session;
    mtf_bert_opts opts;
    mtf_dim       vocab, hidden, intermediate, types, positions;
    mtf_dim       heads, key_heads, value_heads, key, value;
    bert_layer    layers[BERT_MOST_LAYERS]; /* of a block */
    int           nlayers;
    char          kernel_init[BERT_INIT], table_init[BERT_INIT];
};

/* The word for a layer, as options have it. */
const char       *bert_layer_name(bert_layer l);
mtf_layer_context bert_context(const mtf_bert_call *how);
/* Dense layers of the model: without bias where it has none. */
mtf_tensor *bert_dense(const mtf_bert *m, const mtf_layer_context *c, mtf_tensor *x,
                       mtf_shape reduced, mtf_shape new_dims, const char *name,
                       const char *activation);
/* Element i of x along a dimension, which is then gone. */
mtf_tensor *bert_element(mtf_tensor *x, mtf_dim dim, int64_t i);
mtf_tensor *bert_norm(const mtf_bert *m, const mtf_layer_context *c, mtf_tensor *x);

/* One application to a graph. */
typedef struct bert_run {
    const mtf_bert   *m;
    mtf_graph        *graph;
    mtf_layer_context context;
    mtf_dim           length, memory;
    mtf_shape         batch;
    mtf_tensor       *mask; /* i32 [batch.., length]; NULL: no padding */
    mtf_tensor       *bias; /* [num_heads, distance]; NULL: none */
    mtf_tensor       *auxiliary;
} bert_run;

/* Layers in the current scope; x and the result are [batch.., length, hidden]. */
mtf_tensor *bert_attend(bert_run *r, mtf_tensor *x);
/* The bias by distance, a variable of the current scope. */
mtf_tensor *bert_distance_bias(bert_run *r);

#endif

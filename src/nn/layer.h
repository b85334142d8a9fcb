/* What layers share: scopes, weights, products, dropout. */
#ifndef NN_LAYER_H
#define NN_LAYER_H

#include "graph/node.h"
#include "mtf_nn.h"

/* A name for a layer that was given none: `wish` made unique in the current scope. */
const char *layer_unique(mtf_graph *g, const char *wish);
/* Enters the layer's scope: `name` as it is, or else `otherwise` made unique.  Returns the outer
 * scope for layer_leave; NULL after an error. */
const char *layer_enter(mtf_graph *g, const char *name, const char *otherwise);
void        layer_leave(mtf_graph *g, const char *outside);

/* A variable of a layer that computes in `type`; stored in f32 where that is a short float. */
mtf_tensor *layer_weight(mtf_graph *g, const mtf_layer_context *context, const char *name,
                         mtf_dtype type, mtf_shape shape, const char *init);

/* A variable that the model computes with and no gradient trains, such as a running mean.  It is loaded with
 * the weights; the state of optimizers and counters are not. */
mtf_tensor *layer_state(mtf_graph *g, const char *name, mtf_dtype type, mtf_shape shape,
                        const char *init);
/* The same for a variable that is there. */
void layer_is_state(const mtf_tensor *w);

/* How a kernel is initialised: the initialiser, and the fans that its variance depends on. */
typedef struct layer_kernel {
    const char *layer; /* as messages name it */
    const char *init;
    double      in, out;
} layer_kernel;
/* The variable "kernel"; with unit scaling, a rule by fan_in gives its variance to each weight. */
mtf_tensor *layer_kernel_weight(mtf_graph *g, const mtf_layer_context *context, mtf_dtype type,
                                mtf_shape shape, const layer_kernel *how);

/* mtf_us_einsum of two, in f8 where that is asked for. */
mtf_tensor *layer_product(const mtf_layer_context *context, bool f8, mtf_shape output,
                          mtf_tensor *x, mtf_tensor *w);

/* The same of x, whose rows are sorted by expert, with each one's kernel. */
mtf_tensor *layer_rows_product(const mtf_dense_opts *o, mtf_shape output, mtf_tensor *x,
                               mtf_tensor *w);

/* The dense layer in the current scope; all reduced dimensions are given. */
mtf_tensor *layer_dense(mtf_tensor *x, mtf_shape reduced, mtf_shape new_dims,
                        const mtf_dense_opts *o);

/* The names that mtf_activate takes; NULL after the last. */
const char *activation_nth(int n);
bool        activation_exists(const char *name);

/* Dropout in training; `broadcast` lists dimensions of x along which all elements are dropped
 * together. */
mtf_tensor *layer_dropout(const mtf_layer_context *context, mtf_tensor *x, double rate,
                          mtf_shape broadcast);
/* Keeps each element with the probability `kept`, a scalar, and divides by it; decisions differ along
 * `noise` alone. */
mtf_tensor *layer_drop(mtf_tensor *x, mtf_tensor *kept, mtf_shape noise);

/* The last dimension but `skip`; else an error that says what the layer needs. */
bool layer_last(const mtf_tensor *x, const char *layer, int skip, mtf_dim *dim);
/* "_name", with more underscores where `beside` has it already; it lives in the graph. */
const char *layer_other_name(mtf_graph *g, const char *name, const mtf_shape *beside);

#endif

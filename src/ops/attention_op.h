/* What attention and its gradient share: roles of their inputs. */
#ifndef OPS_ATTENTION_OP_H
#define OPS_ATTENTION_OP_H

#include "ops/lowering.h"

/* Attributes, the same for both but for the last. */
enum {
    AT_QUERY,
    AT_MEMORY,
    AT_KEY,
    AT_VALUE,
    AT_SCALE,
    AT_MIN,
    AT_MAX,
    AT_WITH,
    AT_BIAS_MEMORY,
    AT_BIAS_RELATIVE,
    AT_DROPOUT,
    AT_DROPOUT_OVER,
    AT_STREAM,
    AT_PART_OF,
    AT_WHOLE,
    AT_PARTS,
    AT_ATTRS,
    AT_BIAS_GRAD = AT_ATTRS, /* the gradient's only */
    AT_GRAD_ATTRS
};
extern const attr_spec attention_grad_attrs[];

/* A node's dimensions and inputs by their roles. */
typedef struct attention_roles {
    mtf_dim   query; /* name NULL: one position */
    mtf_dim   memory, key, value;
    bool      self;                   /* memory and query are one dimension */
    int       in[ATTENTION_OPERANDS]; /* which input; -1: absent */
    int       first_iteration;        /* inputs from here on: iterations of enclosing loops */
    mtf_dim   bias_memory;            /* the bias's dimension for it; name NULL: it has none */
    mtf_dim   bias_relative;          /* its dimension of distances; name NULL: it has none */
    mtf_shape rows;                   /* q's dimensions without key */
} attention_roles;

/* `given`: how many inputs come before the optional ones.  Checks everything; false after an error. */
bool attention_check(const node *n, int given, attention_roles *r);
/* The same for a node that was checked. */
attention_roles attention_roles_of(const node *n, int given);
/* Dimensions that both ops need whole. */
bool attention_is_whole(const node *n, const attention_roles *r, const char *dim);

enum { ATTENTION_GIVEN = 3, ATTENTION_GRAD_GIVEN = 6 };

/* What this processor works on along the memory: its part, or what its queries can see.  `axes`:
 * along which the memory stays cut. */
typedef struct attention_view {
    attention_args how;
    slice          in[ATTENTION_OPERANDS];
    unsigned       axes;
    span           memory; /* what this processor works on */
} attention_view;
bool attention_bring(emitter *e, const node *n, const attention_roles *r, const slice *in,
                     const slice *row_like, attention_view *v);

/* Renames dimension `from` to `to` where the slice has it. */
void attention_rename(slice *s, const char *from, const char *to);
/* Makes a view of a bias, or its gradient, by row and position of the memory. */
void attention_view_bias(const attention_roles *r, const attention_view *v, slice *s);

#endif

/* What an operation is: one constant struct, in one file of ops/.
 *
 * A primitive op has infer, lower and, where it is smooth, grad.  A composite
 * has only expand: it is written in other ops and leaves no node of its own.
 * Names, attributes and one line of manual serve the text language, the
 * command `mtf ops` and the messages alike.
 */
#ifndef GRAPH_OP_H
#define GRAPH_OP_H

#include "graph/attr.h"

typedef struct node    node;
typedef struct op      op;
typedef struct tape    tape;
typedef struct emitter emitter;
typedef struct slice   slice;

/* What an op does with a dimension that the layout cuts. */
typedef enum dim_split {
    SPLIT_WHOLE, /* every processor needs all of it: gathered before the op, cut again after it */
    SPLIT_FREE,  /* each part is computed by itself */
    SPLIT_SUM,   /* reduced: outputs that lack it become partial sums, owed along its axes;
                    outputs that have it are computed by parts */
    SPLIT_MAX,   /* the same for a maximum or minimum; an op reduces in one way only */
    SPLIT_MIN,
    SPLIT_OWN,    /* the op's lowering fetches what it needs beyond its part */
    SPLIT_OWN_SUM /* the same, and the results are partial sums */
} dim_split;

/* What an op does with an input that is still a partial sum.  All inputs that are not DEBT_SETTLE
 * have the same rule. */
typedef enum debt {
    DEBT_SETTLE, /* not linear in it: the sum must be completed first */
    DEBT_SUM,    /* linear in all such inputs together: passed on where all owe the same axes */
    DEBT_PRODUCT /* linear in each: passed on where one input owes, the others are complete, and
                    none of these is a factor that could overflow (plan/spread.c) */
} debt;

enum op_flags {
    OP_EFFECT = 1,    /* kept even when nothing reads its outputs; never merged with an equal one */
    OP_UNIQUE = 2,    /* never merged with an equal one */
    OP_DIRECT = 16,   /* lowers cut and owed slices by itself */
    OP_ITERATION = 8, /* inside loops its optional inputs are the numbers of their iterations */
    OP_STORE = 32,    /* its output is stored in the variable that is its first input */
    OP_ANYWHERE = 64, /* takes its input in any placement, also one finer than the layout */
    OP_IDENTITY = 4,  /* its output is its first input; copies of a region omit the effect */
    OP_MOVES = 128,   /* each element of its output is one of an input's, or a constant */
    OP_ALIKE = 256,   /* lowers cut dimensions alike on all processors whose parts are equal */
    OP_REGROUPS = 512, /* keeps the row-major order of the elements of its input */
    OP_F8 = 1024       /* takes f8 tensors */
};

/* A call of a composite op: its inputs and attributes, complete with defaults. */
typedef struct op_call {
    mtf_graph         *graph;
    const op          *op;
    int                nin;
    mtf_tensor *const *in;    /* missing optional inputs are NULL */
    const attr        *attrs; /* aligned with op->attrs */
    const mtf_shape   *shape; /* the annotation's shape, or NULL */
    int                nout;  /* how many results the line names */
    mtf_tensor       **out;   /* to be filled */
} op_call;

/* The multiplications of an op: one for each combination of indices of these dimensions, which
 * positions tell apart, so that a name may occur twice. */
typedef struct op_product {
    const char *name; /* "einsum", "conv2d/forward": where it is counted */
    int         ndims;
    mtf_dim     dims[2 * MTF_SHAPE_ROOM];
} op_product;

struct op {
    const char *name;
    const char *says; /* one line for the manual */
    /* "x", "x, y", "x, [extra]" (optional), "xs..." (one or more), "[xs...]", "" */
    const char        *args;
    const char        *results; /* names of the outputs for the manual; NULL: one, called y */
    const attr_spec   *attrs;   /* ends with a NULL name; NULL: none */
    const char *const *blocks;  /* names of the blocks it owns, NULL-ended; NULL: none */
    unsigned           flags;

    /* Checks inputs and attributes, fills in the outputs' shapes and types. */
    bool (*infer)(node *n);
    /* Gives each input its gradient; dy[i] is NULL where output i has none. NULL: no gradient. */
    void (*grad)(tape *t, const node *n, mtf_tensor *const *dy);
    /* Emits instructions that compute out from in.  Each out comes with its type and shape set, and
     * is to be replaced by the slice that holds the value. */
    bool (*lower)(emitter *e, const node *n, const slice *in, slice *out);
    /* The split rule, as data: what a cut dimension means to this op.  NULL: all SPLIT_WHOLE. */
    dim_split (*split)(const node *n, const char *dim);
    debt (*debt)(const node *n, int input); /* NULL: DEBT_SETTLE */
    /* The multiplications, for counters.  NULL: none that are counted. */
    void (*product)(const node *n, op_product *p);
    /* Composites: builds the outputs from other ops. */
    void (*expand)(op_call *c);
};

/* Every op, in the order of the manual, NULL-ended: defined by ops/catalogue.c. */
extern const op *const op_catalogue[];

int op_attr_count(const op *o);
int op_attr_find(const op *o, const char *name); /* position, or -1 */
/* Least and most number of inputs; most is -1 for any number. */
void op_arity(const op *o, int *least, int *most);

#endif

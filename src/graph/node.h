/* Graphs: nodes, tensors, blocks, in order of creation.
 *
 * A graph only grows, so order of creation is an order of evaluation.  Nodes
 * live in blocks: the root, or the inside of a node that owns blocks (a loop,
 * a recomputed region, a custom gradient).  The inside may use tensors of the
 * blocks around it; these are captured: appended to the owner's inputs, so
 * that an owner's inputs are all it depends on.
 */
#ifndef GRAPH_NODE_H
#define GRAPH_NODE_H

#include "base/names.h"
#include "base/session.h"
#include "graph/op.h"
#include "space/shape.h"

typedef struct block block;

/* A further name of a tensor, from a line of text that made no new node; a circular list. */
typedef struct second_name {
    const char         *name;
    struct second_name *next;
} second_name;

struct mtf_tensor {
    node        *node;
    int          index; /* which output of its node */
    int          id;    /* dense in the graph: tables indexed by tensor are arrays */
    mtf_dtype    type;
    mtf_shape    shape;  /* dimension names live in the graph */
    const char  *name;   /* unique in the graph; NULL until tensor_name makes one */
    const char  *scope;  /* the scope it was made in: "a/b/" or "" */
    bool         hidden; /* a loop's history: named in text only where it is used */
    second_name *second; /* the last of its further names, or NULL; its next is the first */
    mtf_tensor  *origin; /* of a graph made from another one: the tensor there; NULL: none */
    mtf_dim      counts; /* the elements are positions along this dimension; no name: unknown */
};

struct node {
    const op    *op;
    mtf_graph   *graph;
    block       *home;
    int          id;    /* dense, increasing in order of creation */
    int          line;  /* of the text: what made it, or what it is a gradient of; 0: none */
    int          nin;   /* all inputs: explicit ones, then captures */
    int          nargs; /* explicit inputs */
    mtf_tensor **in;
    int          nout, out_room;
    mtf_tensor **out;
    attr        *attrs;  /* aligned with op->attrs */
    block      **blocks; /* aligned with op->blocks */
    /* What it is a gradient or an update of, in this graph or in the one that this was made from; NULL:
       it is computed for itself.  Gradients and updates are made in no scope: this says where they belong. */
    const mtf_tensor *subject;
};

/* Parameters are tensors of `param` nodes at the head of the block. */
struct block {
    mtf_graph   *graph;
    block       *parent;
    const char  *name; /* "body", "cond", ... */
    node       **nodes;
    int          nnodes, nodes_room;
    mtf_tensor **params;
    int          nparams, params_room;
    mtf_tensor  *iteration; /* a loop's body: the number of the iteration; else NULL */
    mtf_tensor **results;   /* what it yields: plain results, then the sums of a loop */
    int          nresults;
    mtf_tensor **captures; /* tensors of blocks around it, in order of first use */
    int          ncaptures, captures_room;
};

struct mtf_graph {
    mtf_session *session;
    arena        arena;
    block        root;
    block       *current;   /* where new nodes go */
    name_table   tensors;   /* by name */
    name_table   dim_names; /* interned */
    name_table   taken;     /* lower-case names in use, for uniqueness */
    name_table   stand_ins; /* by a trainable variable's name: the variable that is used for it */
    mtf_tensor **all;       /* tensors by id */
    int          ntensors, tensors_room;
    int          nnodes;
    const char  *scope;        /* "a/b/" or "" */
    uint32_t     next_key;     /* of random ops */
    const char  *file;         /* the file it was read from; NULL: none */
    int          line;         /* of the text, for new nodes; 0: no text */
    const mtf_tensor *subject; /* of new nodes */
    mtf_dim           batch;   /* the dimension that comes in parts; no name: none */
    int64_t           parts;   /* micro-batches; 0: as few as fit the memory */
    int64_t divided; /* the parts that it was made for, from a graph of the whole batch; 0: none */
};

/* A new node of `o`: keeps attributes (aligned with o->attrs; NULL where the op has none), infers,
 * appends.  Returns NULL after an error. */
node *node_new(mtf_graph *g, const op *o, int nin, mtf_tensor *const *in, const attr *attrs,
               block **blocks);
/* The same for ops of one output, the common case.  NULL inputs give NULL. */
mtf_tensor *node_one(const op *o, int nin, mtf_tensor *const *in, const attr *attrs);
mtf_tensor *node_unary(const op *o, mtf_tensor *x, const attr *attrs);
mtf_tensor *node_binary(const op *o, mtf_tensor *x, mtf_tensor *y, const attr *attrs);

/* For infer: makes the next output. False: no memory, or an invalid shape. */
bool node_output(node *n, mtf_dtype type, const mtf_shape *shape);
/* For infer and builders: fails with the op's name and the node's inputs in the sentence. */
bool node_fail(const node *n, error_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool node_needs_float(const node *n);     /* all inputs floating */
bool node_needs_same_type(const node *n); /* all inputs of one type */
/* All dimensions of one name have one size across the inputs, else an error naming both. */
bool node_sizes_agree(const node *n);
/* Fails where a dimension has a name that is reserved for internal dimensions. */
bool node_names_may_be(const node *n, const mtf_shape *shape);

const attr *node_attr(const node *n, const char *name); /* asserts that the op has it */

/* Blocks: open one, build inside, close it with its results, then make the owner. */
block      *block_open(mtf_graph *g, const char *name);
mtf_tensor *block_param(block *b, mtf_dtype type, const mtf_shape *shape, const char *name);
/* The number of the iteration, made on demand; for bodies of loops only. */
mtf_tensor *block_iteration(block *b);
bool        block_close(block *b, int nresults, mtf_tensor *const *results);
/* What replaces each tensor while nodes are copied, by tensor id; NULL: the tensor itself. */
typedef struct images {
    mtf_tensor **of;
    int          room;
} images;
images      images_new(mtf_graph *g, arena *scratch); /* of == NULL after an error */
mtf_tensor *image_of(const images *m, mtf_tensor *x);
/* Copies a block's nodes into the current block, replacing tensors by their images; afterwards
 * the block's results have images.  Parameters must have images before. */
bool block_inline(mtf_graph *g, const block *b, images *m);
/* The same for one node, which may be of another graph. */
bool block_copy_node(mtf_graph *g, const node *from, images *m);

extern const op op_param; /* a block's parameter */

/* Text that lives in the graph, one copy of each: dimension names. */
const char *graph_intern(mtf_graph *g, const char *name);
bool        graph_intern_shape(mtf_graph *g, mtf_shape *shape, const char *what);
/* `wish` made unique under the current scope, as the original does: a, a_1, a_2. */
const char *graph_unique_name(mtf_graph *g, const char *wish);
/* Gives x exactly this name (no scope added); false where another tensor has it. */
bool graph_name_tensor(mtf_graph *g, mtf_tensor *x, const char *name);
/* x's name; the first call makes one from its op and scope. */
const char *tensor_name(const mtf_tensor *x);
/* Names every tensor that mtf_print writes, in that order: automatic names have numbers, which would
 * otherwise follow who asks first. */
void graph_name_all(mtf_graph *g);

/* " (model.mtf:7)": where the text makes x; "" where no text does.  Returns `text`. */
enum { PLACE_TEXT = 160 };
const char *tensor_place(const mtf_tensor *x, char text[PLACE_TEXT]);

/* Does it assign to variables?  Only training does. */
bool graph_trains(const mtf_graph *g);

mtf_graph *graph_of(const mtf_tensor *x); /* NULL for NULL or after an error */

#endif

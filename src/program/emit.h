/* Emitting: from slices to instructions.
 *
 * Each function appends what computes `out` from its inputs, matching
 * dimensions by name, turning names into strides.  Uniform inputs are taken as
 * numbers where that is cheaper and filled into buffers where it is not.
 * All return false after an error.
 */
#ifndef PROGRAM_EMIT_H
#define PROGRAM_EMIT_H

#include "program/program.h"
#include "space/layout.h"

typedef struct emitter emitter;

/* What was assigned to a variable, which is stored at the end. */
typedef struct pending_store {
    slice home, value;
} pending_store;

/* Inputs or variables by their tensor: an open table, by hash, of their numbers among the ports. */
typedef struct port_table {
    struct port_entry {
        const mtf_tensor *tensor; /* NULL: free */
        int               number;
        int               store; /* its pending store; -1: none */
    } * entries;
    int room;       /* a power of two */
    int ports_room; /* of the program's list */
} port_table;

struct emitter {
    program          *program;
    const mtf_tensor *cause; /* what is being lowered */
    /* Known to the planner: lowers the nodes of a block; for ops that own blocks. */
    bool (*lower_block)(emitter *e, const void *block);
    /* Where the lowered value of a tensor is kept; for ops that own blocks. */
    slice *(*slice_of)(emitter *e, const mtf_tensor *x);
    /* Makes the value of a tensor what the layout says: sums paid, parts not finer. */
    bool (*settle)(emitter *e, const mtf_tensor *x);
    /* x, of a block that is not lowered yet, is a term of a longer sum: where it is a sum itself, and
     * nobody else reads it, its short floats are not rounded in between.  Is that so? */
    bool (*keep_wide)(emitter *e, const mtf_tensor *x);
    /* How many use this tensor?  Unread outputs need not be computed. */
    int (*readers)(emitter *e, const mtf_tensor *x);
    void          *planner;
    const layout  *layout; /* NULL: one processor */
    mesh_point     here;
    pending_store *stores;
    int            nstores, stores_room;
    int            nesting; /* of loops, here */
    port_table     inputs, variables;
    bool           exact; /* floating constants are operands: nothing of them is folded */
};

/* A new temporary, row-major; buffer NO_BUFFER after an error. */
slice emit_fresh(emitter *e, mtf_dtype type, const mtf_shape *shape);
bool  emit_real(emitter *e, slice *s);  /* uniform becomes a filled buffer of one element */
bool  emit_whole(emitter *e, slice *s); /* the same with all elements, as if it were fed: the last
                                           bits of sums of floats depend on how elements lie */
bool  emit_dense(emitter *e, slice *s); /* real and row-major, copied only where it is not */

/* An expression over broadcast operands; loops run over `out`s' common shape, which is out[0]'s.
 * `steps` refer to registers as in instr.h. */
bool emit_map(emitter *e, int nsteps, const scalar_step *steps, int nin, const slice *in, int nout,
              const slice *out, const int *results);
/* One function of one to three operands (SELECT), the usual case. */
bool emit_scalar(emitter *e, scalar_fn fn, int nin, const slice *in, const slice *out);
bool emit_cast(emitter *e, const slice *in, const slice *out);
/* s in the type that its elements are computed in, where and how it is; the other way, `sum` as
 * out[0], whose type is set, which is `sum` itself where the types are one. */
bool emit_widened(emitter *e, slice *s);
bool emit_narrowed(emitter *e, const slice *sum, slice *out);
bool emit_fill(emitter *e, double value, const slice *out); /* rounded to out's type */
bool emit_fill_scalar(emitter *e, scalar value, const slice *out);
/* Position along dim, counted from `first`. */
bool emit_range(emitter *e, const char *dim, int64_t first, const slice *out);
bool emit_move(emitter *e, const slice *in, const slice *out);
bool emit_add_into(emitter *e, const slice *in, const slice *out);
bool emit_fold(emitter *e, fold_kind kind, const slice *in, const slice *out);
/* out = sum of a * b over the dimensions out lacks; packs and widens as needed. */
bool emit_contract(emitter *e, const slice *a, const slice *b, const slice *out);
bool emit_gather(emitter *e, const slice *table, const slice *index, const char *dim,
                 const slice *out);
/* out must hold its initial value already. */
bool emit_scatter(emitter *e, const slice *in, const slice *index, const char *dim, bool set,
                  const slice *out);
bool emit_scan(emitter *e, const slice *in, const char *dim, bool exclusive, bool reverse,
               const slice *out);
/* values, indices: either may be NULL; both have dimension k_dim in place of dim. */
bool emit_order(emitter *e, const slice *in, const char *dim, const char *k_dim, bool descending,
                const slice *values, const slice *indices);
/* x [batch.., spatial.., channels], w [taps.., channels, outputs], y [batch.., spatial.., outputs];
 * sizes, steps and paddings from `how`, strides and group sizes are filled in. */
bool emit_window(emitter *e, const window_args *how, const slice *x, const slice *w,
                 const slice *y);
/* Names of dimensions in the slices that emit_attention takes: of the memory in k, v, write,
 * memory_segment, the bias and their gradients, of the key in q, k and of the value in v, y, dy. */
#define MEMORY_DIM SLICE_DIM("memory")
#define KEY_DIM SLICE_DIM("key")
#define VALUE_DIM SLICE_DIM("value")
/* `in` by attention_operand, read where how->at is not -1; sizes, strides and numbers of inputs are
 * filled in.  out as in instr.h, KEY_DIM or VALUE_DIM last where they have it. */
bool emit_attention(emitter *e, instr_kind kind, const attention_args *how, const slice *in,
                    int nturns, const slice *turns, int nout, const slice *out);
/* y [rows.., VALUE_DIM] and lse from what parts of the memory gave, summed. */
bool emit_attention_join(emitter *e, const slice *sum, const slice *weights, const slice *most,
                         const slice *y, const slice *lse);
/* Fills in how positions of this processor's part under `where` count in the whole tensor. */
void emit_global_index(const emitter *e, const mtf_shape *shape, const placement *where,
                       draw_args *how);
/* turns: scalars, those of the loops around, outermost first. */
bool emit_draw(emitter *e, const draw_args *how, int nturns, const slice *turns, const slice *out);
bool emit_say(emitter *e, const say_args *how, const slice *x);
/* This processor's part of a dimension of this size, as the layout cuts it. */
span      emit_part(const emitter *e, const char *dim, int64_t size);
mtf_shape emit_local(const emitter *e, const mtf_shape *shape);
/* Where the layout puts the dimensions of a tensor whose bits are set, the others whole. */
placement emit_placement(const emitter *e, const mtf_shape *shape, unsigned cut);
#define EVERY_DIM (~0u)
/* Where a variable of this shape lives between steps; is that finer than the layout? */
bool emit_home(const emitter *e, const mtf_shape *shape, placement *where);
/* Combines s over the processors that differ along the axes; s becomes the result. */
bool emit_all_reduce(emitter *e, fold_kind kind, unsigned axes, slice *s);
/* The same, and cuts dimension `dim` (whole size) of s, cut by `from`, further along the axes that
 * `to` adds, over which the sum goes: each processor is left with its part of the result. */
bool emit_reduce_scatter(emitter *e, fold_kind kind, mtf_dim dim, const axis_list *from,
                         const axis_list *to, slice *s);
/* Another placement of the tensor of this shape; s becomes this processor's new part. */
bool emit_exchange(emitter *e, const mtf_shape *shape, const placement *from, const placement *to,
                   slice *s);
/* The same where some dimensions are asked for through maps.  A view where nothing has to move. */
bool emit_fetch(emitter *e, const exchange_args *how, slice *s);
/* Inputs and variables: buffers that outlive the step.  The same tensor gives the same buffer. */
bool emit_input(emitter *e, const mtf_tensor *x, slice *out);
bool emit_variable(emitter *e, const mtf_tensor *w, slice *out); /* at the start of the step */
bool emit_read(emitter *e, const mtf_tensor *w, slice *out);     /* after what was assigned  */
bool emit_assign(emitter *e, const mtf_tensor *w, const slice *value); /* stored by emit_stores  */
bool emit_stores(emitter *e); /* at the end: every assigned value goes to its variable */
/* Returns the index of the LOOP instruction, or -1. */
int  emit_loop(emitter *e, int64_t trips);
bool emit_test(emitter *e, int loop, const slice *flag);
bool emit_again(emitter *e, int loop);

#endif

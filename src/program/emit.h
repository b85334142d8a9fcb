/* Emitting: from slices to instructions.
 *
 * Each function appends instructions that compute `out` from its inputs,
 * matching dimensions by name and turning names into strides.  Uniform inputs
 * become immediates where that is cheaper; otherwise they are filled into
 * buffers.  All functions return false after an error.
 */
#ifndef PROGRAM_EMIT_H
#define PROGRAM_EMIT_H

#include "program/emitter.h"
#include "space/internal.h"

/* A new row-major temporary; buffer NO_BUFFER after an error. */
slice emit_fresh(emitter *e, mtf_dtype type, const mtf_shape *shape);
bool  emit_real(emitter *e, slice *s);  /* a uniform slice becomes a filled buffer of one element */
bool  emit_whole(emitter *e, slice *s); /* the same with all elements, as if it were fed: the last
                                         * bits of floating-point sums depend on their layout */
bool  emit_dense(emitter *e, slice *s); /* real and row-major; copied only if it is not */

/* One function of one to three operands (SELECT), the usual case. */
bool emit_scalar(emitter *e, scalar_fn fn, int nin, const slice *in, const slice *out);
bool emit_cast(emitter *e, const slice *in, const slice *out);
/* Converts s to its compute type, with the same layout; and back: `sum` becomes out[0], whose type
 * is set, without a copy if the types are equal. */
bool emit_widened(emitter *e, slice *s);
bool emit_narrowed(emitter *e, const slice *sum, slice *out);
bool emit_fill(emitter *e, double value, const slice *out); /* rounded to out's type */
bool emit_fill_scalar(emitter *e, scalar value, const slice *out);
/* The position along dim, counted from `first`. */
bool emit_range(emitter *e, const char *dim, int64_t first, const slice *out);
bool emit_move(emitter *e, const slice *in, const slice *out);
bool emit_add_into(emitter *e, const slice *in, const slice *out);
bool emit_fold(emitter *e, fold_kind kind, const slice *in, const slice *out);
/* out = sum of a * b over the dimensions out lacks; packs and widens as needed. */
bool emit_contract(emitter *e, const slice *a, const slice *b, const slice *out);
/* Dimensions of a grouped product: of the rows in a (and b, or out), and of the groups in ends (and b,
 * or out).  The numbers of the first row and group of this part are given, all else is filled in;
 * ends has all groups. */
typedef struct grouping {
    const char *rows, *group;
    int64_t     first_row, first_group;
} grouping;
bool emit_grouped(emitter *e, const grouping *by, const slice *a, const slice *b, const slice *ends,
                  const slice *out);
bool emit_gather(emitter *e, const slice *table, const slice *index, const char *dim,
                 const slice *out);
/* out must already hold its initial value. */
bool emit_scatter(emitter *e, const slice *in, const slice *index, const char *dim, bool set,
                  const slice *out);
bool emit_scan(emitter *e, const slice *in, const char *dim, bool exclusive, bool reverse,
               const slice *out);
/* values, indices: either may be NULL; both have dimension k_dim instead of dim. */
bool emit_order(emitter *e, const slice *in, const char *dim, const char *k_dim, bool descending,
                const slice *values, const slice *indices);
/* Along dim, which k, p and out lack. */
bool emit_nucleus(emitter *e, const slice *scores, const slice *logits, const slice *k,
                  const slice *p, const char *dim, const slice *out);
/* x [batch.., spatial.., channels], w [taps.., channels, outputs], y [batch.., spatial.., outputs];
 * `how` gives sizes, steps and paddings; strides and group sizes are filled in. */
bool emit_window(emitter *e, const window_args *how, const slice *x, const slice *w,
                 const slice *y);
/* Names of dimensions in the slices of emit_attention: of the memory in k, v, write,
 * memory_segment, the bias and their gradients, of the key in q, k and of the value in v, y, dy. */
#define MEMORY_DIM SLICE_DIM("memory")
#define KEY_DIM SLICE_DIM("key")
#define VALUE_DIM SLICE_DIM("value")
/* `in` is indexed by attention_operand; inputs whose how->at is -1 are not read.  Sizes, strides
 * and numbers of inputs are filled in.  out as in instr.h; KEY_DIM or VALUE_DIM, if any, is
 * last. */
bool emit_attention(emitter *e, instr_kind kind, const attention_args *how, const slice *in,
                    int niterations, const slice *iterations, int nout, const slice *out);
/* y [rows.., VALUE_DIM] and lse from the summed results of all parts of the memory. */
bool emit_attention_join(emitter *e, const slice *sum, const slice *weights, const slice *most,
                         const slice *y, const slice *lse);
/* A dimension that is one part of a longer one: its element i is number `part + parts * i` of `whole`,
 * where the part is known only when a program runs. */
typedef struct dim_part {
    const char *dim; /* NULL or "": no dimension is */
    int64_t     whole, parts;
} dim_part;
/* Fills in how the elements of this processor's part under `where` are numbered in the whole
 * tensor. */
void emit_global_index(const emitter *e, const mtf_shape *shape, const placement *where,
                       const dim_part *part, draw_args *how);
/* iterations: scalars, the iteration numbers of the enclosing loops, outermost first; then the part. */
bool emit_draw(emitter *e, const draw_args *how, int niterations, const slice *iterations,
               const slice *out);
bool emit_say(emitter *e, const say_args *how, const slice *x);
/* This processor's part of a dimension of this size, as the layout cuts it. */
span      emit_part(const emitter *e, const char *dim, int64_t size);
mtf_shape emit_local(const emitter *e, const mtf_shape *shape);
/* The layout's placement for the dimensions of a tensor whose bits are set; the others are
 * whole. */
placement emit_placement(const emitter *e, const mtf_shape *shape, unsigned cut);
#define EVERY_DIM (~0u)
/* The placement in which a variable of this shape is stored; true if it is finer than the
 * layout's. */
bool emit_home(const emitter *e, const mtf_shape *shape, placement *where);
/* Combines s over the processors that differ along these axes; s becomes the result. */
bool emit_all_reduce(emitter *e, fold_kind kind, unsigned axes, slice *s);
/* The same, and also cuts dimension `dim` (whole size) of s, cut by `from`, along the further axes
 * of `to`, over which it is summed: each processor keeps its part of the result. */
bool emit_reduce_scatter(emitter *e, fold_kind kind, mtf_dim dim, const axis_list *from,
                         const axis_list *to, slice *s);
/* Changes the placement of a tensor of this shape; s becomes this processor's new part. */
bool emit_exchange(emitter *e, const mtf_shape *shape, const placement *from, const placement *to,
                   slice *s);
/* The same with maps for some dimensions.  Only a view if nothing has to move. */
bool emit_fetch(emitter *e, const exchange_args *how, slice *s);
/* Inputs and variables: buffers that outlive the step.  The same tensor always has the same
 * buffer. */
bool emit_input(emitter *e, const mtf_tensor *x, slice *out);
bool emit_variable(emitter *e, const mtf_tensor *w, slice *out); /* at the start of the step */
bool emit_read(emitter *e, const mtf_tensor *w, slice *out);     /* after assignments */
bool emit_assign(emitter *e, const mtf_tensor *w, const slice *value); /* stored by emit_stores */
bool emit_stores(emitter *e); /* at the end: stores every assigned value in its variable */
/* Returns the index of the LOOP instruction, or -1. */
int  emit_loop(emitter *e, int64_t trips);
bool emit_test(emitter *e, int loop, const slice *flag);
bool emit_again(emitter *e, int loop);

#endif

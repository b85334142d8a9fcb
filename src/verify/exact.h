/* The exact device: instructions on residues, element by element.
 *
 * Every element, of whatever type, is a cell of 128 bits.  Floating elements are
 * residues of one prime, so casts among them change nothing; integers and bools
 * are what they are.  Order among residues: whole numbers below 2^31 in magnitude as
 * usual, the others by a keyed hash above or below these, infinities outermost.
 */
#ifndef VERIFY_EXACT_H
#define VERIFY_EXACT_H

#include "base/dtype.h"
#include "program/program.h"
#include "verify/field.h"

typedef residue cell;

typedef struct exact {
    mtf_session *session;
    uint64_t     key; /* of hashes and of random numbers */
    uint32_t     step;
    int64_t     *hashes; /* counted here */
    int          unit;   /* bytes of memory that one cell stands for */
    cell       **base;   /* by buffer */
    cell        *tile;   /* working space, of tile_cells */
    size_t       tile_cells;
} exact;

/* An operand: where it begins and what each loop adds, in cells. */
typedef struct operand_view {
    cell     *at;
    mtf_dtype type;
    int64_t   step; /* between neighbouring elements in memory */
    int64_t   stride[MAX_LOOPS];
} operand_view;

operand_view view_of(const exact *x, const instr *i, const access *a);
/* Working space of `cells` cells, valid until the next call; NULL after an error. */
cell *exact_tile(exact *x, size_t cells);

/* A walk through all iterations of loops first .. end-1 in row-major order, with the offsets of up
 * to three operands, in cells. */
enum { WALKED = 3 };
typedef struct iterations {
    int            first, end;
    const int64_t *size;
    const int64_t *stride[WALKED];
    int64_t        at[WALKED];
    int64_t        index[MAX_LOOPS];
    bool           done;
} iterations;

/* Operands may be NULL. */
iterations iterations_begin(const instr *i, int first, int end, const operand_view *a,
                            const operand_view *b, const operand_view *c);
/* Over loops 0 .. end-1, from iteration `number` on. */
iterations iterations_at(const instr *i, int end, int64_t number, const operand_view *a);

static inline void iterations_next(iterations *t)
{
    for (int d = t->end - 1; d >= t->first; d--) {
        if (++t->index[d] < t->size[d]) {
            for (int k = 0; k < WALKED; k++) t->at[k] += t->stride[k][d];
            return;
        }
        t->index[d] = 0;
        for (int k = 0; k < WALKED; k++) t->at[k] -= (t->size[d] - 1) * t->stride[k][d];
    }
    t->done = true;
}

/* ---- numbers ---- */

cell exact_constant(mtf_dtype type, scalar value);
cell exact_wrap(mtf_dtype type, uint64_t value); /* an integer cut to its width; a bool to 0 or 1 */
cell exact_cast(const exact *x, mtf_dtype to, mtf_dtype from, cell a);
/* What stands for 1 / a: the inverse of a small whole number, 0 for 0, else a hash. */
cell exact_inverse(const exact *x, cell a);
/* A random number: element `position` of a stream, as `how` says. */
uint64_t exact_stream(const exact *x, const draw_args *how);
uint64_t exact_dropout(const exact *x, uint32_t stream, int64_t pair); /* bit 0: keeps the pair */
cell     exact_drawn(const draw_args *how, mtf_dtype type, uint64_t stream, int64_t position);
/* A number that sorts as the element does. */
int64_t exact_order(const exact *x, mtf_dtype type, cell a);
/* The row of scalars.h applied to elements of a compute type. */
cell exact_scalar(const exact *x, scalar_fn fn, mtf_dtype type, cell a, cell b);
/* What stands for the weight of a logit in a softmax, and for p times a sum of weights: whole numbers. */
uint64_t exact_weight(const exact *x, cell logit);
uint64_t exact_share(const exact *x, cell p, uint64_t all);
/* The better of two for MAX and MIN. */
cell exact_best(const exact *x, fold_kind kind, mtf_dtype type, cell a, cell b);
cell exact_combine(const exact *x, fold_kind kind, mtf_dtype type, cell a, cell b);

static inline bool exact_is_real(mtf_dtype type)
{
    return dtype_is_float(type);
}

static inline cell exact_add(mtf_dtype type, cell a, cell b)
{
    if (exact_is_real(type)) return field_add(a, b);
    return type == MTF_BOOL ? a | b : exact_wrap(type, (uint64_t)(a + b));
}

static inline cell exact_mul(mtf_dtype type, cell a, cell b)
{
    if (exact_is_real(type)) return field_mul(a, b);
    return type == MTF_BOOL ? a & b : exact_wrap(type, (uint64_t)(a * b));
}

/* ---- instructions ---- */

/* Runs any instruction but collectives, loops and INSTR_SAY; false after an error. */
bool exact_run(exact *x, const instr *i);

typedef bool exact_kernel(exact *x, const instr *i);
exact_kernel exact_map, exact_move, exact_add_into, exact_fold, exact_contract, exact_grouped,
    exact_gather, exact_scatter, exact_scan, exact_sort, exact_nucleus, exact_window, exact_draw,
    exact_attention, exact_attention_join, exact_attention_grad;

#endif

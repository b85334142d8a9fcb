/* Exchanges: which processor has, and which needs, which part.
 *
 * The functions compute with one processor's coordinates, and give the same
 * result on every processor; plans, wires and prices all use them.
 */
#ifndef PROGRAM_EXCHANGE_H
#define PROGRAM_EXCHANGE_H

#include "program/instr.h"

int64_t span_overlap(span a, span b); /* the number of elements in both */
/* What processor p has of dimension d, and what it needs of it. */
span exchange_has(const mesh *m, const exchange_args *how, int d, const mesh_point *p);
span exchange_wanted(const mesh *m, const exchange_args *how, int d, const mesh_point *p);
/* How many parts of the cut of dimension d, which has a map, need some of `has`; and elements of it, each
 * counted once for every part that needs it. */
int64_t exchange_readers(const mesh *m, const exchange_args *how, int d, span has);
int64_t exchange_lent(const mesh *m, const exchange_args *how, int d, span has);
/* The axes that cut what processors need of dimension d, and the size of what they cut. */
const axis_list *exchange_cut(const exchange_args *how, int d);
int64_t          exchange_cut_size(const exchange_args *how, int d);
/* Elements of p's new part that it had before, and those that it must receive. */
int64_t exchange_kept(const mesh *m, const exchange_args *how, const mesh_point *p);
/* Elements of p's old part, and of the largest old part. */
int64_t exchange_part(const mesh *m, const exchange_args *how, const mesh_point *p);
int64_t exchange_largest(const mesh *m, const exchange_args *how);
int64_t exchange_received(const mesh *m, const exchange_args *how, const mesh_point *p);
/* The axes along which parts are only gathered: each dimension stays cut or becomes whole.  0: not
 * a gather. */
unsigned exchange_gathers(const exchange_args *how);
/* The axes along which processors that exchange data differ. */
unsigned exchange_axes(const exchange_args *how);
/* Does every processor have all that it needs? */
bool exchange_is_local(const mesh *m, const exchange_args *how);

/* Parts that are gathered along one dimension, before which all dimensions have size 1: each part
 * is contiguous in the result. */
typedef struct run_plan {
    int     dim; /* -1: not such a gather */
    int64_t row; /* bytes of one index of it */
} run_plan;

run_plan find_runs(const mesh *m, const exchange_args *how, int me, int64_t bytes);
/* The range of a processor's part in the result, in bytes. */
span run_of(const mesh *m, const exchange_args *how, const run_plan *r, int processor);

#endif

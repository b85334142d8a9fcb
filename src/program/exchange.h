/* Exchanges: who has and who wants which part.
 *
 * Arithmetic on one processor's coordinates, the same wherever it is done;
 * plans, wires and prices all ask here.
 */
#ifndef PROGRAM_EXCHANGE_H
#define PROGRAM_EXCHANGE_H

#include "program/instr.h"

int64_t span_overlap(span a, span b); /* how many elements are in both */
/* What processor p has of dimension d, and what it wants of it. */
span exchange_has(const mesh *m, const exchange_args *how, int d, const mesh_point *p);
span exchange_wanted(const mesh *m, const exchange_args *how, int d, const mesh_point *p);
/* Of the parts by which dimension d is asked for through its map, first .. last: narrowed down to
 * those that may want some of `has`. */
void exchange_readers(const mesh *m, const exchange_args *how, int d, span has, int *first,
                      int *last);
/* The axes that cut what processors want of dimension d. */
const axis_list *exchange_cut(const exchange_args *how, int d);
/* Elements of p's new part that it had before, and those that it must be sent. */
int64_t exchange_kept(const mesh *m, const exchange_args *how, const mesh_point *p);
/* Elements of p's part before, and of the largest such part. */
int64_t exchange_part(const mesh *m, const exchange_args *how, const mesh_point *p);
int64_t exchange_largest(const mesh *m, const exchange_args *how);
int64_t exchange_received(const mesh *m, const exchange_args *how, const mesh_point *p);
/* The axes along which parts are only gathered: each dimension stays as it is cut or becomes whole.
 * 0: something else is asked for. */
unsigned exchange_gathers(const exchange_args *how);
/* The axes along which those differ between whom anything moves. */
unsigned exchange_axes(const exchange_args *how);
/* Does every processor have all that it wants? */
bool exchange_is_local(const mesh *m, const exchange_args *how);

/* Parts that are gathered along one dimension, which nothing but single indices stands before: each
 * is one run of the result. */
typedef struct run_plan {
    int     dim; /* -1: something else is asked for */
    int64_t row; /* bytes for one index of it */
} run_plan;

run_plan find_runs(const mesh *m, const exchange_args *how, int me, int64_t bytes);
/* Where a processor's run lies in the result, in bytes. */
span run_of(const mesh *m, const exchange_args *how, const run_plan *r, int processor);

#endif

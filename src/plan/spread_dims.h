/* The cut dimensions of a node: which stay in parts, how finely. */
#ifndef PLAN_SPREAD_DIMS_H
#define PLAN_SPREAD_DIMS_H

#include "plan/shard.h"

/* A cut dimension of a node, and how the op treats it. */
typedef struct cut_dim {
    const char *dim;
    axis_list   cut;
    unsigned    axes;
    dim_split   split;
    bool        finer; /* cut further than the layout says */
} cut_dim;

typedef struct cut_dims {
    int     n;
    bool    finer; /* some dimension is */
    cut_dim of[4 * MTF_SHAPE_ROOM];
} cut_dims;

/* The dimensions of a tensor that the layout cuts, as bits; none if the axes have one processor. */
unsigned spread_cut(const emitter *e, const mtf_tensor *x);
/* The axes that cut dim; none if they have one processor each: then nothing is cut or moved. */
unsigned spread_rule_axes(const emitter *e, const char *dim);

/* Adds the cut dimensions of x that are not there yet, as n's op treats them. */
void     spread_add_dims(const emitter *e, const node *n, const mtf_tensor *x, cut_dims *f);
cut_dim *spread_find_dim(cut_dims *f, const char *dim); /* NULL: it is not cut */
/* Chooses dimensions that are gathered, so that all others can be reduced in parts. */
void spread_resolve_conflicts(const node *n, cut_dims *f, unsigned carried);
/* Chooses dimensions of which n works on finer parts than the layout's. */
void spread_choose_finer(const emitter *e, const node *n, shard **in, const shard *out,
                         unsigned carried, cut_dims *f);

#endif

/* What a page shows of a plan: times, memory, parts. */
#ifndef PAGE_PLAN_VIEW_H
#define PAGE_PLAN_VIEW_H

#include "price/phases.h"
#include "price/estimate.h"

/* Kinds of memory, in the picture's order from the bottom: first those alive during the whole step. */
typedef enum memory_kind {
    MEMORY_PARAMETERS,
    MEMORY_STATE,
    MEMORY_BUFFERS, /* inputs, constants, work space of kernels, message buffers */
    MEMORY_ACTIVATIONS,
    MEMORY_GRADIENTS, /* of the backward pass and of updates */
    MEMORY_KINDS
} memory_kind;

extern const char *const memory_names[MEMORY_KINDS];   /* shown */
extern const char *const memory_classes[MEMORY_KINDS]; /* CSS classes */

/* A tensor in memory, from one instruction to another. */
typedef struct lifetime {
    const mtf_tensor *tensor; /* NULL: working space */
    const char       *what;   /* of working space: its name */
    memory_kind       kind;
    int64_t           bytes;
    int               first, last;
} lifetime;

typedef struct plan_view {
    mtf_graph *graph;
    estimate  *e;
    arena     *arena;
    phases     phases;
    double    *begin; /* seconds at which each instruction begins; one more, the end */
    double     end;   /* of the step, more than 0 */
    lifetime  *lifetimes;
    int        nlifetimes, room;
    int64_t (*alive)[MEMORY_KINDS]; /* by instruction */
    int     peak;                   /* the instruction at which most is alive */
    int64_t most;                   /* and how much that is */
    int64_t reserved;               /* bytes that the processor reserves, for the whole step */
} plan_view;

/* False: no memory. */
bool plan_view_make(plan_view *v, mtf_graph *g, estimate *e, arena *a);

/* How the tensor of an instruction is cut: by the layout, and stored variables also by the rules for
 * state. */
void view_placement(const plan_view *v, const mtf_tensor *x, placement *where);
/* This processor's part of a tensor. */
mtf_shape   view_local(const plan_view *v, const mtf_tensor *x);
const char *view_kind(const plan_view *v, int k); /* contract, all_reduce, ... */

#endif

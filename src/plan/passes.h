/* The passes of planning, in their order. */
#ifndef PLAN_PASSES_H
#define PLAN_PASSES_H

#include "graph/node.h"
#include "program/program.h"
#include "space/layout.h"

/* What is known about a graph's nodes and tensors during lowering. */
typedef struct survey {
    mtf_graph   *graph;
    arena       *scratch;
    bool        *live;    /* by node id: must be computed             */
    int         *readers; /* by tensor id: uses by live nodes, block results and fetches */
    mtf_tensor **same;    /* by tensor id: the equal tensor that replaces it, usually itself */
} survey;

/* Marks what fetches and effects need. */
bool survey_live(survey *s, int nfetches, mtf_tensor *const *fetches);
/* The branch that a where(training, x, y) selects in this graph; NULL: not such a node, or the
 * branch has other dimensions. */
mtf_tensor *survey_choice(const node *n);
/* Both, in this order. */
bool survey_make(survey *s, int nfetches, mtf_tensor *const *fetches);
/* Fuses elementwise instructions that feed each other. */
bool fuse_maps(program *p, arena *scratch);
/* Lets products do what maps after them did, where the device can; after fusing. */
bool fuse_epilogues(program *p, arena *scratch);
/* Lets later maps recompute what they can from the least that must be kept, on devices where that is
 * faster; after fusing. */
bool keep_least(program *p, arena *scratch);
/* Lets maps that only add up columns become part of later ones that read the same; after that. */
bool join_sums(program *p, arena *scratch);
/* Lets products sum what no map does; after that. */
bool fuse_totals(program *p, arena *scratch);
/* Lets maps recompute values that other maps stored for them; after fusing. */
bool recompute_values(program *p, arena *scratch);
/* Recomputes values for the gradient instead of keeping them; after recompute_values. */
bool remake_values(program *p, arena *scratch);
/* Lets maps that read the same large operand become one, on devices where that is faster; after that. */
bool join_maps(program *p, arena *scratch);
/* Puts maps of variables first, for devices that carry them out together; after that. */
bool hoist_maps(program *p, arena *scratch);
/* Makes lines the rows of maps that read one value per line. */
void find_rows(program *p);
/* Lets gradients of attention read what attention gave, on devices whose library wants it. */
bool read_attention(program *p);
/* Copies filters of convolutions as a device's library wants them. */
bool transpose_filters(program *p, arena *scratch);
/* The program's counters, without collectives. */
bool count_graph(program *p, const survey *s, const layout *l);
/* Lets updates write into the old value instead of a copy, if it is no longer needed. */
bool update_in_place(program *p, arena *scratch);
/* Lets instructions write directly into variables whose old value is no longer needed. */
bool store_in_place(program *p);
/* Puts rows of matrices apart as products want them, on devices where that is faster; after that. */
bool stride_rows(program *p, arena *scratch);
/* The most bytes alive at one time, if buffers were placed now. */
bool count_alive(program *p, int64_t *most);
/* Live ranges and places of all buffers. */
bool place_buffers(program *p, int64_t guard);
/* Places buffers again by size, if that takes less memory; after place_buffers. */
bool place_by_size(program *p, int64_t align, int64_t guard);

#endif

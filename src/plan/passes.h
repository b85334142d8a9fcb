/* The passes of planning, in their order. */
#ifndef PLAN_PASSES_H
#define PLAN_PASSES_H

#include "graph/node.h"
#include "program/program.h"
#include "space/layout.h"

/* What is known of a graph's nodes and tensors while it is lowered. */
typedef struct survey {
    mtf_graph   *graph;
    arena       *scratch;
    bool        *live;    /* by node id: must be computed             */
    int         *readers; /* by tensor id: how many live nodes, block results and fetches use it */
    mtf_tensor **same;    /* by tensor id: the equal tensor that stands for it, itself as a rule */
} survey;

/* Marks what fetches and effects need. */
bool survey_live(survey *s, int nfetches, mtf_tensor *const *fetches);
/* The branch that a where(training, x, y) is in this graph; NULL: it is no such node, or the branch has
 * other dimensions. */
mtf_tensor *survey_choice(const node *n);
/* Finds live nodes that compute the same from the same. */
bool survey_merge(survey *s);
/* Both, one after the other. */
bool survey_make(survey *s, int nfetches, mtf_tensor *const *fetches);
/* Makes one instruction of elementwise ones that feed each other. */
bool fuse_maps(program *p, arena *scratch);
/* Lets maps make values again that other maps had stored for them; after fusing. */
bool recompute_values(program *p, arena *scratch);
/* Makes values again where the gradient wants them, instead of keeping them; after that. */
bool remake_values(program *p, arena *scratch);
/* Tells maps that read one number a line to take lines as rows. */
void find_rows(program *p);
/* The program's counters, but for collectives. */
bool count_graph(program *p, const survey *s, const layout *l);
/* Lets updates write into the old value, where nobody needs it any more, instead of a copy. */
bool update_in_place(program *p, arena *scratch);
/* Lets instructions write straight into variables where no one needs the old value any more. */
bool store_in_place(program *p);
/* Lifetimes and places of all buffers. */
bool place_buffers(program *p, int64_t guard);
/* Again in order of size, where that takes less; follows it. */
bool place_by_size(program *p, int64_t align, int64_t guard);

#endif

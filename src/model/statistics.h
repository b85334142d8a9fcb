/* Statistics of tensors by name, step by step, beside the model. */
#ifndef MODEL_STATISTICS_H
#define MODEL_STATISTICS_H

#include "graph/node.h"

enum { STATISTICS = 5 };
extern const char *const statistic_names[STATISTICS]; /* "mean", "stddev", ... */

typedef struct statistics {
    const char **names;  /* of the tensors */
    mtf_tensor **values; /* STATISTICS floating scalars for each: to be fetched */
    int          count;
} statistics;

/* Appends to the graph what computes them, for each tensor outside of blocks whose name the pattern
 * matches.  False after an error; that none matches is one. */
bool statistics_add(mtf_graph *g, const char *pattern, statistics *all);

#endif

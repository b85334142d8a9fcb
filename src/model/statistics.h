/* Statistics of tensors, selected by name, in each step. */
#ifndef MODEL_STATISTICS_H
#define MODEL_STATISTICS_H

#include "graph/node.h"

enum { STATISTICS = 5 };
extern const char *const statistic_names[STATISTICS]; /* "mean", "stddev", ... */

typedef struct statistics {
    const char **names;  /* of the tensors */
    mtf_tensor **values; /* STATISTICS floating scalars for each tensor, to be fetched */
    int          count;
} statistics;

/* Appends to the graph the nodes that compute them, for each tensor outside loops and regions whose name
 * matches the pattern.  False after an error; it is an error where none matches. */
bool statistics_add(mtf_graph *g, const char *pattern, statistics *all);

#endif

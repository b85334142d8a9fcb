/* Split rules that many operations share. */
#ifndef OPS_SPLITS_H
#define OPS_SPLITS_H

#include "graph/node.h"

dim_split split_free(const node *n, const char *dim); /* every dimension by itself */
dim_split split_but_first(const node *n,
                          const char *dim); /* all but the one that attribute 0 names */
dim_split split_own_first(const node *n, const char *dim); /* that one by the op's own lowering */
debt      debt_sum(const node *n, int input);
debt      debt_product(const node *n, int input);
debt      debt_first(const node *n, int input); /* linear in input 0 only */

#endif

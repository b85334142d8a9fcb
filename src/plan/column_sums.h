/* Folds of columns, which become part of the map before them. */
#ifndef PLAN_COLUMN_SUMS_H
#define PLAN_COLUMN_SUMS_H

#include "program/program.h"

/* Lets map `m` add up the columns of its output o, as `fold` does with what it reads.  `keep`: the
 * output itself is still stored.  False: it cannot, or after an error; then m is unchanged. */
bool column_sum(program *to, instr *m, int o, const instr *fold, bool keep);

#endif

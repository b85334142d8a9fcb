/* What an attention instruction sees, costs and reaches. */
#ifndef PROGRAM_ATTENTION_COST_H
#define PROGRAM_ATTENTION_COST_H

#include "program/instr.h"

/* Is what a query sees told by indices alone? */
bool attention_by_index(const attention_args *a);
/* The positions of this processor's memory that the query of index `query` here may see by index. */
span attention_seen(const attention_args *a, int64_t query);
/* Pairs that see each other among rows first .. last-1 of the loops in row-major order, as far as
 * indices tell, else all pairs; saturates. */
int64_t attention_pairs(const instr *i);
int64_t attention_pair_flops(const instr *i); /* of one */
int64_t attention_flops(const instr *i);

/* Operands are counted outputs first. */
bool    attention_lies_along(const instr *i, int operand); /* the memory */
int64_t attention_operand_elements(const instr *i, int operand, int64_t rows);
int64_t attention_reach(const instr *i, int operand); /* beyond the loops */

#endif

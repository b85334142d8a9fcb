/* Attention instructions: visible pairs, flops, operands. */
#ifndef PROGRAM_ATTENTION_COST_H
#define PROGRAM_ATTENTION_COST_H

#include "program/instr.h"

/* Do indices bound what a query sees?  Segments may hide more of it. */
bool attention_within_index(const attention_args *a);
/* Do indices alone determine it? */
bool attention_by_index(const attention_args *a);
/* Is there no bias and no dropout, do indices determine what a query sees, and is it no partial result? */
bool attention_is_plain(const instr *i);
/* The positions of this processor's memory that its query number `query` may see by index. */
span attention_seen(const attention_args *a, int64_t query);
/* The number of pairs of a query and a position that it sees by index, or, where indices do not bound it,
 * of all pairs; saturates. */
int64_t attention_pair_flops(const instr *i); /* of one pair */
int64_t attention_flops(const instr *i);

/* Operands are numbered outputs first. */
bool    attention_lies_along(const instr *i, int operand); /* does it have a memory dimension? */
int64_t attention_operand_elements(const instr *i, int operand, int64_t rows);
int64_t attention_reach(const instr *i, int operand); /* how far the kernel steps itself */

#endif

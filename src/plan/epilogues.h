/* Epilogues: maps and folds that become part of a product. */
#ifndef PLAN_EPILOGUES_H
#define PLAN_EPILOGUES_H

#include "plan/readers.h"
#include "program/epilogue.h"

typedef struct epilogue_pass {
    program *program;
    readers  readers;
    bool    *gone; /* by instruction: another does its work */
} epilogue_pass;

/* ---- loops (epilogue_loops.c) ---- */

/* Which loops of a product an instruction's loops belong to: one of the product's may be several of them,
 * as rows are batch and length. */
typedef struct loop_parts {
    int     of[MAX_LOOPS];    /* the product's loop; -1: a single iteration */
    int64_t steps[MAX_LOOPS]; /* iterations of the product's loop for one of this loop */
} loop_parts;

/* Does the instruction go through the same elements of a buffer as the product does? */
bool epilogue_align(const instr *product, const access *of_product, const instr *other,
                    const access *of_other, loop_parts *to);
/* An operand of the other instruction with strides along the product's loops; false: it has none. */
bool epilogue_carry(const instr *product, const instr *other, const loop_parts *parts,
                    const access *a, access *to);

/* Is the step a rounding to the type of a product, or a cast that rounds nothing?  Results are rounded
 * when they are stored; other casts are the user's own. */
bool epilogue_may_skip(const scalar_step *s, mtf_dtype type);
/* May a product have an epilogue at all? */
bool epilogue_may_have(const program *p, const instr *i);
/* Is no buffer that the instruction reads written between two others, both not included? */
bool epilogue_undisturbed(const epilogue_pass *e, const instr *i, int first, int last);
/* Appends an operand; the number it has, -1 after an error. */
int epilogue_add_input(program *p, instr *i, const access *a);
int epilogue_add_output(program *p, instr *i, const access *a);

/* ---- sums in maps (epilogue_sums.c) ---- */

/* How often steps and outputs of a map use a register. */
int epilogue_uses(const instr *map, int reg);
/* The input that a register is, apart from roundings to its type, if nothing else uses it; -1: none. */
int epilogue_input_once(const instr *map, int reg);
/* Register `sum` is what register `with` holds from now on; input `without` is read no more. */
bool epilogue_replace_sum(program *p, instr *map, int sum, int with, int without);

/* ---- what is fused ---- */

/* into a sum that stays in its place (epilogue_into.c) */
bool epilogues_into_sums(epilogue_pass *e);
bool epilogues_of_folds(epilogue_pass *e); /* sums of rows or columns (epilogue_totals.c) */
bool epilogues_of_sums(epilogue_pass *e);  /* of two products, inside maps (epilogue_sums.c) */

#endif

/* Epilogues of products: what they do, as plain instructions. */
#ifndef PROGRAM_EPILOGUE_H
#define PROGRAM_EPILOGUE_H

#include "base/textbuf.h"
#include "program/instr.h"

/* The loop along which the elements of a product's result are adjacent: m or n. */
int epilogue_row(const instr *i);

/* Does a product do more than multiply, and perhaps add a matrix? */
static inline bool epilogue_is_any(const instr *i)
{
    const contract_args *c = &i->contract;
    return i->kind == INSTR_CONTRACT && (c->bias || c->activation || c->kept || c->total);
}

/* A product as several instructions: one without an epilogue, except that it may still add a matrix,
 * then a map in place, then a fold.  They compute the same, with more roundings. */
typedef struct epilogue_parts {
    int         n;
    instr       part[3];
    access      operands[16];
    scalar_step steps[4];
    int         results[2];
} epilogue_parts;

void epilogue_split(const instr *i, epilogue_parts *to); /* `to` must not be copied */

/* The result of a product that keeps what its activation is applied to, as a map of that. */
typedef struct epilogue_map {
    instr       map;
    access      operands[2];
    scalar_step step;
    int         result;
} epilogue_map;

bool epilogue_again(const instr *i, epilogue_map *to); /* false: it does not; else as above */

/* " add bias gelu kept", as listings have it. */
void epilogue_write(const instr *i, textbuf *t);

#endif

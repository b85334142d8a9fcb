/* Expressions: calls, names, numbers, sums and products.
 *
 * A call is read first and made afterwards, because a call that is alone on its
 * line takes its type and shape from the annotation.
 */
#ifndef OPS_PARSE_EXPR_H
#define OPS_PARSE_EXPR_H

#include "ops/parse_attr.h"

/* A value; a number stays a number until it is known what type it must have. */
typedef struct operand {
    mtf_tensor *x; /* NULL: a number */
    attr_number number;
    token       at;
} operand;

typedef struct call_text {
    token        at;
    const op    *op;
    int          nin;
    mtf_tensor **in;    /* padded with NULL to the most inputs that the op takes */
    attr_slot   *slots; /* aligned with op->attrs, as the values */
    attr        *attrs;
} call_text;

/* What surrounds a call: all zero for a nested one. */
typedef struct call_place {
    const target *wish;  /* the line's first name, or NULL */
    int           names; /* how many results the line names; 0: nested, exactly one */
    block       **blocks;
    int           sums;
} call_place;

typedef struct results {
    int          n;
    mtf_tensor **x;
} results;

bool expr_read(parser *p, operand *value);
bool expr_continue(parser *p, operand *value); /* value is the first operand */
/* Reads operands, separated by commas, up to something else; none where one of `ends` follows. */
bool exprs_read(parser *p, const char *ends, int *n, operand **values);
/* The operand as a tensor, a number as a scalar of this type; NULL after an error. */
mtf_tensor *operand_tensor(parser *p, const operand *value, mtf_dtype type);

/* `wish`: the first name of the line that the call stands on, or NULL for a nested call. */
bool call_read(parser *p, const target *wish, call_text *c);
bool call_make(parser *p, call_text *c, const call_place *place, results *made);

#endif

/* Reads attributes, by the op's own list of them. */
#ifndef OPS_PARSE_ATTR_H
#define OPS_PARSE_ATTR_H

#include "ops/annotation.h"

/* What the text says of one attribute of a call. */
typedef struct attr_slot {
    bool    given;
    token   at;
    cursor *elements; /* DATA: where to read once type and shape are known */
} attr_slot;

/* Reads `name=value`; the value goes to its place in `values`. */
bool attr_read_pair(parser *p, const op *o, attr_slot *slots, attr *values);
/* Fills in the attributes that the text omits: from the annotation `wish` (or NULL), else the
 * default.  `sums` is what the op's block yields after the semicolon. */
bool attrs_complete(parser *p, const token *call, const op *o, attr_slot *slots, attr *values,
                    const target *wish, int sums);
/* Fails at a `true` or `false` where elements of this type are not bool. */
bool bools_fit(parser *p, const op *o, const attr_slot *slots, mtf_dtype type);
/* Fails where this type cannot hold x. */
bool number_fits(parser *p, const token *at, attr_number x, mtf_dtype type);

#endif

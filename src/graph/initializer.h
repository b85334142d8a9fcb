/* Initialisers: how a variable's first value is drawn. */
#ifndef GRAPH_INITIALIZER_H
#define GRAPH_INITIALIZER_H

#include "mtf.h"

typedef enum initializer_kind {
    INIT_CONSTANT,         /* a                       */
    INIT_UNIFORM,          /* between a and b         */
    INIT_NORMAL,           /* mean a, deviation b     */
    INIT_TRUNCATED_NORMAL, /* the same within 2b      */
    INIT_GLOROT_UNIFORM    /* range from the shape    */
} initializer_kind;

typedef struct initializer {
    initializer_kind kind;
    double           a, b;
} initializer;

/* Reads "normal(0, 0.1)" and the like; false where the text is none of them. */
bool initializer_parse(const char *text, initializer *out);
/* Glorot's rule made plain uniform for this shape: the last dimension counts as outputs, the one
 * before as inputs, the others as positions, as in the original. */
initializer initializer_for_shape(initializer i, const mtf_shape *shape);

#endif

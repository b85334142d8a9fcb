/* Initialisers: how a variable's first value is drawn. */
#ifndef GRAPH_INITIALIZER_H
#define GRAPH_INITIALIZER_H

#include "graph/attr.h"

typedef enum initializer_kind {
    INIT_CONSTANT,         /* `value`                                                 */
    INIT_UNIFORM,          /* between a and b                                         */
    INIT_NORMAL,           /* mean a, deviation b                                     */
    INIT_TRUNCATED_NORMAL, /* the same within 2b                                      */
    INIT_NORMAL_EACH,      /* mean 0, a deviation for each index of the first dimension */
    INIT_ORTHOGONAL,       /* a times a matrix with orthonormal rows or columns       */
    INIT_SCALED            /* variance a / fan, drawn as `draw` says                   */
} initializer_kind;

/* What the variance is divided by: how many terms go into an output, how many outputs an input
 * goes to, or the mean of both. */
typedef enum initializer_fan { FAN_IN, FAN_OUT, FAN_AVG } initializer_fan;

enum { INIT_DEVIATIONS = 8, INIT_TEXT = 80 };

typedef struct initializer {
    initializer_kind kind;
    double           a, b;
    attr_number      value;     /* INIT_CONSTANT */
    initializer_fan  fan;       /* INIT_SCALED */
    initializer_kind draw;      /* INIT_SCALED */
    bool             corrected; /* INIT_SCALED: widened by what truncating takes away */
    int              n;         /* INIT_NORMAL_EACH */
    double           deviations[INIT_DEVIATIONS];
} initializer;

/* What initializer_parse reads, for messages and the manual. */
#define INITIALIZER_FORMS                                                                          \
    "zeros, ones, constant(v), uniform(lo, hi), normal(mean, stddev), truncated_normal(mean, "     \
    "stddev), normal_each(stddev, ...), orthogonal, orthogonal(gain), glorot_uniform, "            \
    "glorot_normal, he_uniform, he_normal, lecun_uniform, lecun_normal, variance_scaling(scale, "  \
    "fan_in or fan_out or fan_avg, normal or uniform or untruncated_normal)"

/* Reads "normal(0, 0.1)" and the like; false where the text is none of them. */
bool initializer_parse(const char *text, initializer *out);
/* Replaces INIT_SCALED by its draw for a weight that sums `in` terms into each of `out` outputs. */
initializer initializer_for_fans(initializer i, double in, double out);
/* The same for a shape: the last dimension counts as outputs, the one before as inputs, the others
 * as positions, as in the original. */
initializer initializer_for_shape(initializer i, const mtf_shape *shape);
/* The text of a uniform, normal or truncated normal initialiser. */
void initializer_write(initializer i, char text[INIT_TEXT]);

#endif

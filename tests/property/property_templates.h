/* Lines that a random graph may have, with places to fill in.
 *
 *     %x %y %z %w   floats; every further one agrees with those before it in common dimensions
 *     %u            a float with no dimension that the first operand lacks
 *     %e %g         floats that no sum has touched: equal in every layout, so they may be
 *                   compared, rounded and sorted
 *     %i %j         i32;  %v: i32 with no dimension that the first operand lacks
 *     %b %c         bool
 *     %a            any type;  %h: of the same type and dimensions, sizes may differ
 *     %d %f         names of two dimensions of the first operand
 *     %n %m %s %Z   0 .. size-1, 1 .. size, -size-1 .. size+1, size; of dimension %d
 *     %R            two numbers that sum to that size
 *     %D %N         a dimension the first operand lacks: name=size, and its name
 *     %L            the first operand's last dimension: name=size
 *     %X            the first operand's shape
 *     %S            a shape as `shape` says
 *     %k            1 .. 3;  %K: a key of random numbers
 *     %t %P %T      true or false; same or valid; the graph's floating type
 *     %o %p %q      names of results
 */
#ifndef PROPERTY_TEMPLATES_H
#define PROPERTY_TEMPLATES_H

#include "property_case.h"

typedef enum shape_kind {
    SHAPE_NONE,
    SHAPE_POOL,   /* a few dimensions of the pool      */
    SHAPE_SUBSET, /* some of the operands' dimensions  */
    SHAPE_ORDER,  /* those of the first, another order */
    SHAPE_MORE,   /* those of the first, and others    */
    SHAPE_OTHER   /* as many elements in other dimensions */
} shape_kind;

/* How large results can become. */
typedef enum growth {
    GROW_NONE,     /* as the largest operand   */
    GROW_ONE,      /* at most 1                */
    GROW_FEW,      /* at most 4                */
    GROW_SUM,      /* the operands' sum, plus 1*/
    GROW_PRODUCT,  /* their product            */
    GROW_CONTRACT, /* product, times how many elements go into one */
    GROW_TENFOLD
} growth;

enum {
    SUMS = 1,   /* adds floats: the order depends on the layout */
    KINK = 2,   /* its derivative jumps: no gradient behind a sum */
    SOURCE = 4, /* %o can be differentiated by */
    STOPS = 8   /* no gradient flows through */
};

typedef struct line_template {
    int         weight;
    const char *text;
    shape_kind  shape;
    growth      growth;
    unsigned    flags;
} line_template;

extern const line_template line_templates[];
extern const int           nline_templates;

#endif

/* Lines that a random program may have, with places to fill in.
 *
 *     %x %y %z %w   floats of one type; every further one agrees with those before it in common
 *                   dimensions
 *     %u            a float with no dimension that the first operand lacks
 *     %i %j         integers of one type;  %v: an integer with no dimension that the first lacks
 *     %A %B %C      numbers of one type, floats or integers
 *     %b %c         bools
 *     %a            any type;  %h: of the same type and dimensions, the size of %d may differ
 *     %d %f         names of two dimensions of the first operand;  %e: of one of the last
 *     %n %m %s %Z   0 .. size-1, 1 .. size, -size-1 .. size+1, size; of dimension %d
 *     %R            two numbers that sum to that size;  %W: twice that size less 1
 *     %D %N         a dimension the first operand lacks: name=size, and its name
 *     %L %l         the first operand's last dimension: name=size, and its size
 *     %S            a shape as `shape` says
 *     %k            1 .. 3;  %K: a key of random numbers;  %G: a large integer
 *     %t %P         true or false; same or valid
 *     %T %F %Y %I   the program's floating type; that of the first operand; any floating type; i32 or i64
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

enum {
    ROOT = 1, /* not inside blocks */
    WIDE = 2, /* of interest with many dimensions; all operands together may have more than 16 */
    BOTH = 4, /* for plain graphs, too */
    AIM = 8,  /* aimed at what planners get wrong: half of the programs end with one of these */
};

typedef struct line_template {
    int         weight;
    const char *text;
    shape_kind  shape;
    unsigned    flags;
} line_template;

extern const line_template line_templates[];
extern const int           nline_templates;

#endif

/* The search space: the axes that cut each dimension.
 *
 * A layout is legal where no tensor has two dimensions on one axis: a relation
 * between pairs of dimensions.  Rules that the user gave are decided already.
 */
#ifndef SEARCH_SPACE_H
#define SEARCH_SPACE_H

#include "graph/node.h"
#include "plan/passes.h"

enum { MAX_SEARCHED = 64 }; /* dimensions: sets of them are 64 bits */
#define EVERY_SEARCHED (~(uint64_t)0)

typedef struct search_dim {
    const char *name;
    int64_t     size;    /* the largest under this name */
    double      largest; /* elements of the largest tensor that has it */
    uint64_t    apart;   /* dimensions that share a tensor with it, itself among them */
    bool        fixed;   /* by a rule of the user, or because there is no `auto` */
    axis_list   cut;     /* by that rule */
    const char *text;    /* the rule as given; "" where there is none */
} search_dim;

/* The axes that cut each dimension, as bits. */
typedef struct cuts {
    uint8_t of[MAX_SEARCHED];
} cuts;

typedef struct space {
    const mesh   *mesh;
    const layout *given; /* fixed rules, and those for state */
    unsigned      axes;  /* that have more than one processor */
    int           ndims;
    search_dim    dims[MAX_SEARCHED]; /* by name */
    int           left_out; /* dimensions beyond those, of the smallest tensors: not cut */
} space;

/* False: no memory. */
bool space_make(const mtf_graph *g, const bool *live, const layout *given, arena *a, space *s);
int  space_find(const space *s, const char *dim); /* -1: it is not searched */

/* May dimension d be cut along these axes, given those of the dimensions in `decided`? */
bool space_allows(const space *s, const cuts *c, uint64_t decided, int d, unsigned axes);
/* Axes of equal size and wire are interchangeable, unless they cut one dimension together: of each set of such
 * layouts one is tried. */
typedef struct symmetry {
    int n;
    int a[MAX_AXES * MAX_AXES], b[MAX_AXES * MAX_AXES]; /* pairs of axes, a before b in the mesh */
} symmetry;
bool space_is_canonical(const space *s, const symmetry *y, const cuts *c);

void space_make_canonical(const space *s, const symmetry *y, cuts *c);
void space_swap(const space *s, int a, int b, cuts *c); /* exchanges what they cut */

/* Of equally good layouts the one with fewer rules comes first, then in order of names. */
bool cuts_before(const space *s, const cuts *a, const cuts *b);
/* The rules as a layout; `rules` has room for all dimensions and the given rules.  Texts are in the
 * arena, or absent where that is NULL: enough for planning. */
bool space_layout(const space *s, const cuts *c, layout_rule *rules, arena *texts, layout *l);

#endif

/* Layouts: which dimension is cut along which axes.
 *
 * "batch:rows,hidden:cols"; "batch:rows+cols" cuts along both; a rule that ends
 * in `?` may name what the mesh or the model lacks.  A second set of rules may
 * cut stored state, the variables between steps, further than the first does; such a
 * rule is declined where it would raise the planned memory, unless it ends in `!`.  The
 * word `auto` in the place of a rule asks for a search for the other rules.
 */
#ifndef SPACE_LAYOUT_H
#define SPACE_LAYOUT_H

#include "space/mesh.h"

typedef struct layout_rule {
    const char *dim;
    axis_list   cut;
    bool        optional;
    bool        firm; /* a rule for state that stays even where it raises the planned memory */
    const char *text; /* as the user wrote it */
} layout_rule;

/* A rule for state that was left out: the planned bytes of the processor that needs most. */
typedef struct declined_rule {
    const char *text;
    int64_t     without, with;
} declined_rule;

typedef struct layout {
    const mesh  *mesh;
    int          nrules;
    layout_rule *rules;
    int          nstate;
    layout_rule *state; /* rules that cut stored state further, in the order given */
    int          ndeclined;
    /* rules for state that would raise the planned memory (price/decline.h) */
    declined_rule *declined;
    bool           asks, asks_state; /* `auto` was given: rules are still to be found */
} layout;

bool layout_parse(mtf_session *s, const char *text, const mesh *m, layout *l);
bool layout_parse_state(mtf_session *s, const char *text, layout *l); /* after layout_parse */
const layout_rule *layout_find(const layout *l, const char *dim);     /* NULL: not cut */
/* Where the rules place a tensor; false, with a sentence naming `what`, its dimensions and the
 * rules in conflict, where two dimensions want one axis.  f NULL: no error is recorded. */
bool layout_place(const layout *l, const mtf_shape *shape, const char *what, fault *f,
                  placement *where);
/* Where a variable of this shape is stored between steps: the rules for state cut further what the
 * others have cut.  A state rule along an axis that already cuts the variable is skipped, so that
 * one list serves variables of all shapes.  `where` holds what layout_place found; true where the
 * result is finer. */
bool layout_refine(const layout *l, const mtf_shape *shape, placement *where);

#endif

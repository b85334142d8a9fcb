/* Layouts: which dimension is cut along which axes.
 *
 * "batch:rows,hidden:cols"; "batch:rows+cols" cuts along both; a rule that ends
 * in `?` may name what the mesh or the model lacks.
 */
#ifndef SPACE_LAYOUT_H
#define SPACE_LAYOUT_H

#include "space/mesh.h"

typedef struct layout_rule {
    const char *dim;
    axis_list   cut;
    bool        optional;
    const char *text; /* as the user wrote it */
} layout_rule;

typedef struct layout {
    const mesh  *mesh;
    int          nrules;
    layout_rule *rules;
} layout;

bool               layout_parse(mtf_session *s, const char *text, const mesh *m, layout *l);
const layout_rule *layout_find(const layout *l, const char *dim); /* NULL: not axis_list */
/* Where the rules place a tensor; false, with a sentence naming `what`, its dimensions and the
 * rules in conflict, where two dimensions want one axis. */
bool layout_place(const layout *l, const mtf_shape *shape, const char *what, fault *f,
                  placement *where);

#endif

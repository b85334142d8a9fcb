/* Shapes of a mesh for a number of processors. */
#include "search/shapes.h"

typedef struct shaping {
    mesh         mesh;
    int          naxes;
    bool         ordered;
    shape_visit *visit;
    void        *context;
} shaping;

/* Sizes for the axes from `at` on: their product is `left`, none above `most`. */
static bool fill(shaping *s, int at, int left, int most)
{
    if (at == s->naxes - 1) {
        if (left > most) return true;
        s->mesh.size[at] = left;
        return s->visit(s->context, &s->mesh);
    }
    for (int size = left < most ? left : most; size > 1; size--) {
        if (left % size || left / size == 1) continue;
        s->mesh.size[at] = size;
        TRY(fill(s, at + 1, left / size, s->ordered ? left : size));
    }
    return true;
}

bool shapes_visit(mtf_session *s, int processors, int most, bool ordered, shape_visit *visit,
                  void *context)
{
    shaping all = {.ordered = ordered, .visit = visit, .context = context};
    for (int a = 0; a < MAX_AXES; a++) {
        textbuf t = {.arena = &s->arena};
        text_add(&t, "mesh_%d", a);
        all.mesh.name[a] = text_done(&t);
        TRY(all.mesh.name[a] != NULL);
    }
    for (int n = 1; n <= most && n <= MAX_AXES; n++) {
        all.naxes = all.mesh.naxes = n;
        TRY(fill(&all, 0, processors, processors));
    }
    return true;
}

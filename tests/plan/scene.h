/* A scene for prices: a graph, a mesh and a layout. */
#ifndef TESTS_PLAN_SCENE_H
#define TESTS_PLAN_SCENE_H

#include "price/estimate.h"

typedef struct scene {
    mtf_session *s;
    mtf_graph   *g;
    mtf_tensor  *last;
    mesh         mesh;
    layout       layout;
} scene;

/* `text` calls what it is about y. */
void scene_open(scene *c, const char *text, const char *mesh_text, const char *layout_text);
/* What one step costs on a machine of these rates. */
estimate *scene_priced(scene *c, const price_rates *r);

#endif

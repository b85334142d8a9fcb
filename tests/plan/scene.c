/* A scene for prices: a graph, a mesh and a layout. */
#include "scene.h"

#include "ground.h"

void scene_open(scene *c, const char *text, const char *mesh_text, const char *layout_text)
{
    c->s = mtf_open_with(&(mtf_session_opts){.threads = 1});
    c->g = mtf_parse(c->s, text, "test");
    assert_true(mesh_parse(c->s, mesh_text, &c->mesh));
    assert_true(layout_parse(c->s, layout_text, &c->mesh, &c->layout));
    c->last = mtf_find(c->g, "y");
    assert_string_equal(mtf_error(c->s), "");
}

estimate *scene_priced(scene *c, const price_rates *r)
{
    estimate_opts o = {.mesh = &c->mesh, .layout = &c->layout, .rates = *r};
    estimate     *e = estimate_graph(c->g, 1, &c->last, &o);
    assert_string_equal(mtf_error(c->s), "");
    assert_non_null(e);
    return e;
}

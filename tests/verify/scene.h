/* A graph, a mesh and a layout to verify. */
#ifndef TESTS_VERIFY_SCENE_H
#define TESTS_VERIFY_SCENE_H

#include "verify/verify.h"

#include "ground.h"

typedef struct scene {
    mtf_session *session;
    mtf_graph   *graph;
    mesh         mesh;
    layout       layout;
} scene;

static inline void set_up(scene *s, const char *text, const char *mesh_text, const char *rules,
                          const char *state)
{
    s->session = mtf_open_with(&(mtf_session_opts){.threads = 1});
    s->graph = mtf_parse(s->session, text, "test");
    assert_string_equal(mtf_error(s->session), "");
    assert_true(mesh_parse(s->session, mesh_text, &s->mesh));
    assert_true(layout_parse(s->session, rules, &s->mesh, &s->layout));
    assert_true(layout_parse_state(s->session, state, &s->layout));
}

static inline verify_answer verify_one(scene *s, mtf_tensor *y)
{
    verify_answer a;
    assert_true(verify_graph(s->graph, 1, &y, &(verify_opts){.layout = &s->layout}, &a));
    return a;
}

#endif

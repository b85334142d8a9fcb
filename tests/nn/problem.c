/* The problem that tests of optimizers minimize. */
#include "nn/problem.h"

#include <stdio.h>
#include <string.h>

static const mtf_dim a = {"a", 3}, b = {"b", 5}, d = {"d", 2};

problem problem_on(mtf_graph *g, mtf_tensor *x)
{
    problem           p = {.x = x};
    mtf_dim           n = mtf_shape_dim(mtf_shape_of_tensor(x), "n");
    mtf_variable_opts kind = {.type = mtf_dtype_of_tensor(x)};
    mtf_tensor       *w = p.v[0] = mtf_variable(g, "w", mtf_shape(a, b), &kind);
    mtf_scope_push(g, "layer");
    mtf_tensor *c = p.v[1] = mtf_variable(g, "c", mtf_shape(b), &kind);
    mtf_scope_pop(g);
    mtf_tensor *u = p.v[2] = mtf_variable(g, "u", mtf_shape(a, b, d), &kind);
    mtf_tensor *y = mtf_tanh(mtf_add(mtf_einsum(mtf_shape(n, b), x, w), c));
    mtf_tensor *z = mtf_einsum(mtf_shape(n, b, d), x, u);
    mtf_tensor *corner = mtf_slice(mtf_slice(w, "a", 0, 1, 1), "b", 0, 1, 1);
    mtf_tensor *second = mtf_slice(c, "b", 1, 1, 1);
    p.loss =
        mtf_sub(mtf_reduce_mean(mtf_square(y), MTF_ALL),
                mtf_multiply(mtf_reduce_sum(corner, MTF_ALL), mtf_reduce_sum(second, MTF_ALL)));
    p.loss = mtf_add(p.loss, mtf_reduce_mean(mtf_square(z), MTF_ALL));
    return p;
}

problem problem_build(mtf_graph *g, mtf_dtype type)
{
    return problem_on(g, mtf_input(g, "x", type, mtf_shape((mtf_dim){"n", 7}, a)));
}

/* Any two dimensions meet in a tensor, so an axis cuts one of them at most. */
void problem_layouts(void (*visit)(void *context, const mtf_session_opts *opts), void *context)
{
    static const char *const dims[] = {"n", "a", "b", "d"};
    char                     layout[40];
    for (int i = 0; i < 4; i++) {
        snprintf(layout, sizeof layout, "%s:p", dims[i]);
        visit(context, &(mtf_session_opts){.mesh = "p:2", .layout = layout});
        visit(context, &(mtf_session_opts){.mesh = "p:3", .layout = layout});
        snprintf(layout, sizeof layout, "%s:p+q", dims[i]);
        visit(context, &(mtf_session_opts){.mesh = "p:2,q:2", .layout = layout});
        for (int j = 0; j < 4; j++) {
            snprintf(layout, sizeof layout, "%s:p,%s:q", dims[i], dims[j]);
            if (i != j) visit(context, &(mtf_session_opts){.mesh = "p:2,q:2", .layout = layout});
        }
    }
    static const mtf_session_opts states[] = {
        {.mesh = "p:2", .layout = "n:p", .state_layout = "b:p!"},
        {.mesh = "p:3", .layout = "n:p", .state_layout = "a:p!"},
        {.mesh = "p:2,q:2", .layout = "n:p,b:q", .state_layout = "a:p!,b:q!"},
        {.mesh = "p:2,q:2", .layout = "n:p+q", .state_layout = "b:p!,d:q!"},
    };
    for (size_t i = 0; i < sizeof states / sizeof *states; i++) visit(context, &states[i]);
}

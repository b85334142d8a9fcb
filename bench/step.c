/* A small program as a racer: one result, its inputs fed once. */
#include "step.h"

step step_open(void)
{
    step s = {.session = mtf_open_with(NULL)};
    s.graph = mtf_graph_new(s.session);
    return s;
}

mtf_tensor *step_input_of(step *s, mtf_dtype type, mtf_shape shape)
{
    static const char *const names[] = {"a", "b", "c"};
    mtf_tensor              *x = mtf_input(s->graph, names[s->ninputs], type, shape);
    return s->inputs[s->ninputs++] = x;
}

mtf_tensor *step_input(step *s, mtf_shape shape)
{
    return step_input_of(s, MTF_F32, shape);
}

void step_compile(step *s, mtf_tensor *result, const void *values)
{
    s->program = mtf_compile(s->graph, result);
    for (int i = 0; i < s->ninputs; i++) mtf_feed(s->program, s->inputs[i], values);
}

void step_run(void *context)
{
    mtf_step(((step *)context)->program);
}

void step_close(bench *b, step *s)
{
    if (!mtf_ok(s->session)) bench_error(b, "a step failed: %s", mtf_error(s->session));
    mtf_close(s->session);
}

/* A small program as a racer: one result, its inputs fed once. */
#ifndef BENCH_STEP_H
#define BENCH_STEP_H

#include "bench.h"
#include "mtf.h"

typedef struct step {
    mtf_session *session;
    mtf_graph   *graph;
    mtf_program *program;
    mtf_tensor  *inputs[3];
    int          ninputs;
} step;

step        step_open(void);
mtf_tensor *step_input(step *s, mtf_shape shape); /* f32 */
mtf_tensor *step_input_of(step *s, mtf_dtype type, mtf_shape shape);
/* All inputs get the same values, as many as the largest has elements. */
void step_compile(step *s, mtf_tensor *result, const void *values);
void step_run(void *step);
void step_close(bench *b, step *s);

#endif

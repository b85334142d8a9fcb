/* Adaptive computation time: positions halt one by one. */
#ifndef MODEL_HALTING_H
#define MODEL_HALTING_H

#include "model/transformer/stack_call.h"

/* Of each position, f32 [batch.., length]. */
typedef struct halting {
    mtf_tensor *running; /* 1 until it halts, then 0 */
    mtf_tensor *sum;     /* of the probabilities so far */
    mtf_tensor *steps;   /* that it was running in */
} halting;

halting halting_begin(const stack_call *c);
/* The weight of this step's result, after the state that enters it; moves h on. */
mtf_tensor *halting_weight(const stack_call *c, halting *h, int64_t step, mtf_tensor *state);
/* Names the mean number of steps for those who watch. */
void halting_end(const stack_call *c, const halting *h);

#endif

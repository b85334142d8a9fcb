/* Adaptive computation time: positions halt one by one.
 *
 * A position halts in the step in which the sum of its probabilities would pass 1 - epsilon; the step's
 * weight is then what is left of 1, before it is the probability, and after it 0.
 */
#include "model/transformer/halting.h"

#include <stdio.h>

#include "graph/node.h"
#include "model/transformer/attend.h"

halting halting_begin(const stack_call *c)
{
    mtf_shape each = call_shape(c, mtf_shape());
    return (halting){.running = mtf_ones(c->graph, MTF_F32, each),
                     .sum = mtf_zeros(c->graph, MTF_F32, each),
                     .steps = mtf_zeros(c->graph, MTF_F32, each)};
}

/* The mean of x [batch.., length] over the positions that each one sees. */
static mtf_tensor *mean_seen(const stack_call *c, int64_t step, mtf_tensor *x)
{
    mtf_dim memory = c->mode == CALL_DECODE ? c->cache : (mtf_dim){"memory_length", c->length.size};
    visibility sees = attend_to_own(c, 0);
    char       name[40];
    snprintf(name, sizeof name, "halting_%03lld", (long long)step);
    if (c->mode == CALL_DECODE) {
        x = call_keep(c, name, x);
    } else {
        x = mtf_rename_dimension(x, c->length.name, memory.name);
        if (sees.write) sees.write = mtf_rename_dimension(sees.write, c->length.name, memory.name);
        if (sees.memory_segment)
            sees.memory_segment =
                mtf_rename_dimension(sees.memory_segment, c->length.name, memory.name);
    }
    mtf_tensor *mask = attend_mask(c, &sees, memory);
    if (!mask) mask = mtf_zeros(c->graph, MTF_F32, mtf_shape(c->length, memory));
    return mtf_einsum(call_shape(c, mtf_shape()), mtf_softmax(mask, memory, NULL), x);
}

/* The probability to halt; where it is random it is its mean except in training. */
static mtf_tensor *probability(const stack_call *c, int64_t step, mtf_tensor *state)
{
    mtf_shape   each = call_shape(c, mtf_shape());
    mtf_halting kind = c->stack->opts.universal->halting;
    char        init[KERNEL_INIT];
    if (kind == MTF_HALTING_RANDOM)
        return c->mode == CALL_TRAIN ? mtf_random_uniform(c->graph, MTF_F32, each, 0, 1)
                                     : mtf_constant(c->graph, 0.5, MTF_F32, each);
    mtf_tensor *logit = mtf_dense(state, mtf_shape(),
                                  &(mtf_dense_opts){.name = "halting",
                                                    .reduced = mtf_shape(c->model->d_model),
                                                    .experts = c->model->ensemble,
                                                    .kernel_init = call_kernel_init(c, false, init),
                                                    .context = &c->context});
    logit = mtf_cast(logit, MTF_F32);
    return mtf_sigmoid(kind == MTF_HALTING_GLOBAL ? mean_seen(c, step, logit) : logit);
}

mtf_tensor *halting_weight(const stack_call *c, halting *h, int64_t step, mtf_tensor *state)
{
    mtf_tensor *p = mtf_multiply(probability(c, step, state), h->running);
    mtf_tensor *limit =
        mtf_constant(c->graph, 1 - c->stack->opts.universal->epsilon, MTF_F32, mtf_shape());
    mtf_tensor *past = mtf_cast(mtf_greater(mtf_add(h->sum, p), limit), MTF_F32);
    mtf_tensor *halted = mtf_multiply(past, h->running);
    mtf_tensor *runs = mtf_sub(h->running, halted);
    mtf_tensor *rest = mtf_multiply(halted, mtf_add_scalar(mtf_negative(h->sum), 1));
    mtf_tensor *weight = mtf_add(mtf_multiply(p, runs), rest);
    h->steps = mtf_add(h->steps, h->running);
    h->sum = mtf_add(h->sum, weight);
    h->running = runs;
    return weight;
}

void halting_end(const stack_call *c, const halting *h)
{
    mtf_tensor *mean = mtf_reduce_mean(h->steps, MTF_ALL);
    if (c->segment) {
        mtf_tensor *real = mtf_weights_nonzero(c->segment, MTF_F32);
        mtf_tensor *all = mtf_reduce_sum(mtf_broadcast(real, call_shape(c, mtf_shape())), MTF_ALL);
        mtf_tensor *sum = mtf_reduce_sum(mtf_multiply(h->steps, real), MTF_ALL);
        mean = mtf_divide(sum, mtf_maximum(all, mtf_ones_like(all)));
    }
    if (c->mode == CALL_TRAIN && mean) mtf_name(mean, "ponder_times");
}

/* Universal Transformers: the same layers again and again.
 *
 * A step adds signals of position and step, and goes through the stack's layers.  Steps share their
 * weights; what decoding keeps of earlier positions is kept for each step apart.
 */
#include "model/transformer/universal.h"

#include <math.h>
#include <stdio.h>

#include "base/numbers.h"
#include "base/textbuf.h"
#include "graph/node.h"
#include "model/transformer/halting.h"
#include "model/transformer/sublayers.h"

/* ---- options ---- */

static bool check_gates(fault *f, const mtf_stack_opts *o, const mtf_universal_opts *u)
{
    for (const char *g = u->gate_inputs; *g; g++)
        if (*g != 's' && *g != 't' && *g != 'i')
            return fail(f, ERR_VALUE,
                        "%s: gates follow from s (state), t (transformed) and i (input), not from "
                        "\"%s\"",
                        o->name, u->gate_inputs);
    return *u->gate_inputs != 0 ||
           fail(f, ERR_VALUE, "%s: gates follow from s, t or i, of which none is given", o->name);
}

bool universal_complete(mtf_session *s, mtf_stack_opts *o)
{
    if (!o->universal) return true;
    mtf_universal_opts *u = arena_copy(&s->arena, o->universal, sizeof *u);
    fault              *f = &s->fault;
    TRY(u != NULL);
    if (u->steps == 0) u->steps = 6;
    if (u->inner == 0) u->inner = 1;
    if (u->epsilon == 0) u->epsilon = 0.01;
    u->gate_inputs = arena_text(&s->arena, u->gate_inputs ? u->gate_inputs : "i");
    o->universal = u;
    TRY(u->gate_inputs != NULL);
    if (u->steps < 1 || u->inner < 1 || u->before < 0 || u->after < 0)
        return fail(
            f, ERR_VALUE,
            "%s: %lld steps of %lld passes, %lld passes before and %lld after; there must be 1 "
            "or more, 1 or more, 0 or more, and 0 or more",
            o->name, (long long)u->steps, (long long)u->inner, (long long)u->before,
            (long long)u->after);
    if (u->steps > MOST_BLOCKS || u->inner > MOST_BLOCKS || u->before > MOST_BLOCKS ||
        u->after > MOST_BLOCKS)
        return fail(f, ERR_VALUE,
                    "%s: %lld steps of %lld passes, %lld passes before and %lld after; each may be "
                    "%d at most",
                    o->name, (long long)u->steps, (long long)u->inner, (long long)u->before,
                    (long long)u->after, (int)MOST_BLOCKS);
    if (!(u->epsilon > 0 && u->epsilon < 1))
        return fail(f, ERR_VALUE, "%s: the epsilon of halting is %g; it must be between 0 and 1",
                    o->name, u->epsilon);
    if (o->reversible)
        return fail(f, ERR_VALUE, "%s: a stack is either reversible or universal", o->name);
    return check_gates(f, o, u);
}

/* How many steps there are: one more where positions halt. */
static int64_t steps_of(const mtf_universal_opts *u)
{
    return u->steps + (u->recurrence == MTF_RECURRENCE_ACT);
}

const char *stack_group(const stack *s, int64_t n, char text[GROUP_TEXT])
{
    const mtf_universal_opts *u = s->opts.universal;
    if (!u) return n == 0 ? "" : NULL;
    const int64_t            counts[] = {u->before, u->inner, u->after};
    static const char *const names[] = {"before", "recurrent", "after"};
    for (int k = 0; k < 3; n -= counts[k++])
        if (n < counts[k]) {
            snprintf(text, GROUP_TEXT, "%s_%03lld", names[k], (long long)n);
            return text;
        }
    return NULL;
}

/* The layers of groups first to first + n - 1. */
static mtf_tensor *apply_groups(stack_call *c, int64_t first, int64_t n, mtf_tensor *x)
{
    const char *outside = c->graph->scope;
    char        text[GROUP_TEXT];
    for (int64_t k = first; k < first + n && x; k++) {
        mtf_scope_push(c->graph, stack_group(c->stack, k, text));
        x = stack_blocks(c, x);
        c->graph->scope = outside;
    }
    return x;
}

/* ---- signals ---- */

/* Of each position, shifted by step or at random. */
static mtf_tensor *position_signal(const stack_call *c, const mtf_universal_opts *u, int64_t step)
{
    int64_t     most = c->stack->opts.max_length;
    mtf_tensor *place = c->position ? c->position : mtf_range(c->graph, c->length, MTF_I32);
    if (u->start == MTF_START_BY_STEP) {
        int64_t further = most * step / steps_of(u); /* rounded down */
        place = mtf_add_scalar(place, (double)further);
    }
    if (u->start == MTF_START_RANDOM && c->mode == CALL_TRAIN) {
        mtf_tensor *from = mtf_random_uniform(c->graph, MTF_F32, mtf_shape(), 0, (double)most);
        place = mtf_add(place, mtf_cast(from, MTF_I32));
    }
    return call_sinusoids(c, place);
}

static mtf_tensor *step_signal(const stack_call *c, const mtf_universal_opts *u, int64_t step)
{
    mtf_dim steps = {"steps", steps_of(u)}, model = c->model->d_model;
    mtf_tensor *this = mtf_constant(c->graph, (double)step, MTF_I32, mtf_shape());
    double root = sqrt((double)model.size);
    char   init[KERNEL_INIT];
    if (u->sinusoid_steps) return call_sinusoids(c, this);
    number_format(init, sizeof init, "normal(0, %.17g)", 1 / root);
    mtf_shape   shape = mtf_shape_plus(c->model->ensemble, mtf_shape(steps, model));
    mtf_tensor *table = call_weight(c, "step_embedding", shape, init);
    return mtf_scale(mtf_gather(table, this, steps), root);
}

/* [.., several times d_model] back to d_model. */
static mtf_tensor *narrow(const stack_call *c, const char *name, const char *activation, bool bias,
                          mtf_tensor *x)
{
    mtf_shape model = mtf_shape(c->model->d_model);
    char      init[KERNEL_INIT];
    return mtf_dense(x, model,
                     &(mtf_dense_opts){.name = name,
                                       .reduced = model,
                                       .experts = c->model->ensemble,
                                       .no_bias = !bias,
                                       .activation = activation,
                                       .kernel_init = call_kernel_init(c, false, init),
                                       .context = &c->context});
}

static mtf_tensor *with_signals(const stack_call *c, const mtf_universal_opts *u, int64_t step,
                                mtf_tensor *x)
{
    mtf_tensor *parts[3] = {x};
    int         n = 1;
    if (!u->no_position_signal) parts[n++] = position_signal(c, u, step);
    if (!u->no_step_signal) parts[n++] = step_signal(c, u, step);
    if (!u->concat) {
        for (int k = 1; k < n; k++) x = mtf_add(x, parts[k]);
        return x;
    }
    for (int k = 1; k < n && x; k++) parts[k] = mtf_broadcast(parts[k], x->shape);
    return n > 1 ? narrow(c, "timing_projection", NULL, false,
                          mtf_concat(c->model->d_model.name, n, parts))
                 : x;
}

/* ---- gates ---- */

/* activation(dense layer of the inputs side by side), or of two dense layers with relu between. */
static mtf_tensor *gate_of(stack_call *c, const char *name, int n, mtf_tensor *const *inputs,
                           const char *activation)
{
    mtf_dim     model = c->model->d_model, hidden = {"d_ff", 4 * model.size};
    mtf_tensor *x = n == 1 ? inputs[0] : mtf_concat(model.name, n, inputs);
    char        init[KERNEL_INIT];
    if (!c->stack->opts.universal->deep_gates) return narrow(c, name, activation, true, x);
    mtf_scope_push(c->graph, name);
    mtf_dense_opts o = {.name = "wi",
                        .reduced = mtf_shape(model),
                        .experts = c->model->ensemble,
                        .activation = "relu",
                        .kernel_init = call_kernel_init(c, false, init),
                        .context = &c->context};
    x = mtf_dense(x, mtf_shape(hidden), &o);
    o.name = "wo", o.reduced = mtf_shape(hidden), o.activation = activation;
    x = mtf_dense(x, mtf_shape(model), &o);
    mtf_scope_pop(c->graph);
    return x;
}

static mtf_tensor *complement(mtf_tensor *x)
{
    return mtf_add_scalar(mtf_negative(x), 1);
}

/* x carry + y transform, by gates of the inputs, which are normed. */
static mtf_tensor *highway(stack_call *c, int n, mtf_tensor **inputs, mtf_tensor *x, mtf_tensor *y)
{
    char name[24];
    for (int k = 0; k < n; k++) {
        snprintf(name, sizeof name, "input_%d", k);
        mtf_scope_push(c->graph, name);
        inputs[k] = sublayer_apply(c, "rms_norm", inputs[k]);
        mtf_scope_pop(c->graph);
    }
    mtf_tensor *transform = gate_of(c, "transform", n, inputs, "sigmoid");
    mtf_tensor *carry = c->stack->opts.universal->uncoupled
                            ? gate_of(c, "carry", n, inputs, "sigmoid")
                            : complement(transform);
    return mtf_add(mtf_multiply(x, carry), mtf_multiply(y, transform));
}

/* A gated recurrent unit whose state is x, and whose input is y. */
static mtf_tensor *gated_unit(stack_call *c, mtf_tensor *x, mtf_tensor *y)
{
    mtf_tensor *both[] = {x, y};
    mtf_tensor *update = gate_of(c, "update", 2, both, "sigmoid");
    both[0] = mtf_multiply(x, gate_of(c, "reset", 2, both, "sigmoid"));
    mtf_tensor *candidate = gate_of(c, "candidate", 2, both, "tanh");
    return mtf_add(mtf_multiply(x, complement(update)), mtf_multiply(candidate, update));
}

mtf_tensor *universal_gate(stack_call *c, const char *name, mtf_tensor *x, mtf_tensor *transformed)
{
    if (!graph_of(x) || !transformed) return NULL;
    mtf_scope_push(c->graph, name);
    mtf_tensor *y = c->stack->opts.universal->gating == MTF_GATING_GRU
                        ? gated_unit(c, x, transformed)
                        : highway(c, 1, (mtf_tensor *[]){x}, x, transformed);
    mtf_scope_pop(c->graph);
    return y;
}

/* ---- recurrence ---- */

/* One step of x; what is kept in decoding is the step's own. */
static mtf_tensor *step_of(stack_call *c, int64_t step, mtf_tensor *x)
{
    const mtf_universal_opts *u = c->stack->opts.universal;
    const char               *outside = c->pass;
    textbuf                   t = {.arena = &c->graph->arena};
    text_add(&t, "step_%03lld/", (long long)step);
    c->pass = text_done(&t);
    x = c->pass ? apply_groups(c, u->before, u->inner, with_signals(c, u, step, x)) : NULL;
    c->pass = outside;
    return x;
}

static mtf_tensor *highway_step(stack_call *c, int64_t step, mtf_tensor *x, mtf_tensor *first)
{
    mtf_tensor *y = step_of(c, step, x), *inputs[3];
    int         n = 0;
    for (const char *g = c->stack->opts.universal->gate_inputs; *g && n < 3; g++)
        inputs[n++] = *g == 's' ? x : *g == 't' ? y : first;
    mtf_scope_push(c->graph, "highway");
    y = highway(c, n, inputs, x, y);
    mtf_scope_pop(c->graph);
    return y;
}

/* Positions halt one by one: the result is a weighted mean, or sum, of their states. */
static mtf_tensor *halting_steps(stack_call *c, mtf_tensor *x)
{
    const mtf_universal_opts *u = c->stack->opts.universal;
    mtf_tensor               *state = x, *out = NULL;
    halting                   h = halting_begin(c);
    for (int64_t step = 0; step < steps_of(u) && state; step++) {
        mtf_tensor *weight = halting_weight(c, &h, step, state);
        state = step_of(c, step, state);
        mtf_tensor *more = mtf_multiply(state, mtf_cast(weight, c->type));
        mtf_tensor *rest = mtf_cast(complement(weight), c->type);
        if (out && u->halting != MTF_HALTING_ACCUMULATED) out = mtf_multiply(out, rest);
        out = out ? mtf_add(out, more) : more;
    }
    halting_end(c, &h);
    return out;
}

static mtf_tensor *recur(stack_call *c, mtf_tensor *x)
{
    const mtf_universal_opts *u = c->stack->opts.universal;
    mtf_tensor               *first = x;
    if (u->recurrence == MTF_RECURRENCE_ACT) return halting_steps(c, x);
    for (int64_t step = 0; step < u->steps && x; step++)
        x = u->recurrence == MTF_RECURRENCE_BASIC ? step_of(c, step, x)
                                                  : highway_step(c, step, x, first);
    return x;
}

mtf_tensor *universal_apply(stack_call *c, mtf_tensor *x)
{
    const mtf_universal_opts *u = c->stack->opts.universal;
    x = apply_groups(c, 0, u->before, x);
    x = recur(c, x);
    return apply_groups(c, u->before + u->inner, u->after, x);
}

/* Sublayers: the steps around a layer, by name. */
#include "model/transformer/sublayers.h"

#include <math.h>
#include <string.h>

#include "base/numbers.h"
#include "graph/node.h"

/* x / sqrt(mean of x^2 + epsilon), in f32, times a learned scale: [d_model], or one number. */
static mtf_tensor *scaled(stack_call *c, mtf_tensor *x, double epsilon, const char *scope,
                          mtf_shape shape)
{
    mtf_norm_opts o = {.epsilon = epsilon, .no_scale = true, .context = &c->context};
    mtf_tensor   *y = mtf_rms_norm(x, c->model->d_model, &o);
    mtf_scope_push(c->graph, scope);
    y = mtf_multiply(y, call_weight(c, "scale", mtf_shape_plus(c->model->ensemble, shape), "ones"));
    mtf_scope_pop(c->graph);
    return y;
}

static mtf_tensor *rms_norm(stack_call *c, mtf_tensor *x, double epsilon)
{
    return scaled(c, x, epsilon, "rms_norm", mtf_shape(c->model->d_model));
}

/* Names of older checkpoints. */
static mtf_tensor *legacy_rms_norm(stack_call *c, mtf_tensor *x, double epsilon)
{
    return scaled(c, x, epsilon, "layer_norm", mtf_shape(c->model->d_model));
}

static mtf_tensor *legacy_final_rms_norm(stack_call *c, mtf_tensor *x, double epsilon)
{
    return scaled(c, x, epsilon, "final_layer_norm", mtf_shape(c->model->d_model));
}

static mtf_tensor *scale_norm(stack_call *c, mtf_tensor *x, double epsilon)
{
    return scaled(c, x, epsilon, "scale_norm", mtf_shape());
}

static mtf_tensor *layer_norm(stack_call *c, mtf_tensor *x, double epsilon)
{
    mtf_norm_opts o = {
        .epsilon = epsilon, .no_scale = true, .no_bias = true, .context = &c->context};
    mtf_shape   shape = mtf_shape_plus(c->model->ensemble, mtf_shape(c->model->d_model));
    mtf_tensor *y = mtf_layer_norm(x, c->model->d_model, &o);
    mtf_scope_push(c->graph, "layer_norm");
    y = mtf_multiply(y, call_weight(c, "scale", shape, "ones"));
    y = mtf_add(y, call_weight(c, "bias", shape, "zeros"));
    mtf_scope_pop(c->graph);
    return y;
}

static mtf_tensor *dropout(stack_call *c, mtf_tensor *x, double rate)
{
    return call_dropout(c, x, rate);
}

static mtf_tensor *rezero(stack_call *c, mtf_tensor *x, double initial)
{
    char init[40];
    number_format(init, sizeof init, "constant(%.17g)", initial);
    return mtf_multiply(x, call_weight(c, "rezero_scale", c->model->ensemble, init));
}

static mtf_tensor *mask_padding(stack_call *c, mtf_tensor *x, double none)
{
    (void)none;
    return call_mask_padding(c, x);
}

static mtf_tensor *clip_gradient(stack_call *c, mtf_tensor *x, double most)
{
    return c->mode == CALL_TRAIN ? mtf_clip_activation_gradient(x, most) : x;
}

/* ---- numbers ---- */

static double usual_epsilon(const mtf_stack_opts *o)
{
    return o->epsilon;
}

static double usual_dropout(const mtf_stack_opts *o)
{
    return o->dropout;
}

static double usual_zero(const mtf_stack_opts *o)
{
    (void)o;
    return 0;
}

static double usual_one(const mtf_stack_opts *o)
{
    (void)o;
    return 1;
}

/* ---- by name ---- */

/* clang-format off */
static const sublayer all[] = {
    {"call_layer",               NULL,                  NULL},
    {"residual",                 NULL,                  NULL},
    {"mask_padding",             mask_padding,          NULL},
    {"dropout",                  dropout,               usual_dropout},
    {"rms_norm",                 rms_norm,              usual_epsilon},
    {"legacy_rms_norm",          legacy_rms_norm,       usual_epsilon},
    {"legacy_final_rms_norm",    legacy_final_rms_norm, usual_epsilon},
    {"layer_norm",               layer_norm,            usual_epsilon},
    {"scale_norm",               scale_norm,            usual_epsilon},
    {"rezero",                   rezero,                usual_zero},
    {"clip_activation_gradient", clip_gradient,         usual_one},
    {0}};
/* clang-format on */

const sublayer *sublayer_nth(int n)
{
    return all[n].name ? &all[n] : NULL;
}

/* The number in parentheses after the name, if any; false where it is malformed. */
static bool read_number(const sublayer *s, const char *after, double *number)
{
    char *end;
    if (!*after) return true;
    if (*after != '(' || !s->usual) return false;
    *number = number_read(after + 1, &end);
    bool share = s->usual != usual_dropout || (*number >= 0 && *number < 1);
    return end > after + 1 && strcmp(end, ")") == 0 && isfinite(*number) && share;
}

static const sublayer *find_with(const char *word, double *number)
{
    size_t n = strcspn(word, "(");
    for (int k = 0; all[k].name; k++)
        if (strlen(all[k].name) == n && strncmp(all[k].name, word, n) == 0)
            return read_number(&all[k], word + n, number) ? &all[k] : NULL;
    return NULL;
}

const sublayer *sublayer_find(const char *word)
{
    double number;
    return find_with(word, &number);
}

mtf_tensor *sublayer_apply(stack_call *c, const char *word, mtf_tensor *x)
{
    const sublayer *s = sublayer_find(word);
    double          number = s->usual ? s->usual(&c->stack->opts) : 0;
    return find_with(word, &number)->apply(c, x, number);
}

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

static mtf_tensor *rms_norm(stack_call *c, mtf_tensor *x, const double *number)
{
    return scaled(c, x, number[0], "rms_norm", mtf_shape(c->model->d_model));
}

/* Names of older checkpoints. */
static mtf_tensor *legacy_rms_norm(stack_call *c, mtf_tensor *x, const double *number)
{
    return scaled(c, x, number[0], "layer_norm", mtf_shape(c->model->d_model));
}

static mtf_tensor *legacy_final_rms_norm(stack_call *c, mtf_tensor *x, const double *number)
{
    return scaled(c, x, number[0], "final_layer_norm", mtf_shape(c->model->d_model));
}

static mtf_tensor *scale_norm(stack_call *c, mtf_tensor *x, const double *number)
{
    return scaled(c, x, number[0], "scale_norm", mtf_shape());
}

/* The original's names. */
#define LAYER_NORM "layer_prepostprocess/layer_norm/layer_norm_"
static mtf_tensor *layer_norm(stack_call *c, mtf_tensor *x, const double *number)
{
    mtf_norm_opts o = {
        .epsilon = number[0], .no_scale = true, .no_bias = true, .context = &c->context};
    mtf_shape   shape = mtf_shape_plus(c->model->ensemble, mtf_shape(c->model->d_model));
    mtf_tensor *y = mtf_layer_norm(x, c->model->d_model, &o);
    mtf_scope_push(c->graph, "true_layer_norm");
    y = mtf_multiply(y, call_weight(c, LAYER_NORM "scale", shape, "ones"));
    y = mtf_add(y, call_weight(c, LAYER_NORM "bias", shape, "zeros"));
    mtf_scope_pop(c->graph);
    return y;
}

/* The same with the mean of the first elements only: so many of a hundred, rounded up. */
static mtf_tensor *rms_norm_subsampled(stack_call *c, mtf_tensor *x, const double *number)
{
    mtf_dim     all = c->model->d_model, some = all;
    mtf_shape   shape = mtf_shape_plus(c->model->ensemble, mtf_shape(all));
    mtf_tensor *wide = mtf_cast(x, MTF_F32);
    some.size = (int64_t)ceil((double)all.size * number[0] / 100);
    mtf_tensor *first = mtf_slice(wide, all.name, 0, some.size, 1);
    mtf_tensor *mean = mtf_reduce_mean(mtf_square(first), mtf_shape(some));
    mtf_tensor *y = mtf_multiply(wide, mtf_rsqrt(mtf_add_scalar(mean, number[1])));
    mtf_scope_push(c->graph, "layer_norm_subsampled");
    y = mtf_multiply(mtf_cast(y, c->type), call_weight(c, "scale", shape, "ones"));
    mtf_scope_pop(c->graph);
    return y;
}

static mtf_tensor *dropout(stack_call *c, mtf_tensor *x, const double *number)
{
    return call_dropout(c, x, number[0]);
}

/* The rate falls in a line from its first value, up to one step, to 0, from another on. */
static mtf_tensor *annealed_dropout(stack_call *c, mtf_tensor *x, const double *number)
{
    if (number[0] == 0 || c->context.inference || !graph_of(x)) return x;
    return mtf_annealed_dropout(
        x, mtf_global_step(c->graph),
        &(mtf_annealed_dropout_opts){.rate = number[0],
                                     .start = number[1],
                                     .end = number[2],
                                     .noise = mtf_shape_minus(x->shape, mtf_shape(c->length)),
                                     .context = &c->context});
}

static mtf_tensor *rezero(stack_call *c, mtf_tensor *x, const double *number)
{
    char init[40];
    number_format(init, sizeof init, "constant(%.17g)", number[0]);
    return mtf_multiply(x, call_weight(c, "rezero_weight", c->model->ensemble, init));
}

/* One number that multiplies x, and one that is added to it. */
static mtf_tensor *one_number(stack_call *c, const char *name, const char *dim, const char *init)
{
    mtf_shape one = mtf_shape((mtf_dim){dim, 1});
    return mtf_reduce_sum(call_weight(c, name, mtf_shape_plus(c->model->ensemble, one), init), one);
}

static mtf_tensor *fixup_scale(stack_call *c, mtf_tensor *x, const double *none)
{
    (void)none;
    return mtf_multiply(x, one_number(c, "fixup_scale_weight", "single_scale", "ones"));
}

static mtf_tensor *fixup_shift(stack_call *c, mtf_tensor *x, const double *none)
{
    (void)none;
    return mtf_add(x, one_number(c, "fixup_bias", "single_bias", "zeros"));
}

static mtf_tensor *mask_padding(stack_call *c, mtf_tensor *x, const double *none)
{
    (void)none;
    return call_mask_padding(c, x);
}

static mtf_tensor *clip_gradient(stack_call *c, mtf_tensor *x, const double *number)
{
    return c->mode == CALL_TRAIN ? mtf_clip_activation_gradient(x, number[0]) : x;
}

/* ---- numbers ---- */

static void usual_epsilon(const mtf_stack_opts *o, double *number)
{
    number[0] = o->epsilon;
}

static void usual_dropout(const mtf_stack_opts *o, double *number)
{
    number[0] = o->dropout;
}

static void usual_zero(const mtf_stack_opts *o, double *number)
{
    (void)o;
    number[0] = 0;
}

static void usual_one(const mtf_stack_opts *o, double *number)
{
    (void)o;
    number[0] = 1;
}

static void usual_part(const mtf_stack_opts *o, double *number)
{
    number[0] = 100;
    number[1] = o->epsilon;
}

static bool is_share(const double *number)
{
    return number[0] >= 0 && number[0] < 1;
}

static bool is_part(const double *number)
{
    return number[0] > 0 && number[0] <= 100;
}

static bool is_annealing(const double *number)
{
    return is_share(number) && number[1] >= 0 && number[1] < number[2];
}

/* ---- by name ---- */

/* clang-format off */
static const sublayer all[] = {
    {"call_layer",               NULL,                  0, 0, NULL,          NULL},
    {"residual",                 NULL,                  0, 0, NULL,          NULL},
    {"mask_padding",             mask_padding,          0, 0, NULL,          NULL},
    {"dropout",                  dropout,               0, 1, usual_dropout, is_share},
    {"annealed_dropout",         annealed_dropout,      3, 3, NULL,          is_annealing},
    {"rms_norm",                 rms_norm,              0, 1, usual_epsilon, NULL},
    {"rms_norm_subsampled",      rms_norm_subsampled,   0, 2, usual_part,    is_part},
    {"legacy_rms_norm",          legacy_rms_norm,       0, 1, usual_epsilon, NULL},
    {"legacy_final_rms_norm",    legacy_final_rms_norm, 0, 1, usual_epsilon, NULL},
    {"layer_norm",               layer_norm,            0, 1, usual_epsilon, NULL},
    {"scale_norm",               scale_norm,            0, 1, usual_epsilon, NULL},
    {"rezero",                   rezero,                0, 1, usual_zero,    NULL},
    {"clip_activation_gradient", clip_gradient,         0, 1, usual_one,     NULL},
    {"fixup_scale",              fixup_scale,           0, 0, NULL,          NULL},
    {"fixup_shift",              fixup_shift,           0, 0, NULL,          NULL},
    {0}};
/* clang-format on */

const sublayer *sublayer_nth(int n)
{
    return all[n].name ? &all[n] : NULL;
}

/* The numbers in parentheses after the name, if any; false where they are malformed. */
static bool read_numbers(const sublayer *s, const char *after, double *number)
{
    int n = 0;
    if (*after && *after != '(') return false;
    while (*after && *after != ')') {
        char *end;
        if (n == s->most) return false;
        number[n] = number_read(after + 1, &end);
        if (end == after + 1 || !isfinite(number[n++]) || (*end != ',' && *end != ')'))
            return false;
        after = end;
    }
    if (n < s->least || (*after && after[1])) return false;
    return n == 0 || !s->right || s->right(number);
}

static const sublayer *find_with(const char *word, double *number)
{
    size_t n = strcspn(word, "(");
    for (int k = 0; all[k].name; k++)
        if (strlen(all[k].name) == n && strncmp(all[k].name, word, n) == 0)
            return read_numbers(&all[k], word + n, number) ? &all[k] : NULL;
    return NULL;
}

const sublayer *sublayer_find(const char *word)
{
    double number[SUBLAYER_NUMBERS];
    return find_with(word, number);
}

mtf_tensor *sublayer_apply(stack_call *c, const char *word, mtf_tensor *x)
{
    const sublayer *s = sublayer_find(word);
    double          number[SUBLAYER_NUMBERS] = {0};
    if (s->usual) s->usual(&c->stack->opts, number);
    return find_with(word, number)->apply(c, x, number);
}

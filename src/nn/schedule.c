/* Schedules: learning rates as functions of the step.
 *
 * s is the step as an f64 scalar, T the total number of steps.  A rate that
 * falls to 0 at T stays 0: a few steps more do no harm.
 */
#include <math.h>

#include "mtf_nn.h"
#include "nn/optimizer.h"

static const double PI = 3.14159265358979323846;

/* The step as an f64 scalar. */
static mtf_tensor *real_step(const char *who, mtf_tensor *step)
{
    mtf_graph *g = graph_of(step);
    char       shape[SHAPE_TEXT];
    if (!g) return NULL;
    if (step->shape.ndims == 0 && step->type != MTF_BOOL) return mtf_cast(step, MTF_F64);
    fail(&g->session->fault, ERR_SHAPE,
         "schedule %s: the step \"%s\" is %s%s; it must be a number, a scalar", who,
         tensor_name(step), mtf_dtype_name(step->type), shape_text(&step->shape, shape));
    return NULL;
}

/* s, or NULL after an error where the number, called `what`, is not above 0. */
static mtf_tensor *with_positive(const char *who, mtf_tensor *s, const char *what, double x)
{
    if (!s || x > 0) return s;
    fail(&s->node->graph->session->fault, ERR_VALUE, "schedule %s: %s is %g; it must be above 0",
         who, what, x);
    return NULL;
}

static mtf_tensor *like(mtf_tensor *s, double value)
{
    return s ? optimizer_constant(s->node->graph, value) : NULL;
}

/* a + b s */
static mtf_tensor *line(mtf_tensor *s, double a, double b)
{
    return mtf_add_scalar(mtf_scale(s, b), a);
}

static mtf_tensor *in_0_1(mtf_tensor *x)
{
    return mtf_minimum(mtf_maximum(x, like(x, 0)), like(x, 1));
}

/* A number of steps, or the fraction of all of them. */
static double steps_of(double steps_or_fraction, double total)
{
    bool fraction = steps_or_fraction > 0 && steps_or_fraction <= 1;
    return fraction ? steps_or_fraction * total
                    : steps_or_fraction; /* negative ones are refused as they are */
}

mtf_tensor *mtf_schedule_constant(mtf_tensor *step, double total, double value)
{
    (void)total;
    return like(real_step("constant", step), value);
}

mtf_tensor *mtf_schedule_linear_warmup(mtf_tensor *step, double total, double steps_or_fraction)
{
    double      steps = steps_of(steps_or_fraction, total);
    mtf_tensor *s = real_step("linear_warmup", step);
    s = with_positive("linear_warmup", s, "the number of warming steps", steps);
    return in_0_1(mtf_scale(s, 1 / steps));
}

mtf_tensor *mtf_schedule_linear_decay(mtf_tensor *step, double total, double steps_or_fraction)
{
    double      steps = steps_of(steps_or_fraction, total);
    mtf_tensor *s = real_step("linear_decay", step);
    s = with_positive("linear_decay", s, "the total number of steps", total);
    s = with_positive("linear_decay", s, "the number of decaying steps", steps);
    return in_0_1(line(s, total / steps, -1 / steps));
}

mtf_tensor *mtf_schedule_truncated_rsqrt(mtf_tensor *step, double total, double warmup)
{
    (void)total;
    mtf_tensor *s = real_step("truncated_rsqrt", step);
    s = with_positive("truncated_rsqrt", s, "warmup", warmup);
    return mtf_rsqrt(mtf_maximum(s, like(s, warmup)));
}

mtf_tensor *mtf_schedule_linear_decay_learning_rate(mtf_tensor *step, double total, double initial,
                                                    double offset)
{
    mtf_tensor *s = real_step("linear_decay_learning_rate", step);
    double      steps = total - offset;
    s = with_positive("linear_decay_learning_rate", s, "the number of steps after the offset",
                      steps);
    return mtf_scale(in_0_1(line(s, total / steps, -1 / steps)), initial);
}

mtf_tensor *mtf_schedule_noam(mtf_tensor *step, double total, double warmup, double fraction,
                              double multiplier, double offset)
{
    mtf_tensor *s = mtf_add_scalar(real_step("noam", step), -offset);
    mtf_tensor *r = mtf_scale(mtf_schedule_truncated_rsqrt(s, total, warmup), multiplier);
    if (fraction == 0) return r;
    return mtf_multiply(r, mtf_schedule_linear_decay(s, total - offset, fraction));
}

mtf_tensor *mtf_schedule_slanted_triangular(mtf_tensor *step, double total, double cut,
                                            double ratio, double top, double start)
{
    static const char who[] = "slanted_triangular";
    mtf_tensor       *s = mtf_add_scalar(real_step(who, step), -start);
    double            peak = floor(total * cut);
    s = with_positive(who, s, "the number of rising steps", peak);
    s = with_positive(who, s, "1 - cut", 1 - cut);
    s = with_positive(who, s, "ratio", ratio);
    mtf_tensor *rise = mtf_scale(s, 1 / peak);
    double      fall = peak * (1 / cut - 1);
    mtf_tensor *p = in_0_1(mtf_minimum(rise, line(s, 1 + peak / fall, -1 / fall)));
    return line(p, top / ratio, top * (ratio - 1) / ratio);
}

mtf_tensor *mtf_schedule_cosine(mtf_tensor *step, double total, double last, double begin)
{
    mtf_tensor *s = real_step("cosine", step);
    double      steps = total - begin;
    s = with_positive("cosine", s, "the number of steps from its begin to the last", steps);
    mtf_tensor *angle = mtf_scale(in_0_1(line(s, -begin / steps, 1 / steps)), PI);
    return line(mtf_cos(angle), (1 + last) / 2, (1 - last) / 2);
}

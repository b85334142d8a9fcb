/* Distillation: a student learns from targets and a teacher. */
#include "graph/node.h"
#include "model/transformer/token_loss.h"

/* 1 from the first step of distillation on, 0 before. */
static mtf_tensor *started(mtf_graph *g, const mtf_distill_opts *o)
{
    mtf_tensor *step = o->step ? o->step : mtf_global_step(g);
    if (!step) return NULL;
    mtf_tensor *first = mtf_constant(g, (double)o->start_step, step->type, mtf_shape());
    return mtf_cast(mtf_greater_equal(step, first), MTF_F32);
}

/* Cross-entropy of the student's probabilities to the teacher's, both at this temperature. */
static mtf_tensor *soft_losses(const mtf_transformer *m, mtf_tensor *student, mtf_tensor *teacher,
                               double temperature)
{
    mtf_tensor *mine = mtf_scale(mtf_cast(student, MTF_F32), 1 / temperature);
    mtf_tensor *theirs = mtf_scale(mtf_cast(mtf_stop_gradient(teacher), MTF_F32), 1 / temperature);
    mtf_tensor *p = mtf_softmax(theirs, m->output_vocab, NULL);
    double      z_loss = m->opts.z_loss > 0 ? m->opts.z_loss : 0;
    return mtf_softmax_cross_entropy_with_logits(mine, p, m->output_vocab, z_loss);
}

/* (1 - f) hard + f T^2 soft; soft losses have the same weights and denominator as hard ones. */
static mtf_tensor *mixed(const mtf_transformer *m, const mtf_transformer_result *hard,
                         mtf_tensor *soft, const mtf_distill_opts *o)
{
    double      count = m->opts.loss_denominator > 0 ? m->opts.loss_denominator
                                                     : (double)mtf_shape_size(mtf_shape_of_tensor(soft));
    double      share = o->fraction_soft > 0 ? o->fraction_soft : 0.5;
    double      temperature = o->temperature > 0 ? o->temperature : 1;
    mtf_tensor *sum = mtf_reduce_sum(mtf_multiply(soft, hard->weights), MTF_ALL);
    sum = mtf_scale(sum, temperature * temperature / count);
    if (o->start_step <= 0) return mtf_add(mtf_scale(hard->loss, 1 - share), mtf_scale(sum, share));
    mtf_tensor *f = mtf_scale(started(graph_of(soft), o), share);
    return mtf_add(mtf_multiply(hard->loss, mtf_add_scalar(mtf_negative(f), 1)),
                   mtf_multiply(sum, f));
}

static bool check_teacher(const mtf_transformer *student, const mtf_transformer *teacher,
                          const mtf_distill_opts *o)
{
    fault *f = &student->session->fault;
    if (student->output_vocab.size != teacher->output_vocab.size)
        return fail(f, ERR_VALUE,
                    "the student has %lld output tokens, the teacher %lld; they must "
                    "have as many",
                    (long long)student->output_vocab.size, (long long)teacher->output_vocab.size);
    return (o->fraction_soft <= 1 && o->temperature >= 0) ||
           fail(f, ERR_VALUE,
                "distillation: fraction_soft is %g and temperature %g; they must be at most 1, and "
                "above 0",
                o->fraction_soft, o->temperature);
}

/* In this scope, unless the model has one. */
static mtf_transformer_result apply_in(mtf_graph *g, const char *scope, const mtf_transformer *m,
                                       const mtf_transformer_batch *batch,
                                       const mtf_transformer_call  *how)
{
    if (m->opts.scope) return mtf_transformer_apply(m, batch, how);
    mtf_scope_push(g, scope);
    mtf_transformer_result r = mtf_transformer_apply(m, batch, how);
    mtf_scope_pop(g);
    return r;
}

mtf_transformer_result mtf_transformer_distill(const mtf_transformer       *student,
                                               const mtf_transformer       *teacher,
                                               const mtf_transformer_batch *batch,
                                               const mtf_transformer_call  *how,
                                               const mtf_distill_opts      *opts)
{
    mtf_distill_opts       o = opts ? *opts : (mtf_distill_opts){0};
    mtf_transformer_result r = {0};
    mtf_transformer_call   h = how ? *how : (mtf_transformer_call){0}, frozen = h;
    mtf_graph             *g = batch ? graph_of(batch->targets) : NULL;
    if (!student || !teacher || !g || !check_teacher(student, teacher, &o)) return r;
    r = apply_in(g, "student", student, batch, &h);
    if (!h.training || !r.loss || o.fraction_soft < 0) return r;
    frozen.training = false;
    frozen.frozen = true;
    mtf_transformer_result t = apply_in(g, "teacher", teacher, batch, &frozen);
    mtf_tensor            *soft =
        soft_losses(student, r.logits, t.logits, o.temperature > 0 ? o.temperature : 1);
    if (soft) r.loss = mixed(student, &r, soft, &o);
    return r;
}

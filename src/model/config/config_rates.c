/* Optimizers and learning rates from a configuration. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "model/config/config.h"
#include "model/config/configurable.h"

/* ---- schedules, as text for mtf_schedule ---- */

static bool write_factor(mtf_config *c, const gin_value *v, bool inside, textbuf *t);

static bool write_factors(mtf_config *c, const gin_value *list, textbuf *t)
{
    if (!config_is_list(list) || list->n == 0)
        return gin_fail(&c->gin, &list->at, ERR_VALUE,
                        "the factors of a learning rate are a list of numbers and schedules, as in "
                        "[0.01, @linear_warmup]");
    for (int k = 0; k < list->n; k++) {
        const gin_value *v = config_item(c, list, k);
        TRY(v != NULL);
        if (k) text_add(t, " * ");
        TRY(write_factor(c, v, true, t));
    }
    return true;
}

static bool write_product(mtf_config *c, const gin_value *v, bool inside, textbuf *t)
{
    rates_args a = {0};
    TRY(configure(c, &known_product_rate, v->scope, NULL, &a));
    TRY(write_factors(c, a.factors, t));
    if (a.offset && inside)
        return gin_fail(&c->gin, &v->at, ERR_VALUE,
                        "a product of learning rates with an offset cannot be a factor of another");
    if (a.offset) text_add(t, " from %lld", (long long)a.offset);
    return true;
}

static bool write_schedule(mtf_config *c, const gin_value *v, const known_schedule *s, textbuf *t)
{
    rates_args a = {0};
    TRY(configure(c, &s->as, v->scope, NULL, &a));
    text_add(t, "%s(", s->word);
    for (int k = 0; k < 4 && s->arguments[k]; k++) {
        text_add(t, "%s%s=", k ? ", " : "", s->arguments[k]);
        gin_write_real(a.values[k], t);
    }
    text_add(t, ")");
    return true;
}

static bool write_factor(mtf_config *c, const gin_value *v, bool inside, textbuf *t)
{
    if (v->kind == GIN_INT || v->kind == GIN_REAL) {
        double x = v->kind == GIN_INT ? (double)v->whole : v->real;
        gin_write_real(x, t);
        return x >= 0 || gin_fail(&c->gin, &v->at, ERR_VALUE,
                                  "a factor of a learning rate must not be negative, as %g is", x);
    }
    if (config_is_list(v) && !inside) return write_factors(c, v, t);
    if (v->kind != GIN_REFERENCE) {
        const char *text = gin_text(&c->gin, v);
        return text &&
               gin_fail(&c->gin, &v->at, ERR_VALUE,
                        "a learning rate is a number, a schedule such as @linear_warmup, or "
                        "a list of both, not %s",
                        text);
    }
    const configurable *k = config_reference(c, v, "a learning rate");
    TRY(k != NULL);
    if (k == &known_product_rate) return write_product(c, v, inside, t);
    for (int i = 0; known_schedules[i].word; i++)
        if (k == &known_schedules[i].as) return write_schedule(c, v, &known_schedules[i], t);
    return gin_fail(&c->gin, &v->at, ERR_VALUE, "%s is not a learning rate, such as @linear_warmup",
                    k->name);
}

static const char *schedule_text(mtf_config *c, const gin_value *v)
{
    textbuf t = {.arena = &c->gin.session->arena};
    return write_factor(c, v, false, &t) ? text_done(&t) : NULL;
}

/* ---- optimizers ---- */

/* In the library's options 0 means the default; the smallest positive number stands for a real 0. */
static double or_least(double x)
{
    return x == 0 ? DBL_TRUE_MIN : x;
}

static bool decay_rate(mtf_config *c, const gin_value *v, mtf_adafactor_opts *o)
{
    optimizer_args a = {0};
    if (v->kind == GIN_NONE) return true;
    const configurable *k = config_reference(c, v, "AdafactorOptimizer.decay_rate");
    TRY(k != NULL && configure(c, k, v->scope, NULL, &a));
    if (k == &known_decay_pow) {
        o->decay_exponent = a.exponent;
        o->decay_offset = a.offset;
    } else if (k == &known_decay_adam) {
        o->decay_beta2 = a.beta2;
    } else {
        return gin_fail(&c->gin, &v->at, ERR_VALUE,
                        "AdafactorOptimizer.decay_rate takes None, @adafactor_decay_rate_pow() or "
                        "@adafactor_decay_rate_adam(), not @%s",
                        k->name);
    }
    return true;
}

static bool stacked_names(mtf_config *c, const gin_value *v, mtf_adafactor_opts *o)
{
    int          n = config_is_list(v) ? v->n : 0;
    const char **names = arena_array(&c->gin.session->arena, const char *, (size_t)n + 1);
    TRY(names != NULL);
    for (int k = 0; k < n; k++) {
        const gin_value *name = config_item(c, v, k);
        TRY(name != NULL);
        if (name->kind != GIN_TEXT)
            return gin_fail(&c->gin, &name->at, ERR_VALUE,
                            "AdafactorOptimizer.stacked_dim_names takes a list of strings");
        names[k] = name->text;
    }
    if (n) o->stacked = names;
    return true;
}

static bool adafactor(mtf_config *c, const optimizer_args *a, mtf_minimize_opts *to)
{
    mtf_adafactor_opts *o = &to->adafactor;
    const gin_value    *clip = a->clipping;
    to->optimizer = "adafactor";
    bool above =
        (clip->kind == GIN_INT && clip->whole > 0) || (clip->kind == GIN_REAL && clip->real > 0);
    if (clip->kind != GIN_NONE && !above)
        return gin_fail(&c->gin, &clip->at, ERR_VALUE,
                        "AdafactorOptimizer.clipping_threshold takes a number above 0, or None");
    *o = (mtf_adafactor_opts){.beta1 = a->beta1,
                              .clipping = clip->kind == GIN_NONE  ? (double)INFINITY
                                          : clip->kind == GIN_INT ? (double)clip->whole
                                                                  : clip->real,
                              .unscaled = !a->scaled,
                              .unfactored = !a->factored,
                              .least_factored = a->least_factored,
                              .epsilon1 = or_least(a->epsilon),
                              .epsilon2 = or_least(a->epsilon2)};
    const char *names = config_pattern(c, a->excluded, true, "exclude_from_parameter_scale");
    TRY(names && decay_rate(c, a->decay_rate, o) && stacked_names(c, a->stacked, o));
    if (*names) o->unscaled_names = names;
    return true;
}

static bool adam(mtf_config *c, const optimizer_args *a, mtf_minimize_opts *to)
{
    const char *names = config_pattern(c, a->excluded, false, "exclude_from_weight_decay");
    TRY(names != NULL);
    to->optimizer = "adam";
    to->adam = (mtf_adam_opts){.beta1 = or_least(a->beta1),
                               .beta2 = or_least(a->beta2),
                               .epsilon = or_least(a->epsilon),
                               .decay = a->decay,
                               .undecayed = *names ? names : NULL,
                               .uncorrected = true};
    return true;
}

/* Separate learning rates for variables whose names match. */
static bool rules(mtf_config *c, const optimizer_args *a, mtf_minimize_opts *to)
{
    const gin_value *search = a->search, *rates = a->alternatives;
    if (search->kind == GIN_NONE && rates->kind == GIN_NONE) return true;
    if (!config_is_list(search) || !config_is_list(rates) || search->n != rates->n)
        return gin_fail(&c->gin, &search->at, ERR_VALUE,
                        "variable_search and alt_lr_schedules are lists of one length: patterns, "
                        "and lists of factors");
    mtf_rate_rule *list = arena_array(&c->gin.session->arena, mtf_rate_rule, (size_t)search->n + 1);
    TRY(list != NULL);
    for (int k = 0; k < search->n; k++) {
        const gin_value *pattern = config_item(c, search, k), *rate = config_item(c, rates, k);
        TRY(pattern && rate);
        if (pattern->kind != GIN_TEXT)
            return gin_fail(&c->gin, &pattern->at, ERR_VALUE, "variable_search takes strings");
        list[k] = (mtf_rate_rule){.pattern = pattern->text, .schedule = schedule_text(c, rate)};
        TRY(list[k].schedule != NULL);
    }
    to->rules = list;
    return true;
}

static bool optimizer(mtf_config *c, const gin_value *v, mtf_minimize_opts *to)
{
    optimizer_args a = {0};
    if (v->kind == GIN_NONE) v = gin_read_value(&c->gin, "@AdafactorOptimizer", NULL);
    const configurable *k = v ? config_reference(c, v, "run.optimizer") : NULL;
    TRY(k != NULL);
    bool by_rules = k == &known_adafactor_rules || k == &known_adam_rules;
    bool known = by_rules || k == &known_adafactor || k == &known_adam || k == &known_sgd ||
                 k == &known_momentum;
    if (!known)
        return gin_fail(&c->gin, &v->at, ERR_VALUE,
                        "%s is not an optimizer, such as @AdafactorOptimizer", k->name);
    TRY(configure(c, k, v->scope, NULL, &a));
    if (k == &known_sgd)
        to->optimizer = "sgd";
    else if (k == &known_momentum) {
        to->optimizer = "momentum";
        to->momentum.momentum = or_least(a.momentum);
    } else if (k == &known_adam || k == &known_adam_rules)
        TRY(adam(c, &a, to));
    else
        TRY(adafactor(c, &a, to));
    return !by_rules || rules(c, &a, to);
}

bool config_minimize(mtf_config *c, const run_args *a, int64_t steps, mtf_minimize_opts *o)
{
    *o = (mtf_minimize_opts){.steps = (double)steps};
    TRY(optimizer(c, a->optimizer, o));
    if (a->schedule->kind != GIN_NONE) {
        o->schedule = schedule_text(c, a->schedule);
        TRY(o->schedule != NULL);
    }
    if (a->variable_filter->kind == GIN_TEXT)
        o->only = a->variable_filter->text;
    else if (a->variable_filter->kind != GIN_NONE)
        return gin_fail(&c->gin, &a->variable_filter->at, ERR_VALUE,
                        "run.variable_filter takes a pattern, which is a string, or None");
    return true;
}

/* Mixtures of experts from a configuration. */
#include <string.h>

#include "model/config/config.h"
#include "model/config/config_layers.h"
#include "nn/moe.h"

/* In the library's options 0 means the default, and a negative number a real 0. */
static double or_none(double x)
{
    return x > 0 ? x : -1;
}

/* A word of a list that ends with NULL, or an error that names one close to it. */
static bool check_word(mtf_config *c, const configurable *k, const char *scope,
                       const char *parameter, const char *word, const char *const *known)
{
    gin_place at = configured_at(c, k, scope, parameter);
    nearest   near = {.wanted = word ? word : "None"};
    for (int n = 0; known[n]; n++) {
        if (word && strcmp(known[n], word) == 0) return true;
        nearest_offer(&near, known[n]);
    }
    return gin_fail(&c->gin, &at, ERR_NAME, "%s.%s: there is no \"%s\"; did you mean \"%s\"?",
                    k->name, parameter, near.wanted, near.best ? near.best : known[0]);
}

static bool check_words(mtf_config *c, const configurable *k, const char *scope,
                        const experts_args *a)
{
    static const char *const dispatch[] = {"index", "one_hot", "dropless", NULL};
    const char              *gatings[16];
    int                      n = 0;
    for (; moe_gating_nth(n); n++) gatings[n] = moe_gating_nth(n)->name;
    gatings[n] = NULL;
    return check_word(c, k, scope, "moe_gating", a->gating, gatings) &&
           check_word(c, k, scope, "second_policy_train", a->second_train, moe_second_policies) &&
           check_word(c, k, scope, "second_policy_eval", a->second_eval, moe_second_policies) &&
           check_word(c, k, scope, "switch_policy_train", a->switch_train, moe_switch_policies) &&
           check_word(c, k, scope, "switch_policy_eval", a->switch_eval, moe_switch_policies) &&
           check_word(c, k, scope, "dispatch", a->dispatch, dispatch);
}

experts_args config_experts_defaults(void)
{
    return (experts_args){.ntlb_rounds = 4,
                          .second_train = "random",
                          .second_eval = "random",
                          .switch_train = "input_jitter",
                          .switch_eval = "input_jitter",
                          .threshold_train = 0.2,
                          .threshold_eval = 0.2,
                          .switch_dropout = 0.1,
                          .switch_jitter = 0.01,
                          .normalise = true};
}

bool config_experts_opts(mtf_config *c, const configurable *k, const char *scope,
                         const experts_args *a, mtf_moe_opts *o)
{
    TRY(check_words(c, k, scope, a));
    bool ntlb = strcmp(a->gating, "ntlb") == 0;
    *o = (mtf_moe_opts){.outer = a->outer,
                        .experts = a->experts,
                        .hidden = a->hidden,
                        .dropout = a->dropout,
                        .gating = a->gating,
                        .k = ntlb ? a->ntlb_rounds : a->k,
                        .group_size = a->group_size,
                        .across = a->across,
                        .capacity_train = a->capacity_train,
                        .capacity_eval = a->capacity_eval,
                        .capacity_inner = a->capacity_inner,
                        .least_capacity = a->least_capacity,
                        .loss_coef = or_none(a->loss_coef),
                        .z_loss = a->z_loss,
                        .second_place_loss = a->second_place_loss,
                        .second_policy_train = a->second_train,
                        .second_policy_eval = a->second_eval,
                        .second_threshold_train = or_none(a->threshold_train),
                        .second_threshold_eval = or_none(a->threshold_eval),
                        .switch_policy_train = a->switch_train,
                        .switch_policy_eval = a->switch_eval,
                        .switch_dropout = or_none(a->switch_dropout),
                        .switch_temperature = a->switch_temperature,
                        .switch_jitter = or_none(a->switch_jitter),
                        .jitter = a->jitter,
                        .sigmoid = a->sigmoid,
                        .unnormalised = !a->normalise,
                        .scale = a->scale,
                        .bias_rate = a->bias_rate,
                        .shared = a->shared,
                        .one_hot = strcmp(a->dispatch, "one_hot") == 0,
                        .dropless = strcmp(a->dispatch, "dropless") == 0};
    return config_activation(c, k->name, a->activation, o->activation);
}

bool config_experts(mtf_config *c, const configurable *k, const char *scope, const gin_value *given,
                    mtf_transformer_layer *l)
{
    experts_args a = config_experts_defaults();
    return configure(c, k, scope, given, &a) && config_experts_opts(c, k, scope, &a, &l->moe);
}

/* The training step that options describe, run or planned. */
#include "cli/train_setup.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "base/names.h"
#include "base/numbers.h"
#include "base/pattern.h"
#include "base/textbuf.h"
#include "cli/choices.h"
#include "cli/graph_file.h"
#include "cli/network_copy.h"
#include "cli/own_updates.h"
#include "cli/shared_options.h"
#include "model/assigns.h"
#include "model/training.h"
#include "nn/layer.h"
#include "ops/state.h"

/* ---- options of the optimizer ----------------------------------------------------------- */

typedef enum number_range { ABOVE_0, FROM_0, BELOW_1 } number_range;

/* Options that set a number in mtf_minimize_opts, or in the options of several optimizers. */
typedef struct number_row {
    const char  *name;
    number_range range;
    const char  *of; /* the optimizers that have it; NULL: all */
    int          nfields;
    size_t       fields[2];
} number_row;

#define FIELD(name) offsetof(mtf_minimize_opts, name)
/* clang-format off */
static const number_row numbers[] = {
    {"clip-norm",    ABOVE_0, NULL,                      1, {FIELD(clip_norm)}},
    {"clip-value",   ABOVE_0, NULL,                      1, {FIELD(clip_value)}},
    {"average",      BELOW_1, NULL,                      1, {FIELD(average)}},
    {"weight-decay", FROM_0,  "adam|adamw",              1, {FIELD(adam.decay)}},
    {"momentum",     BELOW_1, "momentum|nesterov",       1, {FIELD(momentum.momentum)}},
    {"beta1",        BELOW_1, "adam|adamw|adafactor",    2, {FIELD(adam.beta1), FIELD(adafactor.beta1)}},
    {"beta2",        BELOW_1, "adam|adamw|adafactor",    2, {FIELD(adam.beta2), FIELD(adafactor.decay_beta2)}},
    {"epsilon",      ABOVE_0, "adam|adamw|adafactor",    2, {FIELD(adam.epsilon), FIELD(adafactor.epsilon1)}},
};
/* clang-format on */
#undef FIELD

static const char *optimizer_of(const setup *s)
{
    const char *name = setting_text(&s->settings, "optimizer");
    return *name ? name : "adam";
}

/* Whether the word is one of those in "adam|adamw". */
static bool is_among(const char *word, const char *list)
{
    size_t n = strlen(word);
    for (const char *at = list; at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL)
        if (strncmp(at, word, n) == 0 && (!at[n] || at[n] == '|')) return true;
    return false;
}

static bool check_optimizer(setup *s, const char *option, const char *list)
{
    const char *name = optimizer_of(s);
    textbuf     t = {.arena = &s->session->arena};
    if (!list || is_among(name, list)) return true;
    for (const char *c = list; *c; c++) text_add(&t, *c == '|' ? ", " : "%c", *c);
    const char *listed = text_done(&t);
    return fail(&s->session->fault, ERR_USAGE,
                "--%s is an option of the optimizers %s; this one is %s", option,
                listed ? listed : list, name);
}

static bool read_number(setup *s, const number_row *r)
{
    static const char *const right[] = {"above 0", "of 0 or more", "above 0 and below 1"};
    const char              *text = option_nth(s->options, r->name, 0);
    char                    *end;
    if (!text) return true;
    double x = number_read(text, &end);
    bool   number = end != text && !*end && isfinite(x);
    bool   fits = r->range == FROM_0 ? x >= 0 : x > 0 && (r->range == ABOVE_0 || x < 1);
    if (!number || !fits)
        return fail(&s->session->fault, ERR_USAGE, "--%s takes a number %s, not \"%s\"", r->name,
                    right[r->range], text);
    for (int i = 0; i < r->nfields; i++) memcpy((char *)&s->minimize + r->fields[i], &x, sizeof x);
    return check_optimizer(s, r->name, r->of);
}

static bool read_loss_scale(setup *s)
{
    const char *text = option_nth(s->options, "loss-scale", 0);
    char       *end;
    if (!text) return true;
    s->minimize.dynamic_loss_scale = strcmp(text, "dynamic") == 0;
    if (s->minimize.dynamic_loss_scale) return true;
    s->minimize.loss_scale = number_read(text, &end);
    if (end == text || *end || !(s->minimize.loss_scale > 0) || !isfinite(s->minimize.loss_scale))
        return fail(&s->session->fault, ERR_USAGE,
                    "--loss-scale takes a number above 0 or dynamic, not \"%s\"", text);
    return true;
}

/* Reads --no-decay; adamw with a decay of 0 becomes adam. */
static bool read_decay(setup *s)
{
    const char *pattern = option_nth(s->options, "no-decay", 0);
    s->minimize.optimizer = setting_text(&s->settings, "optimizer");
    if (option_given(s->options, "weight-decay") && s->minimize.adam.decay == 0)
        s->minimize.optimizer = "adam"; /* adamw without decay */
    if (!*s->minimize.optimizer) s->minimize.optimizer = NULL;
    if (!pattern) s->minimize.adam.undecayed = s->settings.model->undecayed;
    if (!pattern) return true;
    s->minimize.adam.undecayed = pattern;
    TRY(option_is_pattern(s->session, "no-decay", pattern));
    return check_optimizer(s, "no-decay", "adam|adamw");
}

/* A number, or `auto`, which is the default: as few as fit the memory. */
static bool read_microbatches(setup *s)
{
    const char *text = option_nth(s->options, "microbatches", 0);
    if (!text || strcmp(text, "auto") != 0)
        return option_number(s->options, "microbatches", 1, INT32_MAX, &s->microbatches);
    s->microbatches = 0;
    return true;
}

bool step_read_options(setup *s)
{
    const char *type = option_nth(s->options, "dtype", 0);
    s->minimize = (mtf_minimize_opts){.clip_norm = s->settings.model->clip_norm};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) TRY(read_number(s, &numbers[i]));
    s->microbatches = 0;
    s->type = MTF_F32;
    TRY(!type || dtype_parse(type, &s->type));
    if (s->config) s->microbatches = (uint64_t)s->config->run.microbatches;
    return read_loss_scale(s) && read_decay(s) && read_microbatches(s);
}

/* ---- the step --------------------------------------------------------------------------- */

static bool any_given(const options *o, const option_spec *table)
{
    option_walk        w = walk_options(table);
    const option_spec *spec;
    while ((spec = walk_next(&w)) != NULL)
        if (spec->name && option_given(o, spec->name)) return true;
    return false;
}

/* A pattern that matches nothing is probably misspelt. */
static bool check_no_decay(setup *s, mtf_graph *g)
{
    const char *pattern = option_nth(s->options, "no-decay", 0);
    if (!pattern) return true;
    int          n = mtf_variables(g, NULL, 0);
    mtf_tensor **all = arena_array(&s->session->arena, mtf_tensor *, n + 1);
    TRY(all != NULL);
    mtf_variables(g, all, n);
    for (int i = 0; i < n; i++)
        if (pattern_matches(pattern, tensor_name(all[i]), &s->session->fault)) return true;
    return fail(&s->session->fault, ERR_USAGE,
                "--no-decay %s: no trainable variable has a name that it matches", pattern);
}

/* Built in a separate graph, so that an error is known to be the option's. */
static bool check_rate(setup *s, const char *schedule, int64_t steps)
{
    char *end;
    if (!option_given(s->options, "rate")) return true;
    if (!*schedule)
        return fail(&s->session->fault, ERR_USAGE, "--rate takes a number or a schedule, not \"\"");
    if (number_read(schedule, &end) < 0 && !*end)
        return fail(&s->session->fault, ERR_USAGE,
                    "--rate takes a number of 0 or more or a schedule, not \"%s\"", schedule);
    mtf_graph *scratch = mtf_graph_new(s->session);
    return mtf_schedule(mtf_global_step(scratch), (double)steps, schedule) ||
           option_blame(s->session, "rate");
}

/* The optimizer of the files, changed by options. */
static void take_config(setup *s)
{
    mtf_minimize_opts m = s->config->run.minimize;
    const options    *o = s->options;
    if (option_given(o, "clip-norm")) m.clip_norm = s->minimize.clip_norm;
    if (option_given(o, "clip-value")) m.clip_value = s->minimize.clip_value;
    if (option_given(o, "average")) m.average = s->minimize.average;
    if (option_given(o, "loss-scale")) {
        m.loss_scale = s->minimize.loss_scale;
        m.dynamic_loss_scale = s->minimize.dynamic_loss_scale;
    }
    s->minimize = m;
}

/* Some built-in models can be built in another type, though they cannot be copied in it. */
static bool retype(const setup *s, network *n)
{
    if (s->ready && settings_has(&s->settings, "activation-type") && graph_assigns(n->graph))
        return fail(&s->session->fault, ERR_USAGE,
                    "--dtype: %s assigns to variables itself; use --activation-type %s",
                    s->settings.model->name, mtf_dtype_name(s->type));
    return network_retype(n, s->type);
}

/* Variables of a file that no gradient trains, but that its loss reads, such as a fixed table. */
static bool find_state(const network *n)
{
    const block *root = &n->graph->root;
    bool        *read = arena_array(&n->graph->arena, bool, n->graph->ntensors);
    TRY(read != NULL);
    read[n->loss->id] = true;
    for (int i = root->nnodes - 1; i >= 0; i--) { /* inputs precede their uses */
        const node *x = root->nodes[i];
        bool        used = false;
        for (int j = 0; j < x->nout; j++) used |= read[x->out[j]->id];
        for (int j = 0; used && j < x->nin; j++) read[x->in[j]->id] = true;
        if (used && variable_is(x) && dtype_is_float(x->out[0]->type) &&
            !node_attr(x, "trainable")->b)
            layer_is_state(x->out[0]);
    }
    return true;
}

bool setup_minimize(setup *s, network *n, int64_t steps, mtf_tensor **rate)
{
    TRY(s->ready || s->config || find_state(n));
    const char *schedule = setting_text(&s->settings, "rate");
    const node *own = s->ready || s->config ? NULL : own_update(n->graph);
    *rate = NULL;
    if (own)
        return own_update_stands(s->options, own) && (s->type == MTF_F32 || retype(s, n)) &&
               network_divide(n, (int64_t)s->microbatches);
    TRY(check_rate(s, schedule, steps) && check_no_decay(s, n->graph));
    if (s->config && !option_given(s->options, "optimizer") && !option_given(s->options, "rate"))
        take_config(s);
    else
        s->minimize.schedule = *schedule ? schedule : NULL;
    s->minimize.steps = (double)steps;
    if (s->type != MTF_F32) TRY(retype(s, n));
    mtf_minimize(n->graph, n->loss, &s->minimize);
    TRY(mtf_ok(s->session) && network_divide(n, (int64_t)s->microbatches));
    *rate = mtf_find(n->graph, "learning_rate");
    return mtf_ok(s->session);
}

/* ---- planning it ------------------------------------------------------------------------ */

/* The total number of steps for schedules, where none is given. */
enum { SUPPOSED_STEPS = 1000 };

static bool choose_total(setup *s, int64_t *steps)
{
    uint64_t given = SUPPOSED_STEPS;
    if (settings_has(&s->settings, "steps") && !option_given(s->options, "steps"))
        return setting_count(&s->settings, "steps", 1, steps);
    TRY(option_number(s->options, "steps", 1, INT64_MAX, &given));
    *steps = (int64_t)given;
    return true;
}

static bool planned_unchanged(const options *o)
{
    return !config_given(o) && !model_find(o->words[0]) && !any_given(o, training_options) &&
           !any_given(o, file_options) && !any_given(o, model_options);
}

bool setup_leaves_training(const options *o, mtf_graph *g)
{
    if (!planned_unchanged(o) || option_given(o, "fetch") || graph_assigns(g)) return false;
    const mtf_tensor *loss = names_get(&g->tensors, "loss"); /* mtf_find would fail */
    return loss && loss->node->home == &g->root && loss->shape.ndims == 0 &&
           dtype_is_float(loss->type) && mtf_variables(g, NULL, 0) > 0;
}

mtf_graph *setup_graph(const options *o, mtf_session *session, network *n, mtf_tensor **rate)
{
    setup   s;
    int64_t steps;
    *n = (network){0};
    *rate = NULL;
    if (planned_unchanged(o)) return n->graph = file_graph(session, o->words[0]);
    bool ok = setup_take(o, session, &s) && setup_network(&s, true, n) &&
              choose_total(&s, &steps) && setup_minimize(&s, n, steps, rate);
    return ok ? n->graph : NULL;
}

mtf_graph *setup_plan(const options *o, mtf_session *session, int *nfetches, mtf_tensor ***fetches)
{
    network     n;
    mtf_tensor *rate;
    if (!mtf_ok(session) || !setup_graph(o, session, &n, &rate)) return NULL;
    *nfetches =
        n.loss && !option_given(o, "fetch")
            ? training_fetches(n.graph, n.loss, &(mtf_train_opts){.rate = rate}, NULL, fetches)
            : choose_fetches(o, n.graph, fetches);
    if (*nfetches < 0) return NULL;
    graph_name_all(n.graph); /* plans, pages and listings give a tensor one name */
    return n.graph;
}

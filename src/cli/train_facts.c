/* Settings of a training that checkpoints store. */
#include "cli/train_facts.h"

#include <string.h>

#include "base/textbuf.h"

typedef enum fact_kind { NUMBER, COUNT, FLAG, TEXT } fact_kind;

/* A field of mtf_minimize_opts: 0 stands for the usual value. */
typedef struct fact_row {
    const char *key;
    const char *of; /* the first letters of the optimizers that have it; NULL: all */
    fact_kind   kind;
    size_t      field;
    double      usual;
} fact_row;

#define FIELD(name) offsetof(mtf_minimize_opts, name)
/* clang-format off */
static const fact_row rows[] = {
    {"--clip-norm",        NULL,        NUMBER, FIELD(clip_norm),                0},
    {"--clip-value",       NULL,        NUMBER, FIELD(clip_value),               0},
    {"--average",          NULL,        NUMBER, FIELD(average),                  0},
    {"--loss-scale",       NULL,        NUMBER, FIELD(loss_scale),               0},
    {"dynamic loss scale", NULL,        FLAG,   FIELD(dynamic_loss_scale),       0},
    {"only",               NULL,        TEXT,   FIELD(only),                     0},
    {"--momentum",         "momentum",  NUMBER, FIELD(momentum.momentum),        0.9},
    {"--momentum",         "nesterov",  NUMBER, FIELD(momentum.momentum),        0.9},
    {"--beta1",            "adam",      NUMBER, FIELD(adam.beta1),               0.9},
    {"--beta2",            "adam",      NUMBER, FIELD(adam.beta2),               0.999},
    {"--epsilon",          "adam",      NUMBER, FIELD(adam.epsilon),             1e-8},
    {"--no-decay",         "adam",      TEXT,   FIELD(adam.undecayed),           0},
    {"uncorrected",        "adam",      FLAG,   FIELD(adam.uncorrected),         0},
    {"--beta1",            "adafactor", NUMBER, FIELD(adafactor.beta1),          0},
    {"--beta2",            "adafactor", NUMBER, FIELD(adafactor.decay_beta2),    0},
    {"--epsilon",          "adafactor", NUMBER, FIELD(adafactor.epsilon1),       1e-30},
    {"epsilon2",           "adafactor", NUMBER, FIELD(adafactor.epsilon2),       1e-3},
    {"clipping",           "adafactor", NUMBER, FIELD(adafactor.clipping),       1},
    {"decay exponent",     "adafactor", NUMBER, FIELD(adafactor.decay_exponent), 0.8},
    {"decay offset",       "adafactor", NUMBER, FIELD(adafactor.decay_offset),   0},
    {"unscaled",           "adafactor", FLAG,   FIELD(adafactor.unscaled),       0},
    {"unscaled names",     "adafactor", TEXT,   FIELD(adafactor.unscaled_names), 0},
    {"unfactored",         "adafactor", FLAG,   FIELD(adafactor.unfactored),     0},
    {"least factored",     "adafactor", COUNT,  FIELD(adafactor.least_factored), 128},
};
/* clang-format on */
#undef FIELD
enum { ROWS = sizeof rows / sizeof *rows, MORE = 5 };

typedef struct fact_list {
    arena       *arena;
    const char **pairs;
    int          n;
} fact_list;

static bool add_fact(fact_list *l, const char *key, const char *value)
{
    l->pairs[l->n++] = key;
    l->pairs[l->n++] = value;
    return value != NULL;
}

static const char *number_text(arena *a, double x)
{
    textbuf t = {.arena = a};
    text_add(&t, x == 0 ? "none" : "%.15g", x);
    return text_done(&t);
}

static const char *value_text(arena *a, const fact_row *r, const mtf_minimize_opts *o)
{
    const void *at = (const char *)o + r->field;
    double      x = 0;
    if (r->kind == TEXT) {
        const char *text = *(const char *const *)at;
        return text ? text : "none";
    }
    if (r->kind == FLAG) return *(const bool *)at ? "yes" : "no";
    if (r->kind == NUMBER) x = *(const double *)at;
    if (r->kind == COUNT) x = (double)*(const int64_t *)at;
    return number_text(a, x == 0 ? r->usual : x);
}

/* adamw has what adam has, and decays weights. */
static bool add_optimizer(fact_list *l, const mtf_minimize_opts *o)
{
    const char *name = o->optimizer ? o->optimizer : "adam";
    bool        decays = strcmp(name, "adamw") == 0;
    for (int i = 0; i < ROWS; i++)
        if (!rows[i].of || strcmp(rows[i].of, decays ? "adam" : name) == 0)
            TRY(add_fact(l, rows[i].key, value_text(l->arena, &rows[i], o)));
    double decay = o->adam.decay == 0 && decays ? 0.01 : o->adam.decay;
    TRY(add_fact(l, "--weight-decay", number_text(l->arena, decay)));
    if (o->schedule) return add_fact(l, "--rate", o->schedule);
    return add_fact(l, "--rate",
                    o->rate != 0 ? number_text(l->arena, o->rate) : "the optimizer's own");
}

const char *const *train_facts(const setup *s, const char *mark, const char *order, bool minimized)
{
    fact_list l = {.arena = &s->session->arena};
    l.pairs = arena_array(l.arena, const char *, 2 * (ROWS + MORE) + 1);
    bool ok = l.pairs && (!order || add_fact(&l, "order", order)) && add_fact(&l, "model", mark) &&
              add_fact(&l, "--dtype", mtf_dtype_name(s->type)) &&
              (!minimized || add_optimizer(&l, &s->minimize));
    return ok ? l.pairs : NULL;
}

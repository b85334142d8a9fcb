/* Universal Transformers from a configuration. */
#include <string.h>

#include "model/config/config.h"
#include "model/config/config_layers.h"

typedef struct universal_args {
    const char *act, *recurrence, *start, *add_or_concat, *step_signal, *gate_inputs, *gate_layer,
        *gating;
    int64_t act_steps, steps, inner, vanilla;
    double  act_epsilon, dropout, norm_epsilon;
    bool    couples, position_signal, signals_steps, before, after, gated;
} universal_args;

/* clang-format off */
#define AT(field) offsetof(universal_args, field)
static const gin_parameter universal[] = {
    {"layers",                         TAKES_NOTHING, "None",   0},
    {"dropout_rate",                   TAKES_SHARE,   "0.0",    AT(dropout)},
    {"norm_epsilon",                   TAKES_ABOVE_0, "1e-06",  AT(norm_epsilon)},
    {"num_vanilla_transformer_layers", TAKES_TIMES,   "2",      AT(vanilla)},
    {"couple_carry_transform_gates",   TAKES_BOOL,    "True",   AT(couples)},
    {"act_type",                       TAKES_TEXT,    "'basic'", AT(act)},
    {"recurrence_type",                TAKES_TEXT,    "'basic'", AT(recurrence)},
    {"act_max_steps",                  TAKES_TIMES,   "6",      AT(act_steps)},
    {"act_epsilon",                    TAKES_REAL,    "0.01",   AT(act_epsilon)},
    {"num_rec_steps",                  TAKES_TIMES,   "6",      AT(steps)},
    {"num_inrecurrence_layers",        TAKES_TIMES,   "1",      AT(inner)},
    {"position_start_index",           TAKES_TEXT,    "None",   AT(start)},
    {"add_or_concat_timing_signal",    TAKES_TEXT,    "'add'",  AT(add_or_concat)},
    {"step_timing_signal_type",        TAKES_TEXT,    "'learned'", AT(step_signal)},
    {"add_position_timing_signal",     TAKES_BOOL,    "True",   AT(position_signal)},
    {"add_step_timing_signal",         TAKES_BOOL,    "True",   AT(signals_steps)},
    {"mix_with_transformer_before_ut", TAKES_BOOL,    "False",  AT(before)},
    {"mix_with_transformer_after_ut",  TAKES_BOOL,    "False",  AT(after)},
    {"gates_inputs",                   TAKES_TEXT,    "'i'",    AT(gate_inputs)},
    {"gate_ffn_layer",                 TAKES_TEXT,    "'dense'", AT(gate_layer)},
    {"use_gated_transformer",          TAKES_BOOL,    "False",  AT(gated)},
    {"gating_type",                    TAKES_TEXT,    "'highway'", AT(gating)},
    {0}};
const configurable known_universal_stack = {
    "mesh_tensorflow.transformer.universal_transformer", "UTLayerStack", universal, NULL, 0};
#undef AT

static const char *const recurrences[] = {"basic", "highway", "act", NULL};
static const char *const halts[] = {"basic", "accumulated", "random", "global", NULL};
static const char *const starts[] = {"None", "step", "random", NULL};
static const char *const ways[] = {"add", "concat", NULL};
static const char *const step_signals[] = {"learned", "sinusoid", NULL};
static const char *const gate_layers[] = {"dense", "dense_relu_dense", NULL};
static const char *const gatings[] = {"highway", "gru", NULL};
/* clang-format on */

/* The place of a word in a list; -1 after an error, which names the list. */
static int word_of(mtf_config *c, const char *scope, const char *parameter, const char *word,
                   const char *const *list)
{
    textbuf t = {.arena = &c->gin.session->arena};
    if (!word) word = "None";
    for (int k = 0; list[k]; k++) {
        if (strcmp(list[k], word) == 0) return k;
        const char *quote = strcmp(list[k], "None") == 0 ? "" : "'";
        text_add(&t, "%s%s%s%s", k == 0 ? "" : list[k + 1] ? ", " : " or ", quote, list[k], quote);
    }
    const char *all = text_done(&t);
    gin_place   at = configured_at(c, &known_universal_stack, scope, parameter);
    if (all)
        gin_fail(&c->gin, &at, ERR_VALUE, "UTLayerStack.%s takes %s, not '%s'", parameter, all,
                 word);
    return -1;
}

static bool check_gates(mtf_config *c, const char *scope, const char *inputs)
{
    gin_place at = configured_at(c, &known_universal_stack, scope, "gates_inputs");
    size_t    n = inputs ? strlen(inputs) : 0;
    return (n > 0 && n <= 3 && strspn(inputs, "sti") == n) ||
           gin_fail(
               &c->gin, &at, ERR_VALUE,
               "UTLayerStack.gates_inputs takes some of 's' (the state), 't' (transformed) and "
               "'i' (the input), as in 'st', not '%s'",
               inputs ? inputs : "None");
}

static bool check_epsilon(mtf_config *c, const char *scope, double epsilon)
{
    gin_place at = configured_at(c, &known_universal_stack, scope, "act_epsilon");
    return (epsilon > 0 && epsilon < 1) ||
           gin_fail(&c->gin, &at, ERR_VALUE,
                    "UTLayerStack.act_epsilon takes a number between 0 and 1, not %g", epsilon);
}

bool config_universal(mtf_config *c, const char *scope, mtf_stack_opts *o)
{
    static const char *const per_layer[] = {"legacy_rms_norm", "call_layer", "dropout", "residual",
                                            NULL};
    static const char *const last[] = {"legacy_final_rms_norm", "dropout", NULL};
    mtf_universal_opts      *u = arena_array(&c->gin.session->arena, mtf_universal_opts, 1);
    universal_args           a = {0};
    TRY(u && configure(c, &known_universal_stack, scope, NULL, &a));
    int recurrence = word_of(c, scope, "recurrence_type", a.recurrence, recurrences);
    int halting = word_of(c, scope, "act_type", a.act, halts);
    int start = word_of(c, scope, "position_start_index", a.start, starts);
    int way = word_of(c, scope, "add_or_concat_timing_signal", a.add_or_concat, ways);
    int steps = word_of(c, scope, "step_timing_signal_type", a.step_signal, step_signals);
    int layer = word_of(c, scope, "gate_ffn_layer", a.gate_layer, gate_layers);
    int gating = word_of(c, scope, "gating_type", a.gating, gatings);
    TRY(mtf_ok(c->gin.session) && check_gates(c, scope, a.gate_inputs) &&
        check_epsilon(c, scope, a.act_epsilon));
    *u = (mtf_universal_opts){.recurrence = (mtf_recurrence)recurrence,
                              .halting = (mtf_halting)halting,
                              .start = (mtf_start)start,
                              .gating = (mtf_gating)gating,
                              .steps = recurrence == MTF_RECURRENCE_ACT ? a.act_steps : a.steps,
                              .inner = a.inner,
                              .before = a.before ? a.vanilla : 0,
                              .after = a.after ? a.vanilla : 0,
                              .no_position_signal = !a.position_signal,
                              .no_step_signal = !a.signals_steps,
                              .sinusoid_steps = steps == 1,
                              .concat = way == 1,
                              .gate_inputs = a.gate_inputs,
                              .uncoupled = !a.couples,
                              .deep_gates = layer == 1,
                              .gated = a.gated,
                              .epsilon = a.act_epsilon};
    o->universal = u;
    o->dropout = a.dropout;
    o->epsilon = a.norm_epsilon;
    o->per_layer = per_layer;
    o->final = last;
    return true;
}

/* Funnel Transformers from a configuration. */
#include <string.h>

#include "model/config/config.h"
#include "model/config/config_layers.h"

typedef struct funnel_args {
    stack_args       stack; /* first: the table of LayerStack holds offsets in it */
    int64_t          blocks, pooling, submodules;
    const gin_value *layers, *repeats;
    const char      *kind;
} funnel_args;

/* clang-format off */
#define AT(field) offsetof(funnel_args, field)
static const gin_parameter funnel[] = {
    {"layers",                         TAKES_NOTHING, "None",   0},
    {"n_blocks",                       TAKES_TIMES,   "1",      AT(blocks)},
    {"block_param_size",               TAKES_VALUE,   "None",   AT(layers)},
    {"block_repeat_size",              TAKES_VALUE,   "None",   AT(repeats)},
    {"pooling_size",                   TAKES_COUNT,   "2",      AT(pooling)},
    {"pooling_type",                   TAKES_TEXT,    "'mean'", AT(kind)},
    {"n_submodules",                   TAKES_COUNT,   "2",      AT(submodules)},
    {0}};
const configurable known_funnel_stack = {
    "mesh_tensorflow.transformer.funnel_transformer", "FunnelTransformerLayerStack", funnel, &known_layer_stack, 0};
#undef AT
/* clang-format on */

static bool fail_at(mtf_config *c, const char *scope, const char *parameter, const char *right)
{
    gin_place at = configured_at(c, &known_funnel_stack, scope, parameter);
    return gin_fail(&c->gin, &at, ERR_VALUE, "FunnelTransformerLayerStack.%s takes %s", parameter,
                    right);
}

/* A whole number from 1 on for each block. */
static bool numbers_of(mtf_config *c, const char *scope, const char *parameter,
                       const gin_value *list, int64_t n, const int64_t **to)
{
    int64_t *own = arena_array(&c->gin.session->arena, int64_t, n);
    bool     right = config_is_list(list) && list->n == n;
    TRY(own != NULL);
    for (int k = 0; right && k < n; k++) {
        const gin_value *v = config_item(c, list, k);
        TRY(v != NULL);
        right = v->kind == GIN_INT && v->whole >= 1 && v->whole <= TIMES_MOST;
        own[k] = v->whole;
    }
    *to = own;
    return right || fail_at(c, scope, parameter,
                            "a list with a whole number from 1 to 999 for each of n_blocks");
}

static bool kind_of(mtf_config *c, const char *scope, const char *word, mtf_pooling *to)
{
    static const char *const words[] = {"mean", "max", "min"};
    for (int k = 0; k < 3; k++)
        if (word && strcmp(words[k], word) == 0) {
            *to = (mtf_pooling)k;
            return true;
        }
    return fail_at(c, scope, "pooling_type", "'mean', 'max' or 'min'");
}

bool config_funnel(mtf_config *c, const char *scope, mtf_stack_opts *o, stack_kind in,
                   int submodules)
{
    funnel_args      a = {0};
    mtf_funnel_opts *u = arena_array(&c->gin.session->arena, mtf_funnel_opts, 1);
    TRY(u && configure(c, &known_funnel_stack, scope, NULL, &a) &&
        config_sublayers(c, &known_funnel_stack, scope, a.stack, o));
    *u = (mtf_funnel_opts){.blocks = a.blocks, .pooling = a.pooling};
    TRY(numbers_of(c, scope, "block_param_size", a.layers, a.blocks, &u->layers) &&
        numbers_of(c, scope, "block_repeat_size", a.repeats, a.blocks, &u->repeats) &&
        kind_of(c, scope, a.kind, &u->kind));
    int64_t all = 0;
    for (int64_t k = 0; k < a.blocks; k++) all += u->layers[k];
    if (all != o->blocks)
        return fail_at(c, scope, "block_param_size",
                       "numbers whose sum is make_layer_stack.num_layers");
    if (a.submodules != submodules)
        return fail_at(c, scope, "n_submodules", "the number of make_layer_stack.layers");
    gin_place at = configured_at(c, &known_make_layer_stack, scope, "layer_stack_cls");
    if (in != STACK_ENCODER)
        return gin_fail(&c->gin, &at, ERR_VALUE,
                        "FunnelTransformerLayerStack leaves fewer positions than there are tokens: "
                        "it belongs to the encoder of an encoder-decoder");
    o->funnel = u;
    return true;
}

/* Linear layers that learn the identity.
 *
 * Their dimensions are named hidden_odd and hidden_even alternately, so that a
 * layout can cut every other one.
 */
#include "model/ready.h"

#include <stdio.h>
#include <string.h>

#include "base/dtype.h"
#include "graph/node.h"

/* 0, but 0 / 0 in one step, to test how training handles a NaN. */
static mtf_tensor *trouble(mtf_graph *g, int64_t when)
{
    mtf_tensor *steps = mtf_variable(g, "toy_steps", mtf_shape(),
                                     &(mtf_variable_opts){.init = "zeros", .untrainable = true});
    mtf_assign_add(steps, mtf_ones_like(steps));
    mtf_tensor *zero = mtf_zeros_like(steps);
    mtf_tensor *now = mtf_equal(steps, mtf_constant(g, (double)when, MTF_F32, mtf_shape()));
    return mtf_name(mtf_divide(zero, mtf_where(now, zero, mtf_ones_like(zero))), "trouble");
}

/* Types of variables: in computation, in memory, in checkpoints. */
typedef struct types {
    mtf_dtype         activation;
    mtf_variable_opts variable;
} types;

static bool read_types(const settings *v, types *t)
{
    static const char *const names[] = {"activation-type", "slice-type", "master-type"};
    mtf_dtype                read[3];
    for (int i = 0; i < 3; i++)
        if (!dtype_parse(setting_text(v, names[i]), &read[i]) || !dtype_is_float(read[i]) ||
            dtype_is_f8(read[i]))
            return fail(&v->session->fault, ERR_USAGE,
                        "--%s takes f32, bf16, f16 or f64, not \"%s\"", names[i],
                        setting_text(v, names[i]));
    t->activation = read[0];
    t->variable = (mtf_variable_opts){.type = read[1],
                                      .activation = setting_text(v, "activation-type"),
                                      .master = setting_text(v, "master-type")};
    return true;
}

/* y = x w: [batch, to] */
static mtf_tensor *layer(mtf_tensor *x, mtf_dim batch, mtf_dim from, mtf_dim to, int64_t number,
                         const types *t)
{
    char name[40];
    snprintf(name, sizeof name, "layer_%lld", (long long)number);
    if (strcmp(from.name, to.name) == 0) { /* there is no hidden layer between */
        from.name = "_io";
        x = mtf_rename_dimension(x, to.name, from.name);
    }
    mtf_tensor *w =
        mtf_variable(x ? x->node->graph : NULL, name, mtf_shape(from, to), &t->variable);
    return mtf_einsum(mtf_shape(batch, to), x, w);
}

enum { MOST_LAYERS = 9999 };

static bool build(const settings *v, bool training, network *n)
{
    mtf_dim batch = {"batch", 0}, io = {"io", 0}, from;
    int64_t hidden, layers, nan_step;
    types   t = {0};
    TRY(setting_count(v, "batch", 1, &batch.size) && setting_count(v, "io", 1, &io.size) &&
        setting_count(v, "hidden", 1, &hidden) && setting_count(v, "layers", 0, &layers) &&
        setting_count(v, "nan-step", -1, &nan_step) && read_types(v, &t));
    if (layers > MOST_LAYERS)
        return fail(&v->session->fault, ERR_USAGE, "--layers %lld is more than %d",
                    (long long)layers, (int)MOST_LAYERS);
    mtf_graph  *g = n->graph = mtf_graph_new(v->session);
    mtf_tensor *x = mtf_name(mtf_random_uniform(g, t.activation, mtf_shape(batch, io), 0, 1), "x");
    mtf_tensor *y = x;
    from = io;
    for (int64_t i = 1; i <= layers; i++) {
        mtf_dim to = {i % 2 ? "hidden_odd" : "hidden_even", hidden};
        y = layer(y, batch, from, to, i, &t);
        from = to;
    }
    y = layer(y, batch, from, io, layers + 1, &t);
    mtf_tensor *error = mtf_cast(mtf_sub(y, x), MTF_F32);
    if (training && nan_step >= 0) error = mtf_add(error, trouble(g, nan_step));
    n->loss = mtf_name(mtf_reduce_mean(mtf_square(error), MTF_ALL), "loss");
    return n->loss != NULL;
}

static const model_option options[] = {
    {"batch", "64"},        {"io", "16"},          {"hidden", "16"},           {"layers", "1"},
    {"nan-step", "-1"},     {"optimizer", "sgd"},  {"rate", "0.0001"},         {"steps", "10000"},
    {"master-type", "f32"}, {"slice-type", "f32"}, {"activation-type", "f32"}, {0}};

const model model_toy = {.name = "toy",
                         .says = "linear layers that learn the identity",
                         .options = options,
                         .build = build};

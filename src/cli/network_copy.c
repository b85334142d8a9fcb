/* Copies of networks: other types, averages, parts of the batch. */
#include "cli/network_copy.h"

#include <string.h>

#include "base/dtype.h"

#include "cli/graph_file.h"
#include "model/assigns.h"
#include "nn/average.h"
#include "microbatch/resize.h"

typedef struct copying {
    const network *from;
    mtf_graph     *to;
    images         images;
    resize_rules   rules;
    mtf_tensor   **inputs; /* of the old graph, those with a batch */
    int            ninputs;
} copying;

static bool is_variable(const mtf_tensor *x)
{
    return strcmp(x->node->op->name, "variable") == 0;
}

static bool new_copy(copying *c, const network *n)
{
    mtf_session *s = n->graph->session;
    *c = (copying){.from = n, .to = mtf_graph_new(s), .images = images_new(n->graph, &s->arena)};
    c->inputs = arena_array(&s->arena, mtf_tensor *, n->graph->ntensors);
    return c->to && c->images.of && c->inputs && resize_list(n->graph, &s->arena, &c->rules);
}

/* A new graph with the inputs and variables of the old one; these are outside all blocks. */
static bool begin(copying *c, const network *n, const char *option)
{
    mtf_session *s = n->graph->session;
    TRY(new_copy(c, n));
    if (graph_assigns(n->graph))
        return fail(&s->fault, ERR_USAGE, "--%s needs a model that assigns to no variable itself",
                    option);
    for (int i = 0; i < n->graph->ntensors; i++) {
        mtf_tensor *x = n->graph->all[i];
        if (!is_input(x) && !is_variable(x)) continue;
        TRY(block_copy_node(c->to, x->node, &c->images) &&
            graph_name_tensor(c->to, c->images.of[x->id], tensor_name(x)));
    }
    return true;
}

/* Replaces the network's tensors by those of the copy. */
static void take_images(const copying *c, network *n)
{
    mtf_tensor **all[] = {&n->loss, &n->right, &n->token_losses, &n->token_counts,
                          &n->sequences, &n->sequences_right};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        if (*all[k]) *all[k] = image_of(&c->images, *all[k]);
    n->graph = c->to;
}

bool network_retype(network *n, mtf_dtype type)
{
    copying c;
    TRY(begin(&c, n, "dtype"));
    c.rules.retypes = true;
    c.rules.type = type;
    for (int i = 0; i < n->graph->ntensors; i++) {
        mtf_tensor **image = &c.images.of[i];
        if (*image && (*image)->type == MTF_F32) *image = mtf_cast(*image, type);
    }
    TRY(mtf_ok(c.to->session));
    TRY(resize_graph(n->graph, &c.rules, true, c.to, &c.images));
    take_images(&c, n);
    n->loss = mtf_cast(n->loss, MTF_F32);
    return n->loss != NULL;
}

bool network_use_averages(network *n)
{
    copying c;
    bool   *needed = file_needs(n->graph, 1, &n->loss);
    TRY(needed && new_copy(&c, n));
    for (int i = 0; i < n->graph->ntensors; i++) {
        mtf_tensor *w = n->graph->all[i];
        if (!needed[i] || !is_variable(w) || !node_attr(w->node, "trainable")->b) continue;
        mtf_tensor *average = optimizer_slot(c.to, tensor_name(w), AVERAGE_SUFFIX,
                                             dtype_compute(w->type), w->shape, "zeros");
        c.images.of[i] = mtf_cast(average, w->type);
    }
    TRY(mtf_ok(c.to->session) && resize_graph(n->graph, &c.rules, true, c.to, &c.images));
    take_images(&c, n);
    return true;
}

/* ---- parts of a batch ---- */

/* The batch size of the inputs, or of a network that generates its examples. */
static mtf_dim batch_of(const mtf_graph *g)
{
    mtf_dim found = {0};
    for (int i = 0; i < g->ntensors; i++) {
        mtf_dim d = mtf_shape_dim(g->all[i]->shape, "batch");
        if (d.name && is_input(g->all[i])) return d;
        if (d.name && !found.name) found = d;
    }
    return found;
}

/* The size of the dimension outer_batch; 1: there is none. */
static int64_t outer_batch_of(const mtf_graph *g)
{
    for (int i = 0; i < g->ntensors; i++) {
        mtf_dim d = mtf_shape_dim(g->all[i]->shape, "outer_batch");
        if (d.name) return d.size;
    }
    return 1;
}

/* The network on the microbatch of this iteration. */
static void build_part(mtf_graph *g, void *context, mtf_tensor *const *in, mtf_tensor **out)
{
    copying *c = context;
    for (int i = 0; i < c->ninputs; i++) c->images.of[c->inputs[i]->id] = in[i];
    if (resize_graph(c->from->graph, &c->rules, false, g, &c->images))
        out[0] = image_of(&c->images, c->from->loss);
}

bool network_minimize_in_parts(network *n, int64_t parts, const mtf_minimize_opts *opts)
{
    copying      c;
    mtf_dim      batch = batch_of(n->graph);
    mtf_session *s = n->graph->session;
    if (!batch.name)
        return fail(&s->fault, ERR_USAGE, "--microbatches: the model has no dimension \"batch\"");
    if (batch.size % (parts * outer_batch_of(n->graph)) != 0)
        return fail(&s->fault, ERR_USAGE,
                    "--microbatches %lld does not divide the batch, which is %lld",
                    (long long)parts, (long long)(batch.size / outer_batch_of(n->graph)));
    TRY(begin(&c, n, "microbatches"));
    int64_t outer = outer_batch_of(n->graph);
    for (int k = 0; k < c.rules.n; k++) {
        int64_t from = c.rules.list[k].from;
        if (strcmp(c.rules.list[k].name, batch.name) == 0 &&
            (from == batch.size || from * outer == batch.size))
            c.rules.list[k].to = from / parts;
    }
    mtf_tensor **features = arena_array(&s->arena, mtf_tensor *, n->graph->ntensors);
    TRY(features != NULL);
    for (int i = 0; i < n->graph->ntensors; i++) {
        mtf_tensor *x = n->graph->all[i];
        if (!is_input(x) || !mtf_shape_dim(x->shape, batch.name).name) continue;
        features[c.ninputs] = c.images.of[i];
        c.inputs[c.ninputs++] = x;
    }
    mtf_serialized all = mtf_serialize_training_step(
        c.to, c.ninputs, features,
        &(mtf_serialize_opts){.batch = batch, .splits = parts, .model = build_part, .context = &c,
                              .loss_scale = mtf_loss_scale(c.to, opts)});
    TRY(all.loss != NULL);
    mtf_minimize_apply(c.to, all.n, all.variables, all.gradients, opts);
    *n = (network){.graph = c.to, .loss = mtf_name(all.loss, tensor_name(n->loss))};
    return mtf_ok(s);
}

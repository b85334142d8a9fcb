/* Copies of networks: other types, averages, no assignments; and parts of the batch. */
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
} copying;

static bool is_variable(const mtf_tensor *x)
{
    return strcmp(x->node->op->name, "variable") == 0;
}

static bool new_copy(copying *c, const network *n)
{
    mtf_session *s = n->graph->session;
    *c = (copying){.from = n, .to = mtf_graph_new(s), .images = images_new(n->graph, &s->arena)};
    return c->to && c->images.of && resize_list(n->graph, &s->arena, &c->rules);
}

/* A new graph with the inputs and variables of the old one; these are outside all blocks. */
static bool begin_copy(copying *c, const network *n)
{
    TRY(new_copy(c, n));
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
    mtf_tensor **all[] = {&n->loss,      &n->right,           &n->token_losses, &n->token_counts,
                          &n->sequences, &n->sequences_right, &n->spans};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        if (*all[k]) *all[k] = image_of(&c->images, *all[k]);
    for (int k = 0; k < n->nscores; k++)
        n->scores[k].value = image_of(&c->images, n->scores[k].value);
    for (int k = 0; k < PICTURES; k++)
        if (n->pictures[k].value) n->pictures[k].value = image_of(&c->images, n->pictures[k].value);
    n->graph = c->to;
}

/* ---- what stays f32 ---- */

/* Does the network compute here, so that what follows may be its losses?  A product of one number sums losses up. */
static bool ends_losses(const node *n)
{
    bool product = n->op->product && n->out[0]->shape.ndims > 0;
    return product || (n->op->blocks && n->op->blocks[0]);
}

static bool is_any(const node *n, const bool *marked)
{
    for (int i = 0; i < n->nout; i++)
        if (marked[n->out[i]->id]) return true;
    return false;
}

/* In a shorter type, losses and what is computed for them alone stay f32: all that only leads to the loss, back to
 * the products that its logits come from, and the inputs and variables that it takes. */
static bool keep_losses(const network *n, mtf_dtype type, resize_rules *r)
{
    mtf_graph *g = n->graph;
    if (!dtype_is_short(type)) return true;
    bool *needed = file_needs(g, 1, &n->loss);
    bool *kept = arena_array(&g->arena, bool, g->ntensors);
    bool *other = arena_array(&g->arena, bool, g->ntensors); /* it leads elsewhere as well */
    TRY(needed && kept && other);
    r->kept = kept;
    for (int k = g->root.nnodes - 1; k >= 0; k--) {
        const node *to = g->root.nodes[k];
        if (to->nout == 0 || !is_any(to, needed) || is_input(to->out[0]) || is_variable(to->out[0]))
            continue;
        bool keep = !is_any(to, other) && !ends_losses(to);
        for (int i = 0; i < to->nout; i++) kept[to->out[i]->id] = keep;
        for (int i = 0; i < to->nin; i++) {
            mtf_tensor *x = to->in[i];
            if (!keep) other[x->id] = true;
            if (keep && (is_input(x) || is_variable(x))) kept[x->id] = true;
        }
    }
    return true;
}

bool network_retype(network *n, mtf_dtype type)
{
    copying c;
    if (graph_assigns(n->graph))
        return fail(&n->graph->session->fault, ERR_USAGE,
                    "--dtype needs a model that assigns to no variable itself");
    TRY(begin_copy(&c, n) && keep_losses(n, type, &c.rules));
    c.rules.retypes = true;
    c.rules.type = type;
    for (int i = 0; i < n->graph->ntensors; i++) {
        mtf_tensor **image = &c.images.of[i];
        bool         whole = c.rules.kept && c.rules.kept[i];
        if (*image && (*image)->type == MTF_F32 && !whole) *image = mtf_cast(*image, type);
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

bool network_drop_assignments(network *n)
{
    copying      c;
    const block *root = &n->graph->root;
    TRY(begin_copy(&c, n));
    for (int i = 0; i < root->nnodes; i++) {
        const node *assigns = root->nodes[i];
        if (assigns->op->flags & OP_STORE)
            c.images.of[assigns->out[0]->id] = image_of(&c.images, assigns->in[0]);
    }
    TRY(resize_graph(n->graph, &c.rules, true, c.to, &c.images));
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

bool network_divide(network *n, int64_t parts)
{
    mtf_dim batch = batch_of(n->graph);
    if (!batch.name && parts > 1)
        return fail(&n->graph->session->fault, ERR_USAGE,
                    "--microbatches: the model has no dimension \"batch\"");
    if (!batch.name) return true;
    batch.size /= outer_batch_of(n->graph);
    mtf_microbatches(n->graph, batch, parts);
    return mtf_ok(n->graph->session);
}

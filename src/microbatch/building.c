/* A graph in the making, from another whose batch is divided. */
#include "microbatch/building.h"

#include <string.h>

#include "ops/attention_op.h"
#include "ops/catalogue.h"

/* Names that only unused tensors have may occur in layouts. */
static bool keep_names(building *b)
{
    for (int i = 0; i < b->from->ntensors; i++) {
        const mtf_shape *shape = &b->from->all[i]->shape;
        for (int d = 0; d < shape->ndims; d++)
            TRY(graph_intern(b->to, shape->dims[d].name) != NULL);
    }
    return true;
}

bool building_open(building *b)
{
    arena *a = b->scratch;
    int    tensors = b->from->ntensors + 1;
    b->to = mtf_graph_new(b->from->session);
    TRY(b->to != NULL);
    b->to->file = b->from->file;
    b->to->next_key = b->from->next_key;
    b->to->batch = b->batch;
    b->to->parts = 1;
    b->to->divided = b->parts;
    b->whole = arena_array(a, mtf_tensor *, tensors);
    b->lines = arena_array(a, mtf_tensor *, tensors);
    b->here = arena_array(a, mtf_tensor *, tensors);
    b->sums = arena_array(a, mtf_tensor *, tensors);
    b->named = arena_array(a, bool, tensors);
    b->copied = arena_array(a, bool, b->from->nnodes + 1);
    b->images = images_new(b->from, a);
    TRY(b->whole && b->lines && b->here && b->sums && b->named && b->copied && b->images.of);
    return keep_names(b);
}

bool building_size(building *b, int64_t examples)
{
    b->examples = examples;
    b->rules.n = b->parting.nnames;
    b->rules.list = arena_array(b->scratch, resize_rule, b->rules.n);
    for (int k = 0; b->rules.list && k < b->rules.n; k++)
        b->rules.list[k] = (resize_rule){b->parting.names[k], b->batch.size, examples};
    return b->rules.list != NULL;
}

bool building_name(building *b, mtf_tensor *x, mtf_tensor *y)
{
    if (!y->origin) y->origin = x;
    if (b->named[x->id] || y->name || x->hidden) return true;
    b->named[x->id] = true;
    return graph_name_tensor(b->to, y, tensor_name(x));
}

/* ---- outside of loops ---- */

bool building_is_whole(const building *b, const node *n)
{
    if (n->nout == 0) return true;
    const part_state *s = &b->parting.of[n->out[0]->id];
    return s->kind == PART_WHOLE || s->also_whole;
}

bool building_copy_whole(building *b, const node *n)
{
    mtf_tensor **in = arena_array(&b->to->arena, mtf_tensor *, n->nin + 1);
    TRY(in != NULL);
    for (int i = 0; i < n->nin; i++) {
        in[i] = b->whole[parting_tensor(&b->parting, n->in[i])->id];
        b->images.of[n->in[i]->id] = in[i];
    }
    b->to->line = n->line;
    if (n->op->blocks) {
        TRY(block_copy_node(b->to, n, &b->images));
        for (int o = 0; o < n->nout; o++) b->whole[n->out[o]->id] = b->images.of[n->out[o]->id];
    } else {
        node *copy = node_new(b->to, n->op, n->nargs, in, n->attrs, NULL);
        TRY(copy != NULL);
        copy->subject = n->subject;
        for (int o = 0; o < n->nout; o++) b->whole[n->out[o]->id] = copy->out[o];
    }
    for (int o = 0; o < n->nout; o++) TRY(building_name(b, n->out[o], b->whole[n->out[o]->id]));
    return true;
}

/* ---- inside ---- */

/* Does a node draw random numbers whose positions depend on the example? */
static bool draws(const building *b, const node *n)
{
    if (n->op->flags & OP_ITERATION) return true;
    if (n->op != &op_attention && n->op != &op_attention_grad) return false;
    attr_names  over = n->attrs[AT_DROPOUT_OVER].names;
    const char *name = parting_name(&b->parting, n->in[0]);
    for (int k = 0; k < over.n; k++)
        if (name && strcmp(over.v[k], name) == 0) return false;
    return n->attrs[AT_DROPOUT].r > 0 && parting_has_batch(&b->parting, n->in[0]);
}

/* Random numbers are those that the whole batch has at these examples. */
static bool number_examples(building *b, const node *n, attr *attrs)
{
    attrs[op_attr_find(n->op, "part_of")].text = parting_name(&b->parting, n->out[0]);
    attrs[op_attr_find(n->op, "whole")].i = b->batch.size;
    attrs[op_attr_find(n->op, "parts")].i = b->parts;
    if (n->op->flags & OP_ITERATION) {
        attrs[op_attr_find(n->op, "once")].b = false;
        return true;
    }
    attr_names  *with = &attrs[AT_WITH].names;
    const char **more = arena_array(&b->to->arena, const char *, with->n + 1);
    TRY(more != NULL);
    for (int k = 0; k < with->n; k++) more[k] = with->v[k];
    more[with->n] = "part";
    *with = (attr_names){with->n + 1, more};
    return true;
}

/* Of what n waits for, only what is computed in the same part matters. */
static int copy_inputs(building *b, const node *n, mtf_tensor **in)
{
    int count = 0;
    for (int i = 0; i < n->nargs; i++) {
        mtf_tensor *x = parting_tensor(&b->parting, n->in[i]), *here = b->here[x->id];
        if (n->op == &op_depend && i > 0 && !here) continue;
        in[count++] = here ? here : building_part_of(b, x);
    }
    return count;
}

bool building_copy_part(building *b, const node *n)
{
    mtf_tensor **in = arena_array(&b->to->arena, mtf_tensor *, n->nargs + 2);
    attr        *attrs = resize_attrs(&b->rules, b->to, n);
    TRY(in && attrs);
    int count = copy_inputs(b, n, in);
    if (draws(b, n)) {
        TRY(number_examples(b, n, attrs));
        in[count++] = b->part;
    }
    b->to->line = n->line;
    node *copy = node_new(b->to, n->op, count, in, attrs, NULL);
    TRY(copy != NULL);
    copy->subject = n->subject;
    for (int o = 0; o < n->nout; o++) {
        b->here[n->out[o]->id] = copy->out[o];
        TRY(building_name(b, n->out[o], copy->out[o]));
    }
    return true;
}

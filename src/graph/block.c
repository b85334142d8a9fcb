/* Blocks: the insides of loops, regions and custom gradients. */
#include <string.h>

#include "graph/node.h"

/* A parameter's type and shape are those of its attributes. */
static bool infer_param(node *n)
{
    return node_output(n, n->attrs[1].type, n->attrs[0].shape);
}

const op op_param = {
    .name = "param",
    .says = "a parameter of a block",
    .args = "",
    .attrs =
        (const attr_spec[]){{"shape", ATTR_SHAPE, NULL, ""}, {"type", ATTR_TYPE, NULL, ""}, {0}},
    .flags = OP_UNIQUE,
    .infer = infer_param,
};

block *block_open(mtf_graph *g, const char *name)
{
    if (!g || !mtf_ok(g->session)) return NULL;
    block *b = arena_new(&g->arena, block);
    if (!b) return NULL;
    *b = (block){.graph = g, .parent = g->current, .name = name};
    g->current = b;
    return b;
}

static mtf_tensor *make_param(block *b, mtf_dtype type, const mtf_shape *shape)
{
    attr  attrs[] = {{.shape = shape}, {.type = type}};
    node *n = node_new(b->graph, &op_param, 0, NULL, attrs, NULL);
    return n ? n->out[0] : NULL;
}

mtf_tensor *block_param(block *b, mtf_dtype type, const mtf_shape *shape, const char *name)
{
    if (!b) return NULL;
    mtf_tensor *x = make_param(b, type, shape);
    if (!x || !arena_push(&b->graph->arena, b->params, b->nparams, b->params_room)) return NULL;
    b->params[b->nparams++] = x;
    return !name || graph_name_tensor(b->graph, x, name) ? x : NULL;
}

mtf_tensor *block_iteration(block *b)
{
    if (b && !b->iteration) {
        block *here = b->graph->current;
        b->graph->current = b;
        b->iteration = make_param(b, MTF_I32, &(mtf_shape){0});
        b->graph->current = here;
    }
    return b ? b->iteration : NULL;
}

bool block_close(block *b, int nresults, mtf_tensor *const *results)
{
    if (!b) return false;
    mtf_graph *g = b->graph;
    g->current = b->parent;
    b->results = arena_array(&g->arena, mtf_tensor *, nresults);
    TRY(b->results && mtf_ok(g->session));
    b->nresults = nresults;
    for (int i = 0; i < nresults; i++) {
        if (!results[i])
            return fail(&g->session->fault, ERR_USAGE,
                        "block \"%s\" gives nothing as its result %d", b->name, i + 1);
        b->results[i] = results[i];
        /* A result that comes straight from outside is captured like any other use. */
        for (block *at = b; at && at != results[i]->node->home; at = at->parent) {
            bool known = false;
            for (int c = 0; c < at->ncaptures && !known; c++) known = at->captures[c] == results[i];
            if (known) break;
            TRY(arena_push(&g->arena, at->captures, at->ncaptures, at->captures_room));
            at->captures[at->ncaptures++] = results[i];
        }
    }
    return true;
}

/* ---- copying ---- */

images images_new(mtf_graph *g, arena *scratch)
{
    return (images){arena_array(scratch, mtf_tensor *, g->ntensors + 1), g->ntensors};
}

mtf_tensor *image_of(const images *m, mtf_tensor *x)
{
    return x->id < m->room && m->of[x->id] ? m->of[x->id] : x;
}

static block *copy_block(mtf_graph *g, const block *from, images *m);

static bool is_in_loop(const block *b)
{
    while (b && !b->iteration) b = b->parent;
    return b != NULL;
}

bool block_copy_node(mtf_graph *g, const node *from, images *m)
{
    if (from->op->flags & OP_IDENTITY) { /* its effect must not happen twice */
        m->of[from->out[0]->id] = image_of(m, from->in[0]);
        return true;
    }
    int nblocks = 0;
    while (from->op->blocks && from->op->blocks[nblocks]) nblocks++;
    block      **blocks = arena_array(&g->arena, block *, nblocks);
    mtf_tensor **in = arena_array(&g->arena, mtf_tensor *, from->nargs);
    TRY(blocks && in);
    for (int b = 0; b < nblocks; b++) {
        blocks[b] = copy_block(g, from->blocks[b], m);
        TRY(blocks[b] != NULL);
    }
    for (int i = 0; i < from->nargs; i++) in[i] = image_of(m, from->in[i]);
    node *n = node_new(g, from->op, from->nargs, in, from->attrs, blocks);
    TRY(n != NULL);
    if (from->graph == g) n->line = from->line;
    n->subject = from->subject ? from->subject : g->subject && from->nout ? from->out[0] : NULL;
    if (from->op->flags & OP_ITERATION && from->nargs == 0) /* must not depend on the iteration */
        n->attrs[op_attr_find(n->op, "once")].b = is_in_loop(g->current);
    for (int i = 0; i < from->nout; i++) m->of[from->out[i]->id] = n->out[i];
    return true;
}

bool block_inline(mtf_graph *g, const block *b, images *m)
{
    for (int i = 0; i < b->nnodes; i++)
        if (b->nodes[i]->op != &op_param) TRY(block_copy_node(g, b->nodes[i], m));
    return true;
}

static block *copy_block(mtf_graph *g, const block *from, images *m)
{
    block *b = block_open(g, from->name);
    if (!b) return NULL;
    for (int i = 0; i < from->nparams; i++) {
        mtf_tensor *p = from->params[i];
        m->of[p->id] = block_param(b, p->type, &p->shape, NULL);
    }
    if (from->iteration) m->of[from->iteration->id] = block_iteration(b);
    bool         ok = block_inline(g, from, m);
    mtf_tensor **results = arena_array(&g->arena, mtf_tensor *, from->nresults);
    for (int i = 0; results && i < from->nresults; i++) results[i] = image_of(m, from->results[i]);
    return block_close(b, results ? from->nresults : 0, results) && ok ? b : NULL;
}

/* Regions: recompute and custom_gradient. */
#include "ops/lowering.h"
#include "ops/tape.h"

static bool check_params(const node *n, const block *b, int count, mtf_tensor *const *like)
{
    if (b->nparams != count)
        return node_fail(n, ERR_USAGE, "\"%s\" takes %d parameters, not %d", b->name, count,
                         b->nparams);
    for (int i = 0; i < count; i++)
        if (b->params[i]->type != like[i]->type ||
            !mtf_shape_equal(b->params[i]->shape, like[i]->shape))
            return node_fail(n, ERR_SHAPE,
                             "parameter %d of \"%s\" must have the type and shape of \"%s\"", i + 1,
                             b->name, tensor_name(like[i]));
    return true;
}

static bool infer_results(node *n)
{
    const block *b = n->blocks[0];
    TRY(check_params(n, b, n->nargs, n->in));
    if (b->nresults < 1) return node_fail(n, ERR_USAGE, "\"%s\" must have a result", b->name);
    for (int i = 0; i < b->nresults; i++)
        TRY(node_output(n, b->results[i]->type, &b->results[i]->shape));
    return true;
}

/* Lowers the first block in place of the node. */
static bool lower_inline(emitter *e, const node *n, const slice *in, slice *out)
{
    const block *b = n->blocks[0];
    for (int i = 0; i < b->nparams; i++) *e->slice_of(e, b->params[i]) = in[i];
    TRY(e->lower_block(e, b));
    for (int i = 0; i < b->nresults; i++) out[i] = *e->slice_of(e, b->results[i]);
    return true;
}

/* ---- recompute ---- */

/* The inside is computed again from inputs that wait for the gradient (`depend`), so the new
 * nodes cannot be merged with the old ones and the old values need not be kept. */
static bool recompute(tape *t, const node *n, mtf_tensor *const *dy, arena *scratch)
{
    mtf_graph   *g = n->graph;
    const block *b = n->blocks[0];
    images       m = images_new(g, scratch);
    mtf_tensor **xs = arena_array(scratch, mtf_tensor *, n->nin),
               **dxs = arena_array(scratch, mtf_tensor *, n->nin);
    mtf_tensor **ys = arena_array(scratch, mtf_tensor *, n->nout),
               **dys = arena_array(scratch, mtf_tensor *, n->nout);
    mtf_tensor **to = arena_array(scratch, mtf_tensor *, n->nin);
    TRY(m.of && xs && dxs && ys && dys && to);
    int ny = 0, nx = 0;
    for (int o = 0; o < n->nout; o++)
        if (dy[o]) dys[ny++] = dy[o];
    for (int i = 0; i < n->nin; i++) {
        mtf_tensor *late = mtf_depend(n->in[i], ny, dys);
        TRY(late != NULL);
        if (i < n->nargs) m.of[b->params[i]->id] = late;
        m.of[n->in[i]->id] = late;
        if (tape_wants(t, n->in[i])) to[nx] = n->in[i], xs[nx++] = late;
    }
    TRY(block_inline(g, b, &m));
    ny = 0;
    for (int o = 0; o < n->nout; o++)
        if (dy[o]) ys[ny++] = image_of(&m, b->results[o]);
    mtf_gradients(ny, ys, nx, xs, dys, dxs);
    for (int x = 0; x < nx; x++) tape_give(t, to[x], dxs[x]);
    return true;
}

static void grad_recompute(tape *t, const node *n, mtf_tensor *const *dy)
{
    arena scratch = arena_make(&n->graph->session->allocator, &n->graph->session->fault);
    recompute(t, n, dy, &scratch);
    arena_free(&scratch);
}

const op op_recompute = {
    .name = "recompute",
    .says = "the body; its inner values are computed again for the gradient instead of being kept",
    .args = "xs...",
    .results = "ys...",
    .blocks = (const char *const[]){"body", NULL},
    .flags = OP_DIRECT | OP_F8,
    .infer = infer_results,
    .grad = grad_recompute,
    .lower = lower_inline};

/* ---- custom_gradient ---- */

static bool infer_custom(node *n)
{
    TRY(infer_results(n));
    const block *f = n->blocks[0], *b = n->blocks[1];
    mtf_tensor **like = arena_array(&n->graph->arena, mtf_tensor *, n->nargs + 2 * n->nout);
    TRY(like != NULL);
    for (int i = 0; i < n->nargs; i++) like[i] = n->in[i];
    for (int i = 0; i < n->nout; i++)
        like[n->nargs + i] = like[n->nargs + n->nout + i] = f->results[i];
    TRY(check_params(n, b, n->nargs + 2 * n->nout, like));
    if (b->nresults != n->nargs)
        return node_fail(n, ERR_USAGE, "backward gives %d gradients for %d inputs", b->nresults,
                         n->nargs);
    for (int i = 0; i < n->nargs; i++)
        if (b->results[i]->type != n->in[i]->type ||
            !shape_same_set(&b->results[i]->shape, &n->in[i]->shape))
            return node_fail(n, ERR_SHAPE,
                             "backward's gradient of \"%s\" has another type or shape",
                             tensor_name(n->in[i]));
    return true;
}

static bool custom(tape *t, const node *n, mtf_tensor *const *dy, arena *scratch)
{
    const block *b = n->blocks[1];
    images       m = images_new(n->graph, scratch);
    TRY(m.of != NULL);
    for (int i = 0; i < n->nargs; i++) m.of[b->params[i]->id] = n->in[i];
    for (int o = 0; o < n->nout; o++) {
        m.of[b->params[n->nargs + o]->id] = n->out[o];
        m.of[b->params[n->nargs + n->nout + o]->id] =
            dy[o] ? dy[o] : mtf_zeros(n->graph, n->out[o]->type, n->out[o]->shape);
    }
    TRY(block_inline(n->graph, b, &m));
    for (int i = 0; i < n->nargs; i++) tape_give(t, n->in[i], image_of(&m, b->results[i]));
    return true;
}

static void grad_custom(tape *t, const node *n, mtf_tensor *const *dy)
{
    arena scratch = arena_make(&n->graph->session->allocator, &n->graph->session->fault);
    custom(t, n, dy, &scratch);
    arena_free(&scratch);
}

const op op_custom_gradient = {.name = "custom_gradient",
                               .says = "forward, with the gradient that backward gives for each "
                                       "input; tensors from outside receive none",
                               .args = "xs...",
                               .results = "ys...",
                               .blocks = (const char *const[]){"forward", "backward", NULL},
                               .flags = OP_DIRECT | OP_F8,
                               .infer = infer_custom,
                               .grad = grad_custom,
                               .lower = lower_inline};

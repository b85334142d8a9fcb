/* The gradient of a loop: another loop, backwards through history.
 *
 * Iteration i of the backward loop handles iteration j = trips - 1 - i of the
 * forward one: it fetches the carried values from the history, computes the body again and
 * differentiates it.  Gradients of carried values are carried; gradients of
 * what the body captured are summed over the iterations.
 */
#include "base/dtype.h"
#include "ops/catalogue.h"
#include "ops/loop.h"

typedef struct backward {
    const node        *n;
    const block       *body;
    mtf_tensor *const *dy;
    int                carried, sums, ncaptures;
    int               *real; /* which carried values are floating */
    int                nreal;
    mtf_tensor       **captures; /* those that need a gradient */
} backward;

static mtf_tensor *or_zeros(mtf_tensor *dx, const mtf_tensor *x)
{
    mtf_dtype type = dtype_is_f8(x->type) ? MTF_F32 : x->type; /* of its gradient */
    return dx ? dx : mtf_zeros(x->node->graph, type, x->shape);
}

/* Entry j of a tensor [_iterations, ...]. */
static mtf_tensor *entry(mtf_tensor *history, mtf_tensor *j)
{
    return mtf_gather(history, j, history->shape.dims[0]);
}

/* Inside the block: computes the body of iteration j again on copies of what it captured, which are
 * leaves, so that differentiation stops there. */
static bool replay(mtf_graph *g, const backward *b, mtf_tensor *j, images *m, mtf_tensor **xs)
{
    for (int k = 0; k < b->carried; k++)
        m->of[b->body->params[k]->id] = entry(b->n->out[b->carried + b->sums + k], j);
    if (b->body->iteration) m->of[b->body->iteration->id] = j;
    for (int r = 0; r < b->nreal; r++) xs[r] = m->of[b->body->params[b->real[r]]->id];
    for (int c = 0; c < b->ncaptures; c++)
        xs[b->nreal + c] = m->of[b->captures[c]->id] = mtf_depend(b->captures[c], 0, NULL);
    return block_inline(g, b->body, m);
}

/* What the backward loop carries: gradients, or, where there are none, an unused number. */
static int carried_back(const backward *b)
{
    return b->nreal ? b->nreal : 1;
}

static bool build_body(mtf_graph *g, const backward *b, block *into, arena *scratch)
{
    int          nx = b->nreal + b->ncaptures, ny = 0, idle = carried_back(b) - b->nreal;
    images       m = images_new(g, scratch);
    mtf_tensor **xs = arena_array(scratch, mtf_tensor *, nx),
               **results = arena_array(scratch, mtf_tensor *, idle + nx);
    mtf_tensor **ys = arena_array(scratch, mtf_tensor *, b->nreal + b->sums);
    mtf_tensor **dys = arena_array(scratch, mtf_tensor *, b->nreal + b->sums);
    TRY(m.of && xs && results && ys && dys);
    if (idle) results[0] = into->params[0];
    mtf_tensor **dxs = results + idle;
    mtf_tensor  *last = mtf_constant(g, (double)(b->n->attrs[0].i - 1), MTF_I32, mtf_shape());
    mtf_tensor  *j = mtf_sub(last, block_iteration(into));
    TRY(j && replay(g, b, j, &m, xs));
    for (int r = 0; r < b->nreal; r++) {
        ys[ny] = image_of(&m, b->body->results[b->real[r]]);
        dys[ny++] = into->params[r];
    }
    for (int s = 0; s < b->sums; s++) {
        if (!b->dy[b->carried + s]) continue;
        ys[ny] = image_of(&m, b->body->results[b->carried + s]);
        dys[ny++] = b->dy[b->carried + s];
    }
    mtf_gradients(ny, ys, nx, xs, dys, dxs);
    for (int x = 0; x < nx; x++) dxs[x] = or_zeros(dxs[x], xs[x]);
    for (int r = 0; r < b->nreal; r++) { /* adds the gradient of the history itself */
        mtf_tensor *dh = b->dy[b->carried + b->sums + b->real[r]];
        if (dh) dxs[r] = mtf_add(dxs[r], entry(dh, j));
    }
    return block_close(into, idle + nx, results);
}

static bool prepare_backward(tape *t, backward *b, arena *scratch)
{
    const node *n = b->n;
    b->real = arena_array(scratch, int, b->carried);
    b->captures = arena_array(scratch, mtf_tensor *, n->nin);
    TRY(b->real && b->captures);
    for (int k = 0; k < b->carried; k++)
        if (dtype_is_float(n->in[k]->type)) b->real[b->nreal++] = k;
    for (int c = n->nargs; c < n->nin; c++)
        if (dtype_is_float(n->in[c]->type) && tape_wants(t, n->in[c]))
            b->captures[b->ncaptures++] = n->in[c];
    /* A carried value that the body also uses from outside is a capture as well. */
    for (int c = 0; c < b->body->ncaptures; c++) {
        mtf_tensor *x = b->body->captures[c];
        bool        known = false;
        for (int i = 0; i < b->ncaptures && !known; i++) known = b->captures[i] == x;
        if (!known && dtype_is_float(x->type) && tape_wants(t, x)) {
            TRY(b->ncaptures < n->nin);
            b->captures[b->ncaptures++] = x;
        }
    }
    return true;
}

static bool differentiate(tape *t, const backward *b, arena *scratch)
{
    const node  *n = b->n;
    mtf_graph   *g = n->graph;
    int          nin = carried_back(b);
    mtf_tensor **in = arena_array(scratch, mtf_tensor *, nin);
    block      **blocks = arena_array(&g->arena, block *, 1);
    TRY(in && blocks);
    in[0] = b->nreal ? NULL : mtf_constant(g, 0, MTF_I32, mtf_shape());
    for (int r = 0; r < b->nreal; r++) in[r] = or_zeros(b->dy[b->real[r]], n->out[b->real[r]]);
    block *body = blocks[0] = block_open(g, "body");
    for (int i = 0; i < nin; i++) TRY(in[i] && block_param(body, in[i]->type, &in[i]->shape, NULL));
    TRY(block_iteration(body) && build_body(g, b, body, scratch));
    attr  attrs[] = {{.i = n->attrs[0].i}, {.i = b->ncaptures}};
    node *back = node_new(g, &op_loop, nin, in, attrs, blocks);
    TRY(back != NULL);
    for (int r = 0; r < b->nreal; r++) tape_give(t, n->in[b->real[r]], back->out[r]);
    for (int c = 0; c < b->ncaptures; c++) tape_give(t, b->captures[c], back->out[nin + c]);
    return true;
}

void loop_grad(tape *t, const node *n, mtf_tensor *const *dy)
{
    arena    scratch = arena_make(&n->graph->session->allocator, &n->graph->session->fault);
    block   *here = n->graph->current;
    backward b = {
        .n = n, .body = n->blocks[0], .dy = dy, .carried = n->nargs, .sums = (int)n->attrs[1].i};
    if (prepare_backward(t, &b, &scratch)) differentiate(t, &b, &scratch);
    n->graph->current = here; /* also after an error inside the block */
    arena_free(&scratch);
}

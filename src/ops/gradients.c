/* Differentiation: a backward sweep that appends nodes.
 *
 * Gradients are nodes in the same vocabulary, so they can be differentiated
 * again.  The sweep visits the nodes that ys depend on, newest first; a
 * node's `grad` is called only where its own outputs received a gradient and some
 * input depends on an x.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "ops/tape.h"

struct tape {
    mtf_graph   *graph;
    int          ntensors; /* when the sweep began: later tensors receive nothing */
    mtf_tensor **grads;    /* by tensor id */
    bool        *wanted;   /* by tensor id: is an x, or depends on one */
};

bool tape_wants(const tape *t, const mtf_tensor *x)
{
    return x->id < t->ntensors && t->wanted[x->id];
}

/* Gradients of broadcasting are sums, gradients of sums are broadcasts.  What needs both is not a
 * gradient of x: a bug of an op. */
static mtf_tensor *fit(mtf_tensor *dx, const mtf_tensor *x)
{
    const mtf_shape *shape = &x->shape;
    mtf_shape        has = mtf_shape_of_tensor(dx);
    char             a[SHAPE_TEXT], b[SHAPE_TEXT];
    if (mtf_shape_equal(has, *shape)) return dx;
    if (shape_same_set(&has, shape)) return mtf_transpose(dx, *shape);
    if (shape_within(&has, shape)) return mtf_broadcast(dx, *shape);
    if (shape_within(shape, &has)) return mtf_reduce_sum_to(dx, *shape);
    fail(&x->node->graph->session->fault, ERR_INTERNAL, "the gradient of \"%s\" %s came out as %s",
         tensor_name(x), shape_text(shape, a), shape_text(&has, b));
    return NULL;
}

void tape_give(tape *t, mtf_tensor *x, mtf_tensor *dx)
{
    if (!dx || !tape_wants(t, x)) return;
    dx = fit(dx, x);
    if (!dx) return;
    mtf_tensor **sum = &t->grads[x->id];
    *sum = *sum ? mtf_add(*sum, dx) : dx;
}

/* ---- which nodes take part ---- */

typedef struct reach {
    node **nodes; /* by node id; NULL: not reached */
    int    count; /* of ids */
} reach;

/* All nodes that ys depend on, found without recursion: graphs may be deep. */
static bool reach_back(mtf_graph *g, arena *scratch, int ny, mtf_tensor *const *ys, reach *r)
{
    r->count = g->nnodes;
    r->nodes = arena_array(scratch, node *, g->nnodes);
    node **stack = arena_array(scratch, node *, g->nnodes);
    TRY(r->nodes && stack);
    int depth = 0;
    for (int i = 0; i < ny; i++)
        if (!r->nodes[ys[i]->node->id]) stack[depth++] = r->nodes[ys[i]->node->id] = ys[i]->node;
    while (depth) {
        node *n = stack[--depth];
        for (int i = 0; i < n->nin; i++) {
            node *before = n->in[i]->node;
            if (r->nodes[before->id]) continue;
            r->nodes[before->id] = before;
            stack[depth++] = before;
        }
    }
    return true;
}

static void mark_wanted(tape *t, const reach *r, int nx, mtf_tensor *const *xs)
{
    for (int i = 0; i < nx; i++) t->wanted[xs[i]->id] = true;
    for (int id = 0; id < r->count; id++) {
        node *n = r->nodes[id];
        if (!n || !n->op->grad) continue;
        bool leads = false;
        for (int i = 0; i < n->nin && !leads; i++)
            leads = t->wanted[n->in[i]->id] && dtype_is_float(n->in[i]->type);
        for (int o = 0; o < n->nout && leads; o++)
            if (dtype_is_float(n->out[o]->type)) t->wanted[n->out[o]->id] = true;
    }
}

/* Recomputed nodes stand for those that they repeat. */
static const mtf_tensor *subject_of(const node *n)
{
    return n->subject ? n->subject : n->nout ? n->out[0] : NULL;
}

/* A gradient belongs to what it is the gradient of, and to its line. */
static void sweep(tape *t, const reach *r, arena *scratch)
{
    int               line = t->graph->line;
    const mtf_tensor *subject = t->graph->subject;
    for (int id = r->count - 1; id >= 0 && mtf_ok(t->graph->session); id--) {
        node *n = r->nodes[id];
        if (!n || !n->op->grad) continue;
        bool         received = false, leads = false;
        mtf_tensor **dy = arena_array(scratch, mtf_tensor *, n->nout);
        for (int o = 0; dy && o < n->nout; o++) {
            dy[o] = t->grads[n->out[o]->id];
            received = received || dy[o];
        }
        for (int i = 0; i < n->nin && !leads; i++) leads = t->wanted[n->in[i]->id];
        if (n->line) t->graph->line = n->line;
        t->graph->subject = subject_of(n);
        if (received && leads) n->op->grad(t, n, dy);
        t->graph->line = line, t->graph->subject = subject;
    }
}

/* ---- public functions ---- */

static bool of_one_graph(const mtf_tensor *y, int n, mtf_tensor *const *xs)
{
    assert(y != NULL);
    for (int i = 0; i < n; i++)
        if (xs[i] && xs[i]->node->graph != y->node->graph)
            return fail(&y->node->graph->session->fault, ERR_GRADIENT,
                        "\"%s\" belongs to another graph than \"%s\"", tensor_name(xs[i]),
                        tensor_name(y));
    return true;
}

static bool check_arguments(mtf_graph *g, int ny, mtf_tensor *const *ys, int nx,
                            mtf_tensor *const *xs, mtf_tensor *const *grad_ys)
{
    fault *f = &g->session->fault;
    TRY(of_one_graph(ys[0], ny, ys) && of_one_graph(ys[0], nx, xs));
    for (int i = 0; i < ny; i++) {
        TRY(ys[i] != NULL);
        if (!dtype_is_float(ys[i]->type))
            return fail(f, ERR_GRADIENT, "\"%s\" is %s; only floating tensors have gradients",
                        tensor_name(ys[i]), mtf_dtype_name(ys[i]->type));
        if (grad_ys && grad_ys[i] && grad_ys[i]->type != ys[i]->type)
            return fail(f, ERR_GRADIENT, "the gradient \"%s\" of \"%s\" is %s, not %s",
                        tensor_name(grad_ys[i]), tensor_name(ys[i]),
                        mtf_dtype_name(grad_ys[i]->type), mtf_dtype_name(ys[i]->type));
        if (grad_ys && grad_ys[i] && !shape_same_set(&grad_ys[i]->shape, &ys[i]->shape))
            return fail(f, ERR_GRADIENT, "the gradient \"%s\" of \"%s\" has another shape",
                        tensor_name(grad_ys[i]), tensor_name(ys[i]));
    }
    for (int i = 0; i < nx; i++) {
        TRY(xs[i] != NULL);
        if (!dtype_is_float(xs[i]->type))
            return fail(f, ERR_GRADIENT, "\"%s\" is %s; only floating tensors have gradients",
                        tensor_name(xs[i]), mtf_dtype_name(xs[i]->type));
    }
    return true;
}

void mtf_gradients(int ny, mtf_tensor *const *ys, int nx, mtf_tensor *const *xs,
                   mtf_tensor *const *grad_ys, mtf_tensor **grads)
{
    for (int i = 0; i < nx; i++) grads[i] = NULL;
    mtf_graph *g = ny > 0 ? graph_of(ys[0]) : NULL;
    if (!g || !check_arguments(g, ny, ys, nx, xs, grad_ys)) return;
    arena scratch = arena_make(&g->session->allocator, &g->session->fault);
    tape  t = {.graph = g, .ntensors = g->ntensors};
    reach r;
    t.grads = arena_array(&scratch, mtf_tensor *, g->ntensors);
    t.wanted = arena_array(&scratch, bool, g->ntensors);
    if (t.grads && t.wanted && reach_back(g, &scratch, ny, ys, &r)) {
        mark_wanted(&t, &r, nx, xs);
        for (int i = 0; i < ny; i++)
            tape_give(&t, ys[i], grad_ys && grad_ys[i] ? grad_ys[i] : mtf_ones_like(ys[i]));
        sweep(&t, &r, &scratch);
        for (int i = 0; i < nx && mtf_ok(g->session); i++) grads[i] = t.grads[xs[i]->id];
    }
    arena_free(&scratch);
}

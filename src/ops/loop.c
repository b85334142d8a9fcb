/* Loops, with a condition or a fixed number of iterations.
 *
 * Carried values have buffers of their own; each iteration reads them, computes
 * the body and stores the new values.  A `loop` has a fixed number of iterations,
 * so it can keep the history of its carried values, and its gradient is another
 * loop that goes through that history backwards (ops/loop_grad.c).  The history
 * is a hidden output: it costs nothing where nothing reads it.
 */
#include "ops/loop.h"

#include <string.h>

#include "ops/lowering.h"
#include "space/internal.h"

/* ---- shape ---- */

static bool check_params(const node *n, const block *b)
{
    for (int i = 0; i < n->nargs; i++) {
        const mtf_tensor *p = i < b->nparams ? b->params[i] : NULL;
        if (!p || b->nparams != n->nargs || p->type != n->in[i]->type ||
            !mtf_shape_equal(p->shape, n->in[i]->shape))
            return node_fail(n, ERR_SHAPE,
                             "the parameters of \"%s\" must be those of the %d carried values",
                             b->name, n->nargs);
    }
    return true;
}

static bool check_body(const node *n, const block *body, int64_t sums)
{
    TRY(check_params(n, body));
    if (sums < 0 || body->nresults != n->nargs + (int)sums)
        return node_fail(n, ERR_USAGE, "the body gives %d values for %d carried ones and %lld sums",
                         body->nresults, n->nargs, (long long)sums);
    for (int i = 0; i < n->nargs; i++) {
        const mtf_tensor *in = n->in[i], *y = body->results[i];
        char              a[SHAPE_TEXT], b[SHAPE_TEXT];
        if (y->type != in->type || !mtf_shape_equal(y->shape, in->shape))
            return node_fail(n, ERR_SHAPE,
                             "\"%s\" is carried as %s%s but the body gives %s%s (\"%s\") for it",
                             tensor_name(in), mtf_dtype_name(in->type), shape_text(&in->shape, a),
                             mtf_dtype_name(y->type), shape_text(&y->shape, b), tensor_name(y));
    }
    for (int i = n->nargs; i < body->nresults; i++)
        if (body->results[i]->type == MTF_BOOL)
            return node_fail(n, ERR_TYPE, "the sum \"%s\" is bool; cast it to a number",
                             tensor_name(body->results[i]));
    return true;
}

static bool visible_outputs(node *n, const block *body)
{
    for (int i = 0; i < body->nresults; i++) {
        const mtf_tensor *y = body->results[i];
        TRY(node_output(n, y->type, &y->shape));
    }
    return true;
}

static bool infer_while(node *n)
{
    const block *cond = n->blocks[0], *body = n->blocks[1];
    if (n->nargs < 1) return node_fail(n, ERR_USAGE, "a loop carries at least one value");
    TRY(check_params(n, cond) && check_body(n, body, n->attrs[0].i));
    if (cond->nresults != 1 || cond->results[0]->type != MTF_BOOL || cond->results[0]->shape.ndims)
        return node_fail(
            n, ERR_TYPE,
            "the condition must give one bool scalar; it gives %d value%s, the first %s",
            cond->nresults, cond->nresults == 1 ? "" : "s",
            cond->nresults ? mtf_dtype_name(cond->results[0]->type) : "none");
    return visible_outputs(n, body);
}

/* A user may read the history, so its new dimension has a name that users can write, where x has
 * room for one more. */
static mtf_shape with_iterations(const mtf_shape *x, int64_t trips)
{
    static const char *const names[] = {"_iterations5", "_iterations4", "_iterations3",
                                        "_iterations2", "_iterations"};
    mtf_dim                  iterations = internal_dim(INTERNAL_ITERATIONS, trips, x);
    for (size_t i = 0; i < sizeof names / sizeof *names && x->ndims < MTF_MAX_DIMS; i++)
        if (shape_find(x, names[i]) < 0) iterations.name = names[i];
    return mtf_shape_plus(mtf_shape(iterations), *x);
}

static bool infer_loop(node *n)
{
    const block *body = n->blocks[0];
    if (n->nargs < 1) return node_fail(n, ERR_USAGE, "a loop carries at least one value");
    if (n->attrs[0].i < 1 || n->attrs[0].i > INT32_MAX)
        return node_fail(n, ERR_VALUE, "trips is from 1 to %d, not %lld", INT32_MAX,
                         (long long)n->attrs[0].i);
    TRY(check_body(n, body, n->attrs[1].i) && visible_outputs(n, body));
    for (int i = 0; i < n->nargs; i++) {
        mtf_shape history = with_iterations(&n->in[i]->shape, n->attrs[0].i);
        TRY(node_output(n, n->in[i]->type, &history));
        n->out[n->nout - 1]->hidden = true;
    }
    return true;
}

/* ---- lowering ---- */

typedef struct loop_state {
    const node  *n;
    const block *cond, *body;
    int          carried, sums;
    slice       *state; /* carried values */
    slice       *sum;
    bool        *wide;    /* the terms are not rounded in each iteration */
    bool        *begun;   /* by an earlier loop */
    slice       *history; /* buffer NO_BUFFER where nothing reads it */
    slice        iteration;
} loop_state;

static bool start_loop(emitter *e, loop_state *l, const slice *in)
{
    arena *a = &e->program->arena;
    /* Sums owed on tensors from outside are paid once, before the loop: in the body they would be paid in
     * every iteration, and a use after the loop would find what the last condition left of them. */
    const mtf_tensor *cause = e->cause;
    for (int i = l->carried; i < l->n->nin; i++) {
        e->cause = l->n->in[i];
        TRY(e->settle(e, l->n->in[i]));
    }
    e->cause = cause;
    l->state = arena_array(a, slice, l->carried);
    l->history = arena_array(a, slice, l->carried);
    l->sum = arena_array(a, slice, l->sums);
    l->wide = arena_array(a, bool, l->sums);
    l->begun = arena_array(a, bool, l->sums);
    TRY(l->state && l->history && l->sum && l->wide && l->begun);
    for (int i = 0; i < l->carried; i++) {
        l->state[i] = emit_fresh(e, in[i].type, &in[i].shape);
        TRY(emit_move(e, &in[i], &l->state[i]));
        l->history[i].buffer = NO_BUFFER;
        const mtf_tensor *h = l->cond ? NULL : l->n->out[l->carried + l->sums + i];
        if (!h || !e->readers(e, h)) continue;
        mtf_shape kept = emit_local(e, &h->shape);
        l->history[i] = emit_fresh(e, h->type, &kept);
        TRY(emit_fill(e, 0, &l->history[i])); /* live from before the loop through all iterations */
    }
    for (int i = 0; i < l->sums; i++) {
        const mtf_tensor *y = l->n->out[l->carried + i], *more = l->body->results[l->carried + i];
        mtf_shape         local = emit_local(e, &y->shape);
        const mtf_tensor *before = e->begins_with(e, y);
        e->cause = more; /* a sum costs what its terms cause */
        l->wide[i] = more->node->home == l->body && e->keep_wide(e, more);
        l->begun[i] = before != NULL;
        l->sum[i] =
            before ? *e->slice_of(e, before) : emit_fresh(e, dtype_compute(y->type), &local);
        if (!before) TRY(emit_fill(e, 0, &l->sum[i]));
    }
    e->cause = cause;
    l->iteration = emit_fresh(e, MTF_I32, &(mtf_shape){0});
    return emit_fill(e, 0, &l->iteration);
}

static void bind(emitter *e, const block *b, const loop_state *l)
{
    for (int i = 0; i < l->carried; i++) {
        unsigned cut = e->slice_of(e, b->params[i])->cut;
        *e->slice_of(e, b->params[i]) = l->state[i];
        e->slice_of(e, b->params[i])->cut = cut;
    }
    if (b->iteration) *e->slice_of(e, b->iteration) = l->iteration;
}

static bool keep_history(emitter *e, const loop_state *l)
{
    for (int i = 0; i < l->carried; i++) {
        if (slice_is_uniform(&l->history[i])) continue;
        /* Where the dimension of iterations is cut, those of other processors are out of range. */
        mtf_dim iterations = l->n->out[l->carried + l->sums + i]->shape.dims[0];
        int64_t first = emit_part(e, iterations.name, iterations.size).begin;
        slice   index = l->iteration, by = slice_uniform((double)first, MTF_I32, &(mtf_shape){0});
        if (first) {
            index = emit_fresh(e, MTF_I32, &(mtf_shape){0});
            TRY(emit_scalar(e, FN_sub, 2, (slice[]){l->iteration, by}, &index));
        }
        TRY(emit_scatter(e, &l->state[i], &index, iterations.name, true, &l->history[i]));
    }
    return true;
}

static bool same_view(const slice *a, const slice *b)
{
    return a->offset == b->offset &&
           memcmp(a->stride, b->stride, sizeof(int64_t) * (size_t)a->shape.ndims) == 0;
}

/* Is this the first of the processors whose sums are still to be added up? */
static bool is_first(const emitter *e, unsigned owed)
{
    bool first = true;
    for (int a = 0; owed >> a; a++) first = first && (!(owed >> a & 1) || e->here.at[a] == 0);
    return first;
}

/* What is owed is paid once, after the loop.  Where an earlier loop's terms owed otherwise, this one's are paid
 * here, and one processor adds them. */
static bool add_term(emitter *e, loop_state *l, int i, const mtf_tensor *more)
{
    slice *sum = &l->sum[i];
    if (l->begun[i] && e->slice_of(e, more)->owed != sum->owed) {
        TRY(e->settle(e, more));
        if (!is_first(e, sum->owed)) return true;
    } else {
        sum->owed = e->slice_of(e, more)->owed;
    }
    slice both[] = {*sum, *e->slice_of(e, more)};
    return emit_scalar(e, FN_add, 2, both, sum);
}

/* New values may be in the buffers that they or others replace; these are copied first. */
static bool advance(emitter *e, loop_state *l)
{
    slice            *next = arena_array(&e->program->arena, slice, l->carried);
    const mtf_tensor *cause = e->cause;
    TRY(next != NULL);
    for (int i = 0; i < l->sums; i++) {
        const mtf_tensor *more = l->body->results[l->carried + i];
        e->cause = more;
        const slice *term = e->slice_of(e, more);
        bool         unrounded = term->type != more->type && !l->wide[i];
        if (term->owes != FOLD_SUM || unrounded) TRY(e->settle(e, more));
        TRY(add_term(e, l, i, more));
    }
    e->cause = cause;
    for (int i = 0; i < l->carried; i++) {
        TRY(e->settle(e, l->body->results[i]));
        next[i] = *e->slice_of(e, l->body->results[i]);
        bool aside = false;
        for (int j = 0; j < l->carried; j++)
            aside = aside || (j != i && next[i].buffer == l->state[j].buffer);
        aside = aside || next[i].buffer == l->iteration.buffer;
        if (next[i].buffer == l->state[i].buffer && !same_view(&next[i], &l->state[i]))
            aside = true;
        if (!aside || slice_is_uniform(&next[i])) continue;
        slice copy = emit_fresh(e, next[i].type, &next[i].shape);
        TRY(emit_move(e, &next[i], &copy));
        next[i] = copy;
    }
    for (int i = 0; i < l->carried; i++)
        if (next[i].buffer != l->state[i].buffer) TRY(emit_move(e, &next[i], &l->state[i]));
    slice one = slice_uniform(1, MTF_I32, &(mtf_shape){0});
    return emit_scalar(e, FN_add, 2, (slice[]){l->iteration, one}, &l->iteration);
}

static bool lower_iterations(emitter *e, loop_state *l, int64_t trips, const slice *in, slice *out)
{
    TRY(start_loop(e, l, in));
    int loop = emit_loop(e, trips);
    if (l->cond) {
        bind(e, l->cond, l);
        const mtf_tensor *flag = l->cond->results[0];
        TRY(e->lower_block(e, l->cond) && e->settle(e, flag) &&
            emit_test(e, loop, e->slice_of(e, flag)));
    }
    TRY(keep_history(e, l));
    bind(e, l->body, l);
    TRY(e->lower_block(e, l->body) && advance(e, l) && emit_again(e, loop));
    for (int i = 0; i < l->carried; i++) out[i] = l->state[i];
    for (int i = 0; i < l->sums; i++) {
        slice *sum = &out[l->carried + i];
        if (l->sum[i].owed || e->goes_on(e, l->n->out[l->carried + i]))
            *sum = l->sum[i]; /* rounded when it is paid, or with the last loop's */
        else
            TRY(emit_narrowed(e, &l->sum[i], sum));
    }
    for (int i = 0; !l->cond && i < l->carried; i++) out[l->carried + l->sums + i] = l->history[i];
    return true;
}

static bool lower_while(emitter *e, const node *n, const slice *in, slice *out)
{
    loop_state l = {.n = n,
                    .cond = n->blocks[0],
                    .body = n->blocks[1],
                    .carried = n->nargs,
                    .sums = (int)n->attrs[0].i};
    return lower_iterations(e, &l, -1, in, out);
}

static bool lower_loop(emitter *e, const node *n, const slice *in, slice *out)
{
    loop_state l = {.n = n, .body = n->blocks[0], .carried = n->nargs, .sums = (int)n->attrs[1].i};
    return lower_iterations(e, &l, n->attrs[0].i, in, out);
}

static void grad_while(tape *t, const node *n, mtf_tensor *const *dy)
{
    (void)t, (void)dy;
    node_fail(
        n, ERR_GRADIENT,
        "no gradient flows through a while loop, whose number of iterations is not fixed; use loop "
        "with trips");
}

const op op_while = {
    .name = "while",
    .says = "repeats the body while cond holds; carried values, then sums over the iterations",
    .args = "xs...",
    .results = "carried..., sums...",
    .attrs =
        (const attr_spec[]){{"sums", ATTR_INT, "0", "how many of the body's values are summed"},
                            {0}},
    .blocks = (const char *const[]){"cond", "body", NULL},
    .flags = OP_DIRECT | OP_F8,
    .infer = infer_while,
    .grad = grad_while,
    .lower = lower_while};
const op op_loop = {
    .name = "loop",
    .says = "repeats the body `trips` times; carried values, then sums over the iterations",
    .args = "xs...",
    .results = "carried..., sums...",
    .attrs =
        (const attr_spec[]){{"trips", ATTR_INT, NULL, "number of iterations"},
                            {"sums", ATTR_INT, "0", "how many of the body's values are summed"},
                            {0}},
    .blocks = (const char *const[]){"body", NULL},
    .flags = OP_DIRECT | OP_F8,
    .infer = infer_loop,
    .grad = loop_grad,
    .lower = lower_loop};

/* ---- public functions ---- */

/* The number of the iteration of the innermost loop; NULL outside of loops. */
static mtf_tensor *loop_iteration(mtf_graph *g)
{
    for (block *b = g->current; b; b = b->parent)
        if (b->iteration) return b->iteration;
    return NULL;
}

mtf_tensor **loop_iterations(mtf_graph *g, int *n)
{
    int depth = 0;
    for (const block *b = g->current; b; b = b->parent) depth += b->iteration != NULL;
    mtf_tensor **iterations = arena_array(&g->arena, mtf_tensor *, depth);
    *n = depth;
    for (const block *b = g->current; iterations && b; b = b->parent)
        if (b->iteration) iterations[--depth] = b->iteration;
    return iterations;
}

mtf_tensor *mtf_iteration(mtf_graph *g)
{
    if (!g || !mtf_ok(g->session)) return NULL;
    mtf_tensor *iteration = loop_iteration(g);
    if (!iteration)
        fail(&g->session->fault, ERR_USAGE, "mtf_iteration: it is called outside of any loop");
    return iteration;
}

/* Opens a block with parameters like `in`. */
static block *open_like(mtf_graph *g, const char *name, int nin, mtf_tensor *const *in,
                        bool iterations)
{
    block *b = block_open(g, name);
    if (!b) return NULL;
    for (int i = 0; i < nin; i++) block_param(b, in[i]->type, &in[i]->shape, NULL);
    if (iterations) block_iteration(b);
    return b;
}

/* The same; calls the user's function to build the inside, and closes the block. */
static block *build_block(mtf_graph *g, const char *name, int nin, mtf_tensor *const *in, int nout,
                          mtf_build *build, void *context, bool iterations)
{
    block *b = open_like(g, name, nin, in, iterations);
    if (!b) return NULL;
    mtf_tensor **out = arena_array(&g->arena, mtf_tensor *, nout);
    if (out && mtf_ok(g->session)) build(g, context, b->params, out);
    return block_close(b, out ? nout : 0, out) ? b : NULL;
}

block *loop_open(mtf_graph *g, int carried, mtf_tensor *const *in)
{
    return open_like(g, "body", carried, in, true);
}

node *loop_close(block *body, int64_t trips, int carried, mtf_tensor *const *in, int nresults,
                 mtf_tensor *const *results)
{
    mtf_graph *g = body->graph;
    block    **blocks = arena_array(&g->arena, block *, 1);
    if (!block_close(body, nresults, results) || !blocks) return NULL;
    blocks[0] = body;
    return node_new(g, &op_loop, carried, in, (attr[]){{.i = trips}, {.i = nresults - carried}},
                    blocks);
}

void mtf_while_loop(mtf_graph *g, int carried, mtf_tensor *const *in, mtf_tensor **out,
                    const mtf_loop_opts *opts)
{
    for (int i = 0; i < carried + opts->sums; i++) out[i] = NULL;
    for (int i = 0; i < carried; i++)
        if (!in[i]) return;
    if (!g || !mtf_ok(g->session)) return;
    if (!opts->body || (!opts->condition) == (opts->trips < 1)) {
        fail(&g->session->fault, ERR_USAGE,
             "while_loop: give a body and either trips (1 or more) or a condition");
        return;
    }
    block **blocks = arena_array(&g->arena, block *, 2);
    if (!blocks) return;
    int nb = 0;
    if (opts->condition)
        blocks[nb++] = build_block(g, "cond", carried, in, 1, opts->condition, opts->context, true);
    blocks[nb] =
        build_block(g, "body", carried, in, carried + opts->sums, opts->body, opts->context, true);
    if (!blocks[0] || !blocks[nb]) return;
    attr  sums = {.i = opts->sums};
    node *n = opts->condition
                  ? node_new(g, &op_while, carried, in, &sums, blocks)
                  : node_new(g, &op_loop, carried, in, (attr[]){{.i = opts->trips}, sums}, blocks);
    for (int i = 0; n && i < carried + opts->sums; i++) out[i] = n->out[i];
}

/* ---- the two other users of blocks ---- */

void mtf_recompute(mtf_graph *g, int nin, mtf_tensor *const *in, int nout, mtf_tensor **out,
                   mtf_build *body, void *context)
{
    for (int i = 0; i < nout; i++) out[i] = NULL;
    for (int i = 0; i < nin; i++)
        if (!in[i]) return;
    block **blocks = g ? arena_array(&g->arena, block *, 1) : NULL;
    if (!blocks) return;
    blocks[0] = build_block(g, "body", nin, in, nout, body, context, false);
    node *n = blocks[0] ? node_new(g, &op_recompute, nin, in, NULL, blocks) : NULL;
    for (int i = 0; n && i < nout; i++) out[i] = n->out[i];
}

void mtf_custom_gradient(mtf_graph *g, int nin, mtf_tensor *const *in, int nout, mtf_tensor **out,
                         mtf_build *forward, mtf_build *backward, void *context)
{
    for (int i = 0; i < nout; i++) out[i] = NULL;
    for (int i = 0; i < nin; i++)
        if (!in[i]) return;
    block **blocks = g ? arena_array(&g->arena, block *, 2) : NULL;
    if (!blocks) return;
    blocks[0] = build_block(g, "forward", nin, in, nout, forward, context, false);
    mtf_tensor **all = arena_array(&g->arena, mtf_tensor *, nin + 2 * nout);
    if (!blocks[0] || !all) return;
    for (int i = 0; i < nin; i++) all[i] = in[i];
    for (int i = 0; i < nout; i++) all[nin + i] = all[nin + nout + i] = blocks[0]->results[i];
    blocks[1] = build_block(g, "backward", nin + 2 * nout, all, nin, backward, context, false);
    node *n = blocks[1] ? node_new(g, &op_custom_gradient, nin, in, NULL, blocks) : NULL;
    for (int i = 0; n && i < nout; i++) out[i] = n->out[i];
}

/* A training step in microbatches, one after the other.
 *
 * The batch is divided into [batch / splits, microbatch], with the microbatch as
 * the inner factor: where the batch is cut, each processor's part of every
 * microbatch comes from its own part of the batch.  Gradients are sums of the
 * loop, so the sums over processors are computed once, after it.
 */
#include "base/dtype.h"
#include "mtf_nn.h"
#include "nn/optimizer.h"
#include "ops/loop.h"

static const char WHO[] = "serialize_training_step";

/* The batch as it is inside the loop. */
typedef struct batches {
    mtf_dim      whole;    /* [batch] */
    mtf_dim      micro;    /* the same name: batch / splits */
    mtf_dim      turn;     /* [microbatch=splits] */
    int          nresults; /* of the body */
    mtf_tensor **results;
} batches;

static bool check(mtf_graph *g, int n, mtf_tensor *const *features, const mtf_serialize_opts *o)
{
    fault *f = &g->session->fault;
    char   shape[SHAPE_TEXT];
    if (o->splits < 1 || o->batch.size % o->splits != 0)
        return fail(f, ERR_VALUE,
                    "%s: %s=%lld cannot be divided into %lld; splits must divide it", WHO,
                    o->batch.name, (long long)o->batch.size, (long long)o->splits);
    for (int i = 0; i < n; i++) {
        mtf_dim found = mtf_shape_dim(features[i]->shape, o->batch.name);
        if (found.name && found.size != o->batch.size)
            return fail(f, ERR_SHAPE, "%s: feature \"%s\" is %s%s; the size of %s must be %lld",
                        WHO, tensor_name(features[i]), mtf_dtype_name(features[i]->type),
                        shape_text(&features[i]->shape, shape), o->batch.name,
                        (long long)o->batch.size);
    }
    return true;
}

static bool has_batch(const batches *b, const mtf_tensor *x)
{
    return x && shape_find(&x->shape, b->whole.name) >= 0;
}

/* The examples of this iteration: [batch / splits] for [batch] */
static mtf_tensor *select(mtf_graph *g, const batches *b, mtf_tensor *x)
{
    if (!has_batch(b, x)) return x;
    x = mtf_replace_dimensions(x, mtf_shape(b->whole), mtf_shape(b->micro, b->turn));
    return mtf_gather(x, mtf_turn(g), b->turn);
}

/* Puts an output at its microbatch among zeros, to be summed: [batch / splits, microbatch] */
static mtf_tensor *put(mtf_graph *g, const batches *b, mtf_tensor *y)
{
    if (!has_batch(b, y)) return y;
    mtf_shape wide = mtf_shape_replace(y->shape, mtf_shape(b->micro), mtf_shape(b->micro, b->turn));
    mtf_tensor *mine = mtf_equal(mtf_range(g, b->turn, MTF_I32), mtf_turn(g));
    y = mtf_broadcast(y, wide);
    return mtf_where(mine, y, mtf_zeros_like(y));
}

/* Builds the body: the unused carried value, the gradients that exist, the loss, the outputs. */
static bool build_body(mtf_graph *g, block *body, batches *b, int nfeatures,
                       mtf_tensor *const *features, const mtf_serialize_opts *o, mtf_serialized *s)
{
    mtf_tensor **in = arena_array(&g->arena, mtf_tensor *, nfeatures);
    mtf_tensor **out = arena_array(&g->arena, mtf_tensor *, 1 + o->outputs);
    TRY(in && out);
    for (int i = 0; i < nfeatures; i++) in[i] = select(g, b, features[i]);
    TRY(mtf_ok(g->session));
    o->model(g, o->context, in, out);
    s->n = optimizer_gradients(g, out[0], o->loss_scale, &s->variables, &s->gradients);
    b->results = arena_array(&g->arena, mtf_tensor *, 2 + s->n + o->outputs);
    TRY(b->results && mtf_ok(g->session));
    b->results[b->nresults++] = body->params[0];
    for (int i = 0; i < s->n; i++) /* sums of many short floats are kept in f32 */
        if (s->gradients[i])
            b->results[b->nresults++] =
                mtf_cast(s->gradients[i], dtype_compute(s->gradients[i]->type));
    for (int i = 0; i <= o->outputs; i++) b->results[b->nresults++] = put(g, b, out[i]);
    return true;
}

/* Fills in what the loop gives, in the order of its results. */
static bool take_results(mtf_graph *g, const node *loop, const batches *b,
                         const mtf_serialize_opts *o, mtf_serialized *s)
{
    int next = 1;
    for (int i = 0; i < s->n; i++)
        if (s->gradients[i]) s->gradients[i] = loop->out[next++];
    s->loss = loop->out[next++];
    s->outputs = arena_array(&g->arena, mtf_tensor *, o->outputs);
    TRY(s->outputs != NULL);
    for (int i = 0; i < o->outputs; i++) {
        mtf_tensor *y = loop->out[next++];
        if (has_batch(b, y))
            y = mtf_replace_dimensions(y, mtf_shape(b->micro, b->turn), mtf_shape(b->whole));
        s->outputs[i] = y;
    }
    return mtf_ok(g->session);
}

mtf_serialized mtf_serialize_training_step(mtf_graph *g, int nfeatures, mtf_tensor *const *features,
                                           const mtf_serialize_opts *opts)
{
    mtf_serialized none = {0}, s = {0};
    for (int i = 0; i < nfeatures; i++)
        if (!features[i]) return none;
    if (!g || !mtf_ok(g->session) || !check(g, nfeatures, features, opts)) return none;
    batches     b = {.whole = opts->batch,
                     .micro = {opts->batch.name, opts->batch.size / opts->splits},
                     .turn = {"microbatch", opts->splits}};
    mtf_tensor *idle = mtf_constant(g, 0, MTF_I32, mtf_shape()); /* a loop must carry a value */
    block      *body = idle ? loop_open(g, 1, &idle) : NULL;
    if (!body) return none;
    bool  built = build_body(g, body, &b, nfeatures, features, opts, &s);
    node *loop = loop_close(body, opts->splits, 1, &idle, built ? b.nresults : 0, b.results);
    return loop && take_results(g, loop, &b, opts, &s) ? s : none;
}

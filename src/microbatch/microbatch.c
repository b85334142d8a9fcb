/* Micro-batches: a graph whose batch comes in parts, one after the other. */
#include "microbatch/microbatch.h"

#include "base/whole.h"
#include "microbatch/building.h"
#include "ops/loop.h"
#include "ops/state.h"
#include "space/internal.h"

/* ---- a whole tensor's examples, part by part ---- */

/* Parts have one example less from `longer` on, where the batch cannot be divided evenly. */
static int64_t most_examples(const building *b)
{
    return ceil_div(b->batch.size, b->parts);
}

static mtf_dim part_dim(const building *b, const mtf_shape *beside)
{
    return internal_dim(INTERNAL_PART, b->parts, beside);
}

/* Outside of loops: [batch=examples, part] for [batch]. */
static mtf_tensor *in_lines(building *b, mtf_tensor *x)
{
    mtf_dim own = mtf_shape_dim(x->shape, parting_name(&b->parting, x));
    mtf_dim line = {own.name, most_examples(b)};
    int64_t missing = line.size * b->parts - own.size;
    if (missing) x = mtf_pad(x, own.name, &(mtf_pad_opts){.after = missing});
    if (!x) return NULL;
    own.size += missing;
    return mtf_replace_dimensions(x, mtf_shape(own), mtf_shape(line, part_dim(b, &x->shape)));
}

static mtf_tensor *examples_here(building *b, mtf_tensor *lines, const char *name)
{
    mtf_dim part = lines ? part_dim(b, &(mtf_shape){0}) : (mtf_dim){0};
    if (!lines) return NULL;
    if (b->examples < most_examples(b)) lines = mtf_slice(lines, name, 0, b->examples, 1);
    return mtf_gather(lines, b->part, part);
}

/* Types that a loop cannot sum, or not without rounding, are summed as others. */
static mtf_dtype summed_type(mtf_dtype type)
{
    return type == MTF_BOOL ? MTF_I32 : dtype_is_f8(type) ? MTF_F32 : type;
}

/* Inside a loop: a part's values among zeros, so that the sum over parts is all of them. */
static mtf_tensor *among_zeros(building *b, mtf_tensor *y, const char *name)
{
    int64_t missing = most_examples(b) - b->examples;
    y = mtf_cast(y, summed_type(y->type));
    if (missing) y = mtf_pad(y, name, &(mtf_pad_opts){.after = missing});
    if (!y) return NULL;
    mtf_dim     part = part_dim(b, &y->shape), line = {name, most_examples(b)};
    mtf_shape   wide = mtf_shape_replace(y->shape, mtf_shape(line), mtf_shape(line, part));
    mtf_tensor *mine = mtf_equal(mtf_range(b->to, part, MTF_I32), b->part);
    y = mtf_broadcast(y, wide);
    return mtf_where(mine, y, mtf_zeros_like(y));
}

/* After it: [batch] of [batch=examples, part]. */
static mtf_tensor *out_of_lines(building *b, mtf_tensor *y, const mtf_tensor *x)
{
    mtf_dim line = {parting_name(&b->parting, x), most_examples(b)},
            all = {line.name, line.size * b->parts};
    if (!y) return NULL;
    y = mtf_replace_dimensions(y, mtf_shape(line, part_dim(b, &(mtf_shape){0})), mtf_shape(all));
    if (all.size > b->batch.size) y = mtf_slice(y, line.name, 0, b->batch.size, 1);
    return mtf_cast(y, x->type);
}

mtf_tensor *building_part_of(building *b, mtf_tensor *x)
{
    mtf_tensor *whole = b->whole[x->id];
    if (!parting_has_batch(&b->parting, x)) return whole;
    if (!b->here[x->id])
        b->here[x->id] = examples_here(b, b->lines[x->id], parting_name(&b->parting, x));
    return b->here[x->id];
}

/* ---- a pass over the batch ---- */

static bool is_in(const part_state *s, int pass)
{
    return s->passes >> pass & 1;
}

/* Is this the pass that adds up x? */
static bool adds_up(const part_state *s, int pass)
{
    return s->kind != PART_WHOLE && s->summed && s->before - 1 == pass;
}

/* What the pass reads of whole tensors by parts is brought into lines before the loop. */
static bool line_up(building *b, int pass)
{
    for (int k = 0; k < b->parting.nnodes; k++) {
        const node *n = b->parting.nodes[k];
        if (n->nout == 0 || !is_in(&b->parting.of[n->out[0]->id], pass)) continue;
        for (int i = 0; i < n->nargs; i++) {
            mtf_tensor       *x = parting_tensor(&b->parting, n->in[i]);
            const part_state *s = &b->parting.of[x->id];
            if (s->kind != PART_WHOLE || !parting_has_batch(&b->parting, x) || b->lines[x->id])
                continue;
            b->lines[x->id] = in_lines(b, b->whole[x->id]);
            TRY(b->lines[x->id] != NULL);
        }
    }
    return true;
}

static bool build_body(building *b, int pass, mtf_tensor **results, int *nresults)
{
    for (int i = 0; i < b->from->ntensors; i++) b->here[i] = NULL;
    for (int k = 0; k < b->parting.nnodes; k++) {
        const node *n = b->parting.nodes[k];
        if (n->nout && is_in(&b->parting.of[n->out[0]->id], pass)) TRY(building_copy_part(b, n));
    }
    for (int k = 0; k < b->nsums; k++) {
        mtf_tensor *x = b->sums[k], *here = b->here[x->id];
        if (b->parting.of[x->id].kind == PART_CUT)
            here = among_zeros(b, here, parting_name(&b->parting, x));
        TRY(here != NULL);
        results[(*nresults)++] = here;
    }
    return true;
}

/* A loop over `trips` parts from `first` on, each of `examples`; adds to the sums. */
static bool build_loop(building *b, int pass, int64_t trips, int64_t first, int64_t examples)
{
    mtf_graph   *g = b->to;
    mtf_tensor  *idle = mtf_constant(g, 0, MTF_I32, mtf_shape()); /* a loop must carry a value */
    block       *body = idle ? loop_open(g, 1, &idle) : NULL;
    mtf_tensor **results = arena_array(&g->arena, mtf_tensor *, b->nsums + 1);
    int          n = 0;
    TRY(body && results);
    results[n++] = body->params[0];
    b->part = mtf_iteration(g);
    if (first) b->part = mtf_add(b->part, mtf_constant(g, (double)first, MTF_I32, mtf_shape()));
    TRY(building_size(b, examples));
    bool  built = b->part && build_body(b, pass, results, &n);
    node *loop = loop_close(body, trips, 1, &idle, built ? n : 0, results);
    TRY(built && loop);
    for (int k = 0; k < b->nsums; k++) {
        mtf_tensor **sum = &b->whole[b->sums[k]->id], *more = loop->out[1 + k];
        *sum = *sum ? mtf_add(*sum, more) : more;
        TRY(*sum != NULL);
    }
    return true;
}

static bool build_pass(building *b, int pass)
{
    int64_t longer = b->batch.size % b->parts, size = b->batch.size / b->parts;
    b->nsums = 0;
    for (int k = 0; k < b->parting.nnodes; k++)
        for (int o = 0; o < b->parting.nodes[k]->nout; o++) {
            mtf_tensor *y = b->parting.nodes[k]->out[o];
            if (adds_up(&b->parting.of[y->id], pass)) b->sums[b->nsums++] = y;
        }
    if (b->nsums == 0) return true;
    TRY(line_up(b, pass));
    if (longer) TRY(build_loop(b, pass, longer, 0, size + 1));
    TRY(build_loop(b, pass, b->parts - longer, longer, size));
    for (int k = 0; k < b->nsums; k++) {
        mtf_tensor *x = b->sums[k], **y = &b->whole[x->id];
        if (b->parting.of[x->id].kind == PART_CUT) *y = out_of_lines(b, *y, x);
        TRY(*y && building_name(b, x, *y));
    }
    return true;
}

/* ---- the graph ---- */

/* Nodes outside of loops that must come before a pass. */
static bool copy_whole_nodes(building *b, int pass)
{
    for (int k = 0; k < b->parting.nnodes; k++) {
        const node *n = b->parting.nodes[k];
        if (b->copied[n->id] || !building_is_whole(b, n)) continue;
        bool now =
            n->nout == 0 ? pass == b->parting.npasses : b->parting.of[n->out[0]->id].before <= pass;
        if (!now) continue;
        TRY(building_copy_whole(b, n));
        b->copied[n->id] = true;
    }
    return true;
}

/* Variables exist, whether they are used or not. */
static bool copy_variables(building *b)
{
    for (int i = 0; i < b->from->root.nnodes; i++) {
        const node *n = b->from->root.nodes[i];
        if (!variable_is(n)) continue;
        TRY(building_copy_whole(b, n));
        b->copied[n->id] = true;
    }
    return true;
}

static bool check_passes(const parting *p)
{
    if (!p->late) return true;
    return fail(
        &p->graph->session->fault, ERR_USAGE,
        "micro-batches: \"%s\" needs sums over the whole batch that need other such sums, %d after "
        "one another; more than %d passes over the batch are not made: use 1 micro-batch",
        tensor_name(p->late), MOST_PASSES, MOST_PASSES);
}

static bool build_microbatched(building *b, int nfetches, mtf_tensor *const *fetches,
                               microbatched *m)
{
    TRY(parting_find(b->from, nfetches, fetches, b->batch, b->scratch, &b->parting) &&
        check_passes(&b->parting) && copy_variables(b));
    for (int pass = 0; pass < b->parting.npasses; pass++)
        TRY(copy_whole_nodes(b, pass) && build_pass(b, pass));
    TRY(copy_whole_nodes(b, b->parting.npasses));
    m->passes = b->parting.npasses;
    m->undivided = b->parting.undivided;
    m->fetches = arena_array(&b->to->arena, mtf_tensor *, nfetches + 1);
    TRY(m->fetches != NULL);
    for (int i = 0; i < nfetches; i++)
        m->fetches[i] = b->whole[parting_tensor(&b->parting, fetches[i])->id];
    return mtf_ok(b->to->session);
}

void mtf_microbatches(mtf_graph *g, mtf_dim batch, int64_t n)
{
    if (!g || !mtf_ok(g->session)) return;
    const char *name = graph_intern(g, batch.name ? batch.name : "");
    if (!name) return;
    if (!*name || batch.size < 1 || n < 0) {
        fail(&g->session->fault, ERR_VALUE,
             "mtf_microbatches: give the batch as a dimension with a name and a size, and 0 or "
             "more parts, not "
             "%lld",
             (long long)n);
        return;
    }
    g->batch = (mtf_dim){name, batch.size};
    g->parts = n;
}

bool microbatch_graph(mtf_graph *g, int nfetches, mtf_tensor *const *fetches, microbatched *m)
{
    mtf_session *s = g->session;
    *m = (microbatched){.graph = g, .nfetches = nfetches, .passes = 1};
    m->fetches = arena_copy(&g->arena, fetches, sizeof *fetches * (size_t)nfetches);
    TRY(m->fetches != NULL);
    int64_t parts = g->parts < g->batch.size ? g->parts : g->batch.size;
    if (!g->batch.name || parts <= 1) return true;
    arena    scratch = arena_make(&s->allocator, &s->fault);
    building b = {.from = g, .batch = g->batch, .parts = parts, .scratch = &scratch};
    bool     ok = building_open(&b) && build_microbatched(&b, nfetches, fetches, m);
    m->graph = b.to;
    arena_free(&scratch);
    return ok;
}

bool microbatch_divides(mtf_graph *g, int nfetches, mtf_tensor *const *fetches, bool *divides)
{
    *divides = false;
    if (!g->batch.name) return true;
    arena   scratch = arena_make(&g->session->allocator, &g->session->fault);
    parting p;
    bool    ok = parting_find(g, nfetches, fetches, g->batch, &scratch, &p);
    *divides = ok && !p.late;
    arena_free(&scratch);
    return ok;
}

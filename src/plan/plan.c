/* Planning: a graph and its fetches become a program. */
#include "plan/plan.h"

#include "base/saturate.h"
#include "plan/planner.h"
#include "plan/spread.h"
#include "plan/spread_dims.h"

static slice *slice_of(emitter *e, const mtf_tensor *x)
{
    return &shard_of(e, x)->now;
}

static bool settle(emitter *e, const mtf_tensor *x)
{
    shard *h = shard_of(e, x);
    return shard_pay(e, x, h, h->wanted) && shard_gather(e, x, h);
}

static int readers(emitter *e, const mtf_tensor *x)
{
    planner *p = e->planner;
    return p->survey.readers[p->survey.same[x->id]->id];
}

/* Computes outputs in their local shapes; on one processor these are the whole. */
static bool lower_here(emitter *e, const node *n, arena *scratch, slice *out)
{
    slice few[4], *in = n->nin <= 4 ? few : arena_array(scratch, slice, n->nin);
    TRY(in != NULL);
    for (int i = 0; i < n->nin; i++) {
        if (e->layout && i < n->nargs) TRY(settle(e, n->in[i]));
        in[i] = *slice_of(e, n->in[i]);
    }
    for (int o = 0; o < n->nout; o++) {
        mtf_shape local = emit_local(e, &n->out[o]->shape);
        out[o] = slice_uniform(0, wide_type(n->out[o], shard_of(e, n->out[o])->wide), &local);
    }
    TRY(n->op->lower(e, n, in, out));
    for (int o = 0; o < n->nout; o++) {
        if (shard_of(e, n->out[o])->wide) TRY(emit_widened(e, &out[o]));
        out[o].cut = spread_cut(e, n->out[o]);
    }
    return true;
}

static bool lower_apart(emitter *e, const node *n, arena *scratch, slice *out)
{
    bool   few = n->nin <= 4;
    shard *few_in[4], **in = few ? few_in : arena_array(scratch, shard *, n->nin);
    slice  few_parts[4], *parts = few ? few_parts : arena_array(scratch, slice, n->nin);
    TRY(in && parts);
    for (int i = 0; i < n->nin; i++) in[i] = shard_of(e, n->in[i]);
    return spread_node(e, n, in, shard_of(e, n->out[0]), parts, out);
}

static void note_trace(emitter *e, const mtf_tensor *x, const slice *s)
{
    planner *p = e->planner;
    if (p->trace && p->depth == 0) p->trace[x->id] = (traced){*s, shard_where(e, x, s), true};
}

/* The addition of sums that are one. */
static bool lower_chained(emitter *e, const mtf_tensor *x)
{
    *slice_of(e, x) = *slice_of(e, shard_of(e, x)->chained);
    note_trace(e, x, slice_of(e, x));
    return debts_note(e, x) && early_pay(e, x);
}

static bool lower_node(emitter *e, const node *n)
{
    arena *scratch = ((planner *)e->planner)->survey.scratch;
    slice  few[2], *out = n->nout <= 2 ? few : arena_array(scratch, slice, n->nout);
    TRY(out != NULL);
    if (n->nout && shard_of(e, n->out[0])->chained) return lower_chained(e, n->out[0]);
    const mtf_tensor *outer = e->cause;
    e->cause = n->out[0];
    bool direct = !e->layout || n->op->flags & OP_DIRECT;
    TRY(direct ? lower_here(e, n, scratch, out) : lower_apart(e, n, scratch, out));
    TRY(mtf_ok(n->graph->session));
    e->cause = outer;
    for (int o = 0; o < n->nout; o++) {
        *slice_of(e, n->out[o]) = out[o];
        note_trace(e, n->out[o], &out[o]);
        if (chains_has(e, n->out[o])) continue;
        TRY(debts_note(e, n->out[o]) && early_pay(e, n->out[o]));
    }
    return true;
}

/* ---- deferred nodes ---- */

static bool put_off(emitter *e, const node *n)
{
    planner *p = e->planner;
    TRY(arena_push(p->survey.scratch, p->put_off, p->nput_off, p->put_off_room));
    p->put_off[p->nput_off++] = n;
    shard_of(e, n->out[0])->put_off = true;
    return true;
}

/* Lowers x if it was deferred, after the deferred nodes that it depends on. */
static bool catch_up(emitter *e, const mtf_tensor *x)
{
    planner *p = e->planner;
    int      kept = 0;
    if (!shard_of(e, x)->put_off) return true;
    shard_of(e, x)->needed = true;
    for (int k = p->nput_off - 1; k >= 0; k--) {
        const node *n = p->put_off[k];
        for (int i = 0; i < n->nin && shard_of(e, n->out[0])->needed; i++) {
            shard *in = shard_of(e, n->in[i]);
            in->needed = in->put_off;
        }
    }
    for (int k = 0; k < p->nput_off; k++) {
        shard *h = shard_of(e, p->put_off[k]->out[0]);
        if (h->needed) TRY(lower_node(e, p->put_off[k]));
        if (!h->needed) p->put_off[kept++] = p->put_off[k];
        h->put_off = !h->needed;
    }
    p->nput_off = kept;
    return true;
}

/* ---- blocks and fetches ---- */

/* Lowers the node now, or defers it. */
static bool meet_node(emitter *e, const node *n)
{
    if (debts_put_off(e, n) || early_put_off(e, n)) return put_off(e, n);
    for (int i = 0; i < n->nin; i++) TRY(catch_up(e, n->in[i]));
    if (!((planner *)e->planner)->depth) copies_make_room(e, n);
    return lower_node(e, n);
}

static bool lower_block(emitter *e, const void *what)
{
    const block *b = what;
    planner     *p = e->planner;
    p->depth += b != &p->survey.graph->root;
    for (int i = 0; i < b->nnodes; i++)
        if (p->survey.live[b->nodes[i]->id] && b->nodes[i]->op != &op_param)
            TRY(meet_node(e, b->nodes[i]));
    p->depth -= b != &p->survey.graph->root;
    return true;
}

/* A fetch keeps its buffer to the end; a variable is copied, since it will be overwritten. */
static bool lower_fetches(emitter *e, int n, mtf_tensor *const *fetches)
{
    program *p = e->program;
    p->fetches = arena_array(&p->arena, port, n);
    TRY(p->fetches != NULL);
    for (int i = 0; i < n; i++) {
        e->cause = fetches[i];
        TRY(catch_up(e, fetches[i]) && settle(e, fetches[i]));
        slice s = *slice_of(e, fetches[i]);
        if (slice_is_uniform(&s) || p->buffers[s.buffer].kind == BUFFER_VARIABLE ||
            !slice_is_dense(&s)) {
            slice copy = emit_fresh(e, s.type, &s.shape);
            TRY(!slice_is_uniform(&copy) && emit_move(e, &s, &copy));
            s = copy;
        }
        if (p->buffers[s.buffer].kind == BUFFER_TEMPORARY) p->buffers[s.buffer].kind = BUFFER_FETCH;
        p->fetches[p->nfetches++] = (port){fetches[i], s};
    }
    return true;
}

/* Most nodes become one or two instructions: growing an array by copying would waste as much
 * memory. */
static bool reserve(program *p, int nodes)
{
    p->instrs = arena_array(&p->arena, instr, nodes);
    p->buffers = arena_array(&p->arena, buffer, nodes);
    TRY(p->instrs && p->buffers);
    p->instrs_room = p->buffers_room = nodes;
    return true;
}

static bool look_around(survey *s, int n, mtf_tensor *const *fetches, const plan_opts *opts)
{
    if (!opts || !opts->survey) return survey_make(s, n, fetches);
    arena *scratch = s->scratch;
    *s = *opts->survey;
    s->scratch = scratch;
    return true;
}

const char *plan_pass_name(plan_pass pass)
{
    static const char *const names[PLAN_PASSES] = {
        [PASS_ALL] = "placing buffers", [PASS_LOWERING] = "lowering",
        [PASS_FUSING] = "fusing",       [PASS_REMAKING] = "recomputing",
        [PASS_JOINING] = "joining",     [PASS_STORING] = "updating in place"};
    return names[pass];
}

static bool check_pass(const program *p, const plan_opts *opts, const char *pass)
{
    return (opts && opts->draft) || program_verify(p, pass);
}

/* Are offsets, and sums of bytes, representable? */
static bool is_addressable(const program *p)
{
    int64_t all = 0;
    for (int b = 0; b < p->nbuffers; b++) all = saturate_plus(all, p->buffers[b].bytes);
    return all < (int64_t)1 << 62 ||
           fail(&p->session->fault, ERR_SHAPE,
                "the program's tensors have 2^62 bytes or more together on "
                "one processor, which no machine can address");
}

/* From the lowered program to the one that runs. */
static bool improve(program *p, const plan_opts *opts, arena *scratch)
{
    plan_pass last = opts ? opts->last : PASS_ALL;
    bool      apart = opts && opts->guard; /* so that each tensor can be inspected */
    TRY(check_pass(p, opts, plan_pass_name(PASS_LOWERING)));
    if (last == PASS_LOWERING) return true;
    TRY(apart ||
        (fuse_maps(p, scratch) && fuse_epilogues(p, scratch) && keep_least(p, scratch) &&
         join_sums(p, scratch) && fuse_totals(p, scratch) && recompute_values(p, scratch) &&
         check_pass(p, opts, plan_pass_name(PASS_FUSING))));
    if (last == PASS_FUSING) return true;
    TRY(apart || (remake_values(p, scratch) && check_pass(p, opts, plan_pass_name(PASS_REMAKING))));
    if (last == PASS_REMAKING) return true;
    TRY(apart || (join_maps(p, scratch) && hoist_maps(p, scratch) &&
                  check_pass(p, opts, plan_pass_name(PASS_JOINING))));
    if (last == PASS_JOINING) return true;
    find_rows(p);
    TRY(read_attention(p) && transpose_filters(p, scratch) && update_in_place(p, scratch) &&
        store_in_place(p) && stride_rows(p, scratch) &&
        check_pass(p, opts, plan_pass_name(PASS_STORING)));
    if (last == PASS_STORING) return true;
    TRY(is_addressable(p));
    return (opts && opts->unplaced) || place_buffers(p, opts ? opts->guard : 0);
}

static bool build_program(program *p, mtf_graph *g, int n, mtf_tensor *const *fetches,
                          const plan_opts *opts, arena *scratch)
{
    planner pl = {.survey = {.graph = g, .scratch = scratch}, .trace = opts ? opts->trace : NULL};
    emitter e = {.program = p,
                 .lower_block = lower_block,
                 .slice_of = slice_of,
                 .readers = readers,
                 .settle = settle,
                 .keep_wide = wide_keep,
                 .begins_with = chains_begin,
                 .goes_on = chains_go_on,
                 .planner = &pl,
                 .exact = opts && opts->exact};
    const layout *l = opts ? opts->layout : NULL;
    if (l && l->nrules + l->nstate == 0) l = NULL;
    if (l && mesh_size(l->mesh) > 1) e.layout = l, e.here = opts->here;
    pl.shards = arena_array(scratch, shard, g->ntensors + 1);
    pl.cut = arena_array(scratch, unsigned, g->ntensors + 1);
    TRY(pl.shards && pl.cut && look_around(&pl.survey, n, fetches, opts));
    TRY(!l || spread_check(l, g, pl.survey.live, pl.cut));
    TRY(reserve(p, g->nnodes + 1));
    for (int i = 0; e.layout && i < g->ntensors; i++) pl.shards[i].now.cut = pl.cut[i];
    TRY(shard_find_wanted(&e, &pl.survey, pl.shards) && early_begin(&e));
    chains_find(&e);
    copies_begin(&e);
    TRY(lower_block(&e, &g->root) && lower_fetches(&e, n, fetches) && emit_stores(&e));
    TRY(improve(p, opts, scratch));
    TRY(!opts || !opts->count || count_graph(p, &pl.survey, opts->layout));
    program_price(p);
    return mtf_ok(g->session);
}

program *plan_program(mtf_graph *g, int nfetches, mtf_tensor *const *fetches, const plan_opts *opts)
{
    const mtf_allocator *from = opts && opts->memory ? opts->memory : &g->session->allocator;
    program             *p = program_new(g->session, from);
    if (!p) return NULL;
    arena scratch = arena_make(from, &g->session->fault);
    bool  ok = build_program(p, g, nfetches, fetches, opts, &scratch);
    arena_free(&scratch);
    if (ok) return p;
    program_free(p);
    return NULL;
}

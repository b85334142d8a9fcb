/* The bridge: a graph and what to fetch become a program. */
#include "plan/plan.h"

#include "base/saturate.h"
#include "plan/planner.h"
#include "plan/spread.h"

static slice *slice_of(emitter *e, const mtf_tensor *x)
{
    return &held_of(e, x)->now;
}

static bool settle(emitter *e, const mtf_tensor *x)
{
    held *h = held_of(e, x);
    return held_pay(e, x, h, h->wanted) && held_gather(e, x, h);
}

static int readers(emitter *e, const mtf_tensor *x)
{
    planner *p = e->planner;
    return p->survey.readers[p->survey.same[x->id]->id];
}

/* Outputs as their local shapes; on one processor these are the whole. */
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
        out[o] = slice_uniform(0, n->out[o]->type, &local);
    }
    TRY(n->op->lower(e, n, in, out));
    for (int o = 0; o < n->nout; o++) out[o].cut = spread_cut(e, n->out[o]);
    return true;
}

static bool lower_apart(emitter *e, const node *n, arena *scratch, slice *out)
{
    bool  few = n->nin <= 4;
    held *few_in[4], **in = few ? few_in : arena_array(scratch, held *, n->nin);
    slice few_parts[4], *parts = few ? few_parts : arena_array(scratch, slice, n->nin);
    TRY(in && parts);
    for (int i = 0; i < n->nin; i++) in[i] = held_of(e, n->in[i]);
    return spread_node(e, n, in, held_of(e, n->out[0]), parts, out);
}

static bool lower_node(emitter *e, const node *n)
{
    arena *scratch = ((planner *)e->planner)->survey.scratch;
    slice  few[2], *out = n->nout <= 2 ? few : arena_array(scratch, slice, n->nout);
    TRY(out != NULL);
    const mtf_tensor *outer = e->cause;
    e->cause = n->out[0];
    bool direct = !e->layout || n->op->flags & OP_DIRECT;
    TRY(direct ? lower_here(e, n, scratch, out) : lower_apart(e, n, scratch, out));
    TRY(mtf_ok(n->graph->session));
    e->cause = outer;
    for (int o = 0; o < n->nout; o++) {
        *slice_of(e, n->out[o]) = out[o];
        TRY(debts_note(e, n->out[o]));
    }
    return true;
}

static bool lower_block(emitter *e, const void *what)
{
    const block *b = what;
    planner     *p = e->planner;
    p->depth += b != &p->survey.graph->root;
    for (int i = 0; i < b->nnodes; i++)
        if (p->survey.live[b->nodes[i]->id] && b->nodes[i]->op != &op_param)
            TRY(lower_node(e, b->nodes[i]));
    p->depth -= b != &p->survey.graph->root;
    return true;
}

/* A fetch keeps its buffer to the end; a variable is copied, for it will be overwritten. */
static bool lower_fetches(emitter *e, int n, mtf_tensor *const *fetches)
{
    program *p = e->program;
    p->fetches = arena_array(&p->arena, port, n);
    TRY(p->fetches != NULL);
    for (int i = 0; i < n; i++) {
        e->cause = fetches[i];
        TRY(settle(e, fetches[i]));
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

/* Most nodes become an instruction or two: growing by copying would leave as much behind. */
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

static bool check(const program *p, const plan_opts *opts, const char *pass)
{
    return (opts && opts->draft) || program_verify(p, pass);
}

/* Offsets, and sums of bytes, are numbers that fit. */
static bool is_addressable(const program *p)
{
    int64_t all = 0;
    for (int b = 0; b < p->nbuffers; b++) all = saturate_plus(all, p->buffers[b].bytes);
    return all < (int64_t)1 << 62 ||
           fail(&p->session->fault, ERR_SHAPE,
                "the program's tensors have 2^62 bytes or more together on "
                "one processor, which no machine can address");
}

static bool build(program *p, mtf_graph *g, int n, mtf_tensor *const *fetches,
                  const plan_opts *opts, arena *scratch)
{
    planner       pl = {.survey = {.graph = g, .scratch = scratch}};
    emitter       e = {.program = p,
                       .lower_block = lower_block,
                       .slice_of = slice_of,
                       .readers = readers,
                       .settle = settle,
                       .planner = &pl};
    const layout *l = opts ? opts->layout : NULL;
    if (l && l->nrules + l->nstate == 0) l = NULL;
    if (l && mesh_size(l->mesh) > 1) e.layout = l, e.here = opts->here;
    pl.held = arena_array(scratch, held, g->ntensors + 1);
    pl.cut = arena_array(scratch, unsigned, g->ntensors + 1);
    TRY(pl.held && pl.cut && look_around(&pl.survey, n, fetches, opts));
    TRY(!l || spread_check(l, g, pl.survey.live, pl.cut));
    TRY(reserve(p, g->nnodes + 1));
    for (int i = 0; e.layout && i < g->ntensors; i++) pl.held[i].now.cut = pl.cut[i];
    TRY(held_find_wanted(&e, &pl.survey, pl.held));
    TRY(lower_block(&e, &g->root) && lower_fetches(&e, n, fetches) && emit_stores(&e));
    TRY(check(p, opts, "lowering"));
    bool apart = opts && opts->guard; /* so that each tensor is there to be looked at */
    TRY(apart ||
        (fuse_maps(p, scratch) && recompute_values(p, scratch) && check(p, opts, "fusing")));
    TRY(apart || (remake_values(p, scratch) && check(p, opts, "making again")));
    find_rows(p);
    TRY(store_in_place(p) && check(p, opts, "updating in place"));
    TRY(is_addressable(p));
    TRY((opts && opts->unplaced) || place_buffers(p, opts ? opts->guard : 0));
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
    bool  ok = build(p, g, nfetches, fetches, opts, &scratch);
    arena_free(&scratch);
    if (ok) return p;
    program_free(p);
    return NULL;
}

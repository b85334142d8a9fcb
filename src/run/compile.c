/* Compiling: a graph becomes one program for each processor. */
#include <stdio.h>
#include <stdlib.h>

#include "base/saturate.h"
#include "base/units.h"
#include "machine/check_guard.h"
#include "microbatch/fewest.h"
#include "price/counters.h"
#include "plan/plan.h"
#include "price/traffic.h"
#include "run/compiled.h"
#include "run/settle.h"
#include "run/share.h"
#include "search/automatic.h"

static void close_program(void *what)
{
    mtf_program *p = what;
    if (p->closed) return;
    p->closed = true;
    if (p->device->recorder) p->device->recorder->drop(p->device, &p->step);
    for (int k = p->store->first; k < p->store->end; k++) {
        processor *q = &p->processors[k];
        if (!q->program) continue;
        p->device->forget(q->context, q->program, &q->state);
        p->device->release(q->context, q->slab, (size_t)q->program->slab_bytes);
        p->device->release(q->context, q->state.scratch, q->scratch_bytes);
        program_free(q->program);
    }
}

/* ---- compiling ---- */

static bool fits(const mtf_program *p)
{
    int64_t need = 0, fixed = 0;
    for (int k = p->store->first; k < p->store->end; k++) {
        const program *q = p->processors[k].program;
        int64_t        bytes = price_peak(q, &p->store->site, &p->store->mesh, k);
        need += bytes;
        fixed += bytes - q->slab_bytes;
    }
    /* The default is the host's memory. */
    if (p->device->bank && p->session->default_memory) return true;
    if ((uint64_t)need <= p->session->opts.memory) return true;
    char advice[120] = "use a smaller batch or recompute";
    if ((uint64_t)fixed > p->session->opts.memory)
        snprintf(advice, sizeof advice,
                 "variables and the working space of kernels take %lld of them alone",
                 (long long)fixed);
    return fail(
        &p->session->fault, ERR_MEMORY,
        "the program needs %lld bytes, but only %zu are allowed (%s); %s%s", (long long)need,
        p->session->opts.memory,
        p->session->default_memory ? "this machine's memory; --memory says otherwise" : "--memory",
        advice, p->store->layout.ndeclined ? ", or append ! to a declined rule for state" : "");
}

/* Bytes that a processor does not have yet: the programs of a session share variables, and the wire. */
static int64_t bytes_to_take(const mtf_program *p, int number)
{
    const program *q = p->processors[number].program;
    int64_t        bytes = price_peak(q, &p->store->site, &p->store->mesh, number);
    for (int v = 0; v < q->nvariables; v++)
        if (names_get(&p->store->entries, tensor_name(q->variables[v].tensor)))
            bytes -= q->buffers[q->variables[v].slice.buffer].bytes;
    const wire *w = p->store->wire;
    return w ? bytes - w->taken(w, number) : bytes;
}

/* Refuses before anything is taken from a device what would not fit in the end. */
static bool banks_suffice(const mtf_program *p)
{
    const store *s = p->store;
    memory_bank  own, other;
    for (int k = s->first; p->device->bank && k < s->end; k++) {
        int64_t need = 0;
        TRY(p->device->bank(p->processors[k].context, &own));
        for (int j = s->first; j < s->end; j++) {
            TRY(p->device->bank(p->processors[j].context, &other));
            if (other.number == own.number) need += bytes_to_take(p, j);
        }
        if (need > own.left)
            return fail(
                &p->session->fault, ERR_MEMORY,
                "the program needs %s of memory on %s, which has %s left of %s; use a smaller "
                "batch, recompute, or a mesh of more %s",
                unit_bytes(need).s, own.name, unit_bytes(own.left).s, unit_bytes(own.all).s,
                own.kind);
    }
    return true;
}

static bool start_counting(processor *k)
{
    TRY(counts_start(&k->counts, k->program));
    k->state.done = &k->counts.done;
    return true;
}

static bool load(mtf_program *p, int number)
{
    processor *k = &p->processors[number];
    program   *q = k->program;
    k->base = arena_array(&q->arena, void *, q->nbuffers + 1);
    TRY(k->base != NULL);
    p->device->announce(k->context, q);
    k->scratch_bytes = p->device->scratch_bytes(p->device, q, p->store->threads);
    k->state =
        (run_state){.base = k->base, .seed = p->session->opts.seed, .threads = p->store->threads};
    k->state.one_by_one = p->guard > 0 || p->session->opts.measure;
    if (p->session->opts.measure) TRY(start_counting(k));
    k->slab = p->device->alloc(k->context, (size_t)q->slab_bytes);
    TRY(k->slab != NULL);
    k->state.scratch = p->device->alloc(k->context, k->scratch_bytes);
    TRY(k->state.scratch != NULL);
    wire *w = p->store->wire;
    TRY(!w || !w->prepare || w->prepare(w, number, q));
    TRY(store_variables(p->store, q->nvariables, q->variables));
    for (int v = 0; v < q->nvariables; v++) {
        store_entry *e = store_variable(p->store, q->variables[v].tensor);
        TRY(e != NULL);
        k->base[q->variables[v].slice.buffer] = e->parts[number];
    }
    for (int b = 0; b < q->nbuffers; b++) {
        const buffer *x = &q->buffers[b];
        if (x->kind == BUFFER_VARIABLE || x->offset < 0) continue;
        k->base[b] = k->slab + x->offset;
        if (x->kind == BUFFER_CONSTANT)
            p->device->write(k->context, k->base[b], x->data, (size_t)x->bytes);
    }
    return p->device->prepare(k->context, q, &k->state);
}

/* Do all processors run the same collectives in the same order? */
static bool schedules_agree(const mtf_program *p)
{
    const program *a = first_program(p);
    for (int k = p->store->first + 1; k < p->store->end; k++) {
        const program *b = p->processors[k].program;
        int            i = 0, j = 0;
        for (;;) {
            while (i < a->ninstrs && !instr_is_collective(&a->instrs[i])) i++;
            while (j < b->ninstrs && !instr_is_collective(&b->instrs[j])) j++;
            bool end_a = i == a->ninstrs, end_b = j == b->ninstrs;
            if (end_a && end_b) break;
            if (end_a || end_b || a->instrs[i].kind != b->instrs[j].kind ||
                a->instrs[i].cause != b->instrs[j].cause)
                return fail(&p->session->fault, ERR_INTERNAL,
                            "processors %d and %d disagree on their collectives: instruction %d "
                            "(\"%s\") against %d (\"%s\")",
                            p->store->first, k, i,
                            end_a ? "end" : mtf_name_of_tensor(a->instrs[i].cause), j,
                            end_b ? "end" : mtf_name_of_tensor(b->instrs[j].cause));
            i++, j++;
        }
    }
    return true;
}

/* All processors run the same collectives in the same order, so their counts are added one by
 * one. */
static bool count_collectives(const mtf_program *p, arena *scratch)
{
    store   *s = p->store;
    program *first = p->processors[s->first].program;
    price    q = {.program = first, .mesh = &s->mesh, .layout = &s->layout, .rates = PRICE_RATES};
    q.rates.site = &s->site;
    int64_t *moved = arena_array(scratch, int64_t, first->ninstrs + 1);
    int      n = 0;
    q.here = mesh_place(&s->mesh, s->first);
    TRY(moved && price_program(&q, scratch));
    for (int k = s->first; k < s->end; k++) {
        const program *mine = p->processors[k].program;
        mesh_point     here = mesh_place(&s->mesh, k);
        n = 0;
        for (int i = 0; i < mine->ninstrs; i++) {
            if (!traffic_kind(&mine->instrs[i])) continue;
            traffic t = traffic_of(&s->site, &s->mesh, &mine->instrs[i], &here);
            moved[n] = saturate_plus(moved[n], counters_collective(&mine->instrs[i],
                                                                   instr_elements(&mine->instrs[i]),
                                                                   traffic_in(&t)));
            n++;
        }
    }
    TRY(share_sums(s, n, moved));
    counters c = {.arena = scratch};
    n = 0;
    for (int i = 0; i < first->ninstrs; i++)
        if (q.lines[i].collective) TRY(counters_add_collective(&c, &q, i, moved[n++]));
    return counters_keep(first, &c);
}

static bool count_all(const mtf_program *p)
{
    if (p->store->processors == 1) return true;
    arena scratch = arena_make(&p->session->allocator, &p->session->fault);
    bool  ok = count_collectives(p, &scratch);
    arena_free(&scratch);
    return ok;
}

/* Can the device capture loops of this program?  Processors would have to decide together. */
static bool captures_loops(const mtf_program *p)
{
    const program *q = first_program(p);
    if (p->store->end - p->store->first > 1 || !p->device->recorder) return false;
    for (int k = 0; k < q->ninstrs; k++)
        if (instr_is_collective(&q->instrs[k])) return false;
    return p->device->recorder->captures_loops(p->processors[p->store->first].context);
}

/* Whether every step queues the same work, whatever its results. */
static bool repeats(const mtf_program *p)
{
    const program *q = first_program(p);
    bool           tests = false;
    for (int k = 0; k < q->ninstrs; k++) {
        if (q->instrs[k].kind == INSTR_SAY) return false;
        tests = tests || q->instrs[k].kind == INSTR_TEST;
    }
    return !tests || captures_loops(p);
}

static bool make_step(mtf_program *p)
{
    arena *a = &p->session->arena;
    int    n = p->store->end - p->store->first;
    p->step = (device_step){.n = n,
                            .contexts = arena_array(a, device_context *, n),
                            .programs = arena_array(a, const program *, n),
                            .states = arena_array(a, run_state *, n),
                            .repeats = !p->session->opts.measure && repeats(p)};
    TRY(p->step.contexts && p->step.programs && p->step.states);
    for (int k = 0; k < n; k++) {
        processor *q = &p->processors[p->store->first + k];
        p->step.contexts[k] = q->context;
        p->step.programs[k] = q->program;
        p->step.states[k] = &q->state;
    }
    return true;
}

/* What was planned has tensors of its own: users know those of their graph. */
static void name_ports(program *q, int n, mtf_tensor *const *fetches)
{
    for (int i = 0; i < q->ninputs; i++)
        if (q->inputs[i].tensor->origin) q->inputs[i].tensor = q->inputs[i].tensor->origin;
    for (int i = 0; i < n; i++) q->fetches[i].tensor = fetches[i];
}

static bool build_program(mtf_program *p, const microbatched *m, mtf_tensor *const *fetches)
{
    store *s = p->store;
    for (int k = s->first; k < s->end; k++) {
        plan_opts o = {.guard = p->guard, .layout = &s->layout, .here = mesh_place(&s->mesh, k)};
        o.count = k == s->first;
        p->processors[k].program = plan_program(m->graph, m->nfetches, m->fetches, &o);
        TRY(p->processors[k].program != NULL);
        name_ports(p->processors[k].program, m->nfetches, fetches);
    }
    p->fed = arena_array(&p->session->arena, bool, first_program(p)->ninputs + 1);
    for (int k = s->first; k < s->end; k++)
        if (p->processors[k].program->cost.peak_bytes > p->peak_bytes)
            p->peak_bytes = p->processors[k].program->cost.peak_bytes;
    TRY(p->fed && schedules_agree(p) && fits(p) && banks_suffice(p) &&
        share_schedule(s, first_program(p), &p->peak_bytes) && count_all(p));
    for (int k = s->first; k < s->end; k++) TRY(load(p, k) || store_blame(s, k));
    return make_step(p);
}

/* Who lets the mesh be found and gives no rules wants rules as well: without any the mesh would not matter. */
static const char *rules_wanted(const mtf_session_opts *o)
{
    bool given = o->layout && *o->layout;
    return given || !automatic_is_asked(o->mesh, NULL, NULL) ? o->layout : "auto";
}

static bool search_for_layout(mtf_graph *g, int n, mtf_tensor *const *fetches)
{
    mtf_session_opts *o = &g->session->opts;
    automatic_opts    how = {.mesh = o->mesh,
                             .layout = rules_wanted(o),
                             .state_layout = o->state_layout,
                             .limit = store_memory_each(g->session),
                             .starts = g->session->layout_starts};
    automatic_answer  found;
    site              at = store_site(g->session);
    TRY(rates_default(g->session, &how.rates));
    TRY(!o->machine || rates_choose(g->session, o->machine, &how.rates));
    how.rates.site = &at;
    TRY(automatic_find(g, n, fetches, &how, &found));
    o->mesh = found.best[0].mesh_text;
    o->layout = found.best[0].layout_text;
    o->state_layout = found.best[0].state_text;
    return settle_tell(g->session, &found.best[0].layout);
}

/* If the session's layout is auto, it becomes the best one for its first graph.  The first rank
 * searches for all: a search may end by the clock, and other ranks might find another one. */
static bool find_layout(mtf_graph *g, int n, mtf_tensor *const *fetches)
{
    static const char what[] = "finding a layout";
    mtf_session      *s = g->session;
    mtf_session_opts *o = &s->opts;
    ranks            *r;
    if (s->store) return true;
    TRY(store_prepare(s, &r));
    bool asked = automatic_is_asked(o->mesh, o->layout, o->state_layout);
    TRY(!r || share_agrees(s, r, "meshes or layouts", asked));
    if (!asked) return true;
    if (!r || ranks_number(r) == 0) TRY(search_for_layout(g, n, fetches));
    return !r || (share_text(s, r, what, &o->mesh) && share_text(s, r, what, &o->layout) &&
                  share_text(s, r, what, &o->state_layout));
}

/* Of a program that fits: how many parts the memory made of its batch. */
static bool say_parts(const mtf_program *p)
{
    const mtf_graph *g = p->graph;
    const ranks     *r = p->store->ranks;
    textbuf          t = {.arena = &g->session->arena};
    if (g->parts <= 1 || (r && ranks_number(r) > 0)) return true;
    text_add(&t,
             "mtf: the batch of %lld comes in %lld micro-batches, the fewest that fit %s of a "
             "processor\n",
             (long long)g->batch.size, (long long)g->parts,
             unit_bytes(store_memory_each(g->session)).s);
    const char *text = text_done(&t);
    TRY(text != NULL);
    session_say(g->session, text);
    return true;
}

/* How many parts the batch of a graph comes in, where that is open.  The first rank decides for all: its
 * memory is not always that of the others. */
static bool divide_batch(store *s, mtf_graph *g, int n, mtf_tensor *const *fetches, bool open)
{
    estimate_opts o = {.mesh = &s->mesh, .layout = &s->layout, .rates = PRICE_RATES};
    bool          first = !s->ranks || ranks_number(s->ranks) == 0;
    o.rates.site = &s->site;
    int64_t limit = store_memory_each(g->session);
    if (!open) return true;
    if (first && g->parts == 0) TRY(microbatch_fewest(g, n, fetches, &o, limit));
    if (!s->ranks) return true;
    textbuf t = {.arena = &g->session->arena};
    text_add(&t, "%lld", (long long)g->parts);
    const char *text = text_done(&t);
    TRY(text && share_text(g->session, s->ranks, "dividing the batch", &text));
    g->parts = strtoll(text, NULL, 10);
    return true;
}

static mtf_program *compile(mtf_graph *g, int n, mtf_tensor *const *fetches, bool checked)
{
    if (!g || !mtf_ok(g->session)) return NULL;
    for (int i = 0; i < n; i++) {
        if (!fetches[i]) return NULL;
        if (fetches[i]->node->home != &g->root || fetches[i]->node->graph != g) {
            fail(&g->session->fault, ERR_USAGE,
                 "\"%s\" is inside a block or in another graph and cannot be fetched",
                 tensor_name(fetches[i]));
            return NULL;
        }
    }
    bool open = g->batch.name && g->parts == 0;
    if (!find_layout(g, n, fetches)) return NULL;
    microbatched m;
    store       *s = store_of(g->session);
    if (!s || !divide_batch(s, g, n, fetches, open) || !microbatch_graph(g, n, fetches, &m))
        return NULL;
    if (!settle_state(s, m.graph, m.nfetches, m.fetches)) return NULL;
    mtf_program *p = arena_new(&g->session->arena, mtf_program);
    if (!p) return NULL;
    *p = (mtf_program){.session = g->session,
                       .graph = g,
                       .planned = m,
                       .store = s,
                       .guard = checked ? CHECK_GUARD : devices_guard(g->session)};
    device_context **contexts = checked ? store_check_contexts(s) : s->contexts;
    p->processors = arena_array(&g->session->arena, processor, s->processors);
    if (!contexts || !p->processors) return NULL;
    p->device = contexts[s->first]->device;
    for (int k = s->first; k < s->end; k++) p->processors[k].context = contexts[k];
    if (!session_at_close(g->session, close_program, p)) return NULL;
    return build_program(p, &m, fetches) && (!open || say_parts(p)) ? p : NULL;
}

mtf_program *mtf_compile_n(mtf_graph *g, int n, mtf_tensor *const *fetches)
{
    return compile(g, n, fetches, false);
}

mtf_program *compile_checked(mtf_graph *g, int n, mtf_tensor *const *fetches)
{
    return compile(g, n, fetches, true);
}

bool program_measure(mtf_program *p, bool on)
{
    for (int k = p->store->first; k < p->store->end; k++) {
        processor *q = &p->processors[k];
        if (on && !q->counts.program) TRY(start_counting(q));
        q->counts.on = on;
        q->state.done = on ? &q->counts.done : NULL;
    }
    p->step.repeats = !on && repeats(p);
    return true;
}

void mtf_program_free(mtf_program *p)
{
    if (p) close_program(p);
}

/* ---- what it costs ---- */

/* Counts of the first processor, which has the smallest parts; memory of the processor that needs
 * most. */
mtf_cost mtf_program_cost(const mtf_program *p)
{
    if (!p || p->closed || !first_program(p)) return (mtf_cost){0};
    mtf_cost c = first_program(p)->cost;
    c.peak_bytes = p->peak_bytes;
    arena scratch = arena_make(&p->session->allocator, &p->session->fault);
    price full = {.program = first_program(p),
                  .mesh = &p->store->mesh,
                  .layout = &p->store->layout,
                  .here = mesh_place(&p->store->mesh, p->store->first),
                  .rates = PRICE_RATES};
    full.rates.site = &p->store->site;
    if (price_program(&full, &scratch)) {
        c.flops = full.flops;
        c.collectives = full.collectives;
        c.sent_bytes = full.sent_bytes;
        c.scratch_bytes = full.memory.scratch;
        c.wire_bytes = full.memory.wire;
    }
    arena_free(&scratch);
    return c;
}

int mtf_program_counters(const mtf_program *p, const mtf_counter **list)
{
    bool there = p && !p->closed && first_program(p);
    *list = there ? first_program(p)->counters : NULL;
    return there ? first_program(p)->ncounters : 0;
}

mtf_measured mtf_program_measured(const mtf_program *p, int number)
{
    bool there = p && !p->closed && number >= 0 && number < p->store->processors;
    if (!there || !p->processors[number].counts.program) return (mtf_measured){0};
    const processor *k = &p->processors[number];
    const program   *q = k->program;
    device          *d = p->device;
    const wire      *w = p->store->wire;
    mtf_measured     m = k->counts.sum;
    m.flops = k->counts.done.flops + k->counts.moved.flops;
    m.read_bytes = k->counts.moved.read_bytes;
    m.received_messages = k->counts.moved.received_bytes;
    m.sent_messages = k->counts.moved.sent_bytes;
    m.received_bytes = m.read_bytes + m.received_messages;
    m.peak_bytes = (int64_t)d->taken(k->context, k->slab);
    for (int v = 0; v < q->nvariables; v++) {
        const store_entry *e = store_variable(p->store, q->variables[v].tensor);
        if (e && !e->packed) m.peak_bytes += (int64_t)d->taken(k->context, e->parts[number]);
        if (e && e->packed)
            m.peak_bytes += store_part_bytes(p->store, e->type, &e->shape, &e->where, number);
    }
    m.scratch_bytes = (int64_t)d->taken(k->context, k->state.scratch);
    m.wire_bytes = w ? w->taken(w, number) : 0;
    return m;
}

char *mtf_program_print(const mtf_program *p)
{
    if (!alive(p)) return NULL;
    textbuf t = {.arena = &p->session->arena};
    program_write(first_program(p), devices_way(p->session), &t);
    return text_done(&t);
}

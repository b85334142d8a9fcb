/* Walks programs: feeds, steps, fetches.
 *
 * Each processor of the mesh has its own program, built from the same graph.
 * Everything a step needs is allocated when the graph is compiled: the slabs,
 * the tables of buffer addresses, scratch space for kernels.
 */
#include <stdio.h>
#include <string.h>

#include "base/dtype.h"
#include "plan/plan.h"
#include "run/counts.h"
#include "run/parts.h"
#include "run/say.h"
#include "run/share.h"
#include "run/store.h"

enum { MAX_DEPTH = 64 };

/* One processor's side of a program. */
typedef struct processor {
    program  *program;
    char     *slab;
    void    **base;      /* by buffer */
    run_state  state;
    size_t     scratch_bytes;
    run_counts counts;   /* where the session measures */
} processor;

struct mtf_program {
    mtf_session *session;
    mtf_graph   *graph;
    store       *store;
    device      *device;
    processor   *processors;
    bool        *fed;       /* by input */
    int64_t      peak_bytes; /* of the processor that needs most */
    bool         closed, stepped;
};

static const program *first_program(const mtf_program *p)
{
    return p->processors[p->store->first].program;
}

static void close_program(void *what)
{
    mtf_program *p = what;
    if (p->closed) return;
    p->closed = true;
    for (int k = p->store->first; k < p->store->end; k++) {
        processor *q = &p->processors[k];
        if (!q->program) continue;
        p->device->release(p->device, q->slab, (size_t)q->program->slab_bytes);
        p->device->release(p->device, q->state.scratch, q->scratch_bytes);
        program_free(q->program);
    }
}

/* ---- compiling ---- */

static bool fits(const mtf_program *p)
{
    int64_t need = 0;
    for (int k = p->store->first; k < p->store->end; k++) need += p->processors[k].program->cost.peak_bytes;
    if ((uint64_t)need <= p->session->opts.memory) return true;
    return fail(&p->session->fault, ERR_MEMORY,
                "the program needs %lld bytes, but only %zu are allowed (--memory); cut the batch or recompute",
                (long long)need, p->session->opts.memory);
}

static bool load(mtf_program *p, int number)
{
    processor *k = &p->processors[number];
    program   *q = k->program;
    k->base = arena_array(&q->arena, void *, q->nbuffers + 1);
    TRY(k->base != NULL);
    if (p->session->opts.measure) TRY(counts_start(&k->counts, q, &p->store->mesh, number));
    k->scratch_bytes = p->device->scratch_bytes(p->device, q) * (size_t)p->store->threads;
    k->state = (run_state){.base = k->base, .seed = p->session->opts.seed, .threads = p->store->threads};
    k->slab = p->device->alloc(p->device, (size_t)q->slab_bytes);
    TRY(k->slab != NULL);
    k->state.scratch = p->device->alloc(p->device, k->scratch_bytes);
    TRY(k->state.scratch != NULL);
    wire *w = p->store->wire;
    TRY(!w || !w->prepare || w->prepare(w, number, q));
    for (int v = 0; v < q->nvariables; v++) {
        store_entry *e = store_variable(p->store, q->variables[v].tensor);
        TRY(e != NULL);
        k->base[q->variables[v].slice.buffer] = e->parts[number];
    }
    for (int b = 0; b < q->nbuffers; b++) {
        const buffer *x = &q->buffers[b];
        if (x->kind == BUFFER_VARIABLE || x->offset < 0) continue;
        k->base[b] = k->slab + x->offset;
        if (x->kind == BUFFER_CONSTANT) p->device->write(p->device, k->base[b], x->data, (size_t)x->bytes);
    }
    return true;
}

/* Do all processors meet for the same collectives in the same order? */
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
            if (end_a || end_b || a->instrs[i].kind != b->instrs[j].kind || a->instrs[i].cause != b->instrs[j].cause)
                return fail(&p->session->fault, ERR_INTERNAL,
                            "processors %d and %d disagree on their collectives: instruction %d (\"%s\") against %d (\"%s\")",
                            p->store->first, k, i, end_a ? "end" : mtf_name_of_tensor(a->instrs[i].cause), j,
                            end_b ? "end" : mtf_name_of_tensor(b->instrs[j].cause));
            i++, j++;
        }
    }
    return true;
}

static bool build(mtf_program *p, int n, mtf_tensor *const *fetches)
{
    store *s = p->store;
    for (int k = s->first; k < s->end; k++) {
        plan_opts o = {.guard = machine_guard(p->session), .layout = &s->layout, .here = mesh_place(&s->mesh, k)};
        p->processors[k].program = plan_program(p->graph, n, fetches, &o);
        TRY(p->processors[k].program != NULL);
    }
    p->fed = arena_array(&p->session->arena, bool, first_program(p)->ninputs + 1);
    for (int k = s->first; k < s->end; k++)
        if (p->processors[k].program->cost.peak_bytes > p->peak_bytes)
            p->peak_bytes = p->processors[k].program->cost.peak_bytes;
    TRY(p->fed && schedules_agree(p) && fits(p) && share_schedule(s, first_program(p), &p->peak_bytes));
    for (int k = s->first; k < s->end; k++) TRY(load(p, k));
    return true;
}

mtf_program *mtf_compile_n(mtf_graph *g, int n, mtf_tensor *const *fetches)
{
    if (!g || !mtf_ok(g->session)) return NULL;
    for (int i = 0; i < n; i++) {
        if (!fetches[i]) return NULL;
        if (fetches[i]->node->home != &g->root || fetches[i]->node->graph != g) {
            fail(&g->session->fault, ERR_USAGE, "\"%s\" is inside a block or in another graph and cannot be fetched",
                 tensor_name(fetches[i]));
            return NULL;
        }
    }
    store       *s = store_of(g->session);
    mtf_program *p = s ? arena_new(&g->session->arena, mtf_program) : NULL;
    if (!p) return NULL;
    *p = (mtf_program){.session = g->session, .graph = g, .store = s, .device = s->device};
    p->processors = arena_array(&g->session->arena, processor, s->processors);
    if (!p->processors || !session_at_close(g->session, close_program, p)) return NULL;
    return build(p, n, fetches) ? p : NULL;
}

void mtf_program_free(mtf_program *p)
{
    if (p) close_program(p);
}

/* ---- feeding and fetching ---- */

static bool alive(const mtf_program *p)
{
    return p && !p->closed && mtf_ok(p->session);
}

/* Which input of the program x is; -1: one that nothing fetched depends on, which may be fed all
 * the same; -2, with an error, where it is none. */
static int input_number(const mtf_program *p, const mtf_tensor *x)
{
    for (int i = 0; i < first_program(p)->ninputs; i++)
        if (first_program(p)->inputs[i].tensor == x) return i;
    if (strcmp(x->node->op->name, "input") == 0 && x->node->graph == p->graph) return -1;
    fail(&p->session->fault, ERR_USAGE, "\"%s\" is no input of this program", tensor_name(x));
    return -2;
}

static bool where_is(const mtf_program *p, const mtf_tensor *x, placement *where)
{
    return layout_place(&p->store->layout, &x->shape, tensor_name(x), &p->session->fault, where);
}

bool mtf_feed(mtf_program *p, mtf_tensor *input, const void *data)
{
    if (!alive(p) || !input) return false;
    int       i = input_number(p, input);
    placement where;
    if (i < 0) return i == -1;
    TRY(where_is(p, input, &where));
    for (int k = p->store->first; k < p->store->end; k++) {
        int b = p->processors[k].program->inputs[i].slice.buffer;
        part_write(p->store, k, input->type, &input->shape, &where, data, p->processors[k].base[b]);
    }
    return p->fed[i] = true;
}

bool mtf_feed_parts(mtf_program *p, mtf_tensor *input, void (*fill)(void *, const mtf_part *), void *context)
{
    if (!alive(p) || !input) return false;
    int       i = input_number(p, input);
    placement where;
    if (i < 0) return i == -1;
    TRY(where_is(p, input, &where));
    for (int k = p->store->first; k < p->store->end; k++) {
        int      b = p->processors[k].program->inputs[i].slice.buffer;
        mtf_part part = part_of(p->store, k, &input->shape, &where, p->processors[k].base[b]);
        fill(context, &part);
    }
    return p->fed[i] = true;
}

/* Which fetch of the program x is, once it has a value; -1 after an error. */
static int fetch_number(const mtf_program *p, const mtf_tensor *x)
{
    for (int i = 0; i < first_program(p)->nfetches; i++) {
        if (first_program(p)->fetches[i].tensor != x) continue;
        if (p->stepped) return i;
        fail(&p->session->fault, ERR_USAGE, "\"%s\" has no value before the first step", tensor_name(x));
        return -1;
    }
    fail(&p->session->fault, ERR_USAGE, "\"%s\" was not among the tensors that the program was compiled for",
         tensor_name(x));
    return -1;
}

/* Where processor k keeps fetch i. */
static char *fetched_at(const mtf_program *p, int k, int i)
{
    const slice *s = &p->processors[k].program->fetches[i].slice;
    return (char *)p->processors[k].base[s->buffer] + s->offset * (int64_t)mtf_dtype_bytes(s->type);
}

bool mtf_fetch(mtf_program *p, mtf_tensor *x, void *data)
{
    if (!alive(p) || !x) return false;
    int       i = fetch_number(p, x);
    placement where;
    TRY(i >= 0 && where_is(p, x, &where));
    for (int k = p->store->first; k < p->store->end; k++) { /* equal parts overwrite each other */
        const slice *s = &p->processors[k].program->fetches[i].slice;
        part_read(p->store, k, x->type, &x->shape, &where, fetched_at(p, k, i), s->stride, data);
    }
    return share_parts(p->store, tensor_name(x), x->type, &x->shape, &where, data);
}

bool mtf_fetch_parts(mtf_program *p, mtf_tensor *x, void (*visit)(void *, const mtf_part *), void *context)
{
    if (!alive(p) || !x) return false;
    int       i = fetch_number(p, x);
    placement where;
    TRY(i >= 0 && where_is(p, x, &where));
    for (int k = p->store->first; k < p->store->end; k++) {
        mtf_part part = part_of(p->store, k, &x->shape, &where, fetched_at(p, k, i));
        visit(context, &part);
    }
    return true;
}

double mtf_fetch_scalar(mtf_program *p, mtf_tensor *x)
{
    char value[8];
    if (!alive(p) || !x) return 0;
    if (x->shape.ndims) {
        fail(&p->session->fault, ERR_SHAPE, "\"%s\" is no scalar", tensor_name(x));
        return 0;
    }
    return mtf_fetch(p, x, value) ? dtype_load(x->type, value, 0) : 0;
}

/* ---- stepping ---- */

static bool all_fed(const mtf_program *p)
{
    for (int i = 0; i < first_program(p)->ninputs; i++) {
        const mtf_tensor *x = first_program(p)->inputs[i].tensor;
        char              text[SHAPE_TEXT];
        if (!p->fed[i])
            return fail(&p->session->fault, ERR_USAGE, "input \"%s\" %s%s was not fed", tensor_name(x),
                        mtf_dtype_name(x->type), shape_text(&x->shape, text));
    }
    return true;
}

static bool flag_is_set(mtf_program *p, const processor *k, const instr *test)
{
    uint8_t flag = 0;
    p->device->read(p->device, &flag, (const char *)k->base[test->in[0].buffer] + test->in[0].offset, 1);
    return flag != 0;
}

static bool walk(mtf_program *p, int number)
{
    processor     *me = &p->processors[number];
    const program *q = me->program;
    int64_t        turns[MAX_DEPTH];
    int            depth = 0;
    for (int k = 0; k < q->ninstrs; k++) {
        const instr *i = &q->instrs[k];
        count_instr(&me->counts, k);
        switch (i->kind) {
        case INSTR_LOOP:
            if (depth == MAX_DEPTH)
                return fail(&p->session->fault, ERR_USAGE, "loops are nested more than %d deep", MAX_DEPTH);
            turns[depth++] = 0;
            break;
        case INSTR_TEST:
            if (!flag_is_set(p, me, i)) k = i->loop.other, depth--;
            break;
        case INSTR_AGAIN: {
            int64_t trips = q->instrs[i->loop.other].loop.trips;
            turns[depth - 1]++;
            if (trips < 0 || turns[depth - 1] < trips) k = i->loop.other;
            else depth--;
            break;
        }
        case INSTR_SAY:
            if (number == 0) say_value(p->session, p->device, i, me->base);
            break;
        case INSTR_REDUCE:
        case INSTR_REDUCE_SCATTER:
        case INSTR_EXCHANGE: TRY(p->store->wire->run(p->store->wire, number, i, me->base)); break;
        default:
            if (instr_elements(i) > 0) TRY(p->device->run(p->device, q, k, &me->state));
        }
    }
    count_instr(&me->counts, -1);
    return true;
}

static void step_one(void *context, int index)
{
    mtf_program *p = context;
    int          number = p->store->first + index;
    processor   *me = &p->processors[number];
    bool ok = p->device->begin(p->device, me->program, &me->state) && walk(p, number) &&
              p->device->end(p->device, me->program, &me->state);
    if (!ok && p->store->wire) p->store->wire->abort(p->store->wire, number);
    me->state.step++;
}

/* Says whose error ended the step, and tells the other processes. */
static void own_up(store *s)
{
    char whose[200] = "processor ";
    if (!s->wire || (s->ranks && ranks_alarmed(s->ranks))) return;
    mesh_point p = mesh_place(&s->mesh, s->wire->failed >= 0 ? s->wire->failed : s->first);
    mesh_write_place(&s->mesh, &p, whose + strlen(whose), sizeof whose - strlen(whose));
    fault_whose(&s->session->fault, whose);
    if (s->ranks) ranks_tell(s->ranks);
}

bool mtf_step(mtf_program *p)
{
    if (!alive(p)) return false;
    TRY(all_fed(p));
    if (p->store->wire) p->store->wire->reset(p->store->wire);
    p->session->stepping = true;
    crew_run(p->store->crew, step_one, p);
    p->session->stepping = false;
    p->stepped = true;
    if (!mtf_ok(p->session)) own_up(p->store);
    return mtf_ok(p->session);
}

/* ---- variables and cost ---- */

static store_entry *entry_of(mtf_tensor *w)
{
    mtf_graph *g = graph_of(w);
    if (!g) return NULL;
    if (strcmp(w->node->op->name, "variable") != 0) {
        fail(&g->session->fault, ERR_USAGE, "\"%s\" is no variable", tensor_name(w));
        return NULL;
    }
    store *s = store_of(g->session);
    return s ? store_variable(s, w) : NULL;
}

bool mtf_variable_get(mtf_tensor *variable, void *data)
{
    store_entry *e = entry_of(variable);
    if (!e) return false;
    store *s = store_of(graph_of(variable)->session);
    for (int k = s->first; k < s->end; k++) {
        mesh_point     here = mesh_place(&s->mesh, k);
        mtf_shape local = placement_local(&s->mesh, &e->where, &here, &e->shape);
        slice     dense = slice_dense(0, e->type, &local);
        part_read(s, k, e->type, &e->shape, &e->where, e->parts[k], dense.stride, data);
    }
    return share_parts(s, e->name, e->type, &e->shape, &e->where, data);
}

bool mtf_variable_set(mtf_tensor *variable, const void *data)
{
    store_entry *e = entry_of(variable);
    if (!e) return false;
    store *s = store_of(graph_of(variable)->session);
    for (int k = s->first; k < s->end; k++) part_write(s, k, e->type, &e->shape, &e->where, data, e->parts[k]);
    return true;
}

/* Of the first processor, which has the smallest parts; memory of the one that needs most. */
mtf_cost mtf_program_cost(const mtf_program *p)
{
    if (!p || p->closed || !first_program(p)) return (mtf_cost){0};
    mtf_cost c = first_program(p)->cost;
    c.peak_bytes = p->peak_bytes;
    return c;
}

mtf_measured mtf_program_measured(const mtf_program *p, int number)
{
    bool there = p && !p->closed && number >= 0 && number < p->store->processors;
    if (!there || !p->processors[number].counts.program) return (mtf_measured){0};
    const program *q = p->processors[number].program;
    mtf_measured   m = p->processors[number].counts.sum;
    m.peak_bytes = q->slab_bytes;
    for (int v = 0; v < q->nvariables; v++) {
        const store_entry *e = store_variable(p->store, q->variables[v].tensor);
        if (e) m.peak_bytes += store_part_bytes(p->store, e->type, &e->shape, &e->where, number);
    }
    return m;
}

char *mtf_program_print(const mtf_program *p)
{
    if (!alive(p)) return NULL;
    textbuf t = {.arena = &p->session->arena};
    program_write(first_program(p), &t);
    return text_done(&t);
}

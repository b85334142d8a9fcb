/* All processors of a mesh, from one collective to the next. */
#include "verify/lockstep.h"

#include <string.h>

#include "base/free_list.h"

/* ---- programs and memory ---- */

/* Bytes of the narrowest type that the program uses, which become one cell. */
static int unit_of(const program *p)
{
    size_t unit = 8;
    for (int k = 0; k < p->ninstrs; k++)
        for (int o = 0; o < p->instrs[k].nout + p->instrs[k].nin; o++) {
            const instr *i = &p->instrs[k];
            size_t bytes = mtf_dtype_bytes(o < i->nout ? i->out[o].type : i->in[o - i->nout].type);
            if (bytes < unit) unit = bytes;
        }
    for (int v = 0; v < p->ninputs + p->nvariables + p->nfetches; v++) {
        const port *q = v < p->ninputs ? &p->inputs[v]
                        : v < p->ninputs + p->nvariables
                            ? &p->variables[v - p->ninputs]
                            : &p->fetches[v - p->ninputs - p->nvariables];
        size_t      bytes = mtf_dtype_bytes(q->slice.type);
        if (bytes < unit) unit = bytes;
    }
    return (int)unit;
}

/* Sets where each buffer begins, in bytes; returns the bytes in use. */
static int64_t lay_out(const program *p, bool placed, int64_t *begin)
{
    int64_t end = placed ? p->slab_bytes : 0;
    for (int b = 0; b < p->nbuffers; b++) {
        const buffer *x = &p->buffers[b];
        begin[b] = end;
        if (placed && x->kind != BUFFER_VARIABLE)
            begin[b] = x->offset < 0 ? 0 : x->offset;
        else
            end += (x->bytes + 63) / 64 * 64;
    }
    return end;
}

/* Shares one of a program's lists of ports; their finer placements are not needed. */
static const port *share_ports(lockstep *l, port *ports, int n)
{
    for (int k = 0; k < n; k++) ports[k].slice.finer = NULL;
    return shared_copy(&l->shared, ports, sizeof *ports * (size_t)n);
}

static const buffer *share_buffers(lockstep *l, program *p)
{
    for (int b = 0; b < p->nbuffers; b++) {
        buffer *x = &p->buffers[b];
        if (x->kind != BUFFER_CONSTANT) continue;
        x->data = shared_copy(&l->shared, x->data, (size_t)x->bytes);
        if (!x->data) return NULL;
    }
    return shared_copy(&l->shared, p->buffers, sizeof *p->buffers * (size_t)p->nbuffers);
}

static const traced *const *share_trace(lockstep *l, traced *trace, int n)
{
    const traced **all = arena_array(&l->arena, const traced *, n + 1);
    for (int k = 0; all && k < n; k++) {
        trace[k].slice.finer = NULL;
        if (!(all[k] = shared_copy(&l->shared, &trace[k], sizeof trace[k]))) return NULL;
    }
    return all;
}

/* Takes over what is needed of a program, which is freed then. */
static bool take_program(lockstep *l, lane *k, program *p)
{
    int64_t *begin = arena_array(&p->arena, int64_t, p->nbuffers + 1);
    k->code = arena_array(&l->arena, const instr *, p->ninstrs + 1);
    TRY(begin && k->code);
    k->ninstrs = p->ninstrs;
    k->nbuffers = p->nbuffers;
    k->ninputs = p->ninputs;
    k->nvariables = p->nvariables;
    k->nfetches = p->nfetches;
    k->exact = (exact){.session = l->session, .unit = unit_of(p), .hashes = &k->hashes};
    k->cells = lay_out(p, l->placed, begin) / k->exact.unit + 1;
    for (int n = 0; n < p->ninstrs; n++)
        TRY((k->code[n] = shared_instr(&l->shared, &p->instrs[n])) != NULL);
    k->begin = shared_copy(&l->shared, begin, sizeof *begin * (size_t)p->nbuffers);
    k->buffers = share_buffers(l, p);
    k->inputs = share_ports(l, p->inputs, p->ninputs);
    k->variables = share_ports(l, p->variables, p->nvariables);
    k->fetches = share_ports(l, p->fetches, p->nfetches);
    k->exact.base = arena_array(&l->arena, cell *, p->nbuffers + 1);
    return k->begin && k->buffers && k->inputs && k->variables && k->fetches && k->exact.base;
}

/* What one thread plans programs with: memory that is used again, and room for a trace. */
typedef struct workplace {
    free_list again;
    traced   *trace; /* NULL: not wanted */
} workplace;

static bool workplace_open(workplace *w, const lockstep_opts *how)
{
    mtf_session *s = how->graph->session;
    free_list_open(&w->again, &s->allocator);
    w->trace = how->trace
                   ? block_alloc(&s->allocator, &s->fault,
                                 sizeof *w->trace * (size_t)(how->graph->ntensors + 1), false)
                   : NULL;
    return w->trace || !how->trace;
}

static void workplace_close(workplace *w, const lockstep_opts *how)
{
    block_free(&how->graph->session->allocator, w->trace);
    free_list_close(&w->again);
}

static bool open_lane(lockstep *l, int number, const lockstep_opts *how, workplace *w)
{
    lane     *k = &l->lanes[number];
    plan_opts o = {.layout = how->layout,
                   .last = how->last,
                   .exact = true,
                   .draft = number > 0, /* that programs are sound is checked of one */
                   .survey = how->survey,
                   .memory = &w->again.as,
                   .trace = w->trace,
                   .here = mesh_place(&l->mesh, number)};
    bool      ok = true;
    k->here = o.here;
    if (w->trace) memset(w->trace, 0, sizeof *w->trace * (size_t)how->graph->ntensors);
    program *p = plan_program(how->graph, how->nfetches, how->fetches, &o);
    TRY(p != NULL);
#pragma omp critical
    {
        ok = take_program(l, k, p);
        if (ok && w->trace)
            ok = (k->trace = share_trace(l, w->trace, how->graph->ntensors)) != NULL;
    }
    program_free(p);
    return ok;
}

/* Plans lanes first .. nlanes-1 on as many threads as the session has. */
static bool open_lanes(lockstep *l, int first, int threads, const lockstep_opts *how)
{
    bool ok = true;
    (void)threads;
#pragma omp parallel num_threads(threads) if (threads > 1) reduction(&& : ok)
    {
        workplace w;
        ok = workplace_open(&w, how);
#pragma omp for schedule(dynamic)
        for (int n = first; n < l->nlanes; n++) ok = ok && open_lane(l, n, how, &w);
        workplace_close(&w, how);
    }
    return ok;
}

static bool take_rows(lockstep *l, int nlanes)
{
    l->given = arena_array(&l->arena, operand_row, nlanes);
    l->taken = arena_array(&l->arena, operand_row, nlanes);
    return l->given && l->taken;
}

/* The first one alone: it finds what is wrong with the graph or the layout. */
bool lockstep_open(lockstep *l, const lockstep_opts *how)
{
    mtf_session *s = how->graph->session;
    *l = (lockstep){.session = s,
                    .arena = arena_make(&s->allocator, &s->fault),
                    .placed = how->last == PASS_ALL};
    l->shared.arena = &l->arena;
    if (how->layout) l->mesh = *how->layout->mesh;
    l->lanes = arena_array(&l->arena, lane, mesh_size(&l->mesh));
    TRY(l->lanes && take_rows(l, mesh_size(&l->mesh)));
    l->nlanes = 1;
    TRY(open_lanes(l, 0, 1, how));
    l->nlanes = mesh_size(&l->mesh);
    int threads = s->opts.threads < l->nlanes ? s->opts.threads : l->nlanes;
    return l->nlanes == 1 || open_lanes(l, 1, threads, how);
}

bool lockstep_copy(const lockstep *from, lockstep *l)
{
    *l = *from;
    l->arena = arena_make(&l->session->allocator, &l->session->fault);
    l->nlanes = 0;
    l->lanes = arena_copy(&l->arena, from->lanes, sizeof *l->lanes * (size_t)from->nlanes);
    TRY(l->lanes && take_rows(l, from->nlanes));
    for (int n = 0; n < from->nlanes; n++) {
        lane *k = &l->lanes[n];
        k->memory = k->exact.tile = NULL;
        k->exact.tile_cells = 0;
        k->exact.hashes = &k->hashes;
        k->exact.base = arena_array(&l->arena, cell *, k->nbuffers + 1);
        TRY(k->exact.base != NULL);
        l->nlanes++;
    }
    return true;
}

void lockstep_close(lockstep *l)
{
    const mtf_allocator *from = &l->session->allocator;
    for (int k = 0; k < l->nlanes; k++) {
        block_free(from, l->lanes[k].memory);
        block_free(from, l->lanes[k].exact.tile);
    }
    arena_free(&l->arena);
}

static void write_constant(lane *k, int number)
{
    const buffer *b = &k->buffers[number];
    mtf_dtype     type = b->cause->type;
    int64_t       bytes = (int64_t)mtf_dtype_bytes(type), step = bytes / k->exact.unit;
    for (int64_t e = 0; e < b->bytes / bytes; e++) {
        scalar value;
        if (type == MTF_I64)
            value.whole = ((const int64_t *)b->data)[e];
        else
            value = dtype_scalar(type, dtype_load(type, b->data, e));
        k->exact.base[number][e * step] = exact_constant(type, value);
    }
}

/* Is there memory for all lanes? */
static bool lanes_fit(lockstep *l)
{
    double need = 0;
    for (int n = 0; n < l->nlanes; n++) need += (double)l->lanes[n].cells * sizeof(cell);
    if (need > (double)l->session->opts.memory)
        return fail(&l->session->fault, ERR_MEMORY,
                    "verifying %d processors takes %.3g bytes with these sizes, and there are %zu",
                    l->nlanes, need, l->session->opts.memory);
    return true;
}

bool lockstep_clear(lockstep *l, uint64_t key)
{
    TRY(lanes_fit(l));
    for (int n = 0; n < l->nlanes; n++) {
        lane *k = &l->lanes[n];
        if (!k->memory)
            k->memory = block_alloc(&l->session->allocator, &l->session->fault,
                                    (size_t)k->cells * sizeof(cell), false);
        TRY(k->memory != NULL);
        cell rest = hash_residue(~key, (residue)n);
        for (int64_t c = 0; c < k->cells; c++) k->memory[c] = rest;
        for (int b = 0; b < k->nbuffers; b++)
            k->exact.base[b] = k->memory + k->begin[b] / k->exact.unit;
        k->exact.key = key;
        k->exact.step = 0;
        for (int b = 0; b < k->nbuffers; b++)
            if (k->buffers[b].kind == BUFFER_CONSTANT) write_constant(k, b);
    }
    return true;
}

cell *lane_cell(const lane *k, const slice *s, int64_t offset)
{
    int64_t step = (int64_t)mtf_dtype_bytes(s->type) / k->exact.unit;
    return k->exact.base[s->buffer] + (s->offset + offset) * step;
}

/* ---- running ---- */

/* The end of an iteration: begins the next, or leaves the loop. */
static void end_iteration(lane *k, const instr *i)
{
    int64_t trips = k->code[i->loop.other]->loop.trips;
    /* A condition on residues may hold for ever: all leave after the same number of iterations. */
    bool asks = trips < 0;
    if (asks) trips = LOCKSTEP_ITERATIONS;
    if (++k->iterations[k->depth - 1] < trips) {
        k->at = i->loop.other;
    } else {
        k->depth--;
        k->cut_short = k->cut_short || asks;
    }
}

bool lockstep_each(lockstep *l, lane_work *what)
{
    enum { LANES_AT_ONCE = 16 };
    bool ok = true;
    /* Tasks, which threads take that are done with their own trials. */
#pragma omp taskloop shared(ok) firstprivate(l, what) grainsize(LANES_AT_ONCE)
    for (size_t n = 0; n < (size_t)l->nlanes; n++) /* clang counts in this type */
        if (!what(l, (int)n)) {
#pragma omp atomic write
            ok = false;
        }
    return ok;
}

/* Runs up to the next collective, or to the end. */
static bool walk(lockstep *l, int n)
{
    lane *k = &l->lanes[n];
    for (; k->at < k->ninstrs; k->at++) {
        const instr *i = k->code[k->at];
        if (instr_is_collective(i)) return true;
        switch (i->kind) {
        case INSTR_LOOP:
            if (k->depth == MAX_NESTING)
                return fail(&k->exact.session->fault, ERR_VALUE,
                            "loops are nested more than %d deep", MAX_NESTING);
            k->iterations[k->depth++] = 0;
            break;
        case INSTR_TEST:
            if (!*view_of(&k->exact, i, &i->in[0]).at) k->at = i->loop.other, k->depth--;
            break;
        case INSTR_AGAIN: end_iteration(k, i); break;
        case INSTR_SAY: break;
        default: TRY(exact_run(&k->exact, i));
        }
    }
    return true;
}

/* Have all reached the same collective, or all the end? */
static bool meet(lockstep *l, bool *end)
{
    const lane *first = &l->lanes[0];
    *end = first->at == first->ninstrs;
    for (int n = 1; n < l->nlanes; n++) {
        const lane  *k = &l->lanes[n];
        bool         over = k->at == k->ninstrs;
        const instr *a = *end ? NULL : first->code[first->at], *b = over ? NULL : k->code[k->at];
        if (a == b || (a && b && a->kind == b->kind && a->cause == b->cause)) continue;
        textbuf t = {.arena = &l->arena};
        text_add(&t, "processor %d is at %s of \"%s\", processor %d at %s of \"%s\"", 0,
                 a ? instr_name(a->kind) : "the end", a ? mtf_name_of_tensor(a->cause) : "", n,
                 b ? instr_name(b->kind) : "the end", b ? mtf_name_of_tensor(b->cause) : "");
        l->stuck = text_done(&t);
        return false;
    }
    return true;
}

bool lockstep_step(lockstep *l)
{
    for (int n = 0; n < l->nlanes; n++) l->lanes[n].at = l->lanes[n].depth = 0;
    for (bool end = false; !end;) {
        TRY(lockstep_each(l, walk) && meet(l, &end));
        if (end) break;
        TRY(lockstep_collective(l));
        for (int n = 0; n < l->nlanes; n++) l->lanes[n].at++;
    }
    for (int n = 0; n < l->nlanes; n++) l->lanes[n].exact.step++;
    return true;
}

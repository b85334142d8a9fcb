/* All processors of a mesh in one thread. */
#include "verify/lockstep.h"

#include <stdio.h>

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

static bool open_lane(lockstep *l, int number, const lockstep_opts *how)
{
    lane     *k = &l->lanes[number];
    plan_opts o = {.layout = how->layout,
                   .last = how->last,
                   .exact = true,
                   .survey = how->survey,
                   .here = mesh_place(&l->mesh, number)};
    k->here = o.here;
    if (how->trace) {
        k->trace = arena_array(&l->arena, traced, how->graph->ntensors + 1);
        TRY(k->trace != NULL);
    }
    o.trace = k->trace;
    k->program = plan_program(how->graph, how->nfetches, how->fetches, &o);
    TRY(k->program != NULL);
    k->exact = (exact){.session = l->session, .program = k->program, .unit = unit_of(k->program)};
    k->exact.base = arena_array(&l->arena, cell *, k->program->nbuffers + 1);
    k->begin = arena_array(&l->arena, int64_t, k->program->nbuffers + 1);
    TRY(k->exact.base && k->begin);
    k->cells = lay_out(k->program, l->placed, k->begin) / k->exact.unit + 1;
    return true;
}

bool lockstep_open(lockstep *l, const lockstep_opts *how)
{
    mtf_session *s = how->graph->session;
    *l = (lockstep){.session = s,
                    .arena = arena_make(&s->allocator, &s->fault),
                    .placed = how->last == PASS_ALL};
    if (how->layout) l->mesh = *how->layout->mesh;
    l->lanes = arena_array(&l->arena, lane, mesh_size(&l->mesh));
    TRY(l->lanes != NULL);
    l->nlanes = mesh_size(&l->mesh);
    for (int n = 0; n < l->nlanes; n++) TRY(open_lane(l, n, how));
    return true;
}

void lockstep_close(lockstep *l)
{
    const mtf_allocator *from = &l->session->allocator;
    for (int k = 0; k < l->nlanes; k++) {
        program_free(l->lanes[k].program);
        block_free(from, l->lanes[k].memory);
        block_free(from, l->lanes[k].exact.tile);
    }
    arena_free(&l->arena);
}

static void write_constant(lane *k, int number)
{
    const buffer *b = &k->program->buffers[number];
    mtf_dtype     type = b->cause->type;
    int64_t       bytes = (int64_t)mtf_dtype_bytes(type), step = bytes / k->exact.unit;
    for (int64_t e = 0; e < b->bytes / bytes; e++) {
        scalar value;
        if (type == MTF_I64)
            value.whole = ((const int64_t *)b->data)[e];
        else
            value = dtype_scalar(type, dtype_load(type, b->data, e));
        k->exact.base[number][e * step] = exact_constant(&k->exact, type, value);
    }
}

/* Allocates memory for all lanes, after checking that they fit. */
static bool take_memory(lockstep *l)
{
    double need = 0;
    for (int n = 0; n < l->nlanes; n++) need += (double)l->lanes[n].cells * sizeof(cell);
    if (need > (double)l->session->opts.memory)
        return fail(&l->session->fault, ERR_MEMORY,
                    "verifying %d processors at full size takes %.3g bytes, and there are %zu; "
                    "--shrink makes dimensions smaller",
                    l->nlanes, need, l->session->opts.memory);
    for (int n = 0; n < l->nlanes; n++) {
        lane *k = &l->lanes[n];
        k->memory = block_alloc(&l->session->allocator, &l->session->fault,
                                (size_t)k->cells * sizeof(cell), false);
        TRY(k->memory != NULL);
    }
    return true;
}

bool lockstep_clear(lockstep *l, const field *f, uint64_t key)
{
    if (!l->lanes[0].memory) TRY(take_memory(l));
    for (int n = 0; n < l->nlanes; n++) {
        lane          *k = &l->lanes[n];
        const program *p = k->program;
        uint64_t       rest = hash_pair(~key, (uint64_t)n) % f->prime;
        for (int64_t c = 0; c < k->cells; c++) k->memory[c] = rest;
        for (int b = 0; b < p->nbuffers; b++)
            k->exact.base[b] = k->memory + k->begin[b] / k->exact.unit;
        k->exact.field = *f;
        k->exact.key = key;
        k->exact.step = 0;
        for (int b = 0; b < p->nbuffers; b++)
            if (p->buffers[b].kind == BUFFER_CONSTANT) write_constant(k, b);
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
static void end_turn(lane *k, const instr *i)
{
    int64_t trips = k->program->instrs[i->loop.other].loop.trips;
    /* A condition on residues may hold for ever: all leave after the same number of iterations. */
    bool asks = trips < 0;
    if (asks) trips = LOCKSTEP_TURNS;
    if (++k->turns[k->depth - 1] < trips) {
        k->at = i->loop.other;
    } else {
        k->depth--;
        k->cut_short = k->cut_short || asks;
    }
}

/* Runs up to the next collective, or to the end. */
static bool walk(lane *k)
{
    program *p = k->program;
    for (; k->at < p->ninstrs; k->at++) {
        const instr *i = &p->instrs[k->at];
        if (instr_is_collective(i)) return true;
        switch (i->kind) {
        case INSTR_LOOP:
            if (k->depth == MAX_NESTING)
                return fail(&k->exact.session->fault, ERR_VALUE,
                            "loops are nested more than %d deep", MAX_NESTING);
            k->turns[k->depth++] = 0;
            break;
        case INSTR_TEST:
            if (!*view_of(&k->exact, i, &i->in[0]).at) k->at = i->loop.other, k->depth--;
            break;
        case INSTR_AGAIN: end_turn(k, i); break;
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
    *end = first->at == first->program->ninstrs;
    for (int n = 1; n < l->nlanes; n++) {
        const lane  *k = &l->lanes[n];
        bool         over = k->at == k->program->ninstrs;
        const instr *a = &first->program->instrs[first->at], *b = &k->program->instrs[k->at];
        if (over == *end && (over || (a->kind == b->kind && a->cause == b->cause))) continue;
        textbuf t = {.arena = &l->arena};
        text_add(&t, "processor %d is at %s of \"%s\", processor %d at %s of \"%s\"", 0,
                 *end ? "the end" : instr_name(a->kind), *end ? "" : mtf_name_of_tensor(a->cause),
                 n, over ? "the end" : instr_name(b->kind),
                 over ? "" : mtf_name_of_tensor(b->cause));
        l->stuck = text_done(&t);
        return false;
    }
    return true;
}

bool lockstep_step(lockstep *l)
{
    for (int n = 0; n < l->nlanes; n++) l->lanes[n].at = l->lanes[n].depth = 0;
    for (bool end = false; !end;) {
        for (int n = 0; n < l->nlanes; n++) TRY(walk(&l->lanes[n]));
        TRY(meet(l, &end));
        if (end) break;
        TRY(lockstep_collective(l));
        for (int n = 0; n < l->nlanes; n++) l->lanes[n].at++;
    }
    for (int n = 0; n < l->nlanes; n++) l->lanes[n].exact.step++;
    return true;
}

/* Inputs and variables: buffers that outlive the step. */
#include "program/emit_one.h"

static port *find_port(port *ports, int n, const mtf_tensor *x)
{
    for (int i = n - 1; i >= 0; i--)
        if (ports[i].tensor == x) return &ports[i];
    return NULL;
}

static bool new_port(emitter *e, buffer_kind kind, const mtf_tensor *x, port **ports, int *count,
                     int *room, slice *out)
{
    port *known = find_port(*ports, *count, x);
    if (known) {
        *out = known->slice;
        return true;
    }
    mtf_shape shape = mtf_shape_of_tensor(x), local = emit_local(e, &shape);
    placement home;
    bool      finer = kind == BUFFER_VARIABLE && emit_home(e, &shape, &home);
    if (finer) local = placement_local(e->layout->mesh, &home, &e->here, &shape);
    *out = emit_fresh(e, mtf_dtype_of_tensor(x), &local);
    TRY(!slice_is_uniform(out));
    if (finer) {
        out->finer = arena_copy(&e->program->arena, &home, sizeof home);
        TRY(out->finer != NULL);
    }
    e->program->buffers[out->buffer].kind = kind;
    e->program->buffers[out->buffer].cause = x;
    TRY(arena_push(&e->program->arena, *ports, *count, *room));
    (*ports)[(*count)++] = (port){x, *out};
    return true;
}

bool emit_input(emitter *e, const mtf_tensor *x, slice *out)
{
    program *p = e->program;
    return new_port(e, BUFFER_INPUT, x, &p->inputs, &p->ninputs, &e->ports_room[0], out);
}

bool emit_variable(emitter *e, const mtf_tensor *w, slice *out)
{
    program *p = e->program;
    return new_port(e, BUFFER_VARIABLE, w, &p->variables, &p->nvariables, &e->ports_room[1], out);
}

bool emit_read(emitter *e, const mtf_tensor *w, slice *out)
{
    TRY(emit_variable(e, w, out));
    for (int i = 0; i < e->nstores; i++)
        if (e->stores[i].home.buffer == out->buffer) *out = e->stores[i].value;
    return true;
}

bool emit_assign(emitter *e, const mtf_tensor *w, const slice *value)
{
    slice home;
    TRY(emit_variable(e, w, &home));
    pending_store s = {home, *value};
    s.value.finer = home.finer; /* it was computed on the parts that are stored */
    for (int i = 0; i < e->nstores; i++)
        if (e->stores[i].home.buffer == home.buffer) {
            e->stores[i] = s;
            return true;
        }
    TRY(arena_push(&e->program->arena, e->stores, e->nstores, e->stores_room));
    e->stores[e->nstores++] = s;
    return true;
}

/* A value that lies in some variable's buffer must be copied before any store can overwrite it. */
bool emit_stores(emitter *e)
{
    for (int i = 0; i < e->nstores; i++) {
        slice *v = &e->stores[i].value;
        if (slice_is_uniform(v) || e->program->buffers[v->buffer].kind != BUFFER_VARIABLE) continue;
        slice copy = emit_fresh(e, v->type, &v->shape);
        TRY(!slice_is_uniform(&copy) && emit_move(e, v, &copy));
        *v = copy;
    }
    for (int i = 0; i < e->nstores; i++) TRY(emit_move(e, &e->stores[i].value, &e->stores[i].home));
    return true;
}

/* Inputs and variables: buffers that outlive the step. */
#include "program/emit.h"

#include "base/names.h"
#include "program/emit_one.h"

/* The entry of x in the table, or the free one where it belongs. */
static struct port_entry *slot(const port_table *t, const mtf_tensor *x)
{
    uint64_t mask = (uint64_t)t->room - 1;
    uint64_t at = hash_bytes(0, &x, sizeof x) & mask;
    while (t->entries[at].tensor && t->entries[at].tensor != x) at = (at + 1) & mask;
    return &t->entries[at];
}

static bool enlarge(port_table *t, arena *a)
{
    port_table bigger = {.room = t->room ? 2 * t->room : 32, .ports_room = t->ports_room};
    bigger.entries = arena_array(a, struct port_entry, bigger.room);
    TRY(bigger.entries != NULL);
    for (int i = 0; i < t->room; i++)
        if (t->entries[i].tensor) *slot(&bigger, t->entries[i].tensor) = t->entries[i];
    *t = bigger;
    return true;
}

/* The port's buffer: this processor's part of x, which for a variable may be finer than the
 * layout's. */
static bool new_buffer(emitter *e, buffer_kind kind, const mtf_tensor *x, slice *out)
{
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
    return true;
}

/* The entry of x, created if it is new; NULL after an error. */
static struct port_entry *port_of(emitter *e, buffer_kind kind, const mtf_tensor *x)
{
    program    *p = e->program;
    bool        variable = kind == BUFFER_VARIABLE;
    port_table *t = variable ? &e->variables : &e->inputs;
    port      **ports = variable ? &p->variables : &p->inputs;
    int        *count = variable ? &p->nvariables : &p->ninputs;
    slice       home;
    if (2 * (*count + 1) > t->room && !enlarge(t, &p->arena)) return NULL;
    struct port_entry *known = slot(t, x);
    if (known->tensor) return known;
    if (!new_buffer(e, kind, x, &home) || !arena_push(&p->arena, *ports, *count, t->ports_room))
        return NULL;
    *known = (struct port_entry){.tensor = x, .number = *count, .store = -1};
    (*ports)[(*count)++] = (port){x, home};
    return known;
}

bool emit_input(emitter *e, const mtf_tensor *x, slice *out)
{
    const struct port_entry *at = port_of(e, BUFFER_INPUT, x);
    TRY(at != NULL);
    *out = e->program->inputs[at->number].slice;
    return true;
}

bool emit_variable(emitter *e, const mtf_tensor *w, slice *out)
{
    const struct port_entry *at = port_of(e, BUFFER_VARIABLE, w);
    TRY(at != NULL);
    *out = e->program->variables[at->number].slice;
    return true;
}

bool emit_read(emitter *e, const mtf_tensor *w, slice *out)
{
    const struct port_entry *at = port_of(e, BUFFER_VARIABLE, w);
    TRY(at != NULL);
    *out = at->store < 0 ? e->program->variables[at->number].slice : e->stores[at->store].value;
    return true;
}

bool emit_assign(emitter *e, const mtf_tensor *w, const slice *value)
{
    struct port_entry *at = port_of(e, BUFFER_VARIABLE, w);
    TRY(at != NULL);
    pending_store s = {e->program->variables[at->number].slice, *value};
    s.value.finer = s.home.finer; /* it was computed on the same parts as the stored ones */
    if (at->store < 0) {
        TRY(arena_push(&e->program->arena, e->stores, e->nstores, e->stores_room));
        at->store = e->nstores++;
    }
    e->stores[at->store] = s;
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

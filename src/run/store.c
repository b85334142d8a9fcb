/* Variables by name: they belong to the session, not to a program. */
#include "run/store.h"

#include <string.h>

#include "graph/initializer.h"
#include "program/emit.h"

struct store {
    mtf_session *session;
    device      *device;
    name_table   entries;
    store_entry **all;
    int          count, room;
};

static void close_store(void *what)
{
    store *s = what;
    for (int i = 0; i < s->count; i++)
        s->device->release(s->device, s->all[i]->memory, (size_t)s->all[i]->bytes);
    s->device->close(s->device);
    s->session->store = NULL;
}

store *store_of(mtf_session *session)
{
    if (session->store || !mtf_ok(session)) return session->store;
    store *s = arena_new(&session->arena, store);
    if (!s) return NULL;
    s->session = session;
    s->entries.arena = &session->arena;
    s->device = machine_open(session);
    if (!s->device) return NULL;
    if (!session_at_close(session, close_store, s)) {
        s->device->close(s->device);
        return NULL;
    }
    session->store = s;
    return s;
}

device *store_device(store *s)
{
    return s->device;
}

/* The first value is drawn by a program of one instruction, so that it depends on seed, name and
 * position alone, whatever the machine. */
static bool emit_initial(emitter *e, const mtf_tensor *w, const char *init)
{
    initializer i;
    slice       home;
    TRY(initializer_parse(init, &i) && emit_variable(e, w, &home));
    i = initializer_for_shape(i, &w->shape);
    if (i.kind == INIT_CONSTANT) return emit_fill(e, i.a, &home);
    draw_args how = {.a = i.a, .b = i.b, .key = (uint32_t)hash_text(tensor_name(w)) | 0x80000000u};
    how.kind = i.kind == INIT_UNIFORM ? DRAW_UNIFORM : i.kind == INIT_NORMAL ? DRAW_NORMAL : DRAW_TRUNCATED_NORMAL;
    for (int d = 0; d < w->shape.ndims; d++) how.weight[d] = home.stride[d];
    return emit_draw(e, &how, NULL, &home);
}

static bool initialise(store *s, const mtf_tensor *w, void *memory)
{
    program *p = program_new(s->session);
    TRY(p != NULL);
    emitter   e = {.program = p, .cause = w};
    run_state r = {.base = &memory, .seed = s->session->opts.seed, .threads = s->session->opts.threads};
    bool      ok = emit_initial(&e, w, node_attr(w->node, "init")->text) && program_verify(p, "initialising");
    size_t    scratch = s->device->scratch_bytes(s->device, p) * (size_t)r.threads;
    r.scratch = s->device->alloc(s->device, scratch);
    ok = ok && r.scratch && s->device->run(s->device, p, 0, &r);
    s->device->release(s->device, r.scratch, scratch);
    program_free(p);
    return ok;
}

static bool agrees(const store *s, const store_entry *e, const mtf_tensor *w)
{
    char a[SHAPE_TEXT], b[SHAPE_TEXT];
    if (e->type == w->type && mtf_shape_equal(e->shape, w->shape)) return true;
    return fail(&s->session->fault, ERR_SHAPE, "variable \"%s\" is %s%s in this session and cannot be %s%s as well",
                e->name, mtf_dtype_name(e->type), shape_text(&e->shape, a), mtf_dtype_name(w->type),
                shape_text(&w->shape, b));
}

store_entry *store_variable(store *s, const mtf_tensor *w)
{
    store_entry *e = names_get(&s->entries, tensor_name(w));
    if (e) return agrees(s, e, w) ? e : NULL;
    arena *a = &s->session->arena;
    e = arena_new(a, store_entry);
    if (!e || !arena_push(a, s->all, s->count, s->room)) return NULL;
    *e = (store_entry){.name = arena_text(a, tensor_name(w)), .type = w->type, .shape = w->shape,
                       .bytes = mtf_shape_size(w->shape) * (int64_t)mtf_dtype_bytes(w->type)};
    if (!e->name) return NULL;
    for (int i = 0; i < e->shape.ndims; i++) {
        e->shape.dims[i].name = arena_text(a, e->shape.dims[i].name);
        if (!e->shape.dims[i].name) return NULL;
    }
    e->memory = s->device->alloc(s->device, (size_t)e->bytes);
    if (!e->memory) return NULL;
    if (!initialise(s, w, e->memory) || !names_put(&s->entries, e->name, e)) {
        s->device->release(s->device, e->memory, (size_t)e->bytes);
        return NULL;
    }
    s->all[s->count++] = e;
    return e;
}

/* The session's mesh, device, wire, thread pool and variables. */
#include "run/store.h"

#include <stdio.h>
#include <string.h>

#include "machine/device_check.h"
#include "machine/device_peers.h"
#include "machine/launch.h"
#include "ops/state.h"
#include "price/price.h"
#include "run/initial.h"
#include "run/store_blocks.h"

void store_release(store *s, store_entry *e)
{
    for (int p = s->first; e->parts && !e->packed && p < s->end; p++)
        if (e->parts[p])
            s->device->release(s->contexts[p], e->parts[p],
                               (size_t)store_part_bytes(s, e->type, &e->shape, &e->where, p));
}

static void close_contexts(const store *s, device *d, device_context **contexts)
{
    for (int p = s->first; contexts && p < s->end; p++)
        if (contexts[p]) d->close_context(contexts[p]);
}

static void close_store(void *what)
{
    store *s = what;
    if (s->thread_pool) thread_pool_close(s->thread_pool);
    for (int i = 0; i < s->count; i++) store_release(s, s->all[i]);
    store_release_blocks(s);
    if (s->wire) s->wire->close(s->wire);
    if (s->check != s->device) close_contexts(s, s->check, s->check_contexts);
    close_contexts(s, s->device, s->contexts);
    if (s->check && s->check != s->device)
        s->check->close(s->check); /* closes its inner device as well */
    else if (s->device)
        s->device->close(s->device);
    s->session->store = NULL;
}

static bool join_ranks(mtf_session *s, int processors, ranks **r)
{
    int count = launch_find().size;
    *r = NULL;
    if (count == 1) return true;
    if (!s->ranks) s->ranks = ranks_open(s, processors > count);
    *r = s->ranks;
    return *r && mtf_ok(s);
}

/* Determines which processors of the mesh this process has. */
static bool take_share(store *s)
{
    mtf_session *m = s->session;
    s->end = s->processors;
    TRY(join_ranks(m, s->processors, &s->ranks));
    if (!s->ranks) return true;
    int count = ranks_count(s->ranks);
    if (count > s->processors)
        return fail(&m->fault, ERR_USAGE,
                    "%d ranks were started for a mesh of %d processor%s; give --mesh as many, or "
                    "more, such as x:%d",
                    count, s->processors, s->processors == 1 ? "" : "s", count);
    span mine = part_range(s->processors, count, ranks_number(s->ranks));
    s->first = (int)mine.begin;
    s->end = (int)(mine.begin + mine.size);
    if (m->default_threads) m->opts.threads = ranks_cores(s->ranks);
    return true;
}

static bool open_contexts(store *s)
{
    s->contexts = arena_array(&s->session->arena, device_context *, s->processors);
    TRY(s->contexts != NULL);
    for (int p = s->first; p < s->end; p++) {
        int place = s->ranks ? ranks_place(s->ranks) * (s->end - s->first) + p - s->first : p;
        s->contexts[p] = s->device->open_context(s->device, p, place);
        TRY(s->contexts[p] != NULL);
    }
    return true;
}

static bool open_machine(store *s)
{
    const mtf_session_opts *o = &s->session->opts;
    TRY(mesh_parse(s->session, o->mesh, &s->mesh));
    TRY(layout_parse(s->session, o->layout, &s->mesh, &s->layout));
    TRY(layout_parse_state(s->session, o->state_layout, &s->layout));
    if (s->layout.asks || s->layout.asks_state || mesh_asks(&s->mesh))
        return fail(
            &s->session->fault, ERR_USAGE,
            "the layout is auto, and is found for the first graph that is compiled: compile "
            "it before variables are read or set");
    s->processors = mesh_size(&s->mesh);
    TRY(take_share(s));
    int here = s->end - s->first;
    s->device = devices_open(s->session);
    TRY(s->device && open_contexts(s));
    if (s->ranks && device_connects(s->device))
        s->wire = s->device->peers->open_wire(s->contexts[s->first], &s->mesh, s->ranks);
    else if (s->ranks)
        s->wire = wire_mpi_open(s->session, &s->mesh, s->ranks, s->first, s->end);
    else if (s->processors > 1)
        s->wire = wire_threads_open(s->session, &s->mesh, s->contexts);
    TRY(s->wire || s->processors == 1);
    s->site = devices_site(s->session, o->threads);
    if (s->ranks) {
        s->site.ranks = s->wire->site->ranks;
        s->site.hosts = s->wire->site->hosts;
        s->site.host = s->wire->site->host;
    }
    s->threads = site_threads(&s->site, &s->mesh, s->first);
    s->thread_pool = thread_pool_open(s->session, here, s->threads);
    return s->thread_pool != NULL;
}

bool store_prepare(mtf_session *s, ranks **r)
{
    mesh m;
    return mesh_parse(s, s->opts.mesh, &m) && join_ranks(s, mesh_size(&m), r);
}

/* The most processors in one process. */
static int processors_here(mtf_session *session)
{
    mesh m;
    if (!mesh_parse(session, session->opts.mesh, &m)) return 1;
    int processes = launch_find().size;
    return (mesh_size(&m) + processes - 1) / processes;
}

int64_t store_memory_each(mtf_session *session)
{
    return devices_memory_each(session, processors_here(session));
}

site store_site(mtf_session *session)
{
    site s = devices_site(session, session->opts.threads);
    s.ranks = launch_find().size;
    return s;
}

store *store_of(mtf_session *session)
{
    if (session->store || !mtf_ok(session)) return session->store;
    store *s = arena_new(&session->arena, store);
    if (!s) return NULL;
    s->session = session;
    s->entries.arena = &session->arena;
    if (!open_machine(s) || !session_at_close(session, close_store, s)) {
        close_store(s);
        return NULL;
    }
    session->store = s;
    return s;
}

static bool agrees(const store *s, const store_entry *e, const mtf_tensor *w)
{
    char a[SHAPE_TEXT], b[SHAPE_TEXT];
    if (e->master != variable_master(w))
        return fail(
            &s->session->fault, ERR_TYPE,
            "variable \"%s\" is kept in checkpoints as %s in this session and cannot be kept "
            "as %s as well",
            e->name, mtf_dtype_name(e->master), mtf_dtype_name(variable_master(w)));
    if (e->type == w->type && mtf_shape_equal(e->shape, w->shape)) return true;
    return fail(&s->session->fault, ERR_SHAPE,
                "variable \"%s\" is %s%s in this session and cannot be %s%s as well", e->name,
                mtf_dtype_name(e->type), shape_text(&e->shape, a), mtf_dtype_name(w->type),
                shape_text(&w->shape, b));
}

static bool make_entry(store *s, const mtf_tensor *w, store_entry *e)
{
    arena *a = &s->session->arena;
    *e = (store_entry){.name = arena_text(a, tensor_name(w)),
                       .type = w->type,
                       .master = variable_master(w),
                       .shape = w->shape,
                       .trainable = price_is_trained(w),
                       .parts = arena_array(a, void *, s->processors)};
    TRY(e->name && e->parts);
    e->of_model = e->trainable || names_get(&s->session->model_state, e->name);
    for (int i = 0; i < e->shape.ndims; i++) {
        e->shape.dims[i].name = arena_text(a, e->shape.dims[i].name);
        TRY(e->shape.dims[i].name != NULL);
    }
    TRY(layout_place(&s->layout, &e->shape, e->name, &s->session->fault, &e->where));
    layout_refine(&s->layout, &e->shape, &e->where);
    return true;
}

/* Gives variables their first values. */
static bool fill_entries(store *s, int n, const mtf_tensor *const *w, store_entry *const *entries)
{
    void **memory = block_alloc(&s->session->allocator, &s->session->fault,
                                sizeof *memory * (size_t)(n + 1), true);
    bool   ok = memory != NULL;
    for (int p = s->first; ok && p < s->end; p++) {
        initial_place at = {s->contexts[p], &s->layout, mesh_place(&s->mesh, p)};
        for (int k = 0; k < n; k++) memory[k] = entries[k]->parts[p];
        ok = initial_fill(&at, n, w, memory) || store_blame(s, p);
    }
    block_free(&s->session->allocator, memory);
    return ok;
}

/* Entries for variables that the store does not have, filled but not yet among the others. */
static bool make_entries(store *s, int n, const mtf_tensor *const *w, store_entry **entries)
{
    for (int k = 0; k < n; k++) {
        entries[k] = arena_new(&s->session->arena, store_entry);
        TRY(entries[k] && make_entry(s, w[k], entries[k]));
    }
    return store_take(s, n, entries) && fill_entries(s, n, w, entries);
}

static bool keep_entries(store *s, int n, store_entry **entries)
{
    for (int k = 0; k < n; k++) {
        TRY(arena_push(&s->session->arena, s->all, s->count, s->room));
        TRY(names_put(&s->entries, entries[k]->name, entries[k]));
        s->all[s->count++] = entries[k];
        entries[k] = NULL;
    }
    return true;
}

/* Adds variables with different names, none of which the store has. */
static bool add_variables(store *s, int n, const mtf_tensor *const *w)
{
    mtf_session  *m = s->session;
    store_entry **entries =
        block_alloc(&m->allocator, &m->fault, sizeof *entries * (size_t)(n + 1), true);
    bool ok = entries && make_entries(s, n, w, entries) && keep_entries(s, n, entries);
    for (int k = 0; entries && !ok && k < n; k++)
        if (entries[k]) store_release(s, entries[k]);
    block_free(&m->allocator, entries);
    return ok;
}

store_entry *store_variable(store *s, const mtf_tensor *w)
{
    const store_entry *old = names_get(&s->entries, tensor_name(w));
    if (old ? !agrees(s, old, w) : !add_variables(s, 1, &w)) return NULL;
    return names_get(&s->entries, tensor_name(w));
}

bool store_variables(store *s, int n, const port *ports)
{
    mtf_session       *m = s->session;
    const mtf_tensor **missing =
        block_alloc(&m->allocator, &m->fault, sizeof *missing * (size_t)(n + 1), true);
    int count = 0;
    for (int k = 0; missing && k < n; k++)
        if (!names_get(&s->entries, tensor_name(ports[k].tensor)))
            missing[count++] = ports[k].tensor;
    bool ok = missing && (count == 0 || add_variables(s, count, missing));
    block_free(&m->allocator, missing);
    return ok;
}

bool store_restart(store *s, const mtf_tensor *w)
{
    store_entry *e = store_variable(s, w);
    return e && fill_entries(s, 1, &w, &e);
}

void store_wait(const store *s)
{
    for (int p = s->first; p < s->end; p++) s->device->wait(s->contexts[p]);
}

device_context **store_check_contexts(store *s)
{
    if (s->check_contexts) return s->check_contexts;
    if (device_is_checked(s->session)) {
        s->check = s->device;
        return s->check_contexts = s->contexts;
    }
    device_context **list = arena_array(&s->session->arena, device_context *, s->processors);
    s->check = list ? device_check_open(s->session, s->device) : NULL;
    if (!s->check) return NULL;
    s->check_contexts = list;
    for (int p = s->first; p < s->end; p++)
        if (!(list[p] = device_check_over(s->check, s->contexts[p]))) return NULL;
    return list;
}

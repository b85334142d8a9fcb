/* First values of variables.
 *
 * They are computed by a program for each processor, and depend only on seed, name
 * and position, not on the mesh.  One program fills many variables: a device may
 * have to compile its kernels.
 */
#include "run/initial.h"

#include "base/dtype.h"
#include "graph/initializer.h"
#include "program/emit.h"
#include "run/orthogonal.h"

static uint32_t key_of(const mtf_tensor *w)
{
    return (uint32_t)hash_text(tensor_name(w)) | 0x80000000u;
}

static bool draw(emitter *e, const mtf_tensor *w, draw_kind kind, double a, double b,
                 const slice *home)
{
    draw_args how = {.a = a, .b = b, .key = key_of(w), .kind = kind};
    placement where;
    emit_home(e, &w->shape, &where);
    emit_global_index(e, &w->shape, &where, NULL, &how);
    return emit_draw(e, &how, 0, NULL, home);
}

/* The indices of dimension i of w that are on this processor. */
static span range_here(const emitter *e, const mtf_tensor *w, int i)
{
    placement where;
    emit_home(e, &w->shape, &where);
    return cut_range(e->layout->mesh, &where.dim[i], &e->here, w->shape.dims[i].size);
}

/* Normal numbers, multiplied by a deviation for each index of the first dimension. */
static bool draw_each(emitter *e, const mtf_tensor *w, const double *deviations, const slice *home)
{
    int64_t begin = range_here(e, w, 0).begin;
    TRY(draw(e, w, DRAW_NORMAL, 0, 1, home));
    for (int64_t i = 0; i < home->shape.dims[0].size; i++) {
        slice one = slice_cut(home, home->shape.dims[0].name, i, 1, 1);
        slice by = slice_uniform(deviations[begin + i], one.type, &one.shape);
        TRY(emit_scalar(e, FN_multiply, 2, (slice[]){one, by}, &one));
    }
    return true;
}

/* Computes the whole matrix, with the last dimension as columns, and keeps this processor's
 * part. */
static bool take_orthogonal(emitter *e, const mtf_tensor *w, double gain, const slice *home)
{
    arena        *a = &e->program->arena;
    int64_t       n = mtf_shape_size(w->shape);
    int64_t       cols = w->shape.ndims > 1 ? w->shape.dims[w->shape.ndims - 1].size : 1;
    double       *values = arena_array(a, double, n);
    void         *rounded = arena_alloc(a, (size_t)n * mtf_dtype_bytes(w->type));
    philox_stream from = {.seed = e->program->session->opts.seed, .op = key_of(w)};
    TRY(values && rounded && orthogonal_fill(a, from, n / cols, cols, gain, values));
    for (int64_t i = 0; i < n; i++) dtype_store(w->type, rounded, i, values[i]);
    slice whole = emit_fresh(e, w->type, &w->shape);
    TRY(!slice_is_uniform(&whole));
    e->program->buffers[whole.buffer].kind = BUFFER_CONSTANT;
    e->program->buffers[whole.buffer].data = rounded;
    for (int i = 0; i < w->shape.ndims; i++) {
        span here = range_here(e, w, i);
        whole = slice_cut(&whole, w->shape.dims[i].name, here.begin, here.size, 1);
    }
    return emit_move(e, &whole, home);
}

static bool emit_initial(emitter *e, const mtf_tensor *w)
{
    initializer i;
    slice       home;
    TRY(initializer_parse(node_attr(w->node, "init")->text, &i) && emit_variable(e, w, &home));
    i = initializer_for_shape(i, &w->shape);
    if (mtf_shape_size(home.shape) == 0) return true;
    switch (i.kind) {
    case INIT_CONSTANT: return emit_fill_scalar(e, number_as(home.type, i.value), &home);
    case INIT_UNIFORM: return draw(e, w, DRAW_UNIFORM, i.a, i.b, &home);
    case INIT_NORMAL: return draw(e, w, DRAW_NORMAL, i.a, i.b, &home);
    case INIT_NORMAL_EACH: return draw_each(e, w, i.deviations, &home);
    case INIT_ORTHOGONAL: return take_orthogonal(e, w, i.a, &home);
    default: return draw(e, w, DRAW_TRUNCATED_NORMAL, i.a, i.b, &home);
    }
}

/* ---- running ---- */

/* Where each buffer begins: variables have memory, constants get some. */
static bool find_buffers(device_context *c, const program *p, void *const *memory, void **base)
{
    const device *d = c->device;
    for (int v = 0; v < p->nvariables; v++) base[p->variables[v].slice.buffer] = memory[v];
    for (int b = 0; b < p->nbuffers; b++) {
        const buffer *x = &p->buffers[b];
        if (x->kind != BUFFER_CONSTANT) continue;
        TRY((base[b] = d->alloc(c, (size_t)x->bytes)) != NULL);
        d->write(c, base[b], x->data, (size_t)x->bytes);
    }
    return true;
}

static void release_constants(device_context *c, const program *p, void **base)
{
    for (int b = 0; b < p->nbuffers; b++)
        if (p->buffers[b].kind == BUFFER_CONSTANT && base[b])
            c->device->release(c, base[b], (size_t)p->buffers[b].bytes);
}

/* The program's only buffers are variables, in the order of `memory`, and constants. */
static bool run_all(device_context *c, program *p, void *const *memory)
{
    device   *d = c->device;
    void    **base = arena_array(&p->arena, void *, p->nbuffers + 1);
    run_state r = {
        .base = base, .seed = d->session->opts.seed, .threads = d->session->opts.threads};
    size_t scratch = d->scratch_bytes(d, p, r.threads);
    TRY(base != NULL);
    bool ok = find_buffers(c, p, memory, base) && (r.scratch = d->alloc(c, scratch)) != NULL;
    ok = ok && d->prepare(c, p, &r) && d->begin(c, p, &r);
    for (int i = 0; ok && i < p->ninstrs; i++) ok = d->run(c, p, i, &r);
    ok = ok && d->end(c, p, &r);
    d->forget(c, p, &r);
    release_constants(c, p, base);
    d->release(c, r.scratch, scratch);
    return ok;
}

bool initial_fill(const initial_place *at, int n, const mtf_tensor *const *w, void *const *memory)
{
    program *p = program_new(at->context->device->session, NULL);
    TRY(p != NULL);
    emitter e = {.program = p, .layout = at->layout, .here = at->here};
    bool    ok = true;
    for (int k = 0; ok && k < n; k++) {
        e.cause = w[k];
        ok = emit_initial(&e, w[k]);
    }
    ok = ok && program_verify(p, "initialising") && run_all(at->context, p, memory);
    program_free(p);
    return ok;
}

/* Walks a program: feeds, steps, fetches.
 *
 * Everything a step needs is allocated when the program is compiled: the slab,
 * the table of buffer addresses, scratch space for kernels.
 */
#include <stdio.h>
#include <string.h>

#include "base/dtype.h"
#include "plan/plan.h"
#include "run/store.h"
#include "run/say.h"

enum { MAX_DEPTH = 64 };

struct mtf_program {
    mtf_session *session;
    mtf_graph   *graph;
    program     *program;
    store       *store;
    device      *device;
    char        *slab;
    void       **base;      /* by buffer */
    bool        *fed;       /* by input */
    run_state    state;
    size_t       scratch_bytes;
    bool         closed;
};

static void close_program(void *what)
{
    mtf_program *p = what;
    if (p->closed) return;
    p->closed = true;
    if (p->program) {
        p->device->release(p->device, p->slab, (size_t)p->program->slab_bytes);
        p->device->release(p->device, p->state.scratch, p->scratch_bytes);
    }
    program_free(p->program);
}

/* ---- compiling ---- */

static bool fits(const mtf_program *p)
{
    int64_t need = p->program->cost.peak_bytes;
    if ((uint64_t)need <= p->session->opts.memory) return true;
    return fail(&p->session->fault, ERR_MEMORY,
                "the program needs %lld bytes, but only %zu are allowed (--memory); cut the batch or recompute", (long long)need,
                p->session->opts.memory);
}

static bool load(mtf_program *p)
{
    program *q = p->program;
    arena   *a = &q->arena;
    p->base = arena_array(a, void *, q->nbuffers + 1);
    p->fed = arena_array(a, bool, q->ninputs + 1);
    TRY(p->base && p->fed && fits(p));
    p->scratch_bytes = p->device->scratch_bytes(p->device, q) * (size_t)p->session->opts.threads;
    p->state = (run_state){.base = p->base, .seed = p->session->opts.seed, .threads = p->session->opts.threads};
    p->slab = p->device->alloc(p->device, (size_t)q->slab_bytes);
    TRY(p->slab != NULL);
    p->state.scratch = p->device->alloc(p->device, p->scratch_bytes);
    TRY(p->state.scratch != NULL);
    for (int v = 0; v < q->nvariables; v++) {
        store_entry *e = store_variable(p->store, q->variables[v].tensor);
        TRY(e != NULL);
        p->base[q->variables[v].slice.buffer] = e->memory;
    }
    for (int b = 0; b < q->nbuffers; b++) {
        const buffer *x = &q->buffers[b];
        if (x->kind == BUFFER_VARIABLE || x->offset < 0) continue;
        p->base[b] = p->slab + x->offset;
        if (x->kind == BUFFER_CONSTANT) p->device->write(p->device, p->base[b], x->data, (size_t)x->bytes);
    }
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
    mtf_program *p = arena_new(&g->session->arena, mtf_program);
    store       *s = store_of(g->session);
    if (!p || !s) return NULL;
    *p = (mtf_program){.session = g->session, .graph = g, .store = s, .device = store_device(s)};
    if (!session_at_close(g->session, close_program, p)) return NULL;
    p->program = plan_program(g, n, fetches, &(plan_opts){.guard = machine_guard(g->session)});
    return p->program && load(p) ? p : NULL;
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

bool mtf_feed(mtf_program *p, mtf_tensor *input, const void *data)
{
    if (!alive(p) || !input) return false;
    for (int i = 0; i < p->program->ninputs; i++) {
        const port *in = &p->program->inputs[i];
        if (in->tensor != input) continue;
        p->device->write(p->device, p->base[in->slice.buffer], data,
                         (size_t)mtf_shape_size(input->shape) * mtf_dtype_bytes(input->type));
        return p->fed[i] = true;
    }
    /* An input that nothing fetched depends on may be fed all the same. */
    if (strcmp(input->node->op->name, "input") == 0 && input->node->graph == p->graph) return true;
    return fail(&p->session->fault, ERR_USAGE, "\"%s\" is no input of this program", tensor_name(input));
}

/* Copies a view out of device memory in row-major order, a run of the last dimension at a time. */
static void read_view(mtf_program *p, const slice *s, char *to)
{
    int64_t      at[MTF_MAX_DIMS] = {0}, bytes = (int64_t)mtf_dtype_bytes(s->type);
    int          nd = s->shape.ndims;
    const char  *base = p->base[s->buffer];
    if (slice_is_dense(s)) {
        p->device->read(p->device, to, base + s->offset * bytes, (size_t)(mtf_shape_size(s->shape) * bytes));
        return;
    }
    for (;;) {
        int64_t where = s->offset;
        for (int d = 0; d < nd; d++) where += at[d] * s->stride[d];
        p->device->read(p->device, to, base + where * bytes, (size_t)bytes);
        to += bytes;
        int d = nd - 1;
        while (d >= 0 && ++at[d] == s->shape.dims[d].size) at[d--] = 0;
        if (d < 0) return;
    }
}

bool mtf_fetch(mtf_program *p, mtf_tensor *x, void *data)
{
    if (!alive(p) || !x) return false;
    for (int i = 0; i < p->program->nfetches; i++)
        if (p->program->fetches[i].tensor == x) {
            read_view(p, &p->program->fetches[i].slice, data);
            return true;
        }
    return fail(&p->session->fault, ERR_USAGE, "\"%s\" was not among the tensors that the program was compiled for",
                tensor_name(x));
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
    for (int i = 0; i < p->program->ninputs; i++) {
        const mtf_tensor *x = p->program->inputs[i].tensor;
        char              text[SHAPE_TEXT];
        if (!p->fed[i])
            return fail(&p->session->fault, ERR_USAGE, "input \"%s\" %s%s was not fed", tensor_name(x),
                        mtf_dtype_name(x->type), shape_text(&x->shape, text));
    }
    return true;
}

static bool flag_is_set(mtf_program *p, const instr *test)
{
    uint8_t flag = 0;
    p->device->read(p->device, &flag, (const char *)p->base[test->in[0].buffer] + test->in[0].offset, 1);
    return flag != 0;
}

static bool walk(mtf_program *p)
{
    const program *q = p->program;
    int64_t        turns[MAX_DEPTH];
    int            depth = 0;
    for (int k = 0; k < q->ninstrs; k++) {
        const instr *i = &q->instrs[k];
        switch (i->kind) {
        case INSTR_LOOP:
            if (depth == MAX_DEPTH)
                return fail(&p->session->fault, ERR_USAGE, "loops are nested more than %d deep", MAX_DEPTH);
            turns[depth++] = 0;
            break;
        case INSTR_TEST:
            if (!flag_is_set(p, i)) k = i->loop.other, depth--;
            break;
        case INSTR_AGAIN: {
            int64_t trips = q->instrs[i->loop.other].loop.trips;
            turns[depth - 1]++;
            if (trips < 0 || turns[depth - 1] < trips) k = i->loop.other;
            else depth--;
            break;
        }
        case INSTR_SAY: say_value(p->session, p->device, i, p->base); break;
        default: TRY(p->device->run(p->device, q, k, &p->state));
        }
    }
    return true;
}

bool mtf_step(mtf_program *p)
{
    if (!alive(p)) return false;
    TRY(all_fed(p));
    p->session->stepping = true;
    bool ok = p->device->begin(p->device, p->program, &p->state) && walk(p) &&
              p->device->end(p->device, p->program, &p->state);
    p->session->stepping = false;
    p->state.step++;
    return ok;
}

/* ---- variables and cost ---- */

static store_entry *entry_of(mtf_tensor *w, device **d)
{
    mtf_graph *g = graph_of(w);
    if (!g) return NULL;
    if (strcmp(w->node->op->name, "variable") != 0) {
        fail(&g->session->fault, ERR_USAGE, "\"%s\" is no variable", tensor_name(w));
        return NULL;
    }
    store *s = store_of(g->session);
    *d = s ? store_device(s) : NULL;
    return s ? store_variable(s, w) : NULL;
}

bool mtf_variable_get(mtf_tensor *variable, void *data)
{
    device      *d;
    store_entry *e = entry_of(variable, &d);
    if (e) d->read(d, data, e->memory, (size_t)e->bytes);
    return e != NULL;
}

bool mtf_variable_set(mtf_tensor *variable, const void *data)
{
    device      *d;
    store_entry *e = entry_of(variable, &d);
    if (e) d->write(d, e->memory, data, (size_t)e->bytes);
    return e != NULL;
}

mtf_cost mtf_program_cost(const mtf_program *p)
{
    return p && p->program ? p->program->cost : (mtf_cost){0};
}

char *mtf_program_print(const mtf_program *p)
{
    if (!alive(p)) return NULL;
    textbuf t = {.arena = &p->session->arena};
    program_write(p->program, &t);
    return text_done(&t);
}

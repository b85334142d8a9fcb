/* Programs on a card: their kernels, launched instruction by instruction. */
#include "machine/cuda/cuda_device.h"
#include "machine/cuda/products.h"
#include "machine/machine.h"

typedef struct prepared_launch {
    CUfunction function;
    unsigned   blocks, threads, shared;
} prepared_launch;

/* An instruction ready to be queued. */
typedef struct prepared_instr {
    int             nlaunches;
    prepared_launch launch[MOST_LAUNCHES];
    void          **addresses;  /* of outputs, inputs, working space, the step's words */
    void          **parameters; /* where each address stands */
    product_plan   *product;    /* NULL: the kernels do it */
} prepared_instr;

typedef struct prepared_program {
    arena           arena;
    prepared_instr *instrs;
    step_words     *words; /* on the card */
    bool            proven; /* a step has shown that no kernel fails */
} prepared_program;

/* ---- before the first step ---- */

static bool write_kernels(kernel_source *s, const instr *i, kernel_plan *plan)
{
    kernel_writer *writer = kernel_writer_of(i->kind);
    if (instr_is_collective(i) || instr_elements(i) == 0) return true;
    if (i->kind == INSTR_CONTRACT && product_suits(i)) return true;
    return !writer || writer(s, i, plan);
}

/* Is it queued by this device at all? */
static bool is_queued(const instr *i)
{
    bool elsewhere = instr_is_collective(i) || i->kind == INSTR_LOOP || i->kind == INSTR_TEST ||
                     i->kind == INSTR_AGAIN || i->kind == INSTR_SAY;
    return !elsewhere && instr_elements(i) > 0;
}

static void *operand_at(const run_state *r, const access *a)
{
    return (char *)r->base[a->buffer] + a->offset * (int64_t)mtf_dtype_bytes(a->type);
}

static bool find_addresses(prepared_program *q, const instr *i, const run_state *r,
                           prepared_instr *to)
{
    int n = i->nout + i->nin;
    to->addresses = arena_array(&q->arena, void *, n + 2);
    to->parameters = arena_array(&q->arena, void *, n + 2);
    TRY(to->addresses && to->parameters);
    for (int k = 0; k < i->nout; k++) to->addresses[k] = operand_at(r, &i->out[k]);
    for (int k = 0; k < i->nin; k++) to->addresses[i->nout + k] = operand_at(r, &i->in[k]);
    to->addresses[n] = r->scratch;
    to->addresses[n + 1] = q->words;
    for (int k = 0; k < n + 2; k++) to->parameters[k] = &to->addresses[k];
    return true;
}

/* A block has 48 KiB of shared memory unless it asks for more. */
enum { ORDINARY_SHARED = 48 << 10 };

static bool find_launches(cuda_context *c, const kernel_plan *plan, prepared_instr *to)
{
    to->nlaunches = plan->nlaunches;
    for (int k = 0; k < plan->nlaunches; k++) {
        const kernel_launch *l = &plan->launch[k];
        to->launch[k] = (prepared_launch){cuda_kernel(c, l->name), (unsigned)l->blocks,
                                          (unsigned)l->threads, (unsigned)l->shared};
        if (l->shared > ORDINARY_SHARED)
            CUDA_TRY(c,
                     cuFuncSetAttribute(to->launch[k].function,
                                        CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, l->shared),
                     "give a kernel its shared memory");
    }
    return true;
}

/* Does nothing that matters stand in a buffer before the first step? */
static bool is_free_before(const program *p, int b)
{
    buffer_kind kind = p->buffers[b].kind;
    return kind == BUFFER_TEMPORARY || kind == BUFFER_FETCH;
}

static bool prepare_instrs(cuda_context *c, const program *p, const run_state *r,
                           prepared_program *q, kernel_plan *plans, arena *scratch)
{
    kernel_source s = kernel_source_make(scratch);
    int64_t       room = cuda_scratch(p, 1);
    for (int k = 0; k < p->ninstrs; k++) {
        TRY(write_kernels(&s, &p->instrs[k], &plans[k]));
        if (plans[k].scratch_bytes > room)
            return fail(cuda_fault(c), ERR_INTERNAL,
                        "\"%s\" takes more working space than was planned",
                        instr_name(p->instrs[k].kind));
    }
    TRY(cuda_load_kernels(c, &s));
    for (int k = 0; k < p->ninstrs; k++) {
        const instr *i = &p->instrs[k];
        if (!is_queued(i)) continue;
        TRY(find_addresses(q, i, r, &q->instrs[k]) && find_launches(c, &plans[k], &q->instrs[k]));
        if (i->kind == INSTR_CONTRACT && product_suits(i)) {
            q->instrs[k].product =
                product_prepare(c, &q->arena, i, q->instrs[k].addresses,
                                is_free_before(p, i->out[0].buffer), r->scratch);
            TRY(q->instrs[k].product != NULL);
        } else if (!kernel_writer_of(i->kind)) {
            return fail(cuda_fault(c), ERR_INTERNAL, "the device cuda has no kernel for \"%s\"",
                        instr_name(i->kind));
        }
    }
    return true;
}

bool cuda_prepare(device_context *face, const program *p, run_state *r)
{
    cuda_context *c = cuda_of(face);
    mtf_session  *s = face->device->session;
    TRY(cuda_use(c));
    prepared_program *q = block_alloc(&s->allocator, &s->fault, sizeof *q, true);
    TRY(q != NULL);
    r->prepared = q;
    q->arena = arena_make(&s->allocator, &s->fault);
    q->instrs = arena_array(&q->arena, prepared_instr, p->ninstrs + 1);
    q->words = face->device->alloc(face, sizeof *q->words);
    arena        scratch = arena_make(&s->allocator, &s->fault);
    kernel_plan *plans = arena_array(&scratch, kernel_plan, p->ninstrs + 1);
    bool ok = q->instrs && q->words && plans && prepare_instrs(c, p, r, q, plans, &scratch);
    arena_free(&scratch);
    return ok;
}

void cuda_forget(device_context *face, const program *p, run_state *r)
{
    cuda_context     *c = cuda_of(face);
    prepared_program *q = r->prepared;
    if (!q) return;
    if (cuda_use(c)) cuda_finish(c, "finish its work");
    for (int k = 0; q->instrs && k < p->ninstrs; k++)
        if (q->instrs[k].product) product_forget(c, q->instrs[k].product);
    face->device->release(face, q->words, sizeof *q->words);
    arena_free(&q->arena);
    block_free(&face->device->session->allocator, q);
    r->prepared = NULL;
}

const char *cuda_way(const instr *i)
{
    if (i->kind == INSTR_CONTRACT) return product_suits(i) ? "cublaslt" : "kernel";
    return NULL;
}

size_t cuda_scratch_bytes(device *d, const program *p, int threads)
{
    (void)d;
    return (size_t)cuda_scratch(p, threads);
}

int64_t cuda_scratch(const program *p, int threads)
{
    mtf_session *s = p->session;
    int64_t      most = 0;
    (void)threads;
    for (int k = 0; k < p->ninstrs; k++) {
        arena         scratch = arena_make(&s->allocator, &s->fault);
        kernel_source text = kernel_source_make(&scratch);
        kernel_plan   plan = {0};
        text.only_sizes = true;
        const instr  *i = &p->instrs[k];
        if (i->kind == INSTR_CONTRACT && product_suits(i)) plan.scratch_bytes = PRODUCT_WORKSPACE;
        if (kernel_wants_scratch(i)) write_kernels(&text, i, &plan);
        if (plan.scratch_bytes > most) most = plan.scratch_bytes;
        arena_free(&scratch);
    }
    return most;
}

/* ---- each step ---- */

/* So few bytes of ordinary memory are copied away before the call returns. */
bool cuda_write_words(cuda_context *c, const run_state *r, CUstream on)
{
    const prepared_program *q = r->prepared;
    step_words              words = {.seed = r->seed, .step = r->step};
    CUDA_TRY(c, cuMemcpyHtoDAsync((CUdeviceptr)(uintptr_t)q->words, &words, sizeof words, on),
             "take the number of the step");
    return true;
}

bool cuda_begin(device_context *face, const program *p, run_state *r)
{
    cuda_context *c = cuda_of(face);
    (void)p;
    return cuda_use(c) && (c->recording || cuda_write_words(c, r, c->stream));
}

static bool not_computed(cuda_context *c, const instr *i, CUresult why)
{
    return fail(cuda_fault(c), ERR_DEVICE, "the card could not compute \"%s\": %s (%d)",
                mtf_name_of_tensor(i->cause), cuda_says(&c->device->api, why), (int)why);
}

static bool launch(cuda_context *c, const instr *i, const prepared_instr *q)
{
    for (int k = 0; k < q->nlaunches; k++) {
        const prepared_launch *l = &q->launch[k];
        CUresult started = c->device->api.driver.cuLaunchKernel(
            l->function, l->blocks, 1, 1, l->threads, 1, 1, l->shared, c->stream, q->parameters,
            NULL);
        if (started == CUDA_SUCCESS) continue;
        /* What failed before, on this queue or another of the card, is not this instruction. */
        TRY(cuda_finish(c, "finish its work"));
        return not_computed(c, i, started);
    }
    return true;
}

static bool queue(cuda_context *c, const instr *i, const prepared_instr *q, const run_state *r)
{
    return q->product ? product_run(c, q->product, q->addresses, r->scratch) : launch(c, i, q);
}

/* Waits for an instruction, so that a kernel that fails is known by the tensor it computes. */
static bool queue_and_wait(cuda_context *c, const instr *i, const prepared_instr *q,
                           const run_state *r)
{
    CUresult done;
    TRY(cuda_finish(c, "finish its work") && queue(c, i, q, r) && cuda_outcome(c, &done));
    return done == CUDA_SUCCESS || not_computed(c, i, done);
}

bool cuda_run(device_context *face, const program *p, int index, run_state *r)
{
    cuda_context           *c = cuda_of(face);
    const prepared_program *q = r->prepared;
    const instr            *i = &p->instrs[index];
    if (r->done) atomic_fetch_add_explicit(&r->done->flops, i->flops, memory_order_relaxed);
    return q->proven ? queue(c, i, &q->instrs[index], r)
                     : queue_and_wait(c, i, &q->instrs[index], r);
}

/* Kernels that fail mostly do so in their first step, which takes longest anyway. */
bool cuda_end(device_context *face, const program *p, run_state *r)
{
    prepared_program *q = r->prepared;
    (void)p;
    q->proven = !machine_checks(face->device->session);
    return true;
}

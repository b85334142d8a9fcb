/* The host's processor: host memory, kernels in C. */
#include <cblas.h>
#include <string.h>

#include "base/clock.h"
#include "cpu/contract_way.h"
#include "cpu/crew.h"
#include "cpu/device_cpu.h"
#include "cpu/kernels.h"
#include "cpu/short_tile.h"

static kernel *const kernels[INSTR_KINDS] = {
    [INSTR_MAP] = kernel_map,
    [INSTR_MOVE] = kernel_move,
    [INSTR_ADD_INTO] = kernel_add_into,
    [INSTR_FOLD] = kernel_fold,
    [INSTR_CONTRACT] = kernel_contract,
    [INSTR_GROUPED] = kernel_grouped,
    [INSTR_GATHER] = kernel_gather,
    [INSTR_SCATTER] = kernel_scatter,
    [INSTR_SCAN] = kernel_scan,
    [INSTR_ORDER] = kernel_order,
    [INSTR_WINDOW] = kernel_window,
    [INSTR_NUCLEUS] = kernel_nucleus,
    [INSTR_DRAW] = kernel_draw,
    [INSTR_ATTENTION] = kernel_attention,
    [INSTR_ATTENTION_JOIN] = kernel_attention_join,
    [INSTR_ATTENTION_GRAD] = kernel_attention_grad,
};

typedef struct cpu_device {
    device face;
    int    host_threads; /* of the BLAS, as the host program set them */
} cpu_device;

static device_context *cpu_open_context(device *d, int processor, int place)
{
    (void)place;
    device_context *c = block_alloc(&d->session->allocator, &d->session->fault, sizeof *c, true);
    if (c) *c = (device_context){d, processor};
    return c;
}

static void cpu_close_context(device_context *c)
{
    block_free(&c->device->session->allocator, c);
}

static void *cpu_alloc(device_context *c, size_t bytes)
{
    mtf_session *s = c->device->session;
    return block_alloc(&s->allocator, &s->fault, bytes, false);
}

static void cpu_release(device_context *c, void *memory, size_t bytes)
{
    (void)bytes;
    block_free(&c->device->session->allocator, memory);
}

static size_t cpu_taken(device_context *c, const void *memory)
{
    (void)c;
    return block_bytes(memory);
}

static void cpu_copy(device_context *c, void *to, const void *from, size_t bytes)
{
    (void)c;
    memcpy(to, from, bytes);
}

/* Kernels split products among their own threads, so the BLAS must use one.  The library has one
 * setting for the whole process: the host program's value is restored after each step. */
static void cpu_enter(device *d)
{
    cpu_device *c = (cpu_device *)d;
    c->host_threads = openblas_get_num_threads();
    if (c->host_threads != 1) openblas_set_num_threads(1);
}

static void cpu_leave(device *d)
{
    const cpu_device *c = (const cpu_device *)d;
    if (c->host_threads != 1) openblas_set_num_threads(c->host_threads);
}

/* The chip's kernel for tiles of bf16 products; NULL: plain loops.  Once a step, since the answer may need a
 * system call. */
static bool cpu_begin(device_context *c, const program *p, run_state *r)
{
    (void)c, (void)p;
    r->chosen = short_tile_here();
    return true;
}

static size_t cpu_scratch(device *d, const program *p, int threads)
{
    (void)d;
    return kernels_scratch_bytes(p, threads);
}

/* How a program's instructions share threads; where there is one thread only, nothing. */
typedef struct sharing {
    crew  crew;
    float estimate[]; /* by instruction */
} sharing;

static bool cpu_prepare(device_context *c, const program *p, run_state *r)
{
    mtf_session *s = c->device->session;
    if (r->threads < 2) return true;
    sharing *h = block_alloc(&s->allocator, &s->fault,
                             sizeof *h + sizeof *h->estimate * (size_t)p->ninstrs, false);
    TRY(h != NULL);
    h->crew = crew_new();
    for (int k = 0; k < p->ninstrs; k++)
        h->estimate[k] = crew_estimate(instr_flops(&p->instrs[k]), instr_bytes(&p->instrs[k]));
    r->prepared = h;
    return true;
}

static void cpu_forget(device_context *c, const program *p, run_state *r)
{
    (void)p;
    if (r->prepared) block_free(&c->device->session->allocator, r->prepared);
    r->prepared = NULL;
}

static bool cpu_run(device_context *c, const program *p, int index, run_state *r)
{
    (void)c;
    const instr *i = &p->instrs[index];
    sharing     *h = r->prepared;
    bool         timed = h && crew_is_timed(&h->crew);
    double       begin = timed ? clock_seconds() : 0;
    r->alone = h && crew_leaves(&h->crew, h->estimate[index]);
    kernels[i->kind](i, r);
    if (timed) crew_add(&h->crew, clock_seconds() - begin);
    return true;
}

static bool cpu_end(device_context *c, const program *p, run_state *r)
{
    (void)c, (void)p;
    sharing *h = r->prepared;
    if (h) crew_step(&h->crew);
    return true;
}

static void cpu_close(device *d)
{
    block_free(&d->session->allocator, d);
}

static device *cpu_open(mtf_session *s)
{
    cpu_device *c = block_alloc(&s->allocator, &s->fault, sizeof *c, true);
    if (!c) return NULL;
    c->face = (device){.name = "cpu",
                       .says = "this machine's processor",
                       .host_memory = true,
                       .open_context = cpu_open_context,
                       .close_context = cpu_close_context,
                       .alloc = cpu_alloc,
                       .release = cpu_release,
                       .taken = cpu_taken,
                       .write = cpu_copy,
                       .read = cpu_copy,
                       .enter = cpu_enter,
                       .leave = cpu_leave,
                       .prepare = cpu_prepare,
                       .forget = cpu_forget,
                       .begin = cpu_begin,
                       .run = cpu_run,
                       .end = cpu_end,
                       .scratch_bytes = cpu_scratch,
                       .close = cpu_close,
                       .session = s};
    device_complete(&c->face);
    return &c->face;
}

static int64_t scratch_bytes(const program *p, int threads)
{
    return (int64_t)kernels_scratch_bytes(p, threads);
}

static const char *way_of(const instr *i)
{
    return i->kind == INSTR_CONTRACT ? contract_way_name(contract_way_of(i)) : NULL;
}

const device_kind device_cpu = {.open = cpu_open, .scratch_bytes = scratch_bytes, .way = way_of};

/* The host's processor: host memory, kernels in C. */
#include <cblas.h>
#include <string.h>

#include "machine/kernels/kernels.h"
#include "machine/kernels/short_tile.h"

static kernel *const kernels[INSTR_KINDS] = {
    [INSTR_MAP] = kernel_map,           [INSTR_MOVE] = kernel_move,
    [INSTR_ADD_INTO] = kernel_add_into, [INSTR_FOLD] = kernel_fold,
    [INSTR_CONTRACT] = kernel_contract, [INSTR_GATHER] = kernel_gather,
    [INSTR_SCATTER] = kernel_scatter,   [INSTR_SCAN] = kernel_scan,
    [INSTR_ORDER] = kernel_order,       [INSTR_WINDOW] = kernel_window,
    [INSTR_DRAW] = kernel_draw,         [INSTR_ATTENTION] = kernel_attention,
    [INSTR_ATTENTION_JOIN] = kernel_attention_join,
    [INSTR_ATTENTION_GRAD] = kernel_attention_grad,
};

typedef struct cpu_device {
    device face;
    int    host_threads; /* of the BLAS, as the host program set them */
} cpu_device;

static void *cpu_alloc(device *d, size_t bytes)
{
    return block_alloc(&d->session->allocator, &d->session->fault, bytes, false);
}

static void cpu_release(device *d, void *memory, size_t bytes)
{
    (void)bytes;
    block_free(&d->session->allocator, memory);
}

static size_t cpu_taken(device *d, const void *memory)
{
    (void)d;
    return block_bytes(memory);
}

static void cpu_copy(device *d, void *to, const void *from, size_t bytes)
{
    (void)d;
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

/* Once a step, since the answer may need a system call. */
static bool cpu_begin(device *d, const program *p, run_state *r)
{
    (void)d, (void)p;
    r->tile = short_tile_here();
    return true;
}

static bool cpu_end(device *d, const program *p, run_state *r)
{
    (void)d, (void)p, (void)r;
    return true;
}

static size_t cpu_scratch(device *d, const program *p, int threads)
{
    (void)d;
    return kernels_scratch_bytes(p, threads);
}

static bool cpu_run(device *d, const program *p, int index, run_state *r)
{
    (void)d;
    const instr *i = &p->instrs[index];
    kernels[i->kind](i, r);
    return true;
}

static void cpu_close(device *d)
{
    block_free(&d->session->allocator, d);
}

device *device_cpu_open(mtf_session *s)
{
    cpu_device *c = block_alloc(&s->allocator, &s->fault, sizeof *c, true);
    if (!c) return NULL;
    c->face = (device){.name = "cpu",
                       .says = "this machine's processor",
                       .alloc = cpu_alloc,
                       .release = cpu_release,
                       .taken = cpu_taken,
                       .write = cpu_copy,
                       .read = cpu_copy,
                       .enter = cpu_enter,
                       .leave = cpu_leave,
                       .begin = cpu_begin,
                       .run = cpu_run,
                       .end = cpu_end,
                       .scratch_bytes = cpu_scratch,
                       .close = cpu_close,
                       .session = s};
    return &c->face;
}

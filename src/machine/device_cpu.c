/* The processor itself: host memory, kernels in C. */
#include <cblas.h>
#include <string.h>

#include "machine/kernels/kernels.h"

static kernel *const kernels[INSTR_KINDS] = {
    [INSTR_MAP] = kernel_map,           [INSTR_MOVE] = kernel_move,
    [INSTR_ADD_INTO] = kernel_add_into, [INSTR_FOLD] = kernel_fold,
    [INSTR_CONTRACT] = kernel_contract, [INSTR_GATHER] = kernel_gather,
    [INSTR_SCATTER] = kernel_scatter,   [INSTR_SCAN] = kernel_scan,
    [INSTR_ORDER] = kernel_order,       [INSTR_WINDOW] = kernel_window,
    [INSTR_DRAW] = kernel_draw,
};

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

static bool cpu_begin(device *d, const program *p, run_state *r)
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
    device *d = block_alloc(&s->allocator, &s->fault, sizeof *d, true);
    if (!d) return NULL;
    *d = (device){.name = "cpu",
                  .says = "this machine's processor",
                  .alloc = cpu_alloc,
                  .release = cpu_release,
                  .taken = cpu_taken,
                  .write = cpu_copy,
                  .read = cpu_copy,
                  .begin = cpu_begin,
                  .run = cpu_run,
                  .end = cpu_begin,
                  .scratch_bytes = cpu_scratch,
                  .close = cpu_close,
                  .session = s};
    openblas_set_num_threads(1); /* kernels split products among their own threads */
    return d;
}

/* CPU kernels: one function per kind of instruction.
 *
 * A kernel reads the instruction's loops and strides and the buffers' base addresses,
 * allocates nothing and cannot fail.  Apart from BLAS, results do not depend on the number
 * of threads: work is split along loops whose iterations are independent.
 */
#ifndef CPU_KERNELS_H
#define CPU_KERNELS_H

#include "machine/device.h"

typedef void kernel(const instr *i, const run_state *r);

kernel kernel_map, kernel_move, kernel_add_into, kernel_fold, kernel_contract, kernel_grouped,
    kernel_gather, kernel_scatter, kernel_scan, kernel_order, kernel_nucleus, kernel_window,
    kernel_draw, kernel_attention, kernel_attention_join, kernel_attention_grad;

/* Bytes of scratch with which `threads` threads can run any instruction of the program. */
size_t kernels_scratch_bytes(const program *p, int threads);

/* ---- shared by kernels ---- */

/* Address of an operand's element (0, ..., 0). */
static inline char *operand(const run_state *r, const access *a)
{
    return (char *)r->base[a->buffer] + a->offset * (int64_t)mtf_dtype_bytes(a->type);
}

/* Counts the flops of a thread's part of an instruction: called once for each part, not for each
 * element. */
static inline void report_flops(const run_state *r, int64_t flops)
{
    if (r->done) atomic_fetch_add_explicit(&r->done->flops, flops, memory_order_relaxed);
}

/* Bytes of scratch for each thread; the part of thread t begins at t times that. */
size_t map_scratch_bytes(const instr *i);
size_t order_scratch_bytes(const instr *i);
size_t grouped_scratch_bytes(const instr *i);
/* Bytes of scratch shared by all threads, independent of their number. */
size_t fold_scratch_bytes(const instr *i);
/* Bytes of both kinds together. */
size_t contract_scratch_bytes(const instr *i, size_t threads);
size_t window_scratch_bytes(const instr *i, size_t threads);
size_t attention_scratch_bytes(const instr *i, size_t threads);

/* An instruction with fewer elements runs on one core. */
enum { PARALLEL_ELEMENTS = 32 * 1024 };

#endif

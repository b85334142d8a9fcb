/* CPU kernels: one function per kind of instruction.
 *
 * A kernel reads the instruction's loops and strides and the buffers' base
 * addresses, allocates nothing and cannot fail.  Results do not depend on the
 * number of threads, BLAS aside: work is split along loops whose elements are independent.
 */
#ifndef MACHINE_KERNELS_H
#define MACHINE_KERNELS_H

#include "machine/device.h"

typedef void kernel(const instr *i, const run_state *r);

kernel kernel_map, kernel_move, kernel_add_into, kernel_fold, kernel_contract, kernel_gather,
    kernel_scatter, kernel_scan, kernel_order, kernel_window, kernel_draw, kernel_attention,
    kernel_attention_join, kernel_attention_grad;

/* Bytes of scratch with which so many threads can run any instruction of the program. */
size_t kernels_scratch_bytes(const program *p, int threads);

/* ---- shared by kernels ---- */

/* Address of an operand's element (0, ..., 0). */
static inline char *operand(const run_state *r, const access *a)
{
    return (char *)r->base[a->buffer] + a->offset * (int64_t)mtf_dtype_bytes(a->type);
}

/* A thread's part of an instruction did this much: once for each part, not for each element. */
static inline void report_flops(const run_state *r, int64_t flops)
{
    if (r->done) atomic_fetch_add_explicit(&r->done->flops, flops, memory_order_relaxed);
}

/* Bytes of scratch that each thread has to itself; thread t's part begins at t times that. */
size_t map_scratch_bytes(const instr *i);
size_t order_scratch_bytes(const instr *i);
/* Bytes of scratch that all threads share, however many they are. */
size_t fold_scratch_bytes(const instr *i);
/* Of both kinds together. */
size_t contract_scratch_bytes(const instr *i, size_t threads);
size_t window_scratch_bytes(const instr *i, size_t threads);
size_t attention_scratch_bytes(const instr *i, size_t threads);

/* Below this many elements an instruction stays on one core. */
enum { PARALLEL_ELEMENTS = 32 * 1024 };

#endif

/* What plans ask of GPUs: working space, and ways of computing. */
#include "cuda/step/cuda_scratch.h"

#include "cuda/driver/cuda_device.h"
#include "cuda/library/library_calls.h"
#include "cuda/library/products.h"
#include "cuda/step/own_kernels.h"
#include "cuda/write/slim.h"
#include "program/epilogue.h"

const char *cuda_way(const instr *i)
{
    if (i->kind == INSTR_CONTRACT)
        return product_suits(i) ? "cublaslt" : slim_suits(i) ? "slim" : "kernel";
    if (i->kind == INSTR_ATTENTION || i->kind == INSTR_ATTENTION_GRAD || i->kind == INSTR_WINDOW)
        return library_suits(i) ? "cudnn" : "kernel";
    return NULL;
}

size_t cuda_scratch_bytes(device *d, const program *p, int threads)
{
    (void)d;
    return (size_t)cuda_scratch(p, threads);
}

int64_t cuda_scratch(const program *p, int threads)
{
    mtf_session  *s = p->session;
    int64_t       most = 0;
    arena         scratch = arena_make(&s->allocator, &s->fault);
    kernel_source sizes = kernel_source_for(&scratch, s);
    sizes.only_sizes = true;
    (void)threads;
    for (int k = 0; k < p->ninstrs; k++) {
        const instr   *i = &p->instrs[k];
        epilogue_parts parts = {.n = 1, .part = {*i}};
        kernel_plan    plan = {0};
        if (epilogue_is_any(i)) epilogue_split(i, &parts);
        for (int part = 0; part < parts.n; part++) {
            const instr *one = &parts.part[part];
            if (one->kind == INSTR_CONTRACT && product_suits(one))
                plan.scratch_bytes = PRODUCT_WORKSPACE;
            if (kernel_wants_scratch(one)) cuda_write_kernels(&sizes, one, &plan);
            if (plan.scratch_bytes > most) most = plan.scratch_bytes;
            if (library_suits(one) && library_bytes(one) > most) most = library_bytes(one);
        }
    }
    arena_free(&scratch);
    return most;
}

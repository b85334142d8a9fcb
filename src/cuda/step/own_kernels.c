/* Instructions that kernels of ours carry out. */
#include "cuda/step/own_kernels.h"

#include "cuda/library/products.h"
#include "program/epilogue.h"

bool cuda_write_kernels(kernel_source *s, const instr *i, kernel_plan *plan)
{
    if (instr_is_collective(i) || instr_elements(i) == 0) return true;
    if (i->kind == INSTR_CONTRACT && (product_suits(i) || epilogue_is_any(i))) return true;
    return !kernel_writer_of(i->kind) || kernel_write(s, i, plan);
}

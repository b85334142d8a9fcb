/* How much working space the kernels of a program need. */
#include "cpu/kernels.h"

static size_t bytes_of(const instr *i, size_t threads)
{
    switch (i->kind) {
    case INSTR_MAP: return threads * map_scratch_bytes(i);
    case INSTR_ORDER: return threads * order_scratch_bytes(i);
    case INSTR_GROUPED: return threads * grouped_scratch_bytes(i);
    case INSTR_WINDOW: return window_scratch_bytes(i, threads);
    case INSTR_FOLD: return fold_scratch_bytes(i);
    case INSTR_CONTRACT: return contract_scratch_bytes(i, threads);
    case INSTR_ATTENTION:
    case INSTR_ATTENTION_GRAD: return attention_scratch_bytes(i, threads);
    default: return 0;
    }
}

size_t kernels_scratch_bytes(const program *p, int threads)
{
    size_t most = 0;
    for (int k = 0; k < p->ninstrs; k++) {
        size_t need = bytes_of(&p->instrs[k], (size_t)threads);
        if (need > most) most = need;
    }
    return most;
}

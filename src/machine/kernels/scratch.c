/* How much working space the kernels of a program need. */
#include "machine/kernels/fold.h"
#include "machine/kernels/map.h"

size_t kernels_scratch_bytes(const program *p)
{
    size_t most = 0;
    for (int k = 0; k < p->ninstrs; k++) {
        const instr *i = &p->instrs[k];
        size_t need = i->kind == INSTR_MAP ? map_scratch_bytes(i)
                      : i->kind == INSTR_FOLD ? fold_scratch_bytes(i)
                      : i->kind == INSTR_CONTRACT ? contract_scratch_bytes(i)
                      : i->kind == INSTR_ORDER ? order_scratch_bytes(i)
                      : i->kind == INSTR_WINDOW ? window_scratch_bytes(i)
                                              : 0;
        if (need > most) most = need;
    }
    return most;
}

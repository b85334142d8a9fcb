/* Folds as kernels, or as copies where nothing is folded. */
#include "cuda/write/fold_text.h"
#include "cuda/write/write_move.h"

bool write_fold(kernel_source *s, const instr *i, kernel_plan *plan)
{
    int      nkept = i->fold.nkept;
    uint32_t kept = loops_between(0, nkept), reduced = loops_between(nkept, i->nloops);
    bool     alone = nest_of(i, reduced, NULL, 0).elements == 1;
    if (alone && !fold_seeks(i->fold.kind) && i->in[0].type == i->out[0].type)
        return write_copy(s, i, plan, false);
    return write_fold_of(s, i, plan, (fold_text){i->fold.kind, kept, reduced, false});
}

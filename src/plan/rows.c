/* Rows of maps that fold nothing.
 *
 * Where an operand is one number for a whole line of the others, as a norm or a
 * bias across columns is, lines are told to be rows: a tile then has several of
 * them, where each had been a tile of its own.
 */
#include "plan/passes.h"

/* Shorter lines are loaded several at a time anyway, longer ones need not be. */
enum { SHORTEST = 256, LONGEST = 4096 };

/* Along the last loop: 1 for all operands that have an element each, 0 for those of one number. */
static bool has_rows(const instr *i)
{
    int  last = i->nloops - 1;
    bool one_a_row = false;
    if (i->map.nrow || i->nloops < 2 || i->size[last] < SHORTEST || i->size[last] > LONGEST)
        return false;
    for (int o = 0; o < i->nout; o++)
        if (i->out[o].stride[last] != 1) return false;
    for (int k = 0; k < i->nin; k++) {
        const access *a = &i->in[k];
        bool          varies = false;
        if (a->stride[last] != 0 && a->stride[last] != 1) return false;
        for (int l = 0; l < last; l++) varies = varies || (a->stride[l] != 0 && i->size[l] > 1);
        one_a_row = one_a_row || (a->stride[last] == 0 && varies);
    }
    return one_a_row;
}

void find_rows(program *p)
{
    for (int k = 0; k < p->ninstrs; k++)
        if (p->instrs[k].kind == INSTR_MAP && has_rows(&p->instrs[k])) p->instrs[k].map.nrow = 1;
}

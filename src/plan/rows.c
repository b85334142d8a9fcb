/* Rows of maps that fold nothing.
 *
 * If an operand has one value for a whole line of the others, like a norm or a bias
 * across columns, or one line for all of them, like a bias, lines become rows: then
 * a tile has several rows, instead of one tile per line.
 */
#include "plan/passes.h"

enum { LONGEST = 16384 }; /* elements: the scratch holds a row, and must not grow with it */

/* The last loop but one of those with several iterations; -1: none. */
static int loop_of_lines(const instr *i)
{
    int outer = i->nloops - 2;
    while (outer >= 0 && i->size[outer] == 1) outer--;
    return outer;
}

static bool varies(const instr *i, const access *a)
{
    for (int l = 0; l < i->nloops - 1; l++)
        if (a->stride[l] != 0 && i->size[l] > 1) return true;
    return false;
}

/* Are the strides along the last loop 1 for operands with a value per element, and 0 for the
 * others? */
static bool has_rows(const instr *i)
{
    int  last = i->nloops - 1, outer = loop_of_lines(i);
    bool rows = false;
    if (i->map.nrow || outer < 0 || i->size[last] == 1 || i->size[last] > LONGEST) return false;
    for (int o = 0; o < i->nout; o++)
        if (i->out[o].stride[last] != 1) return false;
    for (int k = 0; k < i->nin; k++) {
        const access *a = &i->in[k];
        if (a->stride[last] != 0 && a->stride[last] != 1) return false;
        rows = rows || (a->stride[last] == 0 ? varies(i, a) : a->stride[outer] == 0);
    }
    return rows;
}

void find_rows(program *p)
{
    for (int k = 0; k < p->ninstrs; k++)
        if (p->instrs[k].kind == INSTR_MAP && has_rows(&p->instrs[k])) p->instrs[k].map.nrow = 1;
}

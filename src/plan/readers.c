/* Which instructions read a buffer. */
#include "plan/readers.h"

/* Lists an instruction once for each buffer that it reads, even with several operands. */
static bool list_readers(readers *r, const program *p, arena *scratch)
{
    int *seen = arena_array(scratch, int, p->nbuffers + 1), total = 0;
    r->first = arena_array(scratch, int, p->nbuffers + 2);
    TRY(seen && r->first);
    for (int pass = 0; pass < 2; pass++) {
        for (int b = 0; b < p->nbuffers; b++) seen[b] = -1;
        for (int k = 0; k < p->ninstrs; k++)
            for (int i = 0; i < p->instrs[k].nin; i++) {
                int b = p->instrs[k].in[i].buffer;
                if (seen[b] == k) continue;
                seen[b] = k;
                if (pass)
                    r->list[r->first[b]++] = k;
                else
                    r->first[b + 1]++, total++;
            }
        if (pass) break;
        for (int b = 0; b < p->nbuffers; b++) r->first[b + 1] += r->first[b];
        r->list = arena_array(scratch, int, total + 1);
        TRY(r->list != NULL);
    }
    for (int b = p->nbuffers; b > 0; b--) r->first[b] = r->first[b - 1];
    r->first[0] = 0;
    return true;
}

bool readers_find(readers *r, const program *p, arena *scratch)
{
    int stretch = 0;
    *r = (readers){0};
    r->writers = arena_array(scratch, int, p->nbuffers + 1);
    r->stretch = arena_array(scratch, int, p->ninstrs + 1);
    TRY(r->writers && r->stretch && list_readers(r, p, scratch));
    for (int k = 0; k < p->ninstrs; k++) {
        const instr *i = &p->instrs[k];
        stretch += instr_is_control(i);
        r->stretch[k] = stretch;
        for (int o = 0; o < i->nout; o++) r->writers[i->out[o].buffer]++;
    }
    return true;
}

void readers_first_writes(const program *p, int *first)
{
    for (int b = 0; b < p->nbuffers; b++) first[b] = p->ninstrs;
    for (int k = p->ninstrs - 1; k >= 0; k--)
        for (int o = 0; o < p->instrs[k].nout; o++) first[p->instrs[k].out[o].buffer] = k;
}

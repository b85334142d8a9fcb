/* Fusing: matches the loops of two maps.
 *
 * The reader's loops with a stride in the buffer must be the writer's, each with
 * the same size and stride.  Loops of the reader with stride 0 repeat the value:
 * that is possible if they are the row, and if the row is also what the writer
 * folds, if it folds.  A reader without such loops takes the writer's row.  Only a value
 * that may be computed more than once is repeated along any loops.
 */
#include "plan/fuse_into.h"

typedef struct matching {
    const instr *c, *p;
    int          p_of[MAX_LOOPS]; /* by loop of c: the loop of p, -1: none */
    int          c_of[MAX_LOOPS]; /* by loop of p */
} matching;

static bool in_row(const instr *i, int loop)
{
    return loop >= i->nloops - i->map.nrow;
}

static void pair(matching *m, int of_c, int of_p)
{
    m->p_of[of_c] = of_p;
    m->c_of[of_p] = of_c;
}

/* ---- loops with a stride in the buffer ---- */

static bool match_moving(matching *m, const access *read, const access *written)
{
    if (read->offset != written->offset || read->type != written->type) return false;
    for (int d = 0; d < m->c->nloops; d++) {
        int found = -1;
        if (m->c->size[d] == 1 || read->stride[d] == 0) continue;
        for (int q = 0; q < m->p->nloops && found < 0; q++)
            if (m->c_of[q] < 0 && m->p->size[q] == m->c->size[d] &&
                written->stride[q] == read->stride[d])
                found = q;
        if (found < 0) return false;
        pair(m, d, found);
    }
    for (int q = 0; q < m->p->nloops; q++)
        if (m->p->size[q] > 1 && written->stride[q] != 0 && m->c_of[q] < 0) return false;
    return true;
}

/* ---- loops with stride 0 ---- */

/* Do both read some buffer with the same strides along these loops?  Then it will be read once. */
static bool read_alike(const instr *c, int of_c, const instr *p, int of_p)
{
    for (int a = 0; a < c->nin; a++)
        for (int b = 0; b < p->nin; b++)
            if (c->in[a].buffer == p->in[b].buffer && c->in[a].offset == p->in[b].offset &&
                c->in[a].stride[of_c] == p->in[b].stride[of_p])
                return true;
    return false;
}

/* Which of the loops that p folds is c's loop d? */
static int folded_loop(const matching *m, int d)
{
    int found = -1;
    for (int q = 0; q < m->p->nloops; q++) {
        if (m->c_of[q] >= 0 || m->p->size[q] != m->c->size[d]) continue;
        if (found < 0 || read_alike(m->c, d, m->p, q)) found = q;
        if (read_alike(m->c, d, m->p, q)) break;
    }
    return found;
}

static int left_over(const instr *i, const int *matched)
{
    int n = 0;
    for (int k = 0; k < i->nloops; k++) n += i->size[k] > 1 && matched[k] < 0;
    return n;
}

/* c repeats the value along some loops: they must be c's row, and what p folds. */
static bool match_repeats(matching *m)
{
    const instr *c = m->c, *p = m->p;
    bool         folds = left_over(p, m->c_of) > 0;
    if (!folds && (p->map.nrow || !c->map.nrow)) return false;
    for (int d = 0; d < c->nloops; d++) {
        if (c->size[d] == 1) continue;
        bool repeats = m->p_of[d] < 0;
        if (c->map.nrow && repeats != in_row(c, d)) return false;
        if (!repeats || !folds) continue;
        int q = folded_loop(m, d);
        if (q < 0 || !in_row(p, q)) return false;
        pair(m, d, q);
    }
    return left_over(p, m->c_of) == 0;
}

/* ---- joint loops ---- */

static bool same_rows(const matching *m)
{
    if (!m->c->map.nrow || !m->p->map.nrow) return true;
    for (int d = 0; d < m->c->nloops; d++) {
        if (m->c->size[d] == 1 || m->p_of[d] < 0) continue;
        if (in_row(m->c, d) != in_row(m->p, m->p_of[d])) return false;
    }
    return true;
}

static bool add_loop(joint_loops *j, int64_t size, int of_c, int of_p)
{
    if (size == 1) return true;
    if (j->n == MAX_LOOPS) return false;
    j->size[j->n] = size;
    j->of_c[j->n] = of_c;
    j->of_p[j->n++] = of_p;
    return true;
}

/* The row is that of either map; p has folded the loops that only p has. */
static bool list_loops(const matching *m, bool repeats, joint_loops *j)
{
    const instr *c = m->c, *p = m->p;
    for (int row = 0; row < 2; row++) {
        int before = j->n;
        for (int d = 0; d < c->nloops; d++) {
            int  q = m->p_of[d];
            bool is_row = c->map.nrow ? in_row(c, d) : q >= 0 && p->map.nrow && in_row(p, q);
            if (repeats && q < 0) is_row = true;
            if (is_row == row && !add_loop(j, c->size[d], d, q)) return false;
        }
        for (int q = 0; q < p->nloops && row; q++)
            if (m->c_of[q] < 0 && !add_loop(j, p->size[q], -1, q)) return false;
        if (row) j->nrow = j->n - before;
    }
    return true;
}

bool fuse_loops(const instr *c, int k, const instr *p, int o, joint_loops *j)
{
    matching m = {.c = c, .p = p};
    for (int d = 0; d < MAX_LOOPS; d++) m.p_of[d] = m.c_of[d] = -1;
    *j = (joint_loops){0};
    if (!match_moving(&m, &c->in[k], &p->out[o])) return false;
    bool repeats = left_over(c, m.p_of) > 0;
    if (repeats && !match_repeats(&m)) return false;
    /* c reads one value for each row of p; it cannot have a row of its own as well. */
    if (!repeats && left_over(p, m.c_of) > 0 && c->map.nrow) return false;
    return same_rows(&m) && list_loops(&m, repeats, j);
}

bool fuse_repeated(const instr *c, int k, const instr *p, int o, joint_loops *j)
{
    matching m = {.c = c, .p = p};
    for (int d = 0; d < MAX_LOOPS; d++) m.p_of[d] = m.c_of[d] = -1;
    *j = (joint_loops){0};
    return !p->map.nrow && match_moving(&m, &c->in[k], &p->out[o]) && left_over(p, m.c_of) == 0 &&
           list_loops(&m, false, j);
}

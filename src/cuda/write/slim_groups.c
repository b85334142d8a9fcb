/* Neighbouring instructions that one kernel carries out together.
 *
 * Blocks of a kernel run in any order.  So nothing that the group writes may lie where it
 * reads or writes something else: buffers that are not alive at one time share memory.
 */
#include "cuda/write/slim_groups.h"

enum { MOST_BUFFERS = 64 };

/* Buffers that a group uses. */
typedef struct touched {
    int reads[MOST_BUFFERS], writes[SLIM_MEMBERS];
    int nreads, nwrites;
} touched;

static bool same_memory(const program *p, int a, int b)
{
    return a == b || buffers_meet(&p->buffers[a], &p->buffers[b]);
}

static bool is_among(const program *p, int b, int n, const int *list)
{
    for (int k = 0; k < n; k++)
        if (same_memory(p, b, list[k])) return true;
    return false;
}

/* Adds what an instruction reads, but for input `but`, and writes; false: it must run apart.  The group
 * does not store the result that it replaces, number `replaced`; -1: it is a new one. */
static bool touch(const program *p, const instr *i, int but, int replaced, touched *t)
{
    touched all = *t;
    int     out = i->out[0].buffer, at = replaced < 0 ? all.nwrites++ : replaced;
    if (at >= SLIM_MEMBERS || all.nreads + i->nin > MOST_BUFFERS) return false;
    for (int k = 0; k < t->nwrites; k++)
        if (k != replaced && same_memory(p, out, t->writes[k])) return false;
    for (int k = 0; k < i->nin; k++) {
        if (k == but) continue;
        for (int w = 0; w < t->nwrites; w++)
            if (w != replaced && same_memory(p, i->in[k].buffer, t->writes[w])) return false;
        all.reads[all.nreads++] = i->in[k].buffer;
    }
    if (is_among(p, out, all.nreads, all.reads)) return false;
    all.writes[at] = out;
    *t = all;
    return true;
}

/* The member whose results instruction k, and nothing else, reads as its first input; -1: none. */
static int scattered(const program *p, const slim_group *g, int k)
{
    const instr *i = &p->instrs[k];
    for (int m = 0; m < g->n && i->kind == INSTR_SCATTER; m++) {
        const instr  *last = slim_last(&g->members[m]);
        const buffer *b = &p->buffers[last->out[0].buffer];
        bool only = i->in[0].buffer == last->out[0].buffer && b->kind == BUFFER_TEMPORARY &&
                    &p->instrs[b->first] == last && b->last == k && !g->members[m].scatter;
        if (only && slim_scatters(&g->members[m], i)) return m;
    }
    return -1;
}

/* The input of instruction k that is the result of the one before, which nothing else uses; -1: none. */
static int continued(const program *p, int k)
{
    const instr *i = &p->instrs[k];
    int          b = p->instrs[k - 1].out[0].buffer, found = -1;
    if (i->kind != INSTR_MAP || p->buffers[b].kind != BUFFER_TEMPORARY ||
        p->buffers[b].first != k - 1 || p->buffers[b].last != k)
        return -1;
    for (int j = 0; j < i->nin; j++) {
        if (i->in[j].buffer != b) continue;
        if (found >= 0) return -1;
        found = j;
    }
    return found;
}

/* Does no instruction write the product's matrix? */
static bool matrix_is_fixed(const program *p, const instr *product)
{
    int b = product->in[slim_matrix(product)].buffer;
    if (p->buffers[b].kind == BUFFER_TEMPORARY || p->buffers[b].kind == BUFFER_FETCH) return false;
    for (int k = 0; k < p->ninstrs; k++)
        for (int o = 0; o < p->instrs[k].nout; o++)
            if (same_memory(p, b, p->instrs[k].out[o].buffer)) return false;
    return true;
}

/* Products from instruction g->end on, with what follows them. */
static void add_members(const program *p, slim_group *g, touched *t)
{
    while (g->n < SLIM_MEMBERS && g->end < p->ninstrs && slim_suits(&p->instrs[g->end])) {
        const instr *product = &p->instrs[g->end];
        if (g->row && !slim_reads_row(product, g->row)) break;
        if (!touch(p, product, -1, -1, t)) break;
        slim_member *m = &g->members[g->n];
        *m = (slim_member){.product = product, .fixed = matrix_is_fixed(p, product)};
        for (g->end++; g->end < p->ninstrs; g->end++) {
            const instr *map = &p->instrs[g->end];
            int          value = continued(p, g->end);
            if (value < 0 || !slim_takes(m, map, value) || !touch(p, map, value, g->n, t)) break;
            m->map[m->nmaps] = map;
            m->value[m->nmaps++] = value;
        }
        g->n++;
    }
    for (int m; g->end < p->ninstrs && (m = scattered(p, g, g->end)) >= 0; g->end++) {
        if (!touch(p, &p->instrs[g->end], 0, m, t)) break;
        g->members[m].scatter = &p->instrs[g->end];
    }
}

/* Do the products, and nothing else, read what the map gives? */
static bool is_only_vector(const program *p, const slim_group *g, int first)
{
    int           b = g->row->out[0].buffer, readers = 0;
    const buffer *x = &p->buffers[b];
    for (int k = first + 1; k < g->end; k++)
        for (int o = 0; o < p->instrs[k].nin; o++) readers += p->instrs[k].in[o].buffer == b;
    return g->n > 0 && x->kind == BUFFER_TEMPORARY && x->first == first && x->last < g->end &&
           readers == g->n;
}

/* With the map that gives the vector; n is 0 where that is not possible. */
static slim_group group_of_row(const program *p, int first)
{
    const instr *row = &p->instrs[first];
    slim_group   g = {.row = row, .end = first + 1};
    touched      t = {0};
    if (row->nin > MOST_BUFFERS) return (slim_group){.end = first};
    for (int k = 0; k < row->nin; k++) t.reads[t.nreads++] = row->in[k].buffer;
    add_members(p, &g, &t);
    return is_only_vector(p, &g, first) ? g : (slim_group){.end = first};
}

slim_group slim_group_at(const program *p, int first)
{
    slim_group g = {.end = first};
    touched    t = {0};
    if (slim_is_row(&p->instrs[first])) return group_of_row(p, first);
    add_members(p, &g, &t);
    return g;
}

/* How evenly the processors share an instruction's work. */
#include "base/whole.h"
#include "price/price.h"

static int64_t size_of_dim(const node *n, const char *dim)
{
    for (int k = 0; k < n->nout + n->nin; k++) {
        const mtf_shape *s = k < n->nout ? &n->out[k]->shape : &n->in[k - n->nout]->shape;
        int              d = shape_find(s, dim);
        if (d >= 0) return s->dims[d].size;
    }
    return 0;
}

/* Of a dimension under a rule; 0: the node does not have it. */
static double share_of_rule(const price *p, const node *n, const layout_rule *rule)
{
    int64_t size = size_of_dim(n, rule->dim), parts = cut_parts(p->mesh, &rule->cut);
    return size ? (double)size / (double)round_up(size, parts) : 0;
}

/* Does another rule decide how the axes of rule r divide the work?  Of several dimensions along one axis
 * only one is cut, the others are gathered or not yet scattered: taken to be the most even one. */
static bool is_overruled(const price *p, const node *n, int r)
{
    const layout_rule *rules = p->layout->rules;
    double             mine = share_of_rule(p, n, &rules[r]);
    for (int q = 0; q < p->layout->nrules; q++) {
        if (q == r || !(cut_axes(&rules[q].cut) & cut_axes(&rules[r].cut))) continue;
        double its = share_of_rule(p, n, &rules[q]);
        if (its > mine || (its == mine && q < r)) return true;
    }
    return false;
}

double price_share(const price *p, const instr *i)
{
    double share = 1;
    for (int r = 0; p->layout && i->cause && r < p->layout->nrules; r++) {
        double its = share_of_rule(p, i->cause->node, &p->layout->rules[r]);
        if (its > 0 && its < 1 && !is_overruled(p, i->cause->node, r)) share *= its;
    }
    return share;
}

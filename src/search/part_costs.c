/* The recorded costs of a program's parts. */
#include "search/part_costs.h"

#include <math.h>

#include "plan/shard.h"

/* ---- recording ---- */

/* The dimensions that are cut: only these go into a key. */
static uint64_t dims_cut(const parts *p, const cuts *c)
{
    uint64_t set = 0;
    for (int d = 0; d < p->space->ndims; d++) set |= (uint64_t)(c->of[d] != 0) << d;
    return set;
}

static uint64_t key_of(const parts *p, int k, const cuts *c, uint64_t cut)
{
    uint64_t h = ((uint64_t)k + 1) << 32;
    for (uint64_t left = p->list[k].scope & cut; left; left &= left - 1) {
        int d = __builtin_ctzll(left);
        h = (h ^ ((uint64_t)d << 8 | c->of[d])) * 0x9e3779b97f4a7c15u;
        h ^= h >> 29;
    }
    return h ? h : 1;
}

static part_cost *find_cost(const parts *p, uint64_t key)
{
    uint64_t at = key & p->mask;
    while (p->costs[at].key && p->costs[at].key != key) at = (at + 1) & p->mask;
    return &p->costs[at];
}

static bool make_room(parts *p)
{
    if (2 * (uint64_t)(p->ncosts + p->n) < p->mask) return true;
    const part_cost *old = p->costs;
    uint64_t         room = p->mask + 1;
    p->mask = 4 * room - 1;
    p->costs = arena_array(p->arena, part_cost, 4 * room);
    TRY(p->costs != NULL);
    for (uint64_t k = 0; k < room; k++)
        if (old[k].key) *find_cost(p, old[k].key) = old[k];
    return true;
}

/* Small sums are combined into one message, whose cost belongs to no single part. */
static bool is_shared(const instr *i, const mtf_tensor *what)
{
    return (i->kind == INSTR_REDUCE || i->kind == INSTR_MOVE) && debts_is_small(what);
}

/* A reduction counts for the tensor that owes it, an exchange for the one that needs it. */
static void hear(void *context, const instr *i, const mtf_tensor *what, double seconds,
                 double beside)
{
    parts *p = context;
    if (i->kind == INSTR_EXCHANGE) what = i->cause;
    if (!what) return;
    what = subject_source(what);
    int of = is_shared(i, what)       ? p->everything
             : instr_is_collective(i) ? p->of_wire[what->node->id]
                                      : p->of_node[what->node->id];
    p->list[of].now += seconds;
    p->list[of].beside += beside;
}

bool parts_price(parts *p, const cuts *c, const layout *l, const price_rates *r, cost *all)
{
    for (int k = 0; k < p->n; k++) p->list[k].now = p->list[k].beside = 0;
    TRY(make_room(p) && cost_of(p->subject, l, r, hear, p, all));
    uint64_t cut = dims_cut(p, c);
    for (int k = 0; k < p->n; k++) {
        uint64_t   key = key_of(p, k, c, cut);
        part_cost *x = find_cost(p, key);
        double     seconds = p->list[k].now;
        if (!x->key) {
            *x = (part_cost){key, seconds, seconds, p->list[k].beside};
            p->ncosts++;
            continue;
        }
        if (fabs(seconds - x->least) > 1e-9 * all->seconds) p->contradictions++;
        x->least = fmin(x->least, seconds);
        x->most = fmax(x->most, seconds);
        x->beside = fmin(x->beside, p->list[k].beside);
    }
    return true;
}

/* ---- bounds ---- */

/* The recorded cost of part k under these cuts, where they decide it; else NULL. */
static const part_cost *known_cost(const parts *p, int k, const cuts *c, uint64_t cut,
                                   uint64_t decided)
{
    if (p->list[k].scope & ~decided) return NULL;
    const part_cost *x = find_cost(p, key_of(p, k, c, cut));
    return x->key ? x : NULL;
}

double parts_bound(const parts *p, const cuts *c, uint64_t decided)
{
    double   seconds = 0, beside = 0;
    uint64_t cut = dims_cut(p, c);
    uint64_t known = 0; /* parts; those beyond 64 are looked up again */
    for (int k = 0; k < p->n; k++) {
        const part_cost *x = known_cost(p, k, c, cut, decided);
        if (!x) continue;
        seconds += x->least;
        beside += x->beside;
        if (k < 64) known |= (uint64_t)1 << k;
    }
    for (int k = 0; k < p->products.n + p->divided.n; k++) {
        const extents *of = k < p->products.n ? &p->products : &p->divided;
        int            at = k < p->products.n ? k : k - p->products.n, x = of->list[at].part;
        if (x < 64 ? known >> x & 1 : known_cost(p, x, c, cut, decided) != NULL) continue;
        seconds += extent_least(p->space, of, at, c, decided);
    }
    return fmax(seconds, beside);
}

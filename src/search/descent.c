/* Finds a good layout by local steps. */
#include "search/descent.h"

enum { SWEEPS = 6 };

/* Cuts dimension d along the axis, or no longer; false where a rule of the user forbids it. */
static bool toggle(const space *s, int d, unsigned axis, cuts *c)
{
    c->of[d] ^= (uint8_t)axis;
    for (int k = 0; k < s->ndims && c->of[d] & axis; k++) {
        if (k == d || !(s->dims[d].apart >> k & 1) || !(c->of[k] & axis)) continue;
        if (s->dims[k].fixed) return false;
        c->of[k] &= (uint8_t)~axis;
    }
    return true;
}

/* Exchanges what two axes cut; false where a rule of the user forbids it. */
static bool swap_axes(const space *s, int a, int b, cuts *c)
{
    for (int d = 0; d < s->ndims; d++)
        if (s->dims[d].fixed && (c->of[d] >> a ^ c->of[d] >> b) & 1) return false;
    space_swap(s, a, b, c);
    return true;
}

/* Moves to `there` where that is better. */
static bool step(descent *x, cuts there)
{
    worth w;
    space_make_canonical(x->space, x->symmetry, &there);
    if (x->worth.above == 0 && x->bound(x->context, &there, EVERY_SEARCHED) >= x->worth.value)
        return true;
    TRY(x->ask(x->context, &there, &w));
    if (!worth_less(w, x->worth)) return true;
    x->here = there;
    x->worth = w;
    x->moved = true;
    return true;
}

/* Tries every dimension but one along every axis of a set. */
static bool sweep(descent *x, unsigned axes, int but)
{
    const space *s = x->space;
    for (int k = 0; k < s->ndims; k++)
        for (int a = 0; a < s->mesh->naxes; a++) {
            cuts there = x->here;
            int  d = x->order[k];
            if (!(axes >> a & 1) || s->dims[d].fixed || d == but) continue;
            if (toggle(s, d, 1u << a, &there)) TRY(step(x, there));
        }
    return true;
}

static bool swap_all(descent *x)
{
    const mesh *m = x->space->mesh;
    for (int a = 0; a < m->naxes; a++)
        for (int b = a + 1; b < m->naxes; b++) {
            cuts there = x->here;
            if (swap_axes(x->space, a, b, &there)) TRY(step(x, there));
        }
    return true;
}

/* Cutting several dimensions along an axis may be better than cutting the one that has it, although
 * each of them alone is worse: so the axis is taken from all and given to others than that one. */
static bool give_anew(descent *x, int axis)
{
    const space *s = x->space;
    descent      other = *x;
    int          had = -1;
    for (int k = s->ndims - 1; k >= 0; k--) {
        int d = x->order[k];
        if (!(x->here.of[d] >> axis & 1) || s->dims[d].fixed) continue;
        other.here.of[d] &= (uint8_t) ~(1u << axis);
        had = d;
    }
    if (had < 0) return true;
    space_make_canonical(s, x->symmetry, &other.here);
    TRY(x->ask(x->context, &other.here, &other.worth));
    TRY(sweep(&other, 1u << axis, had));
    if (!worth_less(other.worth, x->worth)) return true;
    *x = other;
    x->moved = true;
    return true;
}

bool descend(descent *x, const cuts *start)
{
    const space *s = x->space;
    x->here = *start;
    TRY(x->ask(x->context, &x->here, &x->worth));
    x->moved = true;
    for (int k = 0; k < SWEEPS && x->moved; k++) {
        x->moved = false;
        TRY(sweep(x, s->axes, -1) && swap_all(x));
        for (int a = 0; a < s->mesh->naxes && !x->moved; a++)
            if (s->axes >> a & 1) TRY(give_anew(x, a));
    }
    return true;
}

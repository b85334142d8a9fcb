/* Keeps short floats in the type of their sum.
 *
 * bf16 and f16 are summed in f32, and an operation's result is rounded once.  So
 * a sum that is still owed is kept in f32: rounded parts would add up to
 * something else, or overflow.  It passes only through operations that move
 * elements.  Operations that compute get a rounded number on one processor, so
 * the sum is paid before them: no layout changes where results are rounded.
 *
 * A loop's sum is one sum over all iterations.  What an iteration adds to it is
 * not rounded if it is a sum itself, on one processor or many: rounding would
 * mean paying in every iteration.  That depends on the graph alone, never on the
 * layout.
 */
#include "plan/planner.h"

mtf_dtype wide_type(const mtf_tensor *x, bool wide)
{
    return wide ? dtype_compute(x->type) : x->type;
}

/* Does its op compute a sum, which it can give in f32, not yet rounded to bf16 or f16? */
static bool is_sum(const mtf_tensor *x)
{
    const node *n = x->node;
    int         sums = op_attr_find(n->op, "sums"); /* a loop's, which follow its carried values */
    if (n->op->blocks)
        return sums >= 0 && x->index >= n->nargs && x->index < n->nargs + n->attrs[sums].i;
    for (int i = 0; i < n->nin && n->op->split && !(n->op->flags & OP_MOVES); i++)
        for (int d = 0; d < n->in[i]->shape.ndims; d++) {
            dim_split split = n->op->split(n, n->in[i]->shape.dims[d].name);
            if (split == SPLIT_SUM || split == SPLIT_OWN_SUM) return true;
        }
    return false;
}

static bool keep(emitter *e, const mtf_tensor *given, const block *home)
{
    const mtf_tensor *x = ((planner *)e->planner)->survey.same[given->id];
    const node       *n = x->node;
    if (dtype_compute(x->type) == x->type || n->home != home || e->readers(e, x) != 1) return false;
    bool moved = n->op->flags & OP_MOVES && n->nin == 1 && keep(e, n->in[0], home);
    shard_of(e, x)->wide = moved || is_sum(x);
    return shard_of(e, x)->wide;
}

bool wide_keep(emitter *e, const mtf_tensor *x)
{
    return keep(e, x, x->node->home);
}

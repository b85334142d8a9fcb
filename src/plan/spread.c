/* Spreading a node over the mesh: parts, gathers, debts.
 *
 * A dimension is cut by its name, the same way in every tensor.  What an op
 * does with a cut dimension is its split rule.  It determines that inputs are
 * gathered along dimensions that must be whole; outputs are computed in parts;
 * a cut dimension that is reduced leaves a debt over its axes; an output
 * dimension that was computed whole is cut again, which is only a view.
 */
#include "plan/spread.h"

#include <math.h>

#include "plan/planner.h"
#include "plan/spread_dims.h"

/* ---- debts ---- */

static debt debt_of(const node *n, int input)
{
    return n->op->debt ? n->op->debt(n, input) : DEBT_SETTLE;
}

/* Would n get this input rounded on one processor?  Then it must be paid first (plan/wide.c). */
static bool rounds(const node *n, int input)
{
    mtf_dtype type = n->in[input]->type;
    return dtype_compute(type) != type && !(n->op->flags & OP_MOVES);
}

/* May partial sums be multiplied by this factor as well as the whole sum?  They may be much larger
 * than it, with opposite signs: of 3e38 - 2e38, three times each part is infinite and the difference
 * is NaN, and so is a product of both parts with an infinity.  So floats are multiplied by one number
 * of magnitude 1 or less only; integers wrap around, which is linear. */
static bool factor_is_safe(const slice *s)
{
    return !dtype_is_float(s->type) || (slice_is_uniform(s) && fabs(s->value.real) <= 1);
}

/* The debt that passes through n, 0 if all must be paid first. */
static unsigned carried_debt(emitter *e, const node *n, shard **in)
{
    unsigned owed = 0, out_axes = 0;
    int      owing = 0;
    int64_t  elements = 0;
    for (int i = 0; i < n->nin; i++)
        if (in[i]->now.owed && debt_of(n, i) != DEBT_SETTLE) {
            owed = in[i]->now.owed;
            owing++;
            elements += shard_most(e, n->in[i]);
            if (in[i]->now.owes != FOLD_SUM || e->readers(e, n->in[i]) > 1)
                return 0; /* paid once for all readers instead of once for each */
            if (rounds(n, i)) return 0;
        }
    if (!owing) return 0;
    for (int o = 0; o < n->nout; o++) {
        elements -= shard_most(e, n->out[o]);
        for (int d = 0; d < n->out[o]->shape.ndims; d++)
            out_axes |= spread_rule_axes(e, n->out[o]->shape.dims[d].name);
    }
    if (elements < 0) return 0;    /* the inputs are smaller than the result: sum those up */
    if (owed & out_axes) return 0; /* the processors to be summed hold different parts */
    for (int i = 0; i < n->nin; i++) {
        const slice *s = &in[i]->now;
        debt         rule = debt_of(n, i);
        bool         carries = s->owed && rule != DEBT_SETTLE;
        placement    where = shard_where(e, n->in[i], s);
        /* A partial sum of constants may be 0 here but not on other processors. */
        bool zero = slice_is_uniform(s) && dtype_is_zero(s->type, s->value) && !s->owed;
        if (rule == DEBT_SUM && s->owed != owed && !zero) return 0;
        if (rule == DEBT_PRODUCT && (owing > 1 || (!carries && !factor_is_safe(s)))) return 0;
        if (rule != DEBT_SUM && !carries && placement_axes(&where, n->in[i]->shape.ndims) & owed)
            return 0;
    }
    return owed;
}

/* ---- moving ---- */

/* The placement of x that this node needs before gathering: the layout's, or finer. */
static placement goal_of(const emitter *e, const mtf_tensor *x, cut_dims *f)
{
    placement goal = emit_placement(e, &x->shape, EVERY_DIM);
    for (int d = 0; f->finer && d < x->shape.ndims; d++) {
        const cut_dim *own = spread_find_dim(f, x->shape.dims[d].name);
        if (own && own->finer) goal.dim[d] = own->cut;
    }
    return goal;
}

/* Gathers s along the cut dimensions that this op needs whole. */
static bool gather_whole(emitter *e, const mtf_tensor *x, cut_dims *f, slice *s)
{
    unsigned whole = 0;
    for (int d = 0; s->cut >> d; d++) {
        const cut_dim *own = s->cut >> d & 1 ? spread_find_dim(f, x->shape.dims[d].name) : NULL;
        if (own && own->split == SPLIT_WHOLE) whole |= 1u << d;
    }
    if (!whole) return true;
    unsigned  keep = s->cut & ~whole;
    placement from = shard_where(e, x, s), to = from;
    for (int d = 0; whole >> d; d++)
        if (whole >> d & 1) to.dim[d] = (axis_list){0};
    TRY(emit_exchange(e, &x->shape, &from, &to, s));
    s->cut = keep;
    return true;
}

/* n, the only reader of x, renames its dimensions: what is owed along the axes of the new names is
 * scattered along them. */
static bool bring_anywhere(emitter *e, const node *n, shard *h, slice *part)
{
    const mtf_shape *old = &n->in[0]->shape, *new = &n->out[0]->shape;
    placement        goal = shard_where(e, n->in[0], &h->now);
    bool             renames = old->ndims == new->ndims;
    for (int d = 0; renames && d < old->ndims; d++)
        renames = old->dims[d].size == new->dims[d].size;
    for (int d = 0; renames && d < old->ndims; d++)
        if (goal.dim[d].n == 0) goal.dim[d] = emit_placement(e, new, 1u << d).dim[d];
    TRY(shard_pay(e, n->in[0], h, h->wanted ? h->wanted : &goal));
    *part = h->now;
    return true;
}

/* Most inputs have the layout's placement, and are needed in it. */
static bool bring(emitter *e, const node *n, int i, shard *h, cut_dims *f, unsigned carried,
                  slice *part)
{
    const mtf_tensor *x = n->in[i];
    bool              pays = h->now.owed && !h->passed_on;
    if (n->op->flags & OP_ANYWHERE && !carried && e->readers(e, x) == 1)
        return bring_anywhere(e, n, h, part);
    if (pays || h->now.finer || f->finer) {
        placement goal = goal_of(e, x, f);
        /* A large value with other readers is not scattered for a small result. */
        bool shared = e->readers(e, x) > 1 && shape_size(&x->shape) > shape_size(&n->out[0]->shape);
        if (pays) TRY(shard_pay(e, x, h, h->wanted ? h->wanted : shared ? NULL : &goal));
        TRY(shard_part(e, x, h, &goal, part));
    } else {
        *part = h->now;
    }
    return gather_whole(e, x, f, part);
}

/* A view of this processor's part along the dimensions that were computed whole. */
static void cut_again(emitter *e, const mtf_shape *shape, unsigned missing, slice *s)
{
    for (int i = 0; i < shape->ndims; i++) {
        if (!(missing >> i & 1)) continue;
        span part = emit_part(e, shape->dims[i].name, shape->dims[i].size);
        *s = slice_cut(s, shape->dims[i].name, part.begin, part.size, 1);
    }
}

/* Axes of dimensions that are reduced in x, and cut in some input. */
static unsigned reduced_axes(const mtf_tensor *x, const cut_dims *f, dim_split kind)
{
    unsigned axes = 0;
    for (int k = 0; k < f->n; k++)
        if (f->of[k].split == kind && shape_find(&x->shape, f->of[k].dim) < 0)
            axes |= f->of[k].axes;
    return axes;
}

/* Is this dimension of an output computed in parts?  A sum over it belongs to another output. */
static bool is_parted(const cut_dim *own)
{
    return own->split == SPLIT_FREE || own->split == SPLIT_OWN || own->split == SPLIT_SUM;
}

/* The dimensions of x that are computed in parts, as bits. */
static unsigned parted(const emitter *e, const mtf_tensor *x, cut_dims *f)
{
    unsigned cut = spread_cut(e, x), parts = 0;
    for (int d = 0; cut >> d; d++) {
        const cut_dim *own = cut >> d & 1 ? spread_find_dim(f, x->shape.dims[d].name) : NULL;
        if (own && is_parted(own)) parts |= 1u << d;
    }
    return parts;
}

/* If the output is owed along axes that cut it, only the part is kept; then its dimension is no
 * longer missing. */
static bool pay_parts(emitter *e, const mtf_tensor *x, cut_dims *f, bool wide, unsigned *missing,
                      slice *s)
{
    placement goal = goal_of(e, x, f), now = goal;
    if (!(placement_axes(&goal, x->shape.ndims) & s->owed)) return true;
    for (int d = 0; d < x->shape.ndims; d++)
        if (*missing >> d & 1) now.dim[d] = (axis_list){0};
    shard h = {.now = *s, .wide = wide};
    h.now.finer = &now;
    TRY(shard_pay(e, x, &h, &goal));
    for (int d = 0; d < x->shape.ndims; d++)
        if (cut_equal(&h.now.finer->dim[d], &goal.dim[d])) *missing &= ~(1u << d);
    *s = h.now;
    s->finer = NULL;
    return true;
}

/* Records the placement of x if it is finer than the layout's. */
static bool note_finer(emitter *e, const mtf_tensor *x, cut_dims *f, slice *s)
{
    bool finer = false;
    for (int d = 0; d < x->shape.ndims; d++) {
        const cut_dim *own = spread_find_dim(f, x->shape.dims[d].name);
        finer = finer || (own && own->finer);
    }
    if (!finer) return true;
    placement goal = goal_of(e, x, f);
    s->finer = arena_copy(&e->program->arena, &goal, sizeof goal);
    return s->finer != NULL;
}

/* Records what is still to be combined. */
static void note_debt(const mtf_tensor *x, const cut_dims *f, unsigned carried, slice *s)
{
    unsigned largest = reduced_axes(x, f, SPLIT_MAX), smallest = reduced_axes(x, f, SPLIT_MIN);
    s->owes = largest ? FOLD_MAX : smallest ? FOLD_MIN : FOLD_SUM;
    s->owed = largest | smallest | carried | reduced_axes(x, f, SPLIT_SUM) |
              reduced_axes(x, f, SPLIT_OWN_SUM);
}

/* Completes an output: records what is owed, and cuts what was computed whole. */
static bool finish_output(emitter *e, const mtf_tensor *x, cut_dims *f, unsigned carried, bool wide,
                          slice *s)
{
    unsigned cut = parted(e, x, f), missing = spread_cut(e, x) & ~cut;
    s->cut = cut;
    note_debt(x, f, carried, s);
    s->finer = NULL;
    if (s->owed) TRY(pay_parts(e, x, f, wide, &missing, s));
    cut_again(e, &x->shape, missing, s);
    s->cut = spread_cut(e, x);
    return !f->finer || note_finer(e, x, f, s);
}

/* ---- a node ---- */

/* First pays inputs for which finer parts suffice, so that it is known which ones are finer. */
static bool pay_wanted(emitter *e, const node *n, shard **in)
{
    for (int i = 0; i < n->nin; i++)
        if (in[i]->wanted && !in[i]->passed_on) TRY(shard_pay(e, n->in[i], in[i], in[i]->wanted));
    return true;
}

/* An output with the shape of its part, for the op to compute. */
static void blank(const emitter *e, const mtf_tensor *x, cut_dims *f, bool wide, slice *s)
{
    *s = slice_uniform(0, wide_type(x, wide), &x->shape);
    s->cut = parted(e, x, f);
    for (int d = 0; d < x->shape.ndims && f->n; d++) {
        const cut_dim *own = spread_find_dim(f, x->shape.dims[d].name);
        if (!own || !is_parted(own)) continue;
        s->shape.dims[d].size =
            cut_range(e->layout->mesh, &own->cut, &e->here, x->shape.dims[d].size).size;
    }
}

/* Is a result kept in the type of its sum?  Yes if it is a partial sum, or moved from one; elements
 * picked from parts are zero on all processors but one. */
static bool gives_wide(const node *n, const mtf_tensor *x, const cut_dims *f, const slice *parts)
{
    bool moved = false;
    if (!(n->op->flags & OP_MOVES))
        return reduced_axes(x, f, SPLIT_SUM) || reduced_axes(x, f, SPLIT_OWN_SUM);
    for (int i = 0; i < n->nin; i++) moved = moved || parts[i].type != n->in[i]->type;
    return moved;
}

bool spread_node(emitter *e, const node *n, shard **in, const shard *kept, slice *parts, slice *out)
{
    cut_dims f;
    f.n = 0;
    f.finer = false;
    for (int i = 0; i < n->nin; i++) spread_add_dims(e, n, n->in[i], &f);
    for (int o = 0; o < n->nout; o++) spread_add_dims(e, n, n->out[o], &f);
    unsigned carried = carried_debt(e, n, in);
    spread_resolve_conflicts(n, &f, carried);
    /* Set for all inputs before the first one is paid, since waiting values are paid with it. */
    for (int i = 0; i < n->nin; i++)
        in[i]->passed_on = carried && in[i]->now.owed && debt_of(n, i) != DEBT_SETTLE;
    TRY(pay_wanted(e, n, in));
    spread_choose_finer(e, n, in, kept, carried, &f);
    for (int i = 0; i < n->nin; i++) TRY(bring(e, n, i, in[i], &f, carried, &parts[i]));
    bool moved = n->op->flags & OP_MOVES && (kept->wide || gives_wide(n, n->out[0], &f, parts));
    for (int o = 0; o < n->nout; o++)
        blank(e, n->out[o], &f, kept->wide || gives_wide(n, n->out[o], &f, parts), &out[o]);
    for (int i = 0; i < n->nin && moved; i++) TRY(emit_widened(e, &parts[i]));
    TRY(n->op->lower(e, n, parts, out));
    for (int o = 0; o < n->nout; o++) {
        /* On some processors it may be a view of a part. */
        if (kept->wide || gives_wide(n, n->out[o], &f, parts)) TRY(emit_widened(e, &out[o]));
        TRY(finish_output(e, n->out[o], &f, carried, kept->wide, &out[o]));
    }
    return true;
}

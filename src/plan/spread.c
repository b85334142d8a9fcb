/* Spreading a node over the mesh: who needs which part, what is owed.
 *
 * A dimension is cut by its name, the same way in every tensor.  What an op
 * makes of a cut dimension is its split rule.  From it follow: inputs are
 * gathered along dimensions that must be whole; outputs are computed on parts;
 * a cut dimension that is summed leaves a debt over its axes; an output
 * dimension that was computed whole is cut again, which is only a view.
 */
#include "plan/spread.h"

#include <string.h>

/* The axes that cut dim; none where they have one processor each: nothing is cut, nothing moves. */
static unsigned rule_axes(const emitter *e, const char *dim)
{
    const layout_rule *r = layout_find(e->layout, dim);
    return r && cut_parts(e->layout->mesh, &r->cut) > 1 ? cut_axes(&r->cut) : 0;
}

unsigned spread_cut(const emitter *e, const mtf_shape *shape)
{
    unsigned cut = 0;
    for (int i = 0; e->layout && i < shape->ndims; i++)
        if (rule_axes(e, shape->dims[i].name)) cut |= 1u << i;
    return cut;
}

/* The axes along which a slice's own dimensions are cut. */
static unsigned slice_axes(const emitter *e, const slice *s)
{
    unsigned axes = 0;
    for (int i = 0; i < s->shape.ndims; i++)
        if (s->cut >> i & 1) axes |= rule_axes(e, s->shape.dims[i].name);
    return axes;
}

bool spread_settle(emitter *e, slice *s)
{
    if (!s->owed) return true;
    unsigned cut = s->cut, axes = s->owed;
    if (slice_is_uniform(s)) { /* a partial sum that is one number everywhere */
        TRY(emit_dense(e, s));
    }
    TRY(emit_all_reduce(e, FOLD_SUM, axes, s));
    s->cut = cut;
    s->owed = 0;
    return true;
}

/* ---- debts ---- */

/* The debt that passes through n, 0 where all must be paid first. */
static unsigned carried_debt(emitter *e, const node *n, slice **in)
{
    debt     rule = n->op->debt ? n->op->debt(n) : DEBT_SETTLE;
    unsigned owed = 0, out_axes = 0;
    int      owing = 0;
    for (int i = 0; i < n->nin; i++)
        if (in[i]->owed) {
            owed = in[i]->owed;
            owing++;
            if (e->readers(e, n->in[i]) > 1)
                return 0; /* paid once for all rather than once for each */
        }
    if (!owing || rule == DEBT_SETTLE) return 0;
    for (int o = 0; o < n->nout; o++)
        for (int d = 0; d < n->out[o]->shape.ndims; d++)
            out_axes |= rule_axes(e, n->out[o]->shape.dims[d].name);
    if (owed & out_axes) return 0; /* processors that would be summed hold different parts */
    for (int i = 0; i < n->nin; i++) {
        /* A partial sum of constants may be 0 here and not elsewhere. */
        bool zero = slice_is_uniform(in[i]) && in[i]->value == 0 && !in[i]->owed;
        if (rule == DEBT_SUM && in[i]->owed != owed && !zero) return 0;
        if (rule == DEBT_PRODUCT && !in[i]->owed && (slice_axes(e, in[i]) & owed)) return 0;
    }
    return rule == DEBT_PRODUCT && owing > 1 ? 0 : owed;
}

/* ---- dimensions ---- */

typedef struct fate {
    const char *dim;
    unsigned    axes;
    dim_split   split;
} fate;

typedef struct fates {
    fate of[4 * MTF_MAX_DIMS];
    int  n;
} fates;

static void add_dims(const emitter *e, const node *n, const mtf_shape *shape, fates *f)
{
    for (int i = 0; i < shape->ndims; i++) {
        const char *dim = shape->dims[i].name;
        bool        known = false;
        for (int k = 0; k < f->n && !known; k++) known = strcmp(f->of[k].dim, dim) == 0;
        unsigned axes = rule_axes(e, dim);
        if (known || !axes || f->n == 4 * MTF_MAX_DIMS) continue;
        f->of[f->n++] = (fate){dim, axes, n->op->split ? n->op->split(n, dim) : SPLIT_WHOLE};
    }
}

static bool reduces(const fate *f)
{
    return f->split == SPLIT_SUM || f->split == SPLIT_MAX || f->split == SPLIT_MIN ||
           f->split == SPLIT_OWN_SUM;
}

/* What gathering a dimension would move: the inputs that have it, and twice the outputs, which
 * would be combined whole. */
static int64_t gathering_cost(const node *n, const char *dim)
{
    int64_t elements = 0;
    for (int i = 0; i < n->nin; i++)
        if (mtf_shape_find(n->in[i]->shape, dim) >= 0) elements += mtf_shape_size(n->in[i]->shape);
    for (int o = 0; o < n->nout; o++)
        if (mtf_shape_find(n->out[o]->shape, dim) >= 0)
            elements += 2 * mtf_shape_size(n->out[o]->shape);
    return elements;
}

/* A reduced dimension whose axes also cut something else, or carry a debt, cannot be reduced by
 * parts: the processors that would be combined hold different things.  Of the two the cheaper one
 * is gathered. */
static void resolve_conflicts(const node *n, fates *f, unsigned carried)
{
    for (int k = 0; k < f->n; k++) {
        if (!reduces(&f->of[k])) continue;
        if (f->of[k].axes & carried) f->of[k].split = SPLIT_WHOLE;
        for (int j = 0; j < f->n && f->of[k].split != SPLIT_WHOLE; j++) {
            if (j == k || f->of[j].split == SPLIT_WHOLE || !(f->of[j].axes & f->of[k].axes))
                continue;
            bool other = f->of[j].split == SPLIT_FREE &&
                         gathering_cost(n, f->of[j].dim) < gathering_cost(n, f->of[k].dim);
            f->of[other ? j : k].split = SPLIT_WHOLE;
        }
    }
}

static dim_split fate_of(const fates *f, const char *dim)
{
    for (int k = 0; k < f->n; k++)
        if (strcmp(f->of[k].dim, dim) == 0) return f->of[k].split;
    return SPLIT_FREE; /* not cut at all */
}

/* ---- moving ---- */

static placement placed(const emitter *e, const mtf_shape *shape, unsigned cut)
{
    placement p = {0};
    for (int i = 0; i < shape->ndims; i++)
        if (cut >> i & 1) p.dim[i] = layout_find(e->layout, shape->dims[i].name)->cut;
    return p;
}

/* Gathers s along the cut dimensions that this op needs whole. */
static bool gather_whole(emitter *e, const mtf_shape *shape, const fates *f, slice *s)
{
    unsigned keep = s->cut;
    for (int i = 0; i < shape->ndims; i++)
        if ((keep >> i & 1) && fate_of(f, shape->dims[i].name) == SPLIT_WHOLE) keep &= ~(1u << i);
    if (keep == s->cut) return true;
    placement from = placed(e, shape, s->cut), to = placed(e, shape, keep);
    TRY(emit_exchange(e, shape, &from, &to, s));
    s->cut = keep;
    return true;
}

/* A view of this processor's part along the dimensions that were computed whole. */
static void cut_again(emitter *e, const mtf_shape *shape, slice *s)
{
    unsigned want = spread_cut(e, shape);
    for (int i = 0; i < shape->ndims; i++) {
        if (!((want & ~s->cut) >> i & 1)) continue;
        span part = emit_part(e, shape->dims[i].name, shape->dims[i].size);
        *s = slice_cut(s, shape->dims[i].name, part.begin, part.size, 1);
    }
    s->cut = want;
}

/* Axes of reduced dimensions that are really cut in some input. */
static unsigned reduced_axes(const fates *f, dim_split kind)
{
    unsigned axes = 0;
    for (int k = 0; k < f->n; k++)
        if (f->of[k].split == kind) axes |= f->of[k].axes;
    return axes;
}

static bool finish(emitter *e, const node *n, const fates *f, unsigned carried, unsigned cut, int o,
                   slice *s)
{
    const mtf_shape *shape = &n->out[o]->shape;
    unsigned         largest = reduced_axes(f, SPLIT_MAX), smallest = reduced_axes(f, SPLIT_MIN);
    s->cut = cut;
    s->owed = 0;
    if (largest) TRY(emit_all_reduce(e, FOLD_MAX, largest, s));
    if (smallest) TRY(emit_all_reduce(e, FOLD_MIN, smallest, s));
    s->cut = cut;
    s->owed = carried | reduced_axes(f, SPLIT_SUM) | reduced_axes(f, SPLIT_OWN_SUM);
    unsigned to_cut = spread_cut(e, shape) & ~cut, axes = 0;
    for (int i = 0; i < shape->ndims; i++)
        if (to_cut >> i & 1) axes |= rule_axes(e, shape->dims[i].name);
    if (axes & s->owed) TRY(spread_settle(e, s));
    cut_again(e, shape, s);
    return true;
}

bool spread_node(emitter *e, const node *n, slice **in, slice *out)
{
    slice *parts = arena_array(&e->program->arena, slice, n->nin);
    TRY(parts != NULL);
    fates f = {.n = 0};
    for (int i = 0; i < n->nin; i++) add_dims(e, n, &n->in[i]->shape, &f);
    for (int o = 0; o < n->nout; o++) add_dims(e, n, &n->out[o]->shape, &f);
    unsigned carried = carried_debt(e, n, in);
    if (!carried)
        for (int i = 0; i < n->nin; i++) TRY(spread_settle(e, in[i]));
    resolve_conflicts(n, &f, carried);
    for (int i = 0; i < n->nin; i++) {
        parts[i] = *in[i];
        TRY(gather_whole(e, &n->in[i]->shape, &f, &parts[i]));
    }
    unsigned cut[64] = {0};
    for (int o = 0; o < n->nout && o < 64; o++) {
        mtf_shape local = n->out[o]->shape;
        for (int d = 0; d < local.ndims; d++) {
            dim_split what = fate_of(&f, local.dims[d].name);
            if (!rule_axes(e, local.dims[d].name) || (what != SPLIT_FREE && what != SPLIT_OWN))
                continue;
            local.dims[d].size = emit_part(e, local.dims[d].name, local.dims[d].size).size;
            cut[o] |= 1u << d;
        }
        out[o] = slice_uniform(0, n->out[o]->type, &local);
        out[o].cut = cut[o];
    }
    TRY(n->op->lower(e, n, parts, out));
    for (int o = 0; o < n->nout && o < 64; o++) TRY(finish(e, n, &f, carried, cut[o], o, &out[o]));
    return true;
}

/* ---- legality ---- */

bool spread_check(const layout *l, mtf_graph *g, const bool *live)
{
    fault *f = &g->session->fault;
    for (int i = 0; i < l->nrules; i++) {
        const layout_rule *r = &l->rules[i];
        if (r->optional || names_get(&g->dim_names, r->dim)) continue;
        nearest near = {.wanted = r->dim};
        char    hint[100];
        for (int k = 0; k < g->dim_names.room; k++)
            if (g->dim_names.entries[k].name) nearest_offer(&near, g->dim_names.entries[k].name);
        return fail(f, ERR_NAME,
                    "layout rule \"%s\": the model has no dimension \"%s\"; end the rule in ? if "
                    "that is meant%s",
                    r->text, r->dim, nearest_hint(&near, hint, sizeof hint));
    }
    for (int i = 0; i < g->ntensors; i++) {
        placement   where;
        mtf_tensor *x = g->all[i];
        if (live[x->node->id] && !layout_place(l, &x->shape, "", &(fault){0}, &where))
            return layout_place(l, &x->shape, tensor_name(x), f, &where);
    }
    return true;
}

/* The cut dimensions of a node: which stay in parts, how finely. */
#include "plan/spread_dims.h"

#include "plan/planner.h"

unsigned spread_cut(const emitter *e, const mtf_tensor *x)
{
    const planner *p = e->planner;
    return p->cut[p->survey.same[x->id]->id];
}

unsigned spread_rule_axes(const emitter *e, const char *dim)
{
    const layout_rule *r = layout_find(e->layout, dim);
    return r && cut_parts(e->layout->mesh, &r->cut) > 1 ? cut_axes(&r->cut) : 0;
}

/* In a graph each name has one pointer. */
cut_dim *spread_find_dim(cut_dims *f, const char *dim)
{
    for (int k = 0; k < f->n; k++)
        if (f->of[k].dim == dim) return &f->of[k];
    return NULL;
}

static dim_split split_of(const node *n, const char *dim)
{
    return n->op->split ? n->op->split(n, dim) : SPLIT_WHOLE;
}

void spread_add_dims(const emitter *e, const node *n, const mtf_tensor *x, cut_dims *f)
{
    unsigned cut = spread_cut(e, x);
    for (int i = 0; cut >> i; i++) {
        const char *dim = x->shape.dims[i].name;
        if (!(cut >> i & 1) || spread_find_dim(f, dim) || f->n == 4 * MTF_SHAPE_ROOM) continue;
        const axis_list *by = &layout_find(e->layout, dim)->cut;
        f->of[f->n++] = (cut_dim){dim, *by, cut_axes(by), split_of(n, dim), false};
    }
}

static bool reduces(const cut_dim *f)
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
        if (shape_find(&n->in[i]->shape, dim) >= 0) elements += shape_size(&n->in[i]->shape);
    for (int o = 0; o < n->nout; o++)
        if (shape_find(&n->out[o]->shape, dim) >= 0) elements += 2 * shape_size(&n->out[o]->shape);
    return elements;
}

/* A reduced dimension whose axes also cut something else, or carry a debt, cannot be reduced in
 * parts: the processors to be combined hold different things.  The cheaper one of the two is
 * gathered. */
void spread_resolve_conflicts(const node *n, cut_dims *f, unsigned carried)
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

/* ---- finer parts ---- */

/* Can n work on parts of dimension `dim` cut by `cut`, which is finer than the layout? */
static bool bears(const emitter *e, const node *n, cut_dims *f, const char *dim,
                  const axis_list *cut, unsigned carried)
{
    unsigned  more = cut_axes(cut) & ~spread_rule_axes(e, dim);
    dim_split split = split_of(n, dim);
    cut_dim  *own = spread_find_dim(f, dim);
    if (split != SPLIT_FREE && split != SPLIT_SUM && split != SPLIT_MAX && split != SPLIT_MIN)
        return false;
    if (!more || more & carried || f->n == 4 * MTF_SHAPE_ROOM) return false;
    if (own && (own->finer || own->split != split)) return false;
    for (int k = 0; k < f->n; k++) {
        dim_split other = f->of[k].split;
        if (other == SPLIT_OWN || other == SPLIT_OWN_SUM) return false;
        if (&f->of[k] != own && f->of[k].axes & more) return false;
    }
    return true;
}

static void refine(const emitter *e, const node *n, const mtf_shape *shape, const placement *where,
                   unsigned carried, cut_dims *f)
{
    for (int d = 0; d < shape->ndims; d++) {
        const char *dim = shape->dims[d].name;
        if (!bears(e, n, f, dim, &where->dim[d], carried)) continue;
        cut_dim *own = spread_find_dim(f, dim);
        if (!own) own = &f->of[f->n++];
        *own = (cut_dim){dim, where->dim[d], cut_axes(&where->dim[d]), split_of(n, dim), true};
        f->finer = true;
    }
}

/* Works on finer parts if they suffice for the result, or if finer inputs are no smaller than the
 * results: gathering comes later. */
void spread_choose_finer(const emitter *e, const node *n, shard **in, const shard *out,
                         unsigned carried, cut_dims *f)
{
    int64_t results = 0;
    bool    some = out->wanted != NULL;
    for (int i = 0; i < n->nin; i++) some = some || in[i]->now.finer;
    if (!some || n->nin == 0 || n->op->flags & OP_ITERATION) return;
    for (int o = 0; o < n->nout; o++) results += shape_size(&n->out[o]->shape);
    if (out->wanted) refine(e, n, &n->out[0]->shape, out->wanted, carried, f);
    for (int i = 0; i < n->nin; i++)
        if (in[i]->now.finer && shape_size(&n->in[i]->shape) >= results)
            refine(e, n, &n->in[i]->shape, in[i]->now.finer, carried, f);
}

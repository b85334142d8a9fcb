/* Shards: what a processor has of each tensor. */
#include "plan/shard.h"

#include <assert.h>

placement shard_where(const emitter *e, const mtf_tensor *x, const slice *s)
{
    return s->finer ? *s->finer : emit_placement(e, &x->shape, s->cut);
}

int64_t shard_extent(const emitter *e, const mtf_tensor *x, const placement *where, bool largest)
{
    int64_t elements = 1;
    for (int d = 0; d < x->shape.ndims; d++) {
        int parts = cut_parts(e->layout->mesh, &where->dim[d]);
        elements *= (x->shape.dims[d].size + (largest ? parts - 1 : 0)) / parts;
    }
    return elements;
}

int64_t shard_most(const emitter *e, const mtf_tensor *x)
{
    placement where = emit_placement(e, &x->shape, EVERY_DIM);
    return shard_extent(e, x, &where, true);
}

static bool same_cuts(const mtf_shape *shape, const placement *a, const placement *b)
{
    bool same = true;
    for (int d = 0; d < shape->ndims; d++) same = same && cut_equal(&a->dim[d], &b->dim[d]);
    return same;
}

/* ---- paying ---- */

bool shard_round(emitter *e, const mtf_tensor *x, shard *h)
{
    slice rounded = {.type = wide_type(x, h->wide)};
    if (h->now.type == rounded.type) return true;
    TRY(emit_narrowed(e, &h->now, &rounded));
    h->now = rounded;
    return true;
}

bool shard_pay(emitter *e, const mtf_tensor *x, shard *h, const placement *goal)
{
    slice *s = &h->now;
    if (!s->owed) return true;
    unsigned         owed = s->owed, cut = s->cut;
    fold_kind        owes = s->owes;
    const placement *finer = s->finer;
    placement        where = shard_where(e, x, s);
    if (slice_is_uniform(s)) TRY(emit_dense(e, s)); /* a part that is uniform */
    for (int d = 0; goal && d < x->shape.ndims; d++) {
        unsigned more = cut_axes(&goal->dim[d]) & ~cut_axes(&where.dim[d]);
        if (!more || more & ~owed) continue;
        TRY(emit_reduce_scatter(e, owes, x->shape.dims[d], &where.dim[d], &goal->dim[d], s));
        where.dim[d] = goal->dim[d];
        owed &= ~more;
        finer = arena_copy(&e->program->arena, &where, sizeof where);
        TRY(finer != NULL);
    }
    s->owed = owed;
    s->owes = owes;
    assert((owed & ~h->now.owed) == 0); /* nothing is paid that is not owed */
    if (owed) TRY(debts_pay(e, x, h));
    TRY(shard_round(e, x, h));
    s->cut = cut;
    s->finer = finer;
    s->owed = 0;
    return true;
}

/* ---- gathering and slicing ---- */

bool shard_gather(emitter *e, const mtf_tensor *x, shard *h)
{
    slice *s = &h->now;
    if (!s->finer) return true;
    unsigned  owed = s->owed, cut = s->cut;
    fold_kind owes = s->owes;
    placement from = *s->finer, to = emit_placement(e, &x->shape, EVERY_DIM);
    h->before = arena_copy(&e->program->arena, s, sizeof *s);
    TRY(h->before && emit_exchange(e, &x->shape, &from, &to, s) && copies_note(e, x));
    s->cut = cut;
    s->owed = owed;
    s->owes = owes;
    s->finer = NULL;
    return true;
}

bool shard_part(emitter *e, const mtf_tensor *x, shard *h, const placement *goal, slice *part)
{
    const mesh *m = e->layout->mesh;
    placement   where = shard_where(e, x, &h->now);
    *part = h->now;
    if (same_cuts(&x->shape, &where, goal)) return true;
    if (h->before && same_cuts(&x->shape, h->before->finer, goal)) {
        *part = *h->before;
        return true;
    }
    TRY(shard_gather(e, x, h));
    *part = h->now;
    where = shard_where(e, x, part);
    if (same_cuts(&x->shape, &where, goal)) return true;
    for (int d = 0; d < x->shape.ndims; d++) {
        mtf_dim dim = x->shape.dims[d];
        span    has = cut_range(m, &where.dim[d], &e->here, dim.size);
        span    wants = cut_range(m, &goal->dim[d], &e->here, dim.size);
        assert(wants.begin >= has.begin && wants.begin + wants.size <= has.begin + has.size);
        if (has.size == wants.size) continue;
        *part = slice_cut(part, dim.name, wants.begin - has.begin, wants.size, 1);
    }
    part->finer = arena_copy(&e->program->arena, goal, sizeof *goal);
    return part->finer != NULL;
}

/* ---- which values are needed in finer parts ---- */

static bool want(const emitter *e, const survey *s, shard *all, const mtf_tensor *x,
                 const mtf_shape *shape, const placement *where)
{
    shard    *h = &all[s->same[x->id]->id];
    placement aligned = emit_placement(e, &x->shape, EVERY_DIM);
    bool      finer = false;
    if (h->wanted) return true; /* the first request is kept */
    for (int d = 0; d < shape->ndims; d++) {
        int at = shape_find(&x->shape, shape->dims[d].name);
        if (at < 0 || cut_equal(&aligned.dim[at], &where->dim[d])) continue;
        aligned.dim[at] = where->dim[d];
        finer = true;
    }
    if (!finer) return true;
    h->wanted = arena_copy(s->scratch, &aligned, sizeof aligned);
    return h->wanted != NULL;
}

/* Does the op compute each element by itself, whatever its position? */
static bool is_pointwise(const node *n)
{
    if (!n->op->split || n->nin == 0 || n->op->flags & (OP_DIRECT | OP_ITERATION)) return false;
    for (int i = 0; i < n->nin + n->nout; i++) {
        const mtf_tensor *x = i < n->nin ? n->in[i] : n->out[i - n->nin];
        for (int d = 0; d < x->shape.ndims; d++)
            if (n->op->split(n, x->shape.dims[d].name) != SPLIT_FREE) return false;
    }
    return true;
}

bool shard_find_wanted(const emitter *e, const survey *s, shard *all)
{
    const block *root = &s->graph->root;
    for (int k = root->nnodes - 1; k >= 0 && e->layout && e->layout->nstate; k--) {
        const node *n = root->nodes[k];
        placement   home;
        if (!s->live[n->id] || !is_pointwise(n)) continue;
        const mtf_shape *shape = &n->out[0]->shape;
        if (n->op->flags & OP_STORE && emit_home(e, shape, &home))
            TRY(want(e, s, all, n->out[0], shape, &home));
        const placement *wanted = all[s->same[n->out[0]->id]->id].wanted;
        for (int i = 0; i < n->nin && wanted; i++) TRY(want(e, s, all, n->in[i], shape, wanted));
    }
    return true;
}

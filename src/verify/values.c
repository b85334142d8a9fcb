/* Fills inputs by position, and compares results with the whole. */
#include "verify/values.h"

#include <string.h>

enum { SMALL_NUMBERS = 3 };

/* A view of a part of a tensor: which elements of the whole it holds. */
typedef struct part_view {
    const mtf_tensor *tensor;
    const slice      *slice;
    span              range[MTF_SHAPE_ROOM];
    instr             loops; /* only sizes are used */
    int64_t           stride[MTF_SHAPE_ROOM];
} part_view;

/* False where the slice has another shape than the part. */
static bool look_at(const mesh *m, int number, const mtf_tensor *x, const slice *s,
                    const placement *where, part_view *v)
{
    mesh_point here = mesh_place(m, number);
    *v = (part_view){.tensor = x, .slice = s, .loops = {.nloops = x->shape.ndims}};
    for (int d = 0; d < x->shape.ndims; d++) {
        int at = shape_find(&s->shape, x->shape.dims[d].name);
        v->range[d] = cut_range(m, &where->dim[d], &here, x->shape.dims[d].size);
        v->loops.size[d] = v->range[d].size;
        if (at < 0 || s->shape.dims[at].size != v->range[d].size) return false;
        v->stride[d] = s->stride[at];
    }
    return true;
}

static int64_t offset_in(const part_view *v, const int64_t *index)
{
    int64_t offset = 0;
    for (int d = 0; d < v->loops.nloops; d++) offset += index[d] * v->stride[d];
    return offset;
}

/* ---- inputs ---- */

/* The largest dimension that n may index with its integer inputs: one that an attribute names, or
 * that of a range which is another input; 0: none. */
static int64_t counted_along(const node *n)
{
    int64_t size = 0;
    for (int k = 0; n->op->attrs && n->op->attrs[k].name; k++) {
        const attr_spec *spec = &n->op->attrs[k];
        bool             names = spec->kind == ATTR_WORD && strcmp(spec->name, "dim") == 0;
        if (spec->kind == ATTR_DIM && n->attrs[k].dim.size > size) size = n->attrs[k].dim.size;
        for (int i = 0; names && i < n->nin; i++) {
            int at = shape_find(&n->in[i]->shape, n->attrs[k].text);
            if (at >= 0 && n->in[i]->shape.dims[at].size > size)
                size = n->in[i]->shape.dims[at].size;
        }
    }
    for (int i = 0; i < n->nin; i++)
        if (strcmp(n->in[i]->node->op->name, "range") == 0 && shape_size(&n->in[i]->shape) > size)
            size = shape_size(&n->in[i]->shape);
    return size;
}

/* Limits n's integer inputs: an index by its dimension, others as n's output is limited. */
static void limit_inputs(const node *n, int64_t *limits)
{
    int64_t size = counted_along(n);
    if (!size && n->nout > 0 && dtype_is_int(n->out[0]->type)) size = limits[n->out[0]->id];
    for (int i = 0; i < n->nin; i++)
        if (dtype_is_int(n->in[i]->type) && !limits[n->in[i]->id]) limits[n->in[i]->id] = size;
}

int64_t *values_limits(const mtf_graph *g, arena *a)
{
    int64_t *limits = arena_array(a, int64_t, g->ntensors + 1);
    for (int k = g->ntensors - 1; limits && k >= 0; k--)
        if (g->all[k]->index == 0) limit_inputs(g->all[k]->node, limits);
    return limits;
}

static cell value_at(const exact *x, mtf_dtype type, int64_t limit, uint64_t stream,
                     int64_t position)
{
    uint64_t bits = hash_pair(stream, (uint64_t)position);
    if (dtype_is_float(type)) return bits % x->field.prime;
    if (type == MTF_BOOL) return bits & 1;
    return bits % (uint64_t)(limit > 0 ? limit : SMALL_NUMBERS);
}

static bool fill_port(lockstep *l, int number, const port *p, const placement *where,
                      uint64_t stream, int64_t limit)
{
    const lane *k = &l->lanes[number];
    part_view   v;
    if (!look_at(&l->mesh, number, p->tensor, &p->slice, where, &v))
        return fail(&l->session->fault, ERR_INTERNAL, "\"%s\" is not the part that its layout says",
                    mtf_name_of_tensor(p->tensor));
    for (turns t = turns_begin(&v.loops, 0, v.loops.nloops, NULL, NULL, NULL); !t.done;
         turns_next(&t)) {
        int64_t position = 0;
        for (int d = 0; d < v.loops.nloops; d++)
            position = position * p->tensor->shape.dims[d].size + v.range[d].begin + t.index[d];
        *lane_cell(k, &p->slice, offset_in(&v, t.index)) =
            value_at(&k->exact, p->slice.type, limit, stream, position);
    }
    return true;
}

static placement place_of(const layout *l, const mtf_shape *shape, bool variable)
{
    placement where = {0};
    if (l && layout_place(l, shape, "", NULL, &where) && variable) layout_refine(l, shape, &where);
    return where;
}

bool values_fill(lockstep *l, const layout *rules, uint64_t key, const int64_t *limits)
{
    for (int n = 0; n < l->nlanes; n++) {
        const program *p = l->lanes[n].program;
        for (int v = 0; v < p->ninputs + p->nvariables; v++) {
            bool        variable = v >= p->ninputs;
            const port *q = variable ? &p->variables[v - p->ninputs] : &p->inputs[v];
            placement   where = place_of(rules, &q->tensor->shape, variable);
            uint64_t    stream = hash_pair(key, (uint64_t)q->tensor->id);
            TRY(fill_port(l, n, q, &where, stream, limits[q->tensor->id]));
        }
    }
    return true;
}

/* ---- comparing ---- */

/* The sum of an owed element over the processors that owe it. */
static cell paid(const lockstep *l, int me, const mtf_tensor *x, int64_t offset)
{
    const lane  *k = &l->lanes[me];
    const slice *s = &k->trace[x->id].slice;
    mesh_point   here = mesh_place(&l->mesh, me);
    cell         sum = *lane_cell(k, s, offset);
    for (int n = 0; s->owed && n < l->nlanes; n++) {
        mesh_point there = mesh_place(&l->mesh, n);
        bool       mine = n != me;
        for (int a = 0; a < l->mesh.naxes; a++)
            mine = mine && (s->owed >> a & 1 || here.at[a] == there.at[a]);
        const slice *other = &l->lanes[n].trace[x->id].slice;
        if (mine)
            sum = exact_combine(&k->exact, s->owes, s->type, sum,
                                *lane_cell(&l->lanes[n], other, offset));
    }
    return sum;
}

/* Compares a part with the whole; `owing`: after adding up the owed sums. */
static bool part_differs(const lockstep *l, int me, const part_view *part, const lane *whole,
                         const part_view *all, bool owing, difference *d)
{
    for (turns t = turns_begin(&part->loops, 0, part->loops.nloops, NULL, NULL, NULL); !t.done;
         turns_next(&t)) {
        int64_t index[MTF_SHAPE_ROOM], offset = offset_in(part, t.index);
        for (int k = 0; k < part->loops.nloops; k++) index[k] = part->range[k].begin + t.index[k];
        cell mine = owing ? paid(l, me, part->tensor, offset)
                          : *lane_cell(&l->lanes[me], part->slice, offset);
        if (mine == *lane_cell(whole, all->slice, offset_in(all, index))) continue;
        *d = (difference){.tensor = part->tensor, .processor = me};
        memcpy(d->index, index, sizeof *index * (size_t)part->loops.nloops);
        return true;
    }
    return false;
}

static bool port_differs(const lockstep *l, int me, const port *p, const placement *where,
                         const lockstep *whole, const port *q, difference *d)
{
    part_view part, all;
    *d = (difference){.tensor = p->tensor, .processor = me};
    if (!look_at(&l->mesh, me, p->tensor, &p->slice, where, &part)) return true;
    if (!look_at(&whole->mesh, 0, q->tensor, &q->slice, &(placement){0}, &all)) return true;
    if (part_differs(l, me, &part, &whole->lanes[0], &all, false, d)) return true;
    d->tensor = NULL;
    return false;
}

bool values_differ(const lockstep *l, const lockstep *whole, const layout *rules, difference *d)
{
    const program *w = whole->lanes[0].program;
    for (int v = 0; v < w->nfetches + w->nvariables; v++) {
        bool      variable = v >= w->nfetches;
        int       at = variable ? v - w->nfetches : v;
        placement where =
            place_of(rules, &(variable ? w->variables : w->fetches)[at].tensor->shape, variable);
        for (int n = 0; n < l->nlanes; n++) {
            const program *p = l->lanes[n].program;
            const port    *mine = &(variable ? p->variables : p->fetches)[at];
            if (port_differs(l, n, mine, &where, whole, &(variable ? w->variables : w->fetches)[at],
                             d))
                return true;
        }
    }
    return false;
}

/* A variable's buffer holds what was stored at the end, not what was read. */
static bool is_lasting(const lane *k, const traced *t)
{
    return t->lowered && !slice_is_uniform(&t->slice) &&
           k->program->buffers[t->slice.buffer].kind != BUFFER_VARIABLE;
}

static bool tensor_differs(const lockstep *l, const lockstep *whole, const mtf_tensor *x,
                           difference *d)
{
    const traced *w = &whole->lanes[0].trace[x->id];
    part_view     part, all;
    if (!is_lasting(&whole->lanes[0], w) ||
        !look_at(&whole->mesh, 0, x, &w->slice, &(placement){0}, &all))
        return false;
    for (int n = 0; n < l->nlanes; n++) {
        const traced *k = &l->lanes[n].trace[x->id];
        if (!is_lasting(&l->lanes[n], k) || !look_at(&l->mesh, n, x, &k->slice, &k->where, &part))
            continue;
        if (part_differs(l, n, &part, &whole->lanes[0], &all, true, d)) return true;
    }
    return false;
}

bool values_trace(const lockstep *l, const lockstep *whole, const mtf_graph *g, difference *d)
{
    for (int k = 0; k < g->ntensors; k++)
        if (tensor_differs(l, whole, g->all[k], d)) return true;
    return false;
}

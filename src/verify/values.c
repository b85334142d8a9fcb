/* Gives inputs and variables their elements, and compares results with the reference. */
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

static cell value_at(mtf_dtype type, int64_t limit, uint64_t stream, int64_t position)
{
    if (dtype_is_float(type)) return hash_residue(stream, (residue)position);
    uint64_t bits = hash_pair(stream, (uint64_t)position);
    if (type == MTF_BOOL) return bits & 1;
    return bits % (uint64_t)(limit > 0 ? limit : SMALL_NUMBERS);
}

static bool is_variable(const mtf_tensor *x)
{
    return strcmp(x->node->op->name, "variable") == 0;
}

bool values_give(reference *r, uint64_t key, const int64_t *limits, bool again)
{
    const mtf_graph *g = r->graph;
    for (int k = 0; k < g->ntensors; k++) {
        const mtf_tensor *x = g->all[k];
        bool              variable = is_variable(x);
        if (!variable && (again || strcmp(x->node->op->name, "input") != 0)) continue;
        if (again && !dtype_is_float(x->type)) continue;
        uint64_t stream = hash_pair(key, hash_text(tensor_name(x)));
        cell    *at = reference_give(r, x);
        TRY(at != NULL);
        for (int64_t e = 0; e < shape_size(&x->shape); e++)
            at[e] = value_at(x->type, limits[x->id], stream, e);
    }
    return true;
}

/* The reference's tensor that corresponds to x, which may be another graph's; NULL: there is none. */
static const mtf_tensor *twin_of(const reference *r, const mtf_tensor *x)
{
    const mtf_tensor *y =
        x->node->graph == r->graph ? x : names_get(&r->graph->tensors, tensor_name(x));
    return y && y->type == x->type && mtf_shape_equal(y->shape, x->shape) ? y : NULL;
}

/* The position in the whole tensor of the part's element at `index`. */
static int64_t position_of(const part_view *v, const int64_t *index)
{
    int64_t position = 0;
    for (int d = 0; d < v->loops.nloops; d++)
        position = position * v->tensor->shape.dims[d].size + v->range[d].begin + index[d];
    return position;
}

static bool fill_port(lockstep *l, int number, const port *p, const placement *where,
                      const reference *r)
{
    const lane       *k = &l->lanes[number];
    const mtf_tensor *twin = twin_of(r, p->tensor);
    part_view         v;
    if (!twin || !r->given[twin->id])
        return fail(&l->session->fault, ERR_INTERNAL,
                    "\"%s\" of the planned graph is not in the graph that it is compared with",
                    mtf_name_of_tensor(p->tensor));
    if (!look_at(&l->mesh, number, p->tensor, &p->slice, where, &v))
        return fail(&l->session->fault, ERR_INTERNAL, "\"%s\" is not the part that its layout says",
                    mtf_name_of_tensor(p->tensor));
    for (iterations t = iterations_begin(&v.loops, 0, v.loops.nloops, NULL, NULL, NULL); !t.done;
         iterations_next(&t))
        *lane_cell(k, &p->slice, offset_in(&v, t.index)) =
            r->given[twin->id][position_of(&v, t.index)];
    return true;
}

static placement placement_of(const layout *l, const mtf_shape *shape, bool variable)
{
    placement where = {0};
    if (l && layout_place(l, shape, "", NULL, &where) && variable) layout_refine(l, shape, &where);
    return where;
}

bool values_fill(lockstep *l, const layout *rules, const reference *r, bool again)
{
    for (int n = 0; n < l->nlanes; n++) {
        const lane *k = &l->lanes[n];
        for (int v = again ? k->ninputs : 0; v < k->ninputs + k->nvariables; v++) {
            bool        variable = v >= k->ninputs;
            const port *q = variable ? &k->variables[v - k->ninputs] : &k->inputs[v];
            placement   where = placement_of(rules, &q->tensor->shape, variable);
            TRY(fill_port(l, n, q, &where, r));
        }
    }
    return true;
}

/* ---- comparing ---- */

/* The sum of an owed element over the processors that owe it. */
static cell paid(const lockstep *l, int me, const mtf_tensor *x, int64_t offset)
{
    const lane  *k = &l->lanes[me];
    const slice *s = &k->trace[x->id]->slice;
    cell         sum = *lane_cell(k, s, offset);
    for (int n = 0; s->owed && n < l->nlanes; n++) {
        bool mine = n != me;
        for (int a = 0; a < l->mesh.naxes; a++)
            mine = mine && (s->owed >> a & 1 || k->here.at[a] == l->lanes[n].here.at[a]);
        const slice *other = &l->lanes[n].trace[x->id]->slice;
        if (mine)
            sum = exact_combine(&k->exact, s->owes, s->type, sum,
                                *lane_cell(&l->lanes[n], other, offset));
    }
    return sum;
}

/* Compares a part with the whole; `owing`: after adding up the owed sums. */
static bool part_differs(const lockstep *l, int me, const part_view *part,
                         const tensor_value *whole, bool owing, difference *d)
{
    for (iterations t = iterations_begin(&part->loops, 0, part->loops.nloops, NULL, NULL, NULL);
         !t.done; iterations_next(&t)) {
        int64_t offset = offset_in(part, t.index);
        cell    mine = owing ? paid(l, me, part->tensor, offset)
                             : *lane_cell(&l->lanes[me], part->slice, offset);
        if (mine == whole->at[position_of(part, t.index)]) continue;
        *d = (difference){.tensor = part->tensor, .processor = me};
        for (int k = 0; k < part->loops.nloops; k++)
            d->index[k] = part->range[k].begin + t.index[k];
        return true;
    }
    return false;
}

static bool port_differs(const lockstep *l, int me, const port *p, const placement *where,
                         const tensor_value *whole, difference *d)
{
    part_view part;
    *d = (difference){.tensor = p->tensor, .processor = me};
    if (!whole->at || !look_at(&l->mesh, me, p->tensor, &p->slice, where, &part)) return true;
    if (part_differs(l, me, &part, whole, false, d)) return true;
    d->tensor = NULL;
    return false;
}

/* What the reference has for fetch or variable `at` of the lanes. */
static tensor_value expected(const lockstep *l, const reference *r, mtf_tensor *const *fetches,
                             bool variable, int at)
{
    const lane       *k = &l->lanes[0];
    const mtf_tensor *y = variable ? twin_of(r, k->variables[at].tensor) : fetches[at];
    tensor_value      v = {0};
    if (!y) return v;
    v = variable ? reference_value(r, y) : r->values[y->id];
    return v;
}

/* A variable that the reference assigned and the first lane does not have; NULL: none. */
static const mtf_tensor *forgotten(const lockstep *l, const reference *r)
{
    const lane *k = &l->lanes[0];
    for (int t = 0; t < r->graph->ntensors; t++) {
        bool there = !r->now[t];
        for (int v = 0; v < k->nvariables && !there; v++)
            there = twin_of(r, k->variables[v].tensor) == r->graph->all[t];
        if (!there) return r->graph->all[t];
    }
    return NULL;
}

bool values_differ(const lockstep *l, const reference *r, mtf_tensor *const *fetches,
                   const layout *rules, difference *d)
{
    const lane *first = &l->lanes[0];
    *d = (difference){.tensor = forgotten(l, r)};
    if (d->tensor) return true;
    for (int v = 0; v < first->nfetches + first->nvariables; v++) {
        bool         variable = v >= first->nfetches;
        int          at = variable ? v - first->nfetches : v;
        const port  *q = &(variable ? first->variables : first->fetches)[at];
        placement    where = placement_of(rules, &q->tensor->shape, variable);
        tensor_value whole = expected(l, r, fetches, variable, at);
        for (int n = 0; n < l->nlanes; n++) {
            const lane *k = &l->lanes[n];
            const port *mine = &(variable ? k->variables : k->fetches)[at];
            if (port_differs(l, n, mine, &where, &whole, d)) return true;
        }
    }
    return false;
}

/* A variable's buffer holds what was stored at the end, not what was read. */
static bool is_lasting(const lane *k, const traced *t)
{
    return t->lowered && !slice_is_uniform(&t->slice) &&
           k->buffers[t->slice.buffer].kind != BUFFER_VARIABLE;
}

static bool tensor_differs(const lockstep *l, const reference *r, const mtf_tensor *x,
                           difference *d)
{
    const tensor_value *whole = &r->values[x->id];
    part_view           part;
    if (!whole->at || is_variable(x)) return false;
    for (int n = 0; n < l->nlanes; n++) {
        const traced *k = l->lanes[n].trace[x->id];
        if (!is_lasting(&l->lanes[n], k) || !look_at(&l->mesh, n, x, &k->slice, &k->where, &part))
            continue;
        if (part_differs(l, n, &part, whole, true, d)) return true;
    }
    return false;
}

bool values_trace(const lockstep *l, const reference *r, difference *d)
{
    for (int k = 0; k < r->graph->ntensors; k++) {
        const mtf_tensor *x = r->graph->all[k];
        if (x->node->home == &r->graph->root && tensor_differs(l, r, x, d)) return true;
    }
    return false;
}

/* Copies of a graph in which dimensions have other sizes. */
#include "microbatch/resize.h"

#include <math.h>
#include <string.h>

#include "base/dtype.h"
#include "ops/catalogue.h"

typedef struct copying {
    mtf_graph          *to;
    const resize_rules *rules;
    images             *images;
    bool                names;
    mtf_tensor        **wide; /* by tensor id: the f32 that kept nodes take of a shorter one */
    mtf_tensor        **iterations; /* iterations of the enclosing loops, outermost first */
    int                 niterations;
} copying;

/* ---- rules ---- */

int64_t resize_of(const resize_rules *r, const char *name, int64_t size)
{
    for (int k = 0; k < r->n; k++)
        if (r->list[k].from == size && strcmp(r->list[k].name, name) == 0) return r->list[k].to;
    return size;
}

static bool is_listed(const resize_rules *r, mtf_dim d)
{
    for (int k = 0; k < r->n; k++)
        if (r->list[k].from == d.size && strcmp(r->list[k].name, d.name) == 0) return true;
    return false;
}

bool resize_list(const mtf_graph *g, arena *a, resize_rules *r)
{
    *r = (resize_rules){0};
    for (int i = 0; i < g->ntensors; i++)
        for (int d = 0; d < g->all[i]->shape.ndims; d++) {
            mtf_dim dim = g->all[i]->shape.dims[d];
            if (is_listed(r, dim)) continue;
            TRY(arena_push(a, r->list, r->n, r->room));
            r->list[r->n++] = (resize_rule){dim.name, dim.size, dim.size};
        }
    return true;
}

static mtf_shape resized(const copying *c, const mtf_shape *shape)
{
    mtf_shape s = *shape;
    for (int d = 0; d < s.ndims; d++)
        s.dims[d].size = resize_of(c->rules, s.dims[d].name, s.dims[d].size);
    return s;
}

/* ---- attributes ---- */

static int find_attr(const node *n, const char *name)
{
    for (int k = 0; n->op->attrs && n->op->attrs[k].name; k++)
        if (strcmp(n->op->attrs[k].name, name) == 0) return k;
    return -1;
}

/* A slice keeps its step, and one that ends at the end of the dimension still does; padding shrinks
 * as the result does. */
static void resize_cut(const copying *c, const node *n, attr *attrs)
{
    int dim = find_attr(n, "dim"), size = find_attr(n, "size"), begin = find_attr(n, "begin");
    int before = find_attr(n, "before"), after = find_attr(n, "after"), step = find_attr(n, "step"),
        between = find_attr(n, "between");
    if (!n->op->attrs || dim < 0 || n->op->attrs[dim].kind != ATTR_WORD || n->nin < 1) return;
    const char *name = n->attrs[dim].text;
    int64_t     from = mtf_shape_dim(n->in[0]->shape, name).size;
    int64_t     now = resize_of(c->rules, name, from);
    if (size >= 0) attrs[size].i = resize_of(c->rules, name, n->attrs[size].i);
    if (size >= 0 && begin >= 0 && step >= 0) {
        int64_t reach = (n->attrs[size].i - 1) * n->attrs[step].i + 1;
        bool    suffix = n->attrs[begin].i > 0 && n->attrs[begin].i + reach == from;
        if (suffix) attrs[begin].i = now - ((attrs[size].i - 1) * n->attrs[step].i + 1);
    }
    if (before >= 0 && after >= 0 && between >= 0) {
        int64_t out = mtf_shape_dim(n->out[0]->shape, name).size;
        int64_t missing = resize_of(c->rules, name, out) - now - (now - 1) * n->attrs[between].i -
                          n->attrs[before].i - n->attrs[after].i;
        attrs[n->attrs[after].i > 0 ? after : before].i += missing;
    }
}

/* The elements of a constant that are left: those at low indices. */
static bool resize_data(const copying *c, const node *n, attr_data *data)
{
    const mtf_shape *old = &n->out[0]->shape;
    mtf_shape new = resized(c, old);
    size_t bytes = mtf_dtype_bytes(n->out[0]->type);
    char  *kept = arena_alloc(&c->to->arena, (size_t)shape_size(&new) * bytes + 1);
    TRY(kept != NULL);
    for (int64_t e = 0; e < shape_size(&new); e++) {
        int64_t rest = e, at = 0, stride = 1;
        for (int d = old->ndims - 1; d >= 0; d--) {
            at += rest % new.dims[d].size *stride;
            rest /= new.dims[d].size;
            stride *= old->dims[d].size;
        }
        memcpy(kept + (size_t)e * bytes, (const char *)data->v + (size_t)at * bytes, bytes);
    }
    *data = (attr_data){(size_t)shape_size(&new) * bytes, kept};
    return true;
}

static bool is_kept(const copying *c, const mtf_tensor *x)
{
    return c->rules->kept && c->rules->kept[x->id];
}

/* Does it compute in f32 still? */
static bool keeps_type(const copying *c, const node *n)
{
    for (int i = 0; i < n->nout; i++)
        if (is_kept(c, n->out[i])) return true;
    return false;
}

/* A tensor for a node: one that computes in f32 takes nothing shorter, others nothing longer.  There is one f32
 * of a shorter tensor, so that its gradients are added up in f32. */
static mtf_tensor *input_image(const copying *c, const node *to, mtf_tensor *x)
{
    mtf_tensor *image = image_of(c->images, x);
    if (!image || !c->rules->kept || x->type != MTF_F32) return image;
    if (!keeps_type(c, to)) return mtf_cast(image, c->rules->type);
    if (!c->wide[x->id]) c->wide[x->id] = mtf_cast(image, MTF_F32);
    return c->wide[x->id];
}

static mtf_dtype retyped(const copying *c, mtf_dtype type)
{
    return c->rules->retypes && type == MTF_F32 ? c->rules->type : type;
}

static bool retype_data(const copying *c, const node *n, attr_data *data)
{
    mtf_dtype from = n->out[0]->type, to = retyped(c, from);
    int64_t   count = (int64_t)(data->bytes / mtf_dtype_bytes(from));
    if (to == from) return true;
    char *other = arena_alloc(&c->to->arena, (size_t)count * mtf_dtype_bytes(to));
    TRY(other != NULL);
    dtype_convert(to, other, from, data->v, count);
    *data = (attr_data){(size_t)count * mtf_dtype_bytes(to), other};
    return true;
}

/* A finite number stays finite: one that is too large for the new type becomes its largest. */
static void retype_number(const copying *c, const node *n, attr_number *x)
{
    static const double largest[DTYPES] = {[MTF_F16] = 65504, [MTF_BF16] = 0x1.FEp127};
    mtf_dtype           from = n->out[0]->type, to = retyped(c, from);
    char                text[DTYPE_REFUSAL];
    if (to == from || !isfinite(x->r) || !number_refused(to, *x, text)) return;
    *x = (attr_number){.r = copysign(largest[to], x->r)};
}

static bool resize_attr(const copying *c, const node *n, int k, attr *a)
{
    switch (n->op->attrs[k].kind) {
    case ATTR_SHAPE:
        if (!a->shape || a->shape->ndims < 0) return true;
        mtf_shape shape = resized(c, a->shape);
        a->shape = arena_copy(&c->to->arena, &shape, sizeof shape);
        return a->shape != NULL;
    case ATTR_DIM: a->dim.size = resize_of(c->rules, a->dim.name, a->dim.size); return true;
    case ATTR_DATA:
        return !a->data.bytes || (resize_data(c, n, &a->data) && retype_data(c, n, &a->data));
    case ATTR_TYPE: a->type = retyped(c, a->type); return true;
    case ATTR_NUMBER: retype_number(c, n, &a->number); return true;
    default: return true;
    }
}

attr *resize_attrs(const resize_rules *r, mtf_graph *to, const node *n)
{
    resize_rules  rules = *r;
    const copying where = {.to = to, .rules = &rules}, *c = &where;
    int           count = 0;
    rules.retypes = r->retypes && !keeps_type(c, n);
    while (n->op->attrs && n->op->attrs[count].name) count++;
    attr *attrs = arena_array(&c->to->arena, attr, count + 1);
    for (int k = 0; attrs && k < count; k++) {
        attrs[k] = n->attrs[k];
        if (!resize_attr(c, n, k, &attrs[k])) return NULL;
    }
    if (attrs) resize_cut(c, n, attrs);
    /* The iterations of a loop are a dimension of its history. */
    int trips = find_attr(n, "trips");
    if (attrs && trips >= 0 && n->nout > 0 && n->out[n->nout - 1]->hidden)
        attrs[trips].i =
            resize_of(c->rules, n->out[n->nout - 1]->shape.dims[0].name, attrs[trips].i);
    return attrs;
}

/* ---- nodes ---- */

static block *copy_block(copying *c, const block *from);

/* Does it draw different random numbers in each iteration of a loop? */
static bool draws_anew(const node *n)
{
    return n->op->flags & OP_ITERATION && !n->attrs[op_attr_find(n->op, "once")].b;
}

static bool copy_node(copying *c, const node *from)
{
    images *m = c->images;
    if (from->nout > 0 && m->of[from->out[0]->id]) return true;
    if (from->op->flags & OP_IDENTITY) {
        m->of[from->out[0]->id] = image_of(m, from->in[0]);
        return true;
    }
    int nblocks = 0;
    while (from->op->blocks && from->op->blocks[nblocks]) nblocks++;
    block      **blocks = arena_array(&c->to->arena, block *, nblocks);
    int          around = draws_anew(from) ? c->niterations : 0;
    mtf_tensor **in = arena_array(&c->to->arena, mtf_tensor *, around + from->nargs);
    attr        *attrs = resize_attrs(c->rules, c->to, from);
    TRY(blocks && in && attrs);
    for (int b = 0; b < nblocks; b++) TRY((blocks[b] = copy_block(c, from->blocks[b])) != NULL);
    for (int i = 0; i < around; i++) in[i] = c->iterations[i];
    for (int i = 0; i < from->nargs; i++) in[around + i] = input_image(c, from, from->in[i]);
    node *n = node_new(c->to, from->op, around + from->nargs, in, attrs, blocks);
    TRY(n != NULL);
    for (int i = 0; i < from->nout; i++) {
        const mtf_tensor *x = from->out[i];
        m->of[x->id] = n->out[i];
        if (c->names && from->home == &from->graph->root && !x->hidden)
            TRY(graph_name_tensor(c->to, n->out[i], tensor_name(x)));
    }
    return true;
}

static bool copy_nodes(copying *c, const block *from)
{
    for (int i = 0; i < from->nnodes; i++)
        if (from->nodes[i]->op != &op_param) TRY(copy_node(c, from->nodes[i]));
    return true;
}

static block *copy_block(copying *c, const block *from)
{
    block *b = block_open(c->to, from->name);
    if (!b) return NULL;
    for (int i = 0; i < from->nparams; i++) {
        mtf_tensor *p = from->params[i];
        mtf_shape   shape = resized(c, &p->shape);
        c->images->of[p->id] = block_param(b, retyped(c, p->type), &shape, NULL);
    }
    if (from->iteration) c->images->of[from->iteration->id] = block_iteration(b);
    bool         ok = copy_nodes(c, from);
    mtf_tensor **results = arena_array(&c->to->arena, mtf_tensor *, from->nresults);
    for (int i = 0; results && i < from->nresults; i++)
        results[i] = image_of(c->images, from->results[i]);
    return block_close(b, results ? from->nresults : 0, results) && ok ? b : NULL;
}

bool resize_graph(const mtf_graph *g, const resize_rules *r, bool names, mtf_graph *to, images *m)
{
    copying c = {.to = to, .rules = r, .images = m, .names = names};
    c.iterations = loop_iterations(to, &c.niterations);
    c.wide = arena_array(&to->arena, mtf_tensor *, r->kept ? g->ntensors : 0);
    return c.iterations && c.wide && copy_nodes(&c, &g->root);
}

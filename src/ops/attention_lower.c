/* Attention under layouts: what each processor fetches and where it begins. */
#include <string.h>

#include "ops/attention_op.h"
#include "ops/reach.h"

static bool is_word(const char *a, const char *b)
{
    return a && b && strcmp(a, b) == 0;
}

void attention_rename(slice *s, const char *from, const char *to)
{
    int d = from ? shape_find(&s->shape, from) : -1;
    if (d >= 0) s->shape.dims[d].name = to;
}

/* Fetches the span of x along the query's own dimension that this processor's queries can see. */
static bool reach_seen(emitter *e, const node *n, const attention_roles *r, int input, slice *s,
                       span *got)
{
    bool     places = r->in[ATTENTION_READ] >= 0 || r->in[ATTENTION_WRITE] >= 0;
    int64_t  size = r->memory.size, min = n->attrs[AT_MIN].i, max = n->attrs[AT_MAX].i;
    span_map how = {.mult = 1, .div = 1};
    how.low = places || min < -size ? -size : min > size ? size : min;
    how.high = places || max > size ? size : max < -size ? -size : max;
    return reach(e, n->in[input], r->memory.name, size, &how, s, got);
}

static unsigned axes_of(const emitter *e, const char *dim)
{
    const layout_rule *rule = layout_find(e->layout, dim);
    return rule ? cut_axes(&rule->cut) : 0;
}

/* The axes along which the rows are cut. */
static unsigned row_axes(const emitter *e, const slice *rows)
{
    unsigned axes = 0;
    for (int d = 0; rows->cut >> d; d++)
        if (rows->cut >> d & 1) axes |= axes_of(e, rows->shape.dims[d].name);
    return axes;
}

static bool lies_along(const attention_roles *r, int operand)
{
    return operand == ATTENTION_K || operand == ATTENTION_V || operand == ATTENTION_WRITE ||
           operand == ATTENTION_MEMORY_SEGMENT ||
           (operand == ATTENTION_BIAS && !r->self && r->bias_memory.name &&
            is_word(r->bias_memory.name, r->memory.name));
}

/* Makes a view of the bias by row and position of the memory.  A bias that is not cut as the memory
 * is, or that is indexed by distance, begins at another offset. */
void attention_view_bias(const attention_roles *r, const attention_view *v, slice *s)
{
    int d = shape_find(&s->shape, r->bias_relative.name ? r->bias_relative.name : "");
    if (d >= 0) {
        int64_t queries = r->query.name ? r->query.size : 1, step = s->stride[d];
        s->shape.dims[d] = (mtf_dim){MEMORY_DIM, v->memory.size};
        if (!slice_is_uniform(s))
            s->offset += (queries - 1 + v->how.first_memory - v->how.first_query) * step;
        int q = r->query.name ? shape_find(&v->in[ATTENTION_Q].shape, r->query.name) : -1;
        if (q < 0) return;
        d = s->shape.ndims++;
        s->shape.dims[d] = v->in[ATTENTION_Q].shape.dims[q];
        s->stride[d] = -step;
        return;
    }
    if (!r->bias_memory.name) return;
    d = shape_find(&s->shape, r->bias_memory.name);
    if (s->shape.dims[d].size != v->memory.size)
        *s = slice_cut(s, r->bias_memory.name, v->memory.begin, v->memory.size, 1);
    attention_rename(s, r->bias_memory.name, MEMORY_DIM);
}

static void set_numbers(emitter *e, const node *n, const attention_roles *r, const slice *rows,
                        attention_view *v)
{
    attention_args *how = &v->how;
    how->min = n->attrs[AT_MIN].i;
    how->max = n->attrs[AT_MAX].i;
    how->scale = n->attrs[AT_SCALE].r;
    how->relative = r->bias_relative.name != NULL;
    how->query = r->query.name ? shape_find(&r->rows, r->query.name) : -1;
    if (r->query.name) how->first_query = reach_part(e, rows, r->query.name, r->query.size).begin;
    how->first_memory = v->memory.begin;
}

/* The global index of a pair counts over the weights' dimensions without those of dropout_over. */
static void set_dropout(emitter *e, const node *n, const attention_roles *r, const slice *rows,
                        attention_args *how)
{
    attr_names over = n->attrs[AT_DROPOUT_OVER].names;
    int64_t    stride = 1;
    bool       shared = false;
    how->dropout = n->attrs[AT_DROPOUT].r;
    how->stream = (uint32_t)n->attrs[AT_STREAM].i;
    for (int k = 0; k < over.n; k++)
        shared = shared || (!r->self && is_word(over.v[k], r->memory.name));
    if (!shared) {
        how->memory_weight = 1;
        how->first = how->first_memory;
        stride = r->memory.size;
    }
    for (int d = r->rows.ndims - 1; d >= 0; d--) {
        mtf_dim dim = r->rows.dims[d];
        shared = false;
        for (int k = 0; k < over.n; k++) shared = shared || is_word(over.v[k], dim.name);
        if (shared) continue;
        bool in_parts = is_word(n->attrs[AT_PART_OF].text, dim.name);
        if (in_parts) how->part = stride;
        how->weight[d] = in_parts ? stride * n->attrs[AT_PARTS].i : stride;
        how->first += how->weight[d] * reach_part(e, rows, dim.name, dim.size).begin;
        stride *= in_parts ? n->attrs[AT_WHOLE].i : dim.size;
    }
}

bool attention_bring(emitter *e, const node *n, const attention_roles *r, const slice *in,
                     const slice *rows, attention_view *v)
{
    attention_view blank = {.memory = {0, r->memory.size}};
    *v = blank;
    bool cut = reach_is_cut(&in[ATTENTION_K], r->memory.name);
    if (cut && !r->self) {
        unsigned axes = axes_of(e, r->memory.name);
        if (!(axes & row_axes(e, rows))) v->axes = axes;
    }
    for (int k = 0; k < ATTENTION_OPERANDS; k++) {
        v->how.at[k] = r->in[k] < 0 ? -1 : 0;
        if (r->in[k] < 0) continue;
        slice *s = &v->in[k];
        *s = in[r->in[k]];
        if (!lies_along(r, k) || !reach_is_cut(s, r->memory.name)) continue;
        if (r->self)
            TRY(reach_seen(e, n, r, r->in[k], s, &v->memory));
        else if (!v->axes)
            TRY(reach_whole(e, n->in[r->in[k]], r->memory.name, s));
        else
            v->memory = emit_part(e, r->memory.name, r->memory.size);
    }
    set_numbers(e, n, r, rows, v);
    if (n->attrs[AT_DROPOUT].r > 0) set_dropout(e, n, r, rows, &v->how);
    if (r->in[ATTENTION_BIAS] >= 0) attention_view_bias(r, v, &v->in[ATTENTION_BIAS]);
    for (int k = 0; k < ATTENTION_OPERANDS; k++) {
        if (r->in[k] < 0) continue;
        if (lies_along(r, k)) attention_rename(&v->in[k], r->memory.name, MEMORY_DIM);
        if (k == ATTENTION_Q || k == ATTENTION_K) attention_rename(&v->in[k], r->key.name, KEY_DIM);
        if (k == ATTENTION_V || k == ATTENTION_DY)
            attention_rename(&v->in[k], r->value.name, VALUE_DIM);
    }
    return true;
}

/* Definitions of attention and of its gradient.
 *
 * The weight of a pair is the hash that stands for the exponential of its score.  The logarithm of a
 * sum of weights is the sum itself, by which the gradient divides.
 */
#include <assert.h>
#include <string.h>

#include "verify/rules.h"

typedef struct attention {
    reference          *r;
    const node         *n;
    const tensor_value *in;
    const char         *query, *memory, *key, *value_dim; /* query NULL: one position */
    bool                self;
    int                 bias, read, write, query_segment, memory_segment; /* inputs; -1: absent */
    int                 first_iteration, end; /* inputs that are numbers of iterations */
    int64_t             nmemory, nkey, nvalue;
    int64_t             nearest, farthest; /* min_relative, max_relative */
    cell                scale;
    bool                drops; /* is there dropout? */
    cell                kept;  /* the factor of weights that it keeps */
    attr_names          over;  /* dropout_over */
    int         part; /* the input that says which part of part_of the queries are; -1: absent */
    const char *part_of;
    int64_t     whole, parts;
} attention;

static const char *word_of(const node *n, const char *which)
{
    const char *word = node_attr(n, which)->text;
    return word && *word ? word : NULL;
}

static int input_called(const node *n, int given, const char *name)
{
    attr_names with = node_attr(n, "with")->names;
    for (int k = 0; k < with.n; k++)
        if (strcmp(with.v[k], name) == 0) return given + k;
    return -1;
}

static attention attention_of(reference *r, const node *n, const tensor_value *in, int given)
{
    attention a = {.r = r, .n = n, .in = in};
    a.query = word_of(n, "query");
    a.memory = word_of(n, "memory");
    assert(a.memory != NULL);
    a.key = word_of(n, "key");
    a.value_dim = word_of(n, "value");
    a.self = a.query && strcmp(a.query, a.memory) == 0;
    a.bias = input_called(n, given, "bias");
    a.read = input_called(n, given, "read");
    a.write = input_called(n, given, "write");
    a.query_segment = input_called(n, given, "query_segment");
    a.memory_segment = input_called(n, given, "memory_segment");
    a.part = input_called(n, given, "part");
    a.end = a.part < 0 ? n->nargs : a.part;
    a.first_iteration = input_called(n, given, "iteration");
    if (a.first_iteration < 0) a.first_iteration = a.end;
    a.nmemory = mtf_shape_dim(*in[1].shape, a.memory).size;
    a.nkey = mtf_shape_dim(*in[1].shape, a.key).size;
    a.nvalue = mtf_shape_dim(*in[2].shape, a.value_dim).size;
    a.scale = field_of_double(node_attr(n, "scale")->r);
    a.nearest = node_attr(n, "min_relative")->i;
    a.farthest = node_attr(n, "max_relative")->i;
    a.drops = node_attr(n, "dropout")->r != 0;
    a.kept = field_of_double(1 / (1 - node_attr(n, "dropout")->r));
    a.over = node_attr(n, "dropout_over")->names;
    a.part_of = word_of(n, "part_of");
    a.whole = node_attr(n, "whole")->i;
    a.parts = node_attr(n, "parts")->i;
    return a;
}

/* Where x's element lies for a row, a position m of the memory and element d of a key or value.
 * `along`: what x calls the memory, NULL: x belongs to the rows alone. */
static int64_t place(const mtf_shape *x, const tour *row, const char *along, int64_t m,
                     const char *last, int64_t d)
{
    int64_t at = 0;
    for (int k = 0; k < x->ndims; k++) {
        const char *name = x->dims[k].name;
        int         r = -1;
        int64_t     index = 0;
        if (along && strcmp(name, along) == 0)
            index = m;
        else if (last && strcmp(name, last) == 0)
            index = d;
        else if ((r = tour_find(row, name)) >= 0)
            index = row->index[r];
        at = at * x->dims[k].size + index;
    }
    return at;
}

static int64_t whole_at(const attention *a, int input, const tour *row, const char *along,
                        int64_t m)
{
    return (int64_t)a->in[input].at[place(a->in[input].shape, row, along, m, NULL, 0)];
}

static int64_t query_index(const attention *a, const tour *row)
{
    return a->query ? row->index[tour_find(row, a->query)] : 0;
}

static bool sees(const attention *a, const tour *row, int64_t m)
{
    int64_t read = a->read < 0 ? query_index(a, row) : whole_at(a, a->read, row, NULL, 0);
    int64_t write = a->write < 0 ? m : whole_at(a, a->write, row, a->memory, m);
    if (write - read < a->nearest || write - read > a->farthest) return false;
    return a->query_segment < 0 || whole_at(a, a->query_segment, row, NULL, 0) ==
                                       whole_at(a, a->memory_segment, row, a->memory, m);
}

static int64_t bias_place(const attention *a, const tour *row, int64_t m)
{
    const mtf_shape *x = a->in[a->bias].shape;
    const char      *own = word_of(a->n, "bias_memory"), *relative = word_of(a->n, "bias_relative");
    if (relative) {
        int64_t queries = a->query ? row->size[tour_find(row, a->query)] : 1;
        return place(x, row, relative, m - query_index(a, row) + queries - 1, NULL, 0);
    }
    return place(x, row, own ? own : a->self ? NULL : a->memory, m, NULL, 0);
}

/* The sum over `last` of an operand of the row and one of the memory, n elements each. */
static cell dot(const attention *a, int x, int y, const tour *row, int64_t m, const char *last,
                int64_t n)
{
    const tensor_value *u = &a->in[x], *v = &a->in[y];
    int64_t             at = place(u->shape, row, NULL, 0, last, 0),
            other = place(v->shape, row, a->memory, m, last, 0);
    return field_dot(n, u->at + at, tour_stride(u->shape, last), v->at + other,
                     tour_stride(v->shape, last));
}

static cell weight(const attention *a, const tour *row, int64_t m)
{
    cell s = field_mul(a->scale, dot(a, 0, 1, row, m, a->key, a->nkey));
    if (a->bias >= 0) s = field_add(s, a->in[a->bias].at[bias_place(a, row, m)]);
    return exact_scalar(&a->r->exact, FN_exp, MTF_F64, s, 0);
}

static bool is_among(attr_names names, const char *name)
{
    for (int k = 0; k < names.n; k++)
        if (strcmp(names.v[k], name) == 0) return true;
    return false;
}

/* The number of a row among all rows, but for the dimensions of dropout_over. */
static int64_t row_number(const attention *a, const tour *row)
{
    int64_t number = 0;
    for (int d = 0; d < row->n; d++) {
        bool in_parts = a->part >= 0 && strcmp(row->name[d], a->part_of) == 0;
        if (is_among(a->over, row->name[d])) continue;
        number = in_parts
                     ? number * a->whole + (int64_t)a->in[a->part].at[0] + a->parts * row->index[d]
                     : number * row->size[d] + row->index[d];
    }
    return number;
}

/* The factor of dropout: decided for each combination of the weights' dimensions, but for those of
 * dropout_over. */
static cell factor(const attention *a, const tour *row, int64_t m)
{
    if (!a->drops) return 1;
    int64_t pair = row_number(a, row);
    if (a->self || !is_among(a->over, a->memory)) pair = pair * a->nmemory + m;
    uint64_t h = exact_dropout(&a->r->exact, (uint32_t)node_attr(a->n, "stream")->i, pair);
    for (int k = a->first_iteration; k < a->end; k++) h = hash_pair(h, (uint64_t)a->in[k].at[0]);
    return h & 1 ? a->kept : 0;
}

/* Tracks 0 and 1 are in tensors that have the rows' dimensions alone. */
static tour rows_of(const attention *a, const mtf_shape *first, const mtf_shape *second)
{
    mtf_dim   key = mtf_shape_dim(*a->in[0].shape, a->key);
    mtf_shape rows = mtf_shape_minus(*a->in[0].shape, mtf_shape(key));
    tour      w = tour_over(&rows);
    tour_track(&w, first);
    tour_track(&w, second);
    return w;
}

static double score_degree(const attention *a)
{
    double product = a->in[0].degree + a->in[1].degree;
    return a->bias < 0 ? product : fmax(product, a->in[a->bias].degree);
}

static bool rule_attention(reference *r, const node *n, const tensor_value *in, tensor_value *out)
{
    attention a = attention_of(r, n, in, 3);
    tour      row = rows_of(&a, out[1].shape, out[1].shape);
    do {
        int64_t y = place(out[0].shape, &row, NULL, 0, a.value_dim, 0),
                step = tour_stride(out[0].shape, a.value_dim);
        cell sum = 0;
        for (int64_t m = 0; m < a.nmemory; m++) {
            if (!sees(&a, &row, m)) continue;
            cell    w = weight(&a, &row, m), kept = field_mul(w, factor(&a, &row, m));
            int64_t v = place(in[2].shape, &row, a.memory, m, a.value_dim, 0),
                    next = tour_stride(in[2].shape, a.value_dim);
            sum = field_add(sum, w);
            for (int64_t d = 0; d < a.nvalue; d++)
                out[0].at[y + d * step] =
                    field_add(out[0].at[y + d * step], field_mul(kept, in[2].at[v + d * next]));
        }
        out[1].at[row.at[0]] = sum;
        cell inverse = exact_inverse(&r->exact, sum);
        for (int64_t d = 0; d < a.nvalue; d++)
            out[0].at[y + d * step] = field_mul(out[0].at[y + d * step], inverse);
    } while (tour_next(&row));
    note_hashed(r, score_degree(&a));
    out[0].degree = 2 + in[2].degree;
    out[1].degree = 1;
    return true;
}

static void add_to(tensor_value *out, int64_t at, cell a, cell b)
{
    out->at[at] = field_add(out->at[at], field_mul(a, b));
}

/* One pair's share of the gradients. */
static void add_pair(const attention *a, const tour *row, int64_t m, tensor_value *out)
{
    const tensor_value *in = a->in;
    cell                inverse = exact_inverse(&a->r->exact, in[3].at[row->at[0]]);
    cell                p = field_mul(weight(a, row, m), inverse), kept = factor(a, row, m);
    cell                dp = field_mul(kept, dot(a, 4, 2, row, m, a->value_dim, a->nvalue));
    cell                slope = field_mul(p, field_sub(dp, in[5].at[row->at[1]]));
    int64_t             query = place(in[0].shape, row, NULL, 0, a->key, 0),
            query_step = tour_stride(in[0].shape, a->key);
    int64_t key = place(in[1].shape, row, a->memory, m, a->key, 0),
            key_step = tour_stride(in[1].shape, a->key);
    for (int64_t d = 0; d < a->nkey; d++) {
        int64_t q = query + d * query_step, k = key + d * key_step;
        add_to(&out[0], q, field_mul(slope, a->scale), in[1].at[k]);
        add_to(&out[1], k, field_mul(slope, a->scale), in[0].at[q]);
    }
    int64_t value = place(in[2].shape, row, a->memory, m, a->value_dim, 0),
            value_step = tour_stride(in[2].shape, a->value_dim);
    int64_t dy = place(in[4].shape, row, NULL, 0, a->value_dim, 0),
            dy_step = tour_stride(in[4].shape, a->value_dim);
    for (int64_t d = 0; d < a->nvalue; d++)
        add_to(&out[2], value + d * value_step, field_mul(p, kept), in[4].at[dy + d * dy_step]);
    if (a->n->nout > 3) add_to(&out[3], bias_place(a, row, m), slope, 1);
}

static bool rule_attention_grad(reference *r, const node *n, const tensor_value *in,
                                tensor_value *out)
{
    attention a = attention_of(r, n, in, 6);
    tour      row = rows_of(&a, in[3].shape, in[5].shape);
    do
        for (int64_t m = 0; m < a.nmemory; m++)
            if (sees(&a, &row, m)) add_pair(&a, &row, m, out);
    while (tour_next(&row));
    double slope = 2 + fmax(in[4].degree + in[2].degree, in[5].degree);
    note_hashed(r, fmax(score_degree(&a), in[3].degree));
    out[0].degree = slope + in[1].degree;
    out[1].degree = slope + in[0].degree;
    out[2].degree = 2 + in[4].degree;
    if (n->nout > 3) out[3].degree = slope;
    return true;
}

const named_rule plain_attention_rules[] = {
    {"attention", rule_attention}, {"attention_grad", rule_attention_grad}, {NULL, NULL}};

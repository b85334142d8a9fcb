/* Definitions of attention and of its gradient. */
#include <string.h>

#include "rules.h"

/* One node, and where a walk over rows and memory is in each of its tensors. */
typedef struct attention {
    oracle             *o;
    const node         *n;
    const value *const *in;
    const char         *query, *memory, *key, *value_dim;
    bool                self;
    int                 given;
    int                 bias, read, write, query_segment, memory_segment; /* inputs; -1: absent */
} attention;

static int input_called(const node *n, int given, const char *name)
{
    attr_names with = node_attr(n, "with")->names;
    for (int k = 0; k < with.n; k++)
        if (strcmp(with.v[k], name) == 0) return given + k;
    return -1;
}

static attention attention_of(oracle *o, const node *n, const value *const *in, int given)
{
    attention a = {.o = o, .n = n, .in = in, .given = given};
    a.query = node_attr(n, "query")->text;
    a.memory = node_attr(n, "memory")->text;
    a.key = node_attr(n, "key")->text;
    a.value_dim = node_attr(n, "value")->text;
    if (a.query && !*a.query) a.query = NULL;
    a.self = a.query && strcmp(a.query, a.memory) == 0;
    a.bias = input_called(n, given, "bias");
    a.read = input_called(n, given, "read");
    a.write = input_called(n, given, "write");
    a.query_segment = input_called(n, given, "query_segment");
    a.memory_segment = input_called(n, given, "memory_segment");
    return a;
}

/* Where x's element lies for a row's index, a position of the memory and an element of a key or value.
 * `along`: what x calls the memory, NULL: x belongs to the rows alone. */
static int64_t place(const mtf_shape *x, const walk *row, const char *along, int64_t m,
                     const char *last, int64_t d)
{
    int64_t at = 0;
    for (int k = 0; k < x->ndims; k++) {
        const char *name = x->dims[k].name;
        int         r = walk_find(row, name);
        int64_t     index = along && strcmp(name, along) == 0 ? m
                            : last && strcmp(name, last) == 0 ? d
                            : r >= 0                          ? row->at[r]
                                                              : 0;
        at += index * stride_of(x, name);
    }
    return at;
}

static int64_t whole_at(const attention *a, int input, const walk *row, const char *along,
                        int64_t m)
{
    const value *x = a->in[input];
    return x->at[place(&x->shape, row, along, m, NULL, 0)].i;
}

static int64_t query_index(const attention *a, const walk *row)
{
    return a->query ? row->at[walk_find(row, a->query)] : 0;
}

static bool sees(const attention *a, const walk *row, int64_t m)
{
    int64_t read = a->read < 0 ? query_index(a, row) : whole_at(a, a->read, row, NULL, 0);
    int64_t write = a->write < 0 ? m : whole_at(a, a->write, row, a->memory, m);
    if (write - read < node_attr(a->n, "min_relative")->i ||
        write - read > node_attr(a->n, "max_relative")->i)
        return false;
    return a->query_segment < 0 || whole_at(a, a->query_segment, row, NULL, 0) ==
                                       whole_at(a, a->memory_segment, row, a->memory, m);
}

/* Where the bias of a pair lies. */
static int64_t bias_place(const attention *a, const walk *row, int64_t m)
{
    const value *x = a->in[a->bias];
    const char  *own = node_attr(a->n, "bias_memory")->text,
               *relative = node_attr(a->n, "bias_relative")->text;
    if (relative && *relative) {
        int64_t queries = a->query ? row->size[walk_find(row, a->query)] : 1;
        return place(&x->shape, row, relative, m - query_index(a, row) + queries - 1, NULL, 0);
    }
    const char *along = own && *own ? own : a->self ? NULL : a->memory;
    return place(&x->shape, row, along, m, NULL, 0);
}

static int64_t size_in(const mtf_shape *s, const char *dim)
{
    return mtf_shape_dim(*s, dim).size;
}

/* The sum over `last` of two operands of a pair. */
static double dot(const attention *a, int x, int y, const walk *row, int64_t m, const char *last)
{
    const value *u = a->in[x], *v = a->in[y];
    double       sum = 0;
    for (int64_t d = 0; d < size_in(&v->shape, last); d++)
        sum += u->at[place(&u->shape, row, NULL, 0, last, d)].v *
               v->at[place(&v->shape, row, a->memory, m, last, d)].v;
    return sum;
}

static double score(const attention *a, const walk *row, int64_t m)
{
    double s = node_attr(a->n, "scale")->r * dot(a, 0, 1, row, m, a->key);
    return a->bias < 0 ? s : s + a->in[a->bias]->at[bias_place(a, row, m)].v;
}

static bool is_definite(const attention *a)
{
    for (int k = 0; k < a->n->nargs; k++)
        for (int64_t i = 0; i < a->in[k]->n; i++)
            if (!number_known(a->in[k]->at[i])) return false;
    return true;
}

/* How far results may be off, in units of their magnitudes: what the inputs may be off, and rounding. */
static double error_of(const attention *a)
{
    double most = 0, sizes = 1;
    for (int k = 0; k < a->n->nargs; k++)
        for (int64_t i = 0; i < a->in[k]->n; i++) {
            most = fmax(most, a->in[k]->at[i].slack);
            if (is_real(a->in[k]->type) && a->in[k]->at[i].v > -1e29)
                sizes = fmax(sizes, fabs(a->in[k]->at[i].v));
        }
    int64_t terms = size_in(&a->in[1]->shape, a->key) + size_in(&a->in[1]->shape, a->memory);
    double  unit = ldexp((double)terms + 64, a->in[0]->type == MTF_F64 ? -52 : -23);
    return 4 * sizes * sizes * (double)terms * (most + unit * sizes);
}

static void mark_unknown(value *out, int n)
{
    for (int o = 0; o < n; o++)
        for (int64_t i = 0; i < out[o].n; i++) out[o].at[i] = number_unknown();
}

static walk rows_of(const attention *a)
{
    mtf_shape rows = a->in[0]->shape;
    rows.ndims = 0;
    for (int k = 0; k < a->in[0]->shape.ndims; k++)
        if (strcmp(a->in[0]->shape.dims[k].name, a->key) != 0)
            rows.dims[rows.ndims++] = a->in[0]->shape.dims[k];
    return walk_over(&rows);
}

static void rule_attention(oracle *o, const node *n, const value *const *in, value *out)
{
    attention a = attention_of(o, n, in, 3);
    int64_t   memory = size_in(&in[1]->shape, a.memory), wide = size_in(&in[2]->shape, a.value_dim);
    walk      row = rows_of(&a);
    o->work += row.count * memory * (size_in(&in[1]->shape, a.key) + wide);
    if (!is_definite(&a) || node_attr(n, "dropout")->r > 0) {
        mark_unknown(out, n->nout);
        return;
    }
    double error = error_of(&a);
    do {
        double top = -INFINITY, sum = 0, most = 0;
        for (int64_t m = 0; m < memory; m++)
            if (sees(&a, &row, m)) top = fmax(top, score(&a, &row, m));
        for (int64_t m = 0; m < memory; m++)
            if (sees(&a, &row, m)) sum += exp(score(&a, &row, m) - top);
        double lse = sum > 0 ? top + log(sum) : -1e30;
        out[1].at[place(&out[1].shape, &row, NULL, 0, NULL, 0)] =
            number_made(lse, sum > 0 ? error * (1 + fabs(lse)) : 0, false, out[1].type);
        for (int64_t d = 0; d < wide; d++) {
            double y = 0;
            for (int64_t m = 0; m < memory; m++) {
                if (!sees(&a, &row, m)) continue;
                double v = in[2]->at[place(&in[2]->shape, &row, a.memory, m, a.value_dim, d)].v;
                y += exp(score(&a, &row, m) - lse) * v;
                most = fmax(most, fabs(v));
            }
            out[0].at[place(&out[0].shape, &row, NULL, 0, a.value_dim, d)] =
                number_made(y, sum > 0 ? error * (1 + most) : 0, false, out[0].type);
        }
    } while (walk_next(&row));
}

static void add_to(value *out, int64_t at, double x, double slack)
{
    out->at[at].v += x;
    out->at[at].slack += slack;
}

static void rule_attention_grad(oracle *o, const node *n, const value *const *in, value *out)
{
    attention a = attention_of(o, n, in, 6);
    int64_t   memory = size_in(&in[1]->shape, a.memory), key = size_in(&in[1]->shape, a.key),
            wide = size_in(&in[2]->shape, a.value_dim);
    walk   row = rows_of(&a);
    double scale = node_attr(n, "scale")->r;
    o->work += row.count * memory * (3 * key + 2 * wide);
    if (!is_definite(&a) || node_attr(n, "dropout")->r > 0) {
        mark_unknown(out, n->nout);
        return;
    }
    double error = error_of(&a);
    for (int k = 0; k < n->nout; k++)
        for (int64_t i = 0; i < out[k].n; i++) out[k].at[i] = number_real(0);
    do {
        int64_t at_row = place(&in[3]->shape, &row, NULL, 0, NULL, 0);
        double  lse = in[3]->at[at_row].v;
        double  delta = in[5]->at[place(&in[5]->shape, &row, NULL, 0, NULL, 0)].v;
        for (int64_t m = 0; m < memory; m++) {
            if (!sees(&a, &row, m)) continue;
            double p = exp(score(&a, &row, m) - lse), dp = dot(&a, 4, 2, &row, m, a.value_dim);
            double slope = p * (dp - delta), off = error * (1 + p) * (1 + fabs(dp) + fabs(delta));
            for (int64_t d = 0; d < key; d++) {
                int64_t q = place(&in[0]->shape, &row, NULL, 0, a.key, d),
                        k = place(&in[1]->shape, &row, a.memory, m, a.key, d);
                add_to(&out[0], q, scale * slope * in[1]->at[k].v,
                       fabs(scale) * off * (1 + fabs(in[1]->at[k].v)));
                add_to(&out[1], k, scale * slope * in[0]->at[q].v,
                       fabs(scale) * off * (1 + fabs(in[0]->at[q].v)));
            }
            for (int64_t d = 0; d < wide; d++) {
                double dy = in[4]->at[place(&in[4]->shape, &row, NULL, 0, a.value_dim, d)].v;
                add_to(&out[2], place(&in[2]->shape, &row, a.memory, m, a.value_dim, d), p * dy,
                       off * (1 + fabs(dy)));
            }
            if (n->nout > 3) add_to(&out[3], bias_place(&a, &row, m), slope, off);
        }
    } while (walk_next(&row));
    for (int k = 0; k < n->nout; k++)
        for (int64_t i = 0; i < out[k].n; i++)
            out[k].at[i] = number_made(out[k].at[i].v, out[k].at[i].slack, false, out[k].type);
}

const named_rule attention_rules[] = {
    {"attention", rule_attention}, {"attention_grad", rule_attention_grad}, {NULL, NULL}};

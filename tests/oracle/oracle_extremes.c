/* Definitions of maxima, minima, their places, and order. */
#include <stdlib.h>
#include <string.h>

#include "rules.h"

/* ---- reductions ---- */

/* The largest or smallest of what falls on an element, and the first place where it is. */
static void reduce(const node *n, const value *in, value *best, bool largest, int64_t *first,
                   bool *doubtful)
{
    (void)n;
    walk    w = walk_over(&in->shape);
    track   to = track_in(&w, &best->shape);
    int64_t i = 0;
    for (int64_t k = 0; k < best->n; k++)
        first[k] = -1, doubtful[k] = false, best->at[k] = number_unknown();
    do {
        int64_t k = track_at(&w, &to);
        number  x = in->at[i];
        int     c = first[k] < 0 ? 1 : number_compare(x, best->at[k], in->type);
        bool    wins = c == 2 ? (largest ? x.v > best->at[k].v : x.v < best->at[k].v)
                              : (largest ? c > 0 : c < 0) || first[k] < 0;
        doubtful[k] = (doubtful[k] && (c == 2 || !wins)) || c == 2 || !number_known(x);
        double slack = fmax(x.slack, best->at[k].slack);
        if (wins) best->at[k] = x, first[k] = i;
        if (c == 2) best->at[k].slack = slack;
        i++;
    } while (walk_next(&w));
}

static void rule_extreme(oracle *o, const node *n, const value *const *in, value *out)
{
    const char *name = n->op->name;
    bool        largest = !strcmp(name, "reduce_max") || !strcmp(name, "reduce_any");
    int64_t    *first = calloc((size_t)out->n + 1, sizeof *first);
    bool       *doubtful = calloc((size_t)out->n + 1, sizeof *doubtful);
    if (!first || !doubtful)
        oracle_fail(o, "no memory");
    else
        reduce(n, in[0], out, largest, first, doubtful);
    for (int64_t k = 0; k < out->n && !o->error[0]; k++)
        if (!number_known(out->at[k]))
            out->at[k] = number_unknown();
        else if (is_real(out->type))
            out->at[k] = number_made(out->at[k].v, out->at[k].slack, true, out->type);
    free(first);
    free(doubtful);
}

/* Where in the row-major order of the reduced dimensions. */
static void rule_arg(oracle *o, const node *n, const value *const *in, value *out)
{
    bool     largest = !strcmp(n->op->name, "argmax_over");
    value    best = {in[0]->type, out->shape, out->n, oracle_room(o, out->n)};
    int64_t *first = calloc((size_t)out->n + 1, sizeof *first), i = 0;
    bool    *doubtful = calloc((size_t)out->n + 1, sizeof *doubtful);
    if (best.at && first && doubtful) {
        reduce(n, in[0], &best, largest, first, doubtful);
        mtf_shape reduced = mtf_shape_minus(in[0]->shape, out->shape);
        walk      w = walk_over(&in[0]->shape);
        track     place = track_in(&w, &reduced), to = track_in(&w, &out->shape);
        do {
            int64_t k = track_at(&w, &to);
            if (first[k] == i) out->at[k] = number_int(track_at(&w, &place), MTF_I32);
            i++;
        } while (walk_next(&w));
        for (int64_t k = 0; k < out->n; k++)
            if (doubtful[k]) out->at[k] = number_unknown();
    }
    free(first);
    free(doubtful);
}

/* ---- order ---- */

typedef struct ranked {
    number  x;
    int64_t index;
} ranked;

/* Smaller first (larger, descending); of equal ones the lower index. */
static bool stands_before(const ranked *a, const ranked *b, mtf_dtype type, bool descending)
{
    double x = is_real(type) ? a->x.v : 0, y = is_real(type) ? b->x.v : 0;
    if (a->x.i != b->x.i && !is_real(type)) return (a->x.i < b->x.i) != descending;
    if (x != y) return (x < y) != descending;
    return a->index < b->index;
}

/* Elements whose order is not definite have no definite place, nor have those in between. */
static void sort_row(ranked *row, int64_t n, mtf_dtype type, bool descending, bool *loose)
{
    for (int64_t i = 1; i < n; i++)
        for (int64_t k = i; k > 0 && stands_before(&row[k], &row[k - 1], type, descending); k--) {
            ranked keep = row[k];
            row[k] = row[k - 1];
            row[k - 1] = keep;
        }
    for (int64_t i = 0; i < n; i++) loose[i] = false;
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = i + 1; k < n; k++)
            if (number_compare(row[i].x, row[k].x, type) == 2)
                for (int64_t j = i; j <= k; j++) loose[j] = true;
}

/* The first k of each row, and where they were; `to` is the row's dimension in the results. */
static void order(oracle *o, const value *in, const char *dim, const char *to, bool descending,
                  value *out)
{
    int64_t   size = mtf_shape_dim(in->shape, dim).size, step = stride_of(&in->shape, dim);
    mtf_dim   k = mtf_shape_dim(out[0].shape, to);
    mtf_shape rest = mtf_shape_minus(in->shape, mtf_shape((mtf_dim){dim, size}));
    ranked   *row = calloc((size_t)size + 1, sizeof *row);
    bool     *loose = calloc((size_t)size + 1, sizeof *loose);
    walk      w = walk_over(&rest);
    track     from = track_in(&w, &in->shape), into = track_in(&w, &out[0].shape);
    int64_t   put = stride_of(&out[0].shape, to);
    o->work += in->n * size;
    if (!row || !loose) oracle_fail(o, "no memory");
    while (!o->error[0]) {
        int64_t at = track_at(&w, &from), there = track_at(&w, &into);
        double  off = 0;
        for (int64_t i = 0; i < size; i++) {
            row[i] = (ranked){in->at[at + i * step], i};
            off = fmax(off, row[i].x.slack);
        }
        sort_row(row, size, in->type, descending, loose);
        for (int64_t i = 0; i < k.size; i++) {
            number x = row[i].x;
            if (loose[i] && off == (double)INFINITY)
                x = number_unknown();
            else if (is_real(in->type))
                x = number_made(x.v, loose[i] ? off : x.slack, true, in->type);
            out[0].at[there + i * put] = x;
            out[1].at[there + i * put] =
                loose[i] ? number_unknown() : number_int(row[i].index, MTF_I32);
        }
        if (!walk_next(&w)) break;
    }
    free(row);
    free(loose);
}

static void rule_sort(oracle *o, const node *n, const value *const *in, value *out)
{
    const char *dim = node_attr(n, "dim")->text;
    order(o, in[0], dim, dim, node_attr(n, "descending")->b, out);
}

static void rule_top_k(oracle *o, const node *n, const value *const *in, value *out)
{
    order(o, in[0], node_attr(n, "dim")->text, node_attr(n, "k")->dim.name, true, out);
}

/* ---- the best of the most probable ---- */

/* How many of the sorted logits have a share of p of the probability of the first k; 0: not definite. */
static int64_t nucleus_of(const ranked *row, int64_t n, int64_t k, double p)
{
    double all = 0, sum = 0;
    if (k > 0 && k < n) n = k;
    if (!(p > 0 && p < 1)) return n;
    for (int64_t i = 0; i < n; i++) all += exp(row[i].x.v - row[0].x.v);
    for (int64_t i = 0; i < n; i++) {
        sum += exp(row[i].x.v - row[0].x.v);
        if (fabs(sum - p * all) < 1e-4 * all) return 0;
        if (sum > p * all) return i + 1;
    }
    return n;
}

/* The index of the best score among the first n; -1: not definite. */
static int64_t best_of(const ranked *row, int64_t n, const number *score, int64_t step)
{
    int64_t best = row[0].index;
    for (int64_t i = 1; i < n; i++) {
        number mine = score[row[i].index * step], held = score[best * step];
        if (number_compare(mine, held, MTF_F32) == 2) return -1;
        if (mine.v > held.v || (mine.v == held.v && row[i].index < best)) best = row[i].index;
    }
    return best;
}

static void rule_nucleus(oracle *o, const node *n, const value *const *in, value *out)
{
    const char *dim = node_attr(n, "dim")->text;
    int64_t     size = mtf_shape_dim(in[0]->shape, dim).size;
    int64_t     score_step = stride_of(&in[0]->shape, dim), step = stride_of(&in[1]->shape, dim);
    ranked     *row = calloc((size_t)size + 1, sizeof *row);
    bool       *loose = calloc((size_t)size + 1, sizeof *loose);
    walk        w = walk_over(&out->shape);
    track       at[4], to = track_in(&w, &out->shape);
    for (int k = 0; k < 4; k++) at[k] = track_in(&w, &in[k]->shape);
    o->work += in[0]->n * size;
    if (!row || !loose) oracle_fail(o, "no memory");
    while (!o->error[0]) {
        number k = in[2]->at[track_at(&w, &at[2])], p = in[3]->at[track_at(&w, &at[3])];
        bool   known = number_known(k) && number_known(p) && p.slack == 0;
        for (int64_t i = 0; i < size; i++) {
            row[i] = (ranked){in[1]->at[track_at(&w, &at[1]) + i * step], i};
            known = known && number_known(row[i].x);
        }
        if (known) sort_row(row, size, MTF_F32, true, loose);
        for (int64_t i = 0; known && i < size; i++) known = !loose[i];
        int64_t found = known ? nucleus_of(row, size, k.i, p.v) : 0;
        int64_t best =
            found ? best_of(row, found, in[0]->at + track_at(&w, &at[0]), score_step) : -1;
        out->at[track_at(&w, &to)] = best < 0 ? number_unknown() : number_int(best, MTF_I32);
        if (!walk_next(&w)) break;
    }
    free(row);
    free(loose);
}

const named_rule extreme_rules[] = {{"reduce_max", rule_extreme},
                                    {"reduce_min", rule_extreme},
                                    {"reduce_all", rule_extreme},
                                    {"reduce_any", rule_extreme},
                                    {"argmax_over", rule_arg},
                                    {"argmin_over", rule_arg},
                                    {"sort", rule_sort},
                                    {"top_k", rule_top_k},
                                    {"nucleus_argmax", rule_nucleus},
                                    {NULL, NULL}};

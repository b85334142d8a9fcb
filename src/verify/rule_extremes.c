/* Definitions of maxima, minima, their places, and order. */
#include <stdlib.h>
#include <string.h>

#include "verify/rules.h"

static fold_kind kind_of(const char *name)
{
    bool largest = strcmp(name, "reduce_max") == 0 || strcmp(name, "reduce_any") == 0 ||
                   strcmp(name, "argmax_over") == 0;
    return largest ? FOLD_MAX : FOLD_MIN;
}

static bool rule_extreme(reference *r, const node *n, const tensor_value *in, tensor_value *out)
{
    tour w = tour_over(out->shape);
    tour_join(&w, in[0].shape);
    int       from = tour_track(&w, in[0].shape), to = tour_track(&w, out->shape);
    fold_kind kind = kind_of(n->op->name);
    int64_t   rest = out->n ? in[0].n / out->n : 1, k = 0; /* the reduced dimensions come last */
    do {
        cell *best = &out->at[w.at[to]], next = in[0].at[w.at[from]];
        *best = k++ % rest ? exact_best(&r->exact, kind, in[0].type, *best, next) : next;
    } while (tour_next(&w));
    note_hashed(r, in[0].degree);
    out->degree = in[0].degree;
    return true;
}

/* Where in the row-major order of the reduced dimensions: the first of equal ones. */
static bool rule_place(reference *r, const node *n, const tensor_value *in, tensor_value *out)
{
    tour w = tour_over(out->shape);
    tour_join(&w, in[0].shape);
    int     from = tour_track(&w, in[0].shape), to = tour_track(&w, out->shape);
    bool    largest = kind_of(n->op->name) == FOLD_MAX;
    int64_t rest = out->n ? in[0].n / out->n : 1, k = 0, held = 0;
    do {
        int64_t mine = exact_order(&r->exact, in[0].type, in[0].at[w.at[from]]), place = k++ % rest;
        if (place && (largest ? mine <= held : mine >= held)) continue;
        held = mine;
        out->at[w.at[to]] = (cell)place;
    } while (tour_next(&w));
    note_hashed(r, in[0].degree);
    return true;
}

/* ---- order ---- */

typedef struct ranked {
    int64_t key, index;
    cell    element;
} ranked;

/* Smaller first; of equal ones the lower index. */
static int compare(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* The first of each row along dim, and where they were; `to` is the row's dimension in the results. */
static bool order(reference *r, const tensor_value *in, const char *dim, const char *to,
                  bool descending, tensor_value *out)
{
    mtf_dim   along = mtf_shape_dim(*in->shape, dim), best = mtf_shape_dim(*out[0].shape, to);
    mtf_shape rest = mtf_shape_minus(*in->shape, mtf_shape(along));
    int64_t   step = tour_stride(in->shape, dim), put = tour_stride(out[0].shape, to);
    ranked   *row = arena_array(&r->scratch, ranked, along.size + 1);
    tour      w = tour_over(&rest);
    int       from = tour_track(&w, in->shape), into = tour_track(&w, out[0].shape);
    TRY(row != NULL);
    do {
        for (int64_t k = 0; k < along.size; k++) {
            cell    x = in->at[w.at[from] + k * step];
            int64_t key = exact_order(&r->exact, in->type, x);
            row[k] = (ranked){descending ? ~key : key, k, x};
        }
        qsort(row, (size_t)along.size, sizeof *row, compare);
        for (int64_t k = 0; k < best.size; k++) {
            out[0].at[w.at[into] + k * put] = row[k].element;
            out[1].at[w.at[into] + k * put] = (cell)row[k].index;
        }
    } while (tour_next(&w));
    note_hashed(r, in->degree);
    out[0].degree = in->degree;
    return true;
}

static bool rule_sort(reference *r, const node *n, const tensor_value *in, tensor_value *out)
{
    const char *dim = node_attr(n, "dim")->text;
    return order(r, in, dim, dim, node_attr(n, "descending")->b, out);
}

static bool rule_top_k(reference *r, const node *n, const tensor_value *in, tensor_value *out)
{
    return order(r, in, node_attr(n, "dim")->text, node_attr(n, "k")->dim.name, true, out);
}

/* ---- the best of the most probable ---- */

/* The sum of the weights of those before j in the order of the logits, and how many they are. */
static uint64_t before(const reference *r, const ranked *row, int64_t n, int64_t j, int64_t *count)
{
    uint64_t sum = 0;
    *count = 0;
    for (int64_t k = 0; k < n; k++) {
        if (compare(&row[k], &row[j]) >= 0) continue;
        sum += exact_weight(&r->exact, row[k].element);
        ++*count;
    }
    return sum;
}

static bool rule_nucleus(reference *r, const node *n, const tensor_value *in, tensor_value *out)
{
    mtf_dim along = mtf_shape_dim(*in->shape, node_attr(n, "dim")->text);
    int64_t score_step = tour_stride(in[0].shape, along.name),
            logit_step = tour_stride(in[1].shape, along.name);
    ranked *row = arena_array(&r->scratch, ranked, along.size);
    tour    w = tour_over(out->shape);
    int     track[4], to = tour_track(&w, out->shape);
    TRY(row != NULL);
    for (int k = 0; k < 4; k++) track[k] = tour_track(&w, in[k].shape);
    do {
        const cell *score = in[0].at + w.at[track[0]], *logit = in[1].at + w.at[track[1]];
        int64_t     k = (int64_t)in[2].at[w.at[track[2]]], count, best = -1;
        uint64_t    all = 0;
        for (int64_t j = 0; j < along.size; j++) {
            cell x = logit[j * logit_step];
            row[j] = (ranked){~exact_order(&r->exact, in[1].type, x), j, x};
        }
        if (k <= 0 || k > along.size) k = along.size;
        for (int64_t j = 0; j < along.size; j++) {
            before(r, row, along.size, j, &count);
            if (count < k) all += exact_weight(&r->exact, row[j].element);
        }
        uint64_t share = exact_share(&r->exact, in[3].at[w.at[track[3]]], all);
        for (int64_t j = 0; j < along.size; j++) {
            bool inside = before(r, row, along.size, j, &count) < share && count < k;
            if (inside &&
                (best < 0 || exact_order(&r->exact, in[0].type, score[j * score_step]) >
                                 exact_order(&r->exact, in[0].type, score[best * score_step])))
                best = j;
        }
        out->at[w.at[to]] = (cell)best;
    } while (tour_next(&w));
    for (int k = 0; k < 4; k++) note_hashed(r, in[k].degree);
    return true;
}

const named_rule plain_extreme_rules[] = {{"reduce_max", rule_extreme},
                                          {"reduce_min", rule_extreme},
                                          {"reduce_all", rule_extreme},
                                          {"reduce_any", rule_extreme},
                                          {"argmax_over", rule_place},
                                          {"argmin_over", rule_place},
                                          {"sort", rule_sort},
                                          {"top_k", rule_top_k},
                                          {"nucleus_argmax", rule_nucleus},
                                          {NULL, NULL}};

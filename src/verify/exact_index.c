/* Indices, order and random numbers of the exact device. */
#include <stdlib.h>

#include "verify/exact.h"

/* The index in a cell; -1: out of range. */
static int64_t index_in(const instr *i, cell index)
{
    int64_t at = (int64_t)index;
    return at >= 0 && at < i->gather.along ? at : -1;
}

bool exact_gather(exact *x, const instr *i)
{
    operand_view table = view_of(x, i, &i->in[0]), index = view_of(x, i, &i->in[1]),
                 out = view_of(x, i, &i->out[0]);
    int64_t along = i->gather.along_stride * table.step;
    for (iterations t = iterations_begin(i, 0, i->nloops, &table, &index, &out); !t.done;
         iterations_next(&t)) {
        int64_t at = index_in(i, index.at[t.at[1]]);
        out.at[t.at[2]] = at < 0 ? 0 : table.at[t.at[0] + at * along];
    }
    return true;
}

bool exact_scatter(exact *x, const instr *i)
{
    operand_view data = view_of(x, i, &i->in[0]), index = view_of(x, i, &i->in[1]),
                 out = view_of(x, i, &i->out[0]);
    int64_t along = i->gather.along_stride * out.step;
    for (iterations t = iterations_begin(i, 0, i->nloops, &data, &index, &out); !t.done;
         iterations_next(&t)) {
        int64_t at = index_in(i, index.at[t.at[1]]);
        if (at < 0) continue;
        cell *to = &out.at[t.at[2] + at * along], from = data.at[t.at[0]];
        *to = i->gather.set ? from : exact_add(out.type, *to, from);
    }
    return true;
}

/* ---- order ---- */

typedef struct sort_item {
    int64_t key;
    int64_t index;
    cell    value;
} sort_item;

static int compare_items(const void *a, const void *b)
{
    const sort_item *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

bool exact_sort(exact *x, const instr *i)
{
    const order_args *how = &i->order;
    operand_view      in = view_of(x, i, &i->in[0]), values = view_of(x, i, &i->out[0]),
                 indices = view_of(x, i, &i->out[1]);
    size_t     cells = (size_t)how->along * sizeof(sort_item) / sizeof(cell) + 1;
    sort_item *items = (sort_item *)(void *)exact_tile(x, cells);
    TRY(items != NULL);
    for (iterations t = iterations_begin(i, 0, i->nloops, &in, &values, &indices); !t.done;
         iterations_next(&t)) {
        const cell *from = in.at + t.at[0];
        for (int64_t k = 0; k < how->along; k++) {
            cell    value = from[k * how->in_stride * in.step];
            int64_t key = exact_order(x, in.type, value);
            items[k] = (sort_item){how->descending ? ~key : key, k, value}; /* ~: reversed */
        }
        qsort(items, (size_t)how->along, sizeof *items, compare_items);
        cell *value = values.at + t.at[1], *index = indices.at + t.at[2];
        for (int64_t k = 0; k < how->k; k++) {
            value[k * how->value_stride * values.step] = items[k].value;
            index[k * how->index_stride * indices.step] = (cell)items[k].index;
        }
    }
    return true;
}

/* Of the sorted row, how many may be chosen. */
static int64_t nucleus_of(const exact *x, const sort_item *items, int64_t n, int64_t k, cell p)
{
    uint64_t all = 0, sum = 0, share;
    if (k > 0 && k < n) n = k;
    for (int64_t j = 0; j < n; j++) all += exact_weight(x, items[j].value);
    share = exact_share(x, p, all);
    for (int64_t j = 0; j < n; j++)
        if ((sum += exact_weight(x, items[j].value)) >= share) return j + 1;
    return n;
}

bool exact_nucleus(exact *x, const instr *i)
{
    const nucleus_args *how = &i->nucleus;
    operand_view        in[4], out = view_of(x, i, &i->out[0]);
    sort_item          *items = (sort_item *)(void *)exact_tile(
                 x, (size_t)how->along * sizeof(sort_item) / sizeof(cell) + 1);
    TRY(items != NULL);
    for (int n = 0; n < 4; n++) in[n] = view_of(x, i, &i->in[n]);
    iterations rows = iterations_begin(i, 0, i->nloops, &in[0], &in[1], &out);
    for (iterations few = iterations_begin(i, 0, i->nloops, &in[2], &in[3], NULL); !rows.done;
         iterations_next(&rows), iterations_next(&few)) {
        const cell *score = in[0].at + rows.at[0], *logit = in[1].at + rows.at[1];
        for (int64_t j = 0; j < how->along; j++) {
            cell value = logit[j * how->logit_stride * in[1].step];
            items[j] = (sort_item){~exact_order(x, MTF_F32, value), j, value};
        }
        qsort(items, (size_t)how->along, sizeof *items, compare_items);
        int64_t n =
            nucleus_of(x, items, how->along, (int64_t)in[2].at[few.at[0]], in[3].at[few.at[1]]);
        int64_t best = items[0].index, held = INT64_MIN;
        for (int64_t j = 0; j < n; j++) {
            int64_t at = items[j].index,
                    mine = exact_order(x, MTF_F32, score[at * how->score_stride * in[0].step]);
            if (mine < held || (mine == held && at > best)) continue;
            held = mine, best = at;
        }
        out.at[rows.at[2]] = (cell)best;
    }
    return true;
}

/* ---- random numbers ---- */

cell exact_drawn(const draw_args *how, mtf_dtype type, uint64_t stream, int64_t position)
{
    if (exact_is_real(type)) return hash_residue(stream, (residue)position);
    uint64_t bits = hash_pair(stream, (uint64_t)position);
    if (type == MTF_BOOL) return (double)(bits >> 11) * 0x1p-53 < how->b;
    uint64_t low = (uint64_t)dtype_scalar(type, how->a).whole;
    uint64_t high = (uint64_t)dtype_scalar(type, how->b).whole;
    return exact_wrap(type, (int64_t)high > (int64_t)low ? low + bits % (high - low) : low);
}

uint64_t exact_dropout(const exact *x, uint32_t stream, int64_t pair)
{
    return hash_pair(hash_pair(hash_pair(x->key, stream), x->step), (uint64_t)pair);
}

uint64_t exact_stream(const exact *x, const draw_args *how)
{
    uint64_t     stream = hash_pair(hash_pair(x->key, how->key), x->step);
    const double about[] = {how->kind, how->a, how->b};
    for (int k = 0; k < 3; k++) stream = hash_pair(stream, (uint64_t)field_of_double(about[k]));
    return stream;
}

bool exact_draw(exact *x, const instr *i)
{
    operand_view out = view_of(x, i, &i->out[0]);
    uint64_t     stream = exact_stream(x, &i->draw);
    int          last = i->nin - (i->draw.part != 0);
    int64_t      first = i->draw.first;
    if (i->draw.part) first += i->draw.part * (int64_t)*view_of(x, i, &i->in[last]).at;
    for (int k = 0; k < last; k++)
        stream = hash_pair(stream, (uint64_t)*view_of(x, i, &i->in[k]).at);
    for (iterations t = iterations_begin(i, 0, i->nloops, &out, NULL, NULL); !t.done;
         iterations_next(&t)) {
        int64_t position = first;
        for (int d = 0; d < i->nloops; d++) position += t.index[d] * i->draw.weight[d];
        out.at[t.at[0]] = exact_drawn(&i->draw, out.type, stream, position);
    }
    return true;
}

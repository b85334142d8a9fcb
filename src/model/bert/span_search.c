/* Answers in one row: the likeliest beginnings, each with the likeliest ends. */
#include "model/bert/span_search.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* The positions of the largest logits; of equal ones the earlier goes first. */
static int find_largest(const float *x, int64_t n, int most, int32_t *at)
{
    int count = 0;
    assert(most > 0);
    for (int64_t i = 0; i < n; i++) {
        if (isnan(x[i]) || (count == most && x[i] <= x[at[count - 1]])) continue;
        int k = count < most ? count++ : count - 1;
        for (; k > 0 && x[i] > x[at[k - 1]]; k--) at[k] = at[k - 1];
        at[k] = (int32_t)i;
    }
    return count;
}

static bool is_answer(const span_row *r, int32_t first, int32_t last)
{
    return first >= r->begin && last < r->end && last >= first && last - first < r->longest &&
           (!r->may_begin || r->may_begin[first]);
}

static int by_score(const void *a, const void *b)
{
    const span_found *x = a, *y = b;
    if (x->score != y->score) return x->score > y->score ? -1 : 1;
    return x->order - y->order;
}

int span_search(const span_row *r, span_found *to)
{
    int32_t first[BERT_MOST_ANSWERS], last[BERT_MOST_ANSWERS];
    int     nfirst = find_largest(r->first, r->length, r->most, first), n = 0;
    int     nlast = find_largest(r->last, r->length, r->most, last);
    for (int i = 0; i < nfirst; i++)
        for (int k = 0; k < nlast; k++)
            if (is_answer(r, first[i], last[k])) {
                double score = (double)r->first[first[i]] + (double)r->last[last[k]];
                to[n] = (span_found){first[i], last[k], n, score};
                n++;
            }
    qsort(to, (size_t)n, sizeof *to, by_score);
    return n;
}

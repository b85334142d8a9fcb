/* The best of the most probable.
 *
 *     out[i..] = the j of the largest scores[i.., j], j among the first of row i
 *
 * A row's order is that of its logits, the lower index first where they are equal.  Nothing is
 * sorted: the best of all is the result if few enough come before it, else the best of those
 * that do is the next candidate.  Weights are whole numbers, so that their sums are exact.
 */
#include "cpu/order_key.h"
#include "cpu/walk.h"
#include "program/functions.h"

typedef struct row {
    const float *score, *logit;
    int64_t      n, score_step, logit_step;
    float        most; /* of the logits */
} row;

/* The earlier in the row's order, the larger; no two are equal, and all exceed 0. */
static uint64_t place_of(const row *r, int64_t j)
{
    return (uint64_t)key_of_f32(r->logit[j * r->logit_step]) << 32 | (uint32_t)~j;
}

/* In units of the most probable element's. */
static uint64_t weight_of(const row *r, int64_t j)
{
    float x = r->logit[j * r->logit_step], e = x == r->most ? 1 : scalar_exp_f32(x - r->most);
    return e > 0 ? (uint64_t)(e * (r->n < 1 << 22 ? 0x1p40f : 0x1p30f)) : 0;
}

static float most_of(const row *r)
{
    float most = -INFINITY;
    for (int64_t j = 0; j < r->n; j++)
        if (r->logit[j * r->logit_step] > most) most = r->logit[j * r->logit_step];
    return most;
}

/* ---- those before a place ---- */

static int64_t count_before(const row *r, uint64_t place)
{
    int64_t count = 0;
    for (int64_t j = 0; j < r->n; j++) count += place_of(r, j) > place;
    return count;
}

static uint64_t weight_before(const row *r, uint64_t place)
{
    uint64_t sum = 0;
    for (int64_t j = 0; j < r->n; j++)
        if (place_of(r, j) > place) sum += weight_of(r, j);
    return sum;
}

/* The first one with the largest score. */
static int64_t best_before(const row *r, uint64_t place)
{
    int64_t best = -1;
    for (int64_t j = 0; j < r->n; j++) {
        if (place_of(r, j) <= place) continue;
        if (best < 0 || r->score[j * r->score_step] > r->score[best * r->score_step]) best = j;
    }
    return best;
}

/* A place that k elements are before, 0 < k < n. */
static uint64_t place_after(const row *r, int64_t k)
{
    uint64_t low = 0, high = UINT64_MAX;
    for (;;) {
        uint64_t middle = low + (high - low) / 2;
        int64_t  count = count_before(r, middle);
        if (count == k) return middle;
        *(count > k ? &low : &high) = middle;
    }
}

/* ---- the result ---- */

static uint64_t share_of(float p, uint64_t all)
{
    uint64_t share = (uint64_t)((double)p * (double)all);
    return share ? share : 1;
}

static int64_t choose(row *r, int64_t k, float p)
{
    bool     few = k > 0 && k<r->n, part = p> 0 && p < 1;
    uint64_t end = few && part ? place_after(r, k) : 0, share = 0, place;
    int64_t  best = best_before(r, end);
    if (part) {
        r->most = most_of(r);
        share = share_of(p, weight_before(r, end));
    }
    while (place = place_of(r, best),
           (few && count_before(r, place) >= k) || (part && weight_before(r, place) >= share))
        best = best_before(r, place);
    return best;
}

void kernel_nucleus(const instr *i, const run_state *r)
{
    const nucleus_args *how = &i->nucleus;
    const nest          n = nest_of(i, loops_between(0, i->nloops), NULL, 0);
    int                 parts = work_parts(r, n.elements * how->along, n.elements);
    PARALLEL(r, parts)
    for (int part = 0; part < parts; part++) {
        int64_t first = n.elements * part / parts, end = n.elements * (part + 1) / parts;
        report_flops(r, (end - first) * how->along * NUCLEUS_FLOPS);
        for (int64_t at = first; at < end; at++) {
            walk    w = walk_at(&n, at, 1);
            row     one = {(const float *)operand(r, &i->in[0]) + walk_offset(&w, &i->in[0]),
                           (const float *)operand(r, &i->in[1]) + walk_offset(&w, &i->in[1]),
                           how->along,
                           how->score_stride,
                           how->logit_stride,
                           0};
            int32_t k = ((const int32_t *)operand(r, &i->in[2]))[walk_offset(&w, &i->in[2])];
            float   p = ((const float *)operand(r, &i->in[3]))[walk_offset(&w, &i->in[3])];
            ((int32_t *)operand(r, &i->out[0]))[walk_offset(&w, &i->out[0])] =
                (int32_t)choose(&one, k, p);
        }
    }
}

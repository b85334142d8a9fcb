/* Sampling of the next token from logits.
 *
 * Probabilities are computed in double, in a fixed order, so that a token depends
 * only on the logits, the seed, the row and its number in the sequence.
 */
#include "model/transformer/sample.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/philox.h"
#include "base/session.h"

typedef struct choice {
    float   logit;
    int32_t id;
} choice;

struct sampler {
    int64_t n;
    choice *choices;
};

sampler *sampler_new(mtf_session *s, int64_t n)
{
    sampler *p = arena_new(&s->arena, sampler);
    if (!p) return NULL;
    *p = (sampler){n, arena_array(&s->arena, choice, n)};
    return p->choices ? p : NULL;
}

static int32_t best(const float *logits, int64_t n)
{
    int32_t k = 0;
    for (int32_t i = 1; i < n; i++)
        if (logits[i] > logits[k]) k = i;
    return k;
}

/* log of the sum of e^logit */
static double log_sum(const float *logits, int64_t n, float most)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += exp((double)logits[i] - (double)most);
    return (double)most + log(sum);
}

/* The larger first; ties: the lower id. */
static int by_logit(const void *a, const void *b)
{
    const choice *x = a, *y = b;
    if (x->logit != y->logit) return x->logit < y->logit ? 1 : -1;
    return (x->id > y->id) - (x->id < y->id);
}

/* From 0 up to, not including, 1. */
static double uniform(const mtf_sampling *how, int64_t number)
{
    philox_stream stream = {how->seed, 0x746f6b65u, (uint32_t)how->row};
    philox_block  b = philox_at(stream, (uint64_t)number);
    uint64_t      bits = (uint64_t)b.word[1] << 32 | b.word[0];
    return (double)(bits >> 11) * 0x1p-53;
}

static double weight(const choice *c, float most, double temperature)
{
    return exp(((double)c->logit - (double)most) / temperature);
}

/* How many of the sorted choices may be drawn: the fewest whose total probability reaches top_p. */
static int64_t nucleus(const choice *c, int64_t n, const mtf_sampling *how)
{
    double all = 0, sum = 0;
    if (how->top_p <= 0 || how->top_p >= 1) return n;
    for (int64_t i = 0; i < n; i++) all += weight(&c[i], c[0].logit, how->temperature);
    for (int64_t i = 0; i < n; i++) {
        sum += weight(&c[i], c[0].logit, how->temperature);
        if (sum >= how->top_p * all) return i + 1;
    }
    return n;
}

static int32_t draw(sampler *s, const float *logits, float most, const mtf_sampling *how,
                    int64_t number)
{
    choice *c = s->choices;
    int64_t n = s->n;
    for (int64_t i = 0; i < n; i++) c[i] = (choice){logits[i], (int32_t)i};
    bool some = (how->top_k > 0 && how->top_k < n) || (how->top_p > 0 && how->top_p < 1);
    if (some) {
        qsort(c, (size_t)n, sizeof *c, by_logit);
        if (how->top_k > 0 && how->top_k < n) n = how->top_k;
        n = nucleus(c, n, how);
    }
    double all = 0, sum = 0;
    for (int64_t i = 0; i < n; i++) all += weight(&c[i], most, how->temperature);
    double wanted = uniform(how, number) * all;
    for (int64_t i = 0; i < n; i++) {
        sum += weight(&c[i], most, how->temperature);
        if (sum > wanted) return c[i].id;
    }
    return c[n - 1].id;
}

sampled sample_token(sampler *s, const float *logits, const mtf_sampling *how, int64_t number)
{
    int32_t k = best(logits, s->n);
    float   most = logits[k];
    if (how->temperature > 0) k = draw(s, logits, most, how, number);
    return (sampled){k, (double)logits[k] - log_sum(logits, s->n, most)};
}

int sample_best(const sampler *s, const float *logits, int64_t n, mtf_alternative *to)
{
    int count = 0;
    if (n > s->n) n = s->n;
    for (int32_t i = 0; n > 0 && i < s->n; i++) {
        int at = count;
        while (at > 0 && logits[i] > logits[to[at - 1].id]) at--;
        if (at >= n) continue;
        if (count < n) count++;
        for (int k = count - 1; k > at; k--) to[k] = to[k - 1];
        to[at].id = i;
    }
    double all = count ? log_sum(logits, s->n, logits[to[0].id]) : 0;
    for (int k = 0; k < count; k++) to[k].log_probability = (double)logits[to[k].id] - all;
    return count;
}

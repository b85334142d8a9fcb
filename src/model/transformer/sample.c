/* What sampling needs on the host: streams of random numbers, alternatives to a token. */
#include "model/transformer/sample.h"

#include <math.h>

#include "base/philox.h"

int64_t sample_stream(const mtf_sampling *how)
{
    philox_stream stream = {how->seed, 0x746f6b65u, (uint32_t)how->row};
    philox_block  b = philox_at(stream, 0);
    return (int64_t)((uint64_t)b.word[1] << 32 | b.word[0]);
}

/* log of the sum of e^logit */
static double log_sum(const float *logits, int64_t n, float most)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += exp((double)logits[i] - (double)most);
    return (double)most + log(sum);
}

int sample_best(const float *logits, int64_t all, int64_t n, mtf_alternative *to)
{
    int count = 0;
    if (n > all) n = all;
    for (int32_t i = 0; n > 0 && i < all; i++) {
        int at = count;
        while (at > 0 && logits[i] > logits[to[at - 1].id]) at--;
        if (at >= n) continue;
        if (count < n) count++;
        for (int k = count - 1; k > at; k--) to[k] = to[k - 1];
        to[at].id = i;
    }
    double sum = count ? log_sum(logits, all, logits[to[0].id]) : 0;
    for (int k = 0; k < count; k++) to[k].log_probability = (double)logits[to[k].id] - sum;
    return count;
}

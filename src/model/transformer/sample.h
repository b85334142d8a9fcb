/* What sampling needs on the host. */
#ifndef MODEL_SAMPLE_H
#define MODEL_SAMPLE_H

#include "mtf_transformer.h"

/* The n most probable of `all` tokens, best first; the lower id first where they are equal. */
enum { MOST_ALTERNATIVES = 20 };
int sample_best(const float *logits, int64_t all, int64_t n, mtf_alternative *to);
/* Which random numbers a sequence has: by its seed and row. */
int64_t sample_stream(const mtf_sampling *how);

#endif

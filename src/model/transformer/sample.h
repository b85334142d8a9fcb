/* Sampling of the next token from logits. */
#ifndef MODEL_SAMPLE_H
#define MODEL_SAMPLE_H

#include "mtf_transformer.h"

typedef struct sampled {
    int32_t id;
    double  log_probability; /* of the model: at temperature 1, among all tokens */
} sampled;

/* Work space for sampling among n tokens; NULL where there is no memory. */
typedef struct sampler sampler;
sampler               *sampler_new(mtf_session *s, int64_t n);
/* The n most probable tokens, best first; the lower id first where they are equal. */
enum { MOST_ALTERNATIVES = 20 };
int sample_best(const sampler *s, const float *logits, int64_t n, mtf_alternative *to);
/* `number` counts the tokens of a sequence; it and the seed determine the random number. */
sampled sample_token(sampler *s, const float *logits, const mtf_sampling *how, int64_t number);

#endif

/* Evaluates answers to questions, and writes them. */
#ifndef CLI_SPAN_ANSWERS_H
#define CLI_SPAN_ANSWERS_H

#include "cli/train_setup.h"
#include "mtf_bert.h"

typedef struct span_answers {
    setup            *setup;
    mtf_bert_answers *answers;
    int64_t           length; /* of logits */
} span_answers;

/* For data whose rows have these logits, [batch, ends, length]. */
bool span_answers_open(span_answers *a, setup *s, const network *n, mtf_dataset *data);
/* An evaluation_listener for the logits. */
bool span_answers_take(void *context, int64_t first, int64_t count, const void *elements);
/* Writes NAME_STEP_predictions: for each question an object of JSON, a line each. */
bool span_answers_write(const span_answers *a, const char *name, int64_t step);

#endif

/* Means over a dataset, and who else takes the values of its examples. */
#ifndef MODEL_EVALUATE_H
#define MODEL_EVALUATE_H

#include "mtf_train.h"

/* Elements of `count` examples from number `first` on; false after an error, which ends the evaluation. */
typedef bool evaluation_listener(void *context, int64_t first, int64_t count, const void *elements);
/* In every run the listener also gets value number `value`, which has a dimension of examples. */
void evaluation_listen(mtf_evaluation *e, int value, evaluation_listener *to, void *context);

#endif

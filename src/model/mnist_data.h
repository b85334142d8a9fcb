/* The handwritten digits as data for a model. */
#ifndef MODEL_MNIST_DATA_H
#define MODEL_MNIST_DATA_H

#include "model/ready.h"

/* Fields "images", from 0 to 1, and "labels" of the folder that --data-dir names. */
bool mnist_fields(const settings *v, bool training, mtf_field fields[MOST_FIELDS]);
/* What digits are classified by: mean cross-entropy, and which answers are right. */
bool mnist_judge(mtf_tensor *logits, mtf_tensor *labels, mtf_dim classes, network *n);

#endif

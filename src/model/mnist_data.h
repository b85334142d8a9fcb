/* The handwritten digits as data for a model. */
#ifndef MODEL_MNIST_DATA_H
#define MODEL_MNIST_DATA_H

#include "model/ready.h"

#define MNIST_FOLDER "data/mnist" /* the default of --data-dir */
#define MNIST_FILES                                                                                \
    "MNIST's train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte and "        \
    "t10k-labels-idx1-ubyte, as they are or with .gz"

/* The fields "images", from 0 to 1, and "labels", from the folder that --data-dir names. */
bool mnist_fields(const settings *v, bool training, mtf_field fields[MOST_FIELDS]);
/* Loss and accuracy of a classifier: mean cross-entropy, and which predictions are right. */
bool mnist_judge(mtf_tensor *logits, mtf_tensor *labels, mtf_dim classes, network *n);

#endif

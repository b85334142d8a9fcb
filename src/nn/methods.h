/* The methods that a loss is minimized with. */
#ifndef NN_METHODS_H
#define NN_METHODS_H

#include "nn/optimizer.h"

extern const method method_sgd;       /* mtf_sgd_opts */
extern const method method_momentum;  /* mtf_momentum_opts */
extern const method method_adam;      /* mtf_adam_opts */
extern const method method_adafactor; /* mtf_adafactor_opts */

#endif

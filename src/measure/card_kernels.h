/* Products, attention and convolutions in a trial of a card. */
#ifndef MEASURE_CARD_KERNELS_H
#define MEASURE_CARD_KERNELS_H

#include "measure/card_timing.h"

/* They need `start` and `flops`. */
bool card_products(card_trial *c);
bool card_attentions(card_trial *c);
bool card_windows(card_trial *c);

#endif

/* Products, attention and convolutions in a trial of a card. */
#ifndef RUN_CARD_KERNELS_H
#define RUN_CARD_KERNELS_H

#include "run/card_timing.h"

/* They need `start` and `flops`. */
bool card_products(card_trial *c);
bool card_attentions(card_trial *c);
bool card_windows(card_trial *c);

#endif

/* Products in a trial, and what processors do while others are idle. */
#ifndef RUN_TRIAL_PRODUCTS_H
#define RUN_TRIAL_PRODUCTS_H

#include "run/trial.h"

bool trial_start(const trial *t, price_rates *r);    /* of the tiniest instruction */
bool trial_products(const trial *t, price_rates *r); /* once `start` and memory are known */
bool trial_fewer(const trial *t, price_rates *r);    /* `alone` and its like */

#endif

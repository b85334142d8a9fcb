/* Products in a trial; processors' speed while others idle. */
#ifndef MEASURE_TRIAL_PRODUCTS_H
#define MEASURE_TRIAL_PRODUCTS_H

#include "measure/trial_mesh.h"

bool trial_start(const trial *t, price_rates *r);    /* of the smallest instruction */
bool trial_products(const trial *t, price_rates *r); /* needs `start` and memory */
bool trial_fewer(const trial *t, price_rates *r);    /* `alone` and its like */

#endif

/* Orders: the first rank tells the others what to do.
 *
 * Only the first rank reads requests and clocks.  Before it changes the decoder,
 * takes a step or scores texts, it tells the others to do the same.  In a single
 * process an order is just the call.
 */
#ifndef SERVE_ORDERS_H
#define SERVE_ORDERS_H

#include "serve/engine.h"

/* Connects the ranks, and allocates memory for orders; false after an error. */
bool orders_open(answers *a);
/* Each sends an order to the other ranks, and calls the library's function of the same purpose. */
bool order_start(answers *a, int64_t place, mtf_decode_job *job);
bool order_cancel(answers *a, int64_t place, mtf_decode_job *job);
int  order_step(answers *a);
int  order_score(answers *a, int n, score_item *items);
/* Sends an empty order now and then, because other ranks wait for an order only for a limited time. */
bool order_nothing(answers *a);
bool order_end(answers *a);
/* Called by the other ranks: carries out orders until the end; false after an error. */
bool orders_follow(answers *a);

#endif

/* What all ranks do next, as the first one says.
 *
 * The first rank alone hears clients and clocks.  Before it changes the decoder,
 * takes a step or scores texts, it tells the others to do the same.  Where there
 * is one process, an order is the call and nothing else.
 */
#ifndef SERVE_ORDERS_H
#define SERVE_ORDERS_H

#include "serve/engine.h"

/* The other ranks, and memory for what they are told; false after an error. */
bool orders_open(answers *a);
/* Each is what the first rank does, as the function of the library does it. */
bool order_start(answers *a, int64_t place, mtf_decode_job *job);
bool order_cancel(answers *a, int64_t place, mtf_decode_job *job);
int  order_step(answers *a);
int  order_score(answers *a, int n, score_item *items);
/* Others wait for orders only so long: says now and then that there are none. */
bool order_nothing(answers *a);
bool order_end(answers *a);
/* The other ranks carry out orders until the end; false after an error. */
bool orders_follow(answers *a);

#endif

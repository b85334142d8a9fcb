/* The engine on several ranks: the first leads the others.
 *
 * Only the first rank reads requests and clocks.  Before it changes the decoder,
 * takes a step or scores texts, it tells the others to do the same.  In a single
 * process an order is just the call.
 */
#ifndef SERVE_ENGINE_RANKS_H
#define SERVE_ENGINE_RANKS_H

#include "serve/engine_state.h"

/* Connects the ranks, and allocates memory for orders; false after an error. */
bool lead_open(engine *e);
/* Each sends an order to the other ranks, and calls the library's function of the same purpose. */
bool lead_start(engine *e, int64_t row, mtf_decode_job *job);
bool lead_cancel(engine *e, int64_t row, mtf_decode_job *job);
int  lead_step(engine *e);
int  lead_score(engine *e, int n, score_item *items);
/* Sends an empty order now and then, because other ranks wait for an order only for a limited time. */
bool lead_on(engine *e);
bool lead_end(engine *e);
/* Called by the other ranks: carries out orders until the end; false after an error. */
bool lead_follow(engine *e);

#endif

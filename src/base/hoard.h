/* An allocator that keeps what it gets back, for the next who asks.
 *
 * Thousands of programs that are planned one after another want the same memory; taking it from the
 * system each time costs more than half as much as planning.  For one thread.
 */
#ifndef BASE_HOARD_H
#define BASE_HOARD_H

#include "base/memory.h"

typedef struct hoarded hoarded;

typedef struct hoard {
    mtf_allocator as; /* gives from here; its context is the hoard, which must stay in place */
    const mtf_allocator *from;
    hoarded             *idle;
    int64_t              out; /* blocks that have not come back */
} hoard;

void hoard_open(hoard *h, const mtf_allocator *from);
void hoard_close(hoard *h); /* when all of it came back */

#endif

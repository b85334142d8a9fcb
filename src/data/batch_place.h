/* Places in data: where batches can continue, and how far they have come. */
#ifndef DATA_BATCH_PLACE_H
#define DATA_BATCH_PLACE_H

#include "mtf_data.h"

enum { BATCH_PLACE_ROOM = 70 };

/* The place after the batch that was fed last, as text; "" where the position says all. */
void batches_place(const mtf_batches *b, char text[BATCH_PLACE_ROOM]);
/* mtf_batches_seek to a place, without reading all data before it; NULL or "": the position alone. */
bool batches_continue(mtf_batches *b, int64_t position, const char *place);
/* Passes through the data so far, with the part of the present one; NAN: the data's size is unknown. */
double batches_epoch(const mtf_batches *b);

#endif

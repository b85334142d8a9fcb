/* Places in data whose examples are not numbered: where batches can continue. */
#ifndef DATA_BATCH_PLACE_H
#define DATA_BATCH_PLACE_H

#include "mtf_data.h"

enum { BATCH_PLACE_ROOM = 70 };

/* The place after the batch that was fed last, as text; "" where the position says all. */
void batches_place(const mtf_batches *b, char text[BATCH_PLACE_ROOM]);
/* mtf_batches_seek to a place, without reading all data before it; NULL or "": the position alone. */
bool batches_continue(mtf_batches *b, int64_t position, const char *place);

#endif

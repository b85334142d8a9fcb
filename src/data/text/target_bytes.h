/* Bytes of the text that a dataset's targets stand for. */
#ifndef DATA_TEXT_TARGET_BYTES_H
#define DATA_TEXT_TARGET_BYTES_H

#include "mtf_text.h"

/* Of all rows of `length` targets, each text of a row by itself; ends and padding have none.  -1 after
 * an error. */
int64_t target_bytes(mtf_session *s, mtf_dataset *d, const mtf_vocabulary *v, int64_t length);

#endif

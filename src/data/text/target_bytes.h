/* Counts the bytes of text of a dataset's targets. */
#ifndef DATA_TEXT_TARGET_BYTES_H
#define DATA_TEXT_TARGET_BYTES_H

#include "mtf_text.h"

/* Of all rows, each with `length` tokens; end tokens and padding have no bytes.  -1 after an error. */
int64_t target_bytes(mtf_session *s, mtf_dataset *d, const mtf_vocabulary *v, int64_t length);

#endif

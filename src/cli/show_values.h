/* Values of tensors as text. */
#ifndef CLI_SHOW_VALUES_H
#define CLI_SHOW_VALUES_H

#include "base/textbuf.h"
#include "mtf.h"

/* One element: the fewest digits that read back exactly; true, false; nan, inf. */
void value_write(textbuf *t, mtf_dtype type, const void *data, int64_t index);

/* All elements: "y = 3.5", or a line with name, type and shape, and then rows in brackets, without the
 * middle of large tensors. */
void value_show(textbuf *t, const char *name, mtf_dtype type, const mtf_shape *shape,
                const void *data);

#endif

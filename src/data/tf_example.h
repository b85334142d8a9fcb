/* The message tf.Example: named lists of numbers or bytes. */
#ifndef DATA_TF_EXAMPLE_H
#define DATA_TF_EXAMPLE_H

#include "data/convert.h"

typedef enum example_state {
    EXAMPLE_READ,
    EXAMPLE_LACKS,  /* it has no feature of the name */
    EXAMPLE_DAMAGED /* it is not a tf.Example */
} example_state;

/* Offers the values of one feature: whole numbers, f32, or the bytes of all its texts. */
example_state example_read(const uint8_t *bytes, size_t n, const char *feature, wanted *w);

#endif

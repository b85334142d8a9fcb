/* Examples of an evaluation as pictures beside each other: what came in, what is right, what was predicted. */
#ifndef PAGE_EXAMPLE_PICTURE_H
#define PAGE_EXAMPLE_PICTURE_H

#include <stdint.h>

#include "base/textbuf.h"

/* One picture of each example. */
typedef struct example_picture {
    const char  *name;
    int64_t      classes; /* of the elements, 0 being none; 0: they are brightnesses */
    int64_t      examples, rows, columns;
    const float *elements; /* [examples][rows][columns] */
} example_picture;

/* n pictures of the same examples. */
void example_pictures_write(int n, const example_picture *pictures, textbuf *t);

#endif

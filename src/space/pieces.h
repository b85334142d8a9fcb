/* Lists in text: the pieces between separators. */
#ifndef SPACE_PIECES_H
#define SPACE_PIECES_H

#include <stdbool.h>

/* `,` `.` `;` and spaces separate, as in Mesh TensorFlow; between two of the first three there must be
 * a piece. */
typedef struct pieces {
    char *rest;    /* is overwritten */
    bool  numbers; /* a dot before a digit belongs to a number, and separates nothing */
    bool  wanted;  /* a separator was read: another piece must follow */
    bool  missing; /* at the end: a piece was missing */
} pieces;

char *pieces_next(pieces *p); /* NULL at the end */

#endif

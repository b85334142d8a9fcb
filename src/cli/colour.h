/* Colours for terminals. */
#ifndef CLI_COLOUR_H
#define CLI_COLOUR_H

#include <stdbool.h>
#include <stdio.h>

/* True for a terminal that is not dumb, unless NO_COLOR is set (https://no-color.org). */
bool colour_is_shown(FILE *to);
/* The sequences that begin and end such text; "" where colours are not shown. */
const char *colour_bold(FILE *to);
const char *colour_error(FILE *to);
const char *colour_end(FILE *to);

#endif

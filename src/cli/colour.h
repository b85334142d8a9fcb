/* Colours, where a terminal shows them and nobody objects. */
#ifndef CLI_COLOUR_H
#define CLI_COLOUR_H

#include <stdbool.h>
#include <stdio.h>

/* A terminal that is not dumb, and NO_COLOR is not set (https://no-color.org). */
bool colour_is_shown(FILE *to);
/* The sequences that begin and end such text; "" where colours are not shown. */
const char *colour_bold(FILE *to);
const char *colour_error(FILE *to);
const char *colour_end(FILE *to);

#endif

/* Colours for terminals. */
#ifndef CLI_COLOUR_H
#define CLI_COLOUR_H

#include <stdbool.h>
#include <stdio.h>

/* The sequences that begin and end such text; "" where colours are not shown. */
const char *colour_bold(FILE *to);
const char *colour_error(FILE *to);
const char *colour_end(FILE *to);

#endif

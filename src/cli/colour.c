/* Colours for terminals. */
#include "cli/colour.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* True for a terminal that is not dumb, unless NO_COLOR is set (https://no-color.org). */
static bool colour_is_shown(FILE *to)
{
    const char *refused = getenv("NO_COLOR"), *term = getenv("TERM");
    if ((refused && *refused) || !term || !*term || strcmp(term, "dumb") == 0) return false;
    return isatty(fileno(to)) == 1;
}

const char *colour_bold(FILE *to)
{
    return colour_is_shown(to) ? "\033[1m" : "";
}

const char *colour_error(FILE *to)
{
    return colour_is_shown(to) ? "\033[1;31m" : "";
}

const char *colour_end(FILE *to)
{
    return colour_is_shown(to) ? "\033[0m" : "";
}

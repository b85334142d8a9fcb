/* Text from outside, made safe for a terminal.
 *
 * Names in files may hold anything, commands to the terminal included.
 */
#ifndef BASE_PRINTABLE_H
#define BASE_PRINTABLE_H

#include "base/memory.h"

/* The text with \xNN in place of each byte that is a control character or invalid UTF-8; in the
 * arena, or the text itself where it has none.  NULL: no memory. */
const char *text_printable(arena *a, const char *text);

#endif

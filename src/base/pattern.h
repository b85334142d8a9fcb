/* Patterns that names are matched against. */
#ifndef BASE_PATTERN_H
#define BASE_PATTERN_H

#include "base/memory.h"

/* Is the extended regular expression (POSIX: . * + ? | ( ) [ ] ^ $) found anywhere in the text?  An
 * invalid pattern is an error and matches nothing. */
bool pattern_matches(const char *pattern, const char *text, fault *f);
/* The text with `with` in place of the first piece that the pattern matches, \1 to \9 being its
 * groups and \0 all of it; in the arena.  NULL where nothing matches, and after an error. */
const char *pattern_replace(const char *pattern, const char *with, const char *text, arena *a);

#endif

/* Patterns that names are matched against. */
#ifndef BASE_PATTERN_H
#define BASE_PATTERN_H

#include "base/fault.h"

/* Is the extended regular expression (POSIX: . * + ? | ( ) [ ] ^ $) found anywhere in the text?  A
 * pattern that is none is an error, and matches nothing. */
bool pattern_matches(const char *pattern, const char *text, fault *f);

#endif

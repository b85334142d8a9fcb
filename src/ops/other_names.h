/* What other libraries call operations. */
#ifndef OPS_OTHER_NAMES_H
#define OPS_OTHER_NAMES_H

/* What to write here in place of an operation that others have by this name, as the end of a message; NULL: none
 * is known. */
const char *other_name_hint(const char *name);

#endif

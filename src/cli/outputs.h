/* What a command writes never replaces what it reads. */
#ifndef CLI_OUTPUTS_H
#define CLI_OUTPUTS_H

#include "base/session.h"
#include "cli/options.h"

/* Compares the files that options write (`writes` in their tables) with every file that the command line
 * names to be read, and with each other.  -1, or STATUS_USAGE after an error, which was reported. */
int outputs_check(const options *o);

/* The same for one file whose name is known only later; false after an error in the session. */
bool output_spares(const options *o, mtf_session *s, const char *option, const char *path);
/* Whether writing `path` would leave alone the files that match this pattern, which the message calls
 * `called`.  Either may be NULL. */
bool output_spares_files(mtf_session *s, const char *option, const char *path, const char *pattern,
                         const char *called);
/* Are these two files or folders two?  False after an error: not even --force replaces what is read. */
bool output_is_other(mtf_session *s, const char *from, const char *to);

#endif

/* Splits text by a pattern with Unicode classes.
 *
 * Uses PCRE2; in a build without it, opening is an error.
 */
#ifndef DATA_TEXT_SPLITTER_H
#define DATA_TEXT_SPLITTER_H

#include "base/session.h"

typedef struct splitter splitter;

/* Lives as long as the session; `whose` is the vocabulary that needs it.  NULL after an error. */
splitter *splitter_open(mtf_session *s, const char *pattern, const char *whose);

/* Called with each stretch of the text: one that the pattern matches, or one between two matches.
 * False ends the splitting. */
typedef bool split_visit(void *context, const char *stretch, size_t n, bool matched);
/* Bytes that are not UTF-8 match nothing.  Any thread may call it. */
bool splitter_split(const splitter *p, const char *text, size_t n, split_visit *visit,
                    void *context, fault *why);

#endif

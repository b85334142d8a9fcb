/* A text that the first rank has, for all of them. */
#ifndef SERVE_SHARED_TEXT_H
#define SERVE_SHARED_TEXT_H

#include "base/session.h"

/* All ranks call it; the text of each becomes the first one's, and lives in the session.  False after
 * an error. */
bool shared_text(mtf_session *s, const char **text);

#endif

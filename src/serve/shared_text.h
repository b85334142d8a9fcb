/* Sends a text from the first rank to all. */
#ifndef SERVE_SHARED_TEXT_H
#define SERVE_SHARED_TEXT_H

#include "base/session.h"

/* All ranks call it; each gets a copy of the first rank's text, which lives in the session.  False after
 * an error. */
bool shared_text(mtf_session *s, const char **text);

#endif

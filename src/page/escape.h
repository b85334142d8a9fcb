/* Foreign text inside pages: whatever a name holds, it stays text. */
#ifndef PAGE_ESCAPE_H
#define PAGE_ESCAPE_H

#include "base/textbuf.h"

/* Both give valid UTF-8: a byte that is none becomes U+FFFD. */
void html_text(textbuf *t, const char *text); /* for elements and for attributes in double quotes */
void json_string(textbuf *t, const char *text); /* with its quotes; nothing in it ends a <script> */

#endif

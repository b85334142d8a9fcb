/* Escapes untrusted text for HTML and JSON. */
#ifndef PAGE_ESCAPE_H
#define PAGE_ESCAPE_H

#include "base/textbuf.h"

/* Both write valid UTF-8: an invalid byte becomes U+FFFD. */
void html_text(textbuf *t, const char *text); /* for elements and for attributes in double quotes */
/* The same, and a long name may break after a slash; for elements only. */
void html_name(textbuf *t, const char *name);
void json_string(textbuf *t, const char *text); /* with quotes; safe inside <script> */

#endif

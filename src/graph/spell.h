/* How names, strings and numbers are written in .mtf text.
 *
 * Whatever is written here, ops/lexer reads back as the same value.
 */
#ifndef GRAPH_SPELL_H
#define GRAPH_SPELL_H

#include "base/textbuf.h"
#include "mtf.h"

/* Letters, digits, `_` and `/`, not beginning with a digit or `/`, and no word of the grammar. */
bool name_is_plain(const char *name);
/* A plain name as it is, any other in quotes. */
void spell_name(textbuf *t, const char *name);
void spell_text(textbuf *t, const char *text); /* "in quotes, with escapes" */
void spell_type_and_shape(textbuf *t, mtf_dtype type, const mtf_shape *shape); /* f32[a=2] */
void spell_dim(textbuf *t, mtf_dim dim);                                       /* a=2 */
/* The fewest digits that give the same value back in a floating `type`. */
void spell_real(textbuf *t, double value, mtf_dtype type);

#endif

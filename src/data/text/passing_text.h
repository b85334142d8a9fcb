/* Files of text of any size, tokenised section by section. */
#ifndef DATA_TEXT_PASSING_TEXT_H
#define DATA_TEXT_PASSING_TEXT_H

#include "data/text/documents.h"

/* Gets the texts of a section, SIDES of them, which are emptied afterwards.  `goes_on`: the last is not complete. */
typedef bool text_section_taker(void *context, const token_text *texts, bool goes_on);

/* Reads all files in sections of so many bytes; texts that are longer are divided, at the ends of lines.
 * *tokens: the files have tokens already, and nothing was read. */
bool passing_text_read(documents *d, int64_t bytes, text_section_taker *take, void *context,
                       bool *tokens);

#endif

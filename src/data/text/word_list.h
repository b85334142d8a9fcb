/* Files of words, one a line. */
#ifndef DATA_TEXT_WORD_LIST_H
#define DATA_TEXT_WORD_LIST_H

#include "data/text/piece_table.h"

/* How many bytes the line at `line` has, without its newline. */
size_t word_list_line(const char *line, const char *end);
/* Makes a table of the words of a file, copied into the session's arena; ids are the lines' numbers, from
 * `first` on.  Empty lines have an id and no word.  False after an error. */
bool word_list_read(mtf_session *s, const char *path, const char *text, size_t size, int32_t first,
                    piece_table *words);

#endif

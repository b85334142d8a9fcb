/* Pieces of an option's text, with colons between them. */
#ifndef DATA_OPTION_PIECES_H
#define DATA_OPTION_PIECES_H

/* Ends the piece at `at`, removes its escapes, and returns the next; NULL: it was the last.  A
 * piece begins after a colon with a word and "=", or with one of the words of the NULL-ended list
 * `bare`; other colons belong to the text before them, and so does "\:". */
char *piece_end(char *at, const char *const *bare);
/* What follows the last colon of `files`, where no such file exists but one of the name before the
 * colon: a misspelt word.  NULL: none. */
char *piece_misspelt(char *files);

#endif

/* Lines of a file or of standard input. */
#ifndef SERVE_LINE_READER_H
#define SERVE_LINE_READER_H

#include "base/byte_list.h"
#include "base/session.h"

typedef struct line_reader {
    mtf_session *session;
    const char  *name;   /* in messages */
    int          file;   /* -1: at the end */
    byte_list    text;   /* the bytes that were read, */
    size_t       begin;  /* of which these were returned */
    int64_t      number; /* of the last line, from 1 on */
} line_reader;

typedef enum line_state { LINE_READ, LINE_NOT_YET, LINE_END, LINE_FAILED } line_state;

/* Opens a path, or standard input for NULL or "-".  `shared`: all ranks get the whole text that the first
 * one reads.  False after an error. */
bool lines_open(line_reader *r, mtf_session *s, const char *path, bool shared);
/* The next line without its newline and the spaces around it, valid until the next call; waits for it
 * where `wait`. */
line_state lines_next(line_reader *r, bool wait, const char **line, size_t *bytes);
void       lines_close(line_reader *r);
/* Puts spaces in place of ends of lines. */
void text_on_one_line(char *text);
/* A text of n bytes without the spaces around it. */
const char *line_trim(const char *text, size_t *n);

#endif

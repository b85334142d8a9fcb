/* Lines of prompts and targets that come from elsewhere than from a file of lines. */
#ifndef SERVE_LINE_SOURCE_H
#define SERVE_LINE_SOURCE_H

#include "serve/opened_model.h"

typedef struct given_line {
    const char *inputs;           /* or the text, of examples that have one; NULL: none */
    const char *targets;          /* NULL: none */
    id_row input_ids, target_ids; /* the same as ids, with their ends, where `ids` is not NULL */
} given_line;

typedef struct line_source {
    const char *name; /* in messages */
    /* The next line, valid until the next call; *there is false after the last.  False after an error. */
    bool (*next)(void *context, given_line *to, bool *there);
    void *context;
} line_source;

#endif

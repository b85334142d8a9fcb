/* Prompts line by line, and answers in order. */
#ifndef SERVE_DECODE_LINES_H
#define SERVE_DECODE_LINES_H

#include <stdio.h>

#include "serve/engine.h"
#include "serve/line_source.h"

typedef struct decode_lines_opts {
    engine_opts        limits;
    request_spec       like;   /* the settings for each prompt */
    const char        *inputs; /* a file; NULL or "-": standard input */
    const line_source *source; /* where the prompts come from, if not from `inputs`; else NULL */
    const char        *output; /* OUTPUT-STEP is written; NULL: standard output */
} decode_lines_opts;

/* Answers every line as soon as it is read: each result is a line, its newlines replaced by spaces.
 * False after an error. */
bool decode_lines(const opened_model *m, const decode_lines_opts *o);
/* The same interactively at a terminal: prints each answer as it is decoded.  SIGINT ends an answer. */
bool decode_dialogue(const opened_model *m, const decode_lines_opts *o, FILE *from, FILE *to);

/* OUTPUT-STEP and a suffix, in the session; NULL: no memory. */
const char *step_path(const opened_model *m, const char *output, const char *suffix);
/* Opens it for writing in the first rank; in others it opens /dev/null. */
FILE *output_open(const opened_model *m, const char *path);
bool  output_close(const opened_model *m, const char *path, FILE *file);

#endif

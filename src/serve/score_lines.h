/* Scores of the texts in files, line by line. */
#ifndef SERVE_SCORE_LINES_H
#define SERVE_SCORE_LINES_H

#include "serve/line_source.h"
#include "serve/scoring.h"

typedef struct score_lines_opts {
    const char        *inputs;  /* a file with the text that precedes each target; NULL: none */
    const char        *targets; /* a file of the texts; "-": standard input */
    const line_source *source;  /* of both, if they do not come from files; else NULL */
    /* writes OUTPUT-STEP.scores, .targets, .lengths and .inputs; NULL: writes the scores to standard output */
    const char *output;
    int64_t     batch;
    bool        each; /* also print the scores of single tokens */
} score_lines_opts;

/* The log probability of each target, including its end token, given its input.  False after an error. */
bool score_lines(const opened_model *m, const score_lines_opts *o);

#endif

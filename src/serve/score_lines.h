/* Scores of the texts in files, line by line. */
#ifndef SERVE_SCORE_LINES_H
#define SERVE_SCORE_LINES_H

#include "serve/scoring.h"

typedef struct score_lines_opts {
    const char *inputs;  /* a file of what precedes each text; NULL: nothing does */
    const char *targets; /* a file of the texts; "-": standard input */
    const char *inputs_text, *targets_text; /* these themselves, the files being what they are called;
                                               NULL: they are read */
    const char *output; /* OUTPUT-STEP.scores, .targets, .lengths and .inputs are written; NULL: the
                            scores go to standard output */
    int64_t     batch;
    bool        each; /* standard output has the scores of single tokens, too */
} score_lines_opts;

/* The log probability of each target and its end, given its input.  False after an error. */
bool score_lines(const opened_model *m, const score_lines_opts *o);

#endif

/* mtf serve: a model that answers over HTTP until it is told to stop. */
#ifndef SERVE_SERVE_H
#define SERVE_SERVE_H

#include "serve/http_server.h"

typedef struct serve_opts {
    answers_opts limits;
    http_opts    http;
} serve_opts;

/* Answers until a signal comes, whose number is `*signal`; what is being answered then has a few
 * seconds to end.  False after an error. */
bool serve(const opened_model *m, const serve_opts *o, int *signal);

#endif

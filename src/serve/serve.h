/* mtf serve: a model that answers requests over HTTP. */
#ifndef SERVE_SERVE_H
#define SERVE_SERVE_H

#include "serve/http_server.h"

typedef struct serve_opts {
    engine_opts limits;
    http_opts   http;
} serve_opts;

/* Answers requests until a signal arrives, and gives its number in `*signal`; current answers then have
 * a few seconds to complete.  False after an error. */
bool serve(const opened_model *m, const serve_opts *o, int *signal);

#endif

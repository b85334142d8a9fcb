/* The HTTP server of mtf serve, one thread per client. */
#ifndef SERVE_HTTP_SERVER_H
#define SERVE_HTTP_SERVER_H

#include "serve/engine.h"

typedef struct http_opts {
    const char *host;        /* default 127.0.0.1 */
    int         port;        /* 0: one that is free */
    size_t      max_body;    /* bytes of a request; default 1 MiB */
    int         max_clients; /* connections at a time; default 64 */
} http_opts;

typedef struct http_server http_server;

/* Starts the server.  NULL after an error, which is in the session. */
http_server *http_start(engine *e, const http_opts *o);
const char  *http_address(const http_server *h); /* http://127.0.0.1:8080 */
void         http_quiet(http_server *h);         /* accepts no new connections */
bool         http_busy(const http_server *h);    /* a request is still being answered */
void         http_stop(http_server *h); /* ends all connections, and waits for their threads */

#endif

/* One request over HTTP and its reply. */
#ifndef SERVE_HTTP_EXCHANGE_H
#define SERVE_HTTP_EXCHANGE_H

#include "mtf_build.h"
#include "base/byte_list.h"
#include "serve/engine.h"

#if MTF_HAVE_MICROHTTPD
#include <microhttpd.h>

typedef struct http_exchange {
    engine                *engine;
    struct MHD_Connection *connection;
    byte_list              body;
    bool                   too_large;
    bool        last;  /* there are too many clients: the connection ends with the reply */
    const char *allow; /* the methods that the path allows, where this one is not allowed */
} http_exchange;

/* Each queues a reply, and returns libmicrohttpd's result. */
enum MHD_Result http_reply(http_exchange *x, int status, char *json); /* frees the text */
enum MHD_Result http_error(http_exchange *x, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
enum MHD_Result http_refused(http_exchange *x, const refusal *why);
enum MHD_Result http_completions(http_exchange *x);
enum MHD_Result http_scores(http_exchange *x);

/* Suspends the client's timeout while a thread waits for the engine, and restores it for sending. */
void http_patience(http_exchange *x, bool waiting);
bool http_hung_up(const http_exchange *x); /* whether the client has disconnected */

#endif
#endif

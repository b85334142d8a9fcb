/* The connections of the HTTP server, with limits of number and time.
 *
 * A client that sends its request byte by byte, or nothing at all, is never idle for long enough to be
 * noticed by libmicrohttpd, and holds a thread.  So each connection has a deadline: for its header, for its
 * body, for the next request.  Beyond the limit of clients there are some connections more, for a short
 * time each: they are told that the server is busy, or how it is.
 */
#ifndef SERVE_HTTP_CLIENTS_H
#define SERVE_HTTP_CLIENTS_H

#include <stdbool.h>
#include <stddef.h>

enum {
    HTTP_EXTRA = 32,         /* connections beyond the limit */
    HTTP_SECONDS = 30,       /* for a client to send or receive something, or to ask again */
    HTTP_HEADER_SECONDS = 10 /* for the whole header of a first request */
};

typedef struct http_clients http_clients;
typedef struct http_client  http_client;

http_clients *
http_clients_new(int most); /* with the thread that watches deadlines; NULL: there was no room */
void http_clients_free(http_clients *all); /* when all connections are closed */

/* A new connection with this socket; NULL: no memory.  The socket stays open until it is removed. */
http_client *http_clients_add(http_clients *all, int socket);
void         http_clients_remove(http_clients *all, http_client *c);
/* The header has arrived, and `bytes` of a body are to follow; false: there are too many clients. */
bool http_clients_admit(http_clients *all, http_client *c, size_t bytes);
void http_clients_read(http_clients *all, http_client *c);     /* the whole request has arrived */
void http_clients_answered(http_clients *all, http_client *c); /* the client may ask again */

#endif

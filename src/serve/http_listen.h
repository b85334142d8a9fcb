/* Sockets that listen at every address of a host. */
#ifndef SERVE_HTTP_LISTEN_H
#define SERVE_HTTP_LISTEN_H

#include "base/session.h"

enum { HTTP_ADDRESSES = 8 };

typedef struct http_sockets {
    int  n, socket[HTTP_ADDRESSES];
    char address[200]; /* of the first: http://127.0.0.1:8080 */
} http_sockets;

/* One port for all addresses that the name has, at most HTTP_ADDRESSES; 0: one that is free.  Addresses
 * that this machine lacks are left out, if there are others. */
bool http_listen(mtf_session *s, const char *host, int port, http_sockets *to);
/* The same for a list of addresses.  False, with a reason in errno, where the port is taken at one of them,
 * or where this machine has none. */
struct addrinfo;
bool http_listen_at(const struct addrinfo *list, int port, http_sockets *to);

#endif

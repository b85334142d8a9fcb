/* Sockets that listen at every address of a host. */
#include "serve/http_listen.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void close_all(http_sockets *all)
{
    while (all->n > 0) close(all->socket[--all->n]);
}

/* The same but for their ports. */
static bool same_address(const struct addrinfo *a, const struct addrinfo *b)
{
    const struct sockaddr_in  *a4 = (const void *)a->ai_addr, *b4 = (const void *)b->ai_addr;
    const struct sockaddr_in6 *a6 = (const void *)a->ai_addr, *b6 = (const void *)b->ai_addr;
    if (a->ai_family != b->ai_family) return false;
    if (a->ai_family == AF_INET) return a4->sin_addr.s_addr == b4->sin_addr.s_addr;
    return a->ai_family == AF_INET6 && a6->sin6_scope_id == b6->sin6_scope_id &&
           memcmp(&a6->sin6_addr, &b6->sin6_addr, sizeof a6->sin6_addr) == 0;
}

/* Whether the name has this address already; a hosts file may list it twice. */
static bool is_repeated(const struct addrinfo *list, const struct addrinfo *a)
{
    const struct addrinfo *b = list;
    while (b != a && !same_address(a, b)) b = b->ai_next;
    return b != a;
}

static void set_port(const struct addrinfo *a, int port)
{
    if (a->ai_family == AF_INET)
        ((struct sockaddr_in *)(void *)a->ai_addr)->sin_port = htons((uint16_t)port);
    if (a->ai_family == AF_INET6)
        ((struct sockaddr_in6 *)(void *)a->ai_addr)->sin6_port = htons((uint16_t)port);
}

/* A socket that listens there; -1: none, for the reason in errno.  `alone`: the name has no other address. */
static int listen_at(const struct addrinfo *a, bool alone)
{
    int one = 1, s = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
    if (s < 0) return -1;
    bool ok = setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) == 0;
    if (a->ai_family == AF_INET6 && !alone) /* the others have sockets of their own */
        ok = ok && setsockopt(s, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one) == 0;
    if (ok && bind(s, a->ai_addr, a->ai_addrlen) == 0 && listen(s, SOMAXCONN) == 0) return s;
    int why = errno;
    close(s);
    errno = why;
    return -1;
}

/* Writes the address of a socket as users type it; returns its port. */
static int name_address(int socket, char *text, size_t room)
{
    struct sockaddr_storage at;
    socklen_t               size = sizeof at;
    char                    place[100] = "", number[16] = "";
    int                     port = 0;
    getsockname(socket, (struct sockaddr *)&at, &size);
    getnameinfo((struct sockaddr *)&at, size, place, sizeof place, number, sizeof number,
                NI_NUMERICHOST | NI_NUMERICSERV);
    bool colons = strchr(place, ':') != NULL;
    snprintf(text, room, "http://%s%s%s:%s", colons ? "[" : "", place, colons ? "]" : "", number);
    if (sscanf(number, "%d", &port) != 1) port = 0;
    return port;
}

/* The first one's port is that of the others. */
static bool listen_all(const struct addrinfo *list, int port, http_sockets *to)
{
    int why = EADDRNOTAVAIL;
    to->n = 0;
    for (const struct addrinfo *a = list; a && to->n < HTTP_ADDRESSES; a = a->ai_next) {
        if (is_repeated(list, a)) continue;
        set_port(a, port);
        int s = listen_at(a, !list->ai_next);
        if (s < 0) {
            why = errno;
            if (why == EADDRNOTAVAIL || why == EAFNOSUPPORT) continue; /* this machine lacks it */
            close_all(to);
            break;
        }
        to->socket[to->n++] = s;
        if (to->n == 1) port = name_address(s, to->address, sizeof to->address);
    }
    errno = why;
    return to->n > 0;
}

bool http_listen_at(const struct addrinfo *list, int port, http_sockets *to)
{
    enum { TRIES = 20 };
    bool ok = listen_all(list, port, to);
    /* A free port of one address may be taken at another. */
    for (int k = 0; !ok && port == 0 && errno == EADDRINUSE && k < TRIES; k++)
        ok = listen_all(list, 0, to);
    return ok;
}

bool http_listen(mtf_session *s, const char *host, int port, http_sockets *to)
{
    struct addrinfo  hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *list = NULL;
    int              wrong = getaddrinfo(host, NULL, &hints, &list);
    if (wrong) return fail(&s->fault, ERR_VALUE, "--host %s: %s", host, gai_strerror(wrong));
    bool ok = http_listen_at(list, port, to);
    int  why = errno;
    freeaddrinfo(list);
    if (ok) return true;
    return fail(&s->fault, ERR_VALUE, "cannot listen on %s, port %d: %s", host, port,
                strerror(why));
}

/* The connections of the HTTP server, with limits of number and time. */
#include "serve/http_clients.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

#include "base/clock.h"
#include "base/thread.h"

enum {
    EXTRA_SECONDS = 2,        /* for the header, and the body, of a connection beyond the limit */
    BODY_SECONDS = 10,        /* for a body, */
    BYTES_A_SECOND = 1 << 17, /* and for so many bytes of it a second more */
    LOOKS_A_SECOND = 4
};

struct http_client {
    http_client *next; /* newest first */
    int          socket;
    bool         extra;    /* beyond the limit */
    bool         gone;     /* its time is over: it does not count any more */
    bool         asks;     /* its header is not complete */
    double       deadline; /* 0: none */
};

struct http_clients {
    pthread_mutex_t lock;
    pthread_cond_t  end;
    pthread_t       watch;
    int             most, regular, extra;
    http_client    *first;
    bool            over;
};

static void uncount(http_clients *all, http_client *c)
{
    if (!c->gone) --*(c->extra ? &all->extra : &all->regular);
    c->gone = true;
}

/* Its thread reads the end of the stream, and ends the connection.  The client knows as soon: what it, or
   another, asks next finds the place free. */
static void cut(http_clients *all, http_client *c)
{
    uncount(all, c);
    c->deadline = 0;
    shutdown(c->socket, SHUT_RDWR);
}

static void *watch(void *context)
{
    http_clients *all = context;
    pthread_mutex_lock(&all->lock);
    while (!all->over) {
        struct timespec until;
        double          now = clock_seconds();
        for (http_client *c = all->first; c; c = c->next)
            if (c->deadline > 0 && now > c->deadline) cut(all, c);
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += 1000000000 / LOOKS_A_SECOND;
        if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
        pthread_cond_timedwait(&all->end, &all->lock, &until);
    }
    pthread_mutex_unlock(&all->lock);
    return NULL;
}

http_clients *http_clients_new(int most)
{
    http_clients      *all = calloc(1, sizeof *all);
    pthread_condattr_t clock;
    if (!all) return NULL;
    all->most = most;
    pthread_mutex_init(&all->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&all->end, &clock);
    pthread_condattr_destroy(&clock);
    if (thread_start(&all->watch, watch, all)) return all;
    free(all);
    return NULL;
}

void http_clients_free(http_clients *all)
{
    pthread_mutex_lock(&all->lock);
    all->over = true;
    pthread_cond_signal(&all->end);
    pthread_mutex_unlock(&all->lock);
    pthread_join(all->watch, NULL);
    for (http_client *c = all->first, *next; c; c = next) {
        next = c->next;
        free(c);
    }
    pthread_cond_destroy(&all->end);
    pthread_mutex_destroy(&all->lock);
    free(all);
}

/* Under the lock: of the connections beyond the limit the oldest without a request makes room. */
static void cut_oldest(http_clients *all)
{
    http_client *oldest = NULL;
    for (http_client *c = all->first; c; c = c->next)
        if (c->extra && c->asks && c->deadline > 0) oldest = c;
    if (oldest) cut(all, oldest);
}

http_client *http_clients_add(http_clients *all, int socket)
{
    http_client *c = calloc(1, sizeof *c);
    if (!c) return NULL;
    pthread_mutex_lock(&all->lock);
    bool extra = all->regular >= all->most;
    *c = (http_client){.next = all->first, .socket = socket, .extra = extra, .asks = true};
    c->deadline = clock_seconds() + (extra ? EXTRA_SECONDS : HTTP_HEADER_SECONDS);
    if (extra && all->extra >= HTTP_EXTRA / 2) cut_oldest(all);
    all->first = c;
    ++*(extra ? &all->extra : &all->regular);
    pthread_mutex_unlock(&all->lock);
    return c;
}

void http_clients_remove(http_clients *all, http_client *c)
{
    if (!c) return;
    pthread_mutex_lock(&all->lock);
    http_client **at = &all->first;
    while (*at != c) at = &(*at)->next;
    *at = c->next;
    uncount(all, c);
    pthread_mutex_unlock(&all->lock);
    free(c);
}

bool http_clients_admit(http_clients *all, http_client *c, size_t bytes)
{
    if (!c) return false;
    pthread_mutex_lock(&all->lock);
    if (c->extra && !c->gone && all->regular < all->most) {
        c->extra = false;
        all->extra--;
        all->regular++;
    }
    bool admitted = !c->extra && !c->gone;
    c->asks = false;
    c->deadline = clock_seconds() + (admitted ? BODY_SECONDS : EXTRA_SECONDS) +
                  (double)bytes / BYTES_A_SECOND;
    pthread_mutex_unlock(&all->lock);
    return admitted;
}

static void set_deadline(http_clients *all, http_client *c, bool asks, double deadline)
{
    if (!c) return;
    pthread_mutex_lock(&all->lock);
    c->asks = asks;
    c->deadline = deadline;
    pthread_mutex_unlock(&all->lock);
}

void http_clients_read(http_clients *all, http_client *c)
{
    set_deadline(all, c, false, 0);
}

void http_clients_answered(http_clients *all, http_client *c)
{
    set_deadline(all, c, true, clock_seconds() + HTTP_SECONDS);
}

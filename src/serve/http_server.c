/* The HTTP server of mtf serve, one thread per client. */
#include "serve/http_server.h"

#include "serve/http_exchange.h"

#if MTF_HAVE_MICROHTTPD
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/numbers.h"
#include "base/thread.h"
#include "serve/http_clients.h"
#include "serve/http_listen.h"
#include "serve/serve_assets.h"
#include "serve/serve_reply.h"

struct http_server {
    engine            *engine;
    http_sockets       at;
    struct MHD_Daemon *daemon[HTTP_ADDRESSES]; /* one for each socket */
    http_clients      *clients;
    size_t             max_body;
    time_t             started;
    _Atomic int        exchanges;
};

/* ---- replies ---- */

static enum MHD_Result queue(http_exchange *x, int status, struct MHD_Response *r, const char *type)
{
    if (!r) return MHD_NO;
    MHD_add_response_header(r, "Content-Type", type);
    MHD_add_response_header(r, "Cache-Control", "no-store");
    MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
    if (x->allow) MHD_add_response_header(r, "Allow", x->allow);
    if (x->last) MHD_add_response_header(r, "Connection", "close");
    if (status == MHD_HTTP_TOO_MANY_REQUESTS || x->last)
        MHD_add_response_header(r, "Retry-After", "1");
    enum MHD_Result result = MHD_queue_response(x->connection, (unsigned)status, r);
    MHD_destroy_response(r);
    return result;
}

enum MHD_Result http_reply(http_exchange *x, int status, char *json)
{
    if (!json) return MHD_NO; /* no memory: the connection ends */
    struct MHD_Response *r =
        MHD_create_response_from_buffer(strlen(json), json, MHD_RESPMEM_MUST_COPY);
    cJSON_free(json);
    return queue(x, status, r, "application/json");
}

enum MHD_Result http_error(http_exchange *x, int status, const char *format, ...)
{
    char    text[600];
    va_list args;
    va_start(args, format);
    number_vformat(text, sizeof text, format, args);
    va_end(args);
    return http_reply(x, status, reply_error(status, text));
}

enum MHD_Result http_refused(http_exchange *x, const refusal *why)
{
    static const int statuses[] = {[REFUSED_WRONG] = MHD_HTTP_BAD_REQUEST,
                                   [REFUSED_BUSY] = MHD_HTTP_TOO_MANY_REQUESTS,
                                   [REFUSED_STOPPING] = MHD_HTTP_SERVICE_UNAVAILABLE};
    return http_error(x, statuses[why->kind], "%s", why->text);
}

void http_patience(http_exchange *x, bool waiting)
{
    MHD_set_connection_option(x->connection, MHD_CONNECTION_OPTION_TIMEOUT,
                              waiting ? 0u : (unsigned)HTTP_SECONDS);
}

bool http_hung_up(const http_exchange *x)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(x->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    char byte;
    if (!info) return true;
    ssize_t got = recv(info->connect_fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

/* ---- paths ---- */

static enum MHD_Result get_page(http_server *h, http_exchange *x)
{
    (void)h;
    return queue(x, MHD_HTTP_OK,
                 MHD_create_response_from_buffer(asset_serve_page_bytes, (void *)asset_serve_page,
                                                 MHD_RESPMEM_PERSISTENT),
                 "text/html; charset=utf-8");
}

static enum MHD_Result get_health(http_server *h, http_exchange *x)
{
    static const char ok[] = "{\"status\":\"ok\"}";
    (void)h;
    return queue(x, MHD_HTTP_OK,
                 MHD_create_response_from_buffer(sizeof ok - 1, (void *)ok, MHD_RESPMEM_PERSISTENT),
                 "application/json");
}

static enum MHD_Result get_models(http_server *h, http_exchange *x)
{
    return http_reply(x, MHD_HTTP_OK, reply_models(engine_model(h->engine), (int64_t)h->started));
}

static enum MHD_Result get_model(http_server *h, http_exchange *x, const char *name)
{
    const opened_model *m = engine_model(h->engine);
    if (strcmp(name, m->name) != 0)
        return http_error(x, MHD_HTTP_NOT_FOUND, "there is no model \"%.100s\"; this is \"%.100s\"",
                          name, m->name);
    return http_reply(x, MHD_HTTP_OK, reply_model(m, (int64_t)h->started));
}

static enum MHD_Result post_completions(http_server *h, http_exchange *x)
{
    (void)h;
    return http_completions(x);
}

static enum MHD_Result post_scores(http_server *h, http_exchange *x)
{
    (void)h;
    return http_scores(x);
}

typedef struct http_path {
    const char *path;
    bool        posts;
    enum MHD_Result (*answer)(http_server *h, http_exchange *x);
} http_path;

static const http_path paths[] = {
    {"/", false, get_page},
    {"/health", false, get_health},
    {"/v1/models", false, get_models},
    {"/v1/completions", true, post_completions},
    {"/v1/score", true, post_scores},
};

static const char one_model[] = "/v1/models/"; /* and its name */

static enum MHD_Result route(http_server *h, http_exchange *x, const char *url, const char *method)
{
    bool posts = strcmp(method, "POST") == 0;
    bool gets = strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
    for (size_t k = 0; k < sizeof paths / sizeof *paths; k++) {
        if (strcmp(paths[k].path, url) != 0) continue;
        if (paths[k].posts ? posts : gets) return paths[k].answer(h, x);
        x->allow = paths[k].posts ? "POST" : "GET, HEAD";
        return http_error(x, MHD_HTTP_METHOD_NOT_ALLOWED, "%s takes %s, not %.20s", url, x->allow,
                          method);
    }
    size_t n = strlen(one_model);
    if (gets && strncmp(url, one_model, n) == 0) return get_model(h, x, url + n);
    return http_error(x, MHD_HTTP_NOT_FOUND,
                      "there is no %.100s here; there are /, /health, "
                      "/v1/models, /v1/completions and /v1/score",
                      url);
}

/* ---- requests as they arrive ---- */

/* Bytes that a body has, or may have. */
static size_t announced(const http_server *h, struct MHD_Connection *c)
{
    const char *length = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Content-Length");
    const char *coding = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Transfer-Encoding");
    return length ? (size_t)strtoull(length, NULL, 10) : coding ? h->max_body : 0;
}

static http_client *client_of(struct MHD_Connection *c)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

static enum MHD_Result too_large(const http_server *h, http_exchange *x)
{
    return http_error(x, MHD_HTTP_CONTENT_TOO_LARGE, "the body is larger than %zu bytes",
                      h->max_body);
}

static bool keep(const http_server *h, http_exchange *x, const char *data, size_t n)
{
    if ((size_t)x->body.count + n > h->max_body) x->too_large = true;
    return x->too_large || x->last || bytes_add(&x->body, data, n);
}

/* The header has arrived. */
static enum MHD_Result begin_exchange(http_server *h, http_exchange *x)
{
    size_t bytes = announced(h, x->connection);
    x->last = !http_clients_admit(h->clients, client_of(x->connection), bytes);
    return bytes > h->max_body ? too_large(h, x) : MHD_YES;
}

/* The whole request has arrived: a client that still sends would not see the reply. */
static enum MHD_Result reply(http_server *h, http_exchange *x, const char *url, const char *method)
{
    http_clients_read(h->clients, client_of(x->connection));
    if (x->last && strcmp(url, "/health") != 0)
        return http_error(x, MHD_HTTP_SERVICE_UNAVAILABLE, "there are too many clients: try again");
    return x->too_large ? too_large(h, x) : route(h, x, url, method);
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *data,
                                  size_t *bytes, void **state)
{
    http_server   *h = context;
    http_exchange *x = *state;
    (void)version;
    if (!x) {
        x = *state = calloc(1, sizeof *x);
        if (!x) return MHD_NO;
        *x = (http_exchange){.engine = h->engine, .connection = connection};
        h->exchanges++;
        return begin_exchange(h, x);
    }
    if (*bytes) {
        if (!keep(h, x, data, *bytes)) return MHD_NO;
        *bytes = 0;
        return MHD_YES;
    }
    return reply(h, x, url, method);
}

static void on_completed(void *context, struct MHD_Connection *connection, void **state,
                         enum MHD_RequestTerminationCode how)
{
    http_server   *h = context;
    http_exchange *x = *state;
    (void)how;
    if (!x) return;
    bytes_free(&x->body);
    free(x);
    *state = NULL;
    h->exchanges--;
    http_clients_answered(h->clients, client_of(connection));
}

static void on_connection(void *context, struct MHD_Connection *connection, void **client,
                          enum MHD_ConnectionNotificationCode what)
{
    http_server *h = context;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info =
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        *client = info ? http_clients_add(h->clients, info->connect_fd) : NULL;
    } else {
        http_clients_remove(h->clients, *client);
        *client = NULL;
    }
}

/* ---- listening ---- */

/* Starts the daemon of a socket, which closes it in the end. */
static bool start_listening(http_server *h, int k, int max_clients)
{
    h->daemon[k] = MHD_start_daemon(
        MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_POLL |
            MHD_USE_ITC,
        0, NULL, NULL, on_request, h, MHD_OPTION_LISTEN_SOCKET, h->at.socket[k],
        MHD_OPTION_NOTIFY_COMPLETED, on_completed, h, MHD_OPTION_NOTIFY_CONNECTION, on_connection,
        h, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)HTTP_SECONDS, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)(max_clients + HTTP_EXTRA), MHD_OPTION_END);
    return h->daemon[k] != NULL;
}

http_server *http_start(engine *e, const http_opts *o)
{
    mtf_session *s = engine_model(e)->session;
    http_server *h = arena_new(&s->arena, http_server);
    int          most = o->max_clients ? o->max_clients : 64;
    if (!h) return NULL;
    h->engine = e;
    h->max_body = o->max_body ? o->max_body : 1 << 20;
    h->started = time(NULL);
    if (!http_listen(s, o->host ? o->host : "127.0.0.1", o->port, &h->at)) return NULL;
    h->clients = http_clients_new(most);
    int      started = 0;
    sigset_t before = thread_block_signals(); /* its threads inherit the mask */
    while (h->clients && started < h->at.n && start_listening(h, started, most)) started++;
    thread_restore_signals(&before);
    if (started == h->at.n) return h;
    for (int k = started; k < h->at.n; k++) close(h->at.socket[k]);
    h->at.n = started;
    http_stop(h);
    fail(&s->fault, ERR_VALUE, "libmicrohttpd cannot start to listen on %s", h->at.address);
    return NULL;
}

const char *http_address(const http_server *h)
{
    return h->at.address;
}

void http_quiet(http_server *h)
{
    for (int k = 0; k < h->at.n; k++) {
        int listener = MHD_quiesce_daemon(h->daemon[k]);
        if (listener >= 0) close(listener);
    }
}

bool http_busy(const http_server *h)
{
    return h->exchanges > 0;
}

void http_stop(http_server *h)
{
    for (int k = 0; k < h->at.n; k++) MHD_stop_daemon(h->daemon[k]);
    if (h->clients) http_clients_free(h->clients);
}

#else

http_server *http_start(engine *e, const http_opts *o)
{
    (void)o;
    fail(&engine_model(e)->session->fault, ERR_USAGE,
         "this build of mtf has no HTTP: install libmicrohttpd-dev, and build it again");
    return NULL;
}

const char *http_address(const http_server *h)
{
    (void)h;
    return "";
}

void http_quiet(http_server *h)
{
    (void)h;
}

bool http_busy(const http_server *h)
{
    (void)h;
    return false;
}

void http_stop(http_server *h)
{
    (void)h;
}

#endif

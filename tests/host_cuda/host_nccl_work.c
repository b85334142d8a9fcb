/* Collectives between processes, as work on streams.
 *
 * Each is a list of messages, sent and received without blocking, and something to do when
 * all have come.  Sums are made from the last rank to the first: whoever counts on the
 * order of the ranks is mistaken.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "host_fault.h"
#include "base/dtype.h"
#include "host_nccl.h"
#include "host_work.h"

typedef enum call_kind { ALL_REDUCE, REDUCE_SCATTER, ALL_GATHER, SEND, RECV } call_kind;

typedef struct nccl_call {
    call_kind      kind;
    const char    *in;
    char          *out;
    size_t         count, bytes; /* bytes of count elements */
    ncclDataType_t type;
    ncclRedOp_t    op;
    int            peer;
    ncclComm_t     comm;
    CUstream       stream;
} nccl_call;

/* Calls that are carried out together. */
enum { MOST_CALLS = 4 * MOST_RANKS };
typedef struct call_list {
    int       n;
    nccl_call calls[MOST_CALLS];
} call_list;

typedef struct message {
    int    socket;
    bool   sends;
    char  *data;
    size_t bytes;
} message;

/* One execution of a list. */
typedef struct under_way {
    message *messages;
    int      n, room;
    char    *taken[MOST_CALLS]; /* what the ranks sent for a reduction, one after another */
} under_way;

/* ---- combining ---- */

#define COMBINE(TYPE, WIDE, LOAD, STORE)                                                           \
    do {                                                                                           \
        for (size_t k = 0; k < n; k++) {                                                           \
            WIDE a = LOAD(((const TYPE *)from)[k]), b = LOAD(((TYPE *)to)[k]);                     \
            WIDE r = op == ncclSum   ? (WIDE)(b + a)                                               \
                     : op == ncclMax ? (a > b ? a : b)                                             \
                                     : (a < b ? a : b);                                            \
            ((TYPE *)to)[k] = (TYPE)STORE(r);                                                      \
        }                                                                                          \
    } while (0)
#define AS_IS(x) (x)

static void combine(ncclDataType_t type, ncclRedOp_t op, char *to, const char *from, size_t n)
{
    switch (type) {
    case ncclFloat32: COMBINE(float, float, AS_IS, AS_IS); break;
    case ncclFloat64: COMBINE(double, double, AS_IS, AS_IS); break;
    case ncclBfloat16: COMBINE(uint16_t, float, bf16_to_f32, f32_to_bf16); break;
    case ncclFloat16: COMBINE(uint16_t, float, f16_to_f32, f32_to_f16); break;
    case ncclInt32: COMBINE(uint32_t, int32_t, (int32_t), (uint32_t)); break;
    case ncclInt64: COMBINE(uint64_t, int64_t, (int64_t), (uint64_t)); break;
    default: COMBINE(uint8_t, uint8_t, AS_IS, AS_IS);
    }
}

static size_t element(ncclDataType_t type)
{
    switch (type) {
    case ncclFloat32:
    case ncclInt32: return 4;
    case ncclFloat64:
    case ncclInt64: return 8;
    case ncclFloat16:
    case ncclBfloat16: return 2;
    default: return 1;
    }
}

/* ---- messages ---- */

static void add(under_way *u, const nccl_call *c, int peer, bool sends, const char *data)
{
    if (u->n == u->room) {
        u->room = u->room ? 2 * u->room : 16;
        u->messages = realloc(u->messages, sizeof *u->messages * (size_t)u->room);
    }
    u->messages[u->n++] =
        (message){c->comm->sockets[peer], sends, (char *)(uintptr_t)data, c->bytes};
}

static void list_messages(under_way *u, const nccl_call *c, int number)
{
    if (c->kind == SEND || c->kind == RECV) {
        add(u, c, c->peer, c->kind == SEND, c->kind == SEND ? c->in : c->out);
        return;
    }
    int n = c->comm->n;
    if (c->kind != ALL_GATHER) u->taken[number] = malloc((size_t)n * c->bytes + 1);
    for (int k = 0; k < n; k++) {
        if (k == c->comm->rank) continue;
        add(u, c, k, true, c->kind == REDUCE_SCATTER ? c->in + (size_t)k * c->bytes : c->in);
        add(u, c, k, false,
            (c->kind == ALL_GATHER ? c->out : u->taken[number]) + (size_t)k * c->bytes);
    }
}

static void finish(under_way *u, const nccl_call *c, int number)
{
    int         n = c->comm->n, rank = c->comm->rank;
    const char *own = c->kind == REDUCE_SCATTER ? c->in + (size_t)rank * c->bytes : c->in;
    if (c->kind == ALL_GATHER) memmove(c->out + (size_t)rank * c->bytes, own, c->bytes);
    if (c->kind != ALL_REDUCE && c->kind != REDUCE_SCATTER) return;
    char *taken = u->taken[number];
    memcpy(taken + (size_t)rank * c->bytes, own, c->bytes);
    memcpy(c->out, taken + (size_t)(n - 1) * c->bytes, c->bytes);
    for (int k = n - 2; k >= 0; k--)
        combine(c->type, c->op, c->out, taken + (size_t)k * c->bytes, c->count);
}

/* Moves what can be moved; false: the other process has ended. */
static bool move(message *m)
{
    while (m->bytes) {
        ssize_t k = m->sends ? send(m->socket, m->data, m->bytes, MSG_DONTWAIT | MSG_NOSIGNAL)
                             : recv(m->socket, m->data, m->bytes, MSG_DONTWAIT);
        if (k < 0 && (errno == EAGAIN || errno == EINTR)) return true;
        if (k <= 0) return false;
        m->data += k;
        m->bytes -= (size_t)k;
    }
    return true;
}

/* Messages to one rank are sent, and from one rank received, in the order of the list. */
static bool is_next(const under_way *u, int number)
{
    for (int k = 0; k < number; k++) {
        const message *a = &u->messages[k], *b = &u->messages[number];
        if (a->bytes && a->socket == b->socket && a->sends == b->sends) return false;
    }
    return true;
}

/* ---- as work ---- */

typedef struct attempt_data {
    const call_list *list;
    under_way       *under_way;
} attempt_data;

static bool any_aborted(const call_list *list)
{
    for (int k = 0; k < list->n; k++)
        if (list->calls[k].comm->aborted) return true;
    return false;
}

static void end(attempt_data *d)
{
    for (int k = 0; k < d->list->n; k++) free(d->under_way->taken[k]);
    free(d->under_way->messages);
    free(d->under_way);
    d->under_way = NULL;
}

static bool attempt(void *data)
{
    attempt_data *d = data;
    bool          left = false;
    if (!d->under_way) {
        d->under_way = calloc(1, sizeof *d->under_way);
        for (int k = 0; k < d->list->n; k++) list_messages(d->under_way, &d->list->calls[k], k);
    }
    under_way *u = d->under_way;
    if (host_broken() || any_aborted(d->list)) { /* a GPU that failed sends nothing */
        end(d);
        return true;
    }
    for (int k = 0; k < u->n; k++) {
        if (is_next(u, k) && !move(&u->messages[k])) {
            d->list->calls[0].comm->error = ncclRemoteError;
            return false;
        }
        left = left || u->messages[k].bytes;
    }
    if (left) return false;
    for (int k = 0; k < d->list->n; k++) finish(u, &d->list->calls[k], k);
    end(d);
    return true;
}

/* ---- the calls ---- */

static _Thread_local int       depth;
static _Thread_local call_list gathered;

/* Captured steps refer to the list, which stays. */
static ncclResult_t queue(void)
{
    if (gathered.n == 0) return ncclSuccess;
    size_t     bytes = offsetof(call_list, calls) + sizeof *gathered.calls * (size_t)gathered.n;
    call_list *list = malloc(bytes);
    memcpy(list, &gathered, bytes);
    gathered.n = 0;
    attempt_data d = {.list = list};
    if (host_queue_attempt(list->calls[0].stream, "a collective", attempt, &d, sizeof d))
        return ncclSystemError;
    return host_said(list->calls[0].comm);
}

static ncclResult_t take(nccl_call c)
{
    bool between = c.kind == SEND || c.kind == RECV;
    if (!host_ready(c.comm) || gathered.n == MOST_CALLS) return ncclInvalidArgument;
    if (between && (c.peer < 0 || c.peer >= c.comm->n || c.peer == c.comm->rank))
        return ncclInvalidArgument;
    if (c.op != ncclSum && c.op != ncclMax && c.op != ncclMin) return ncclInvalidArgument;
    c.bytes = c.count * element(c.type);
    gathered.calls[gathered.n++] = c;
    if (depth) return c.comm->blocking ? ncclSuccess : ncclInProgress; /* until the group ends */
    return queue();
}

ncclResult_t ncclGroupStart(void)
{
    if (host_fails(FAULT_GROUP)) return ncclInternalError;
    depth++;
    return ncclSuccess;
}

ncclResult_t ncclGroupEnd(void)
{
    if (depth == 0) return ncclInvalidUsage;
    return --depth ? ncclSuccess : queue();
}

ncclResult_t ncclAllReduce(const void *in, void *out, size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream)
{
    return take((nccl_call){.kind = ALL_REDUCE,
                            .in = in,
                            .out = out,
                            .count = count,
                            .type = type,
                            .op = op,
                            .comm = comm,
                            .stream = stream});
}

ncclResult_t ncclReduceScatter(const void *in, void *out, size_t count, ncclDataType_t type,
                               ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream)
{
    return take((nccl_call){.kind = REDUCE_SCATTER,
                            .in = in,
                            .out = out,
                            .count = count,
                            .type = type,
                            .op = op,
                            .comm = comm,
                            .stream = stream});
}

ncclResult_t ncclAllGather(const void *in, void *out, size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream)
{
    return take((nccl_call){.kind = ALL_GATHER,
                            .in = in,
                            .out = out,
                            .count = count,
                            .type = type,
                            .comm = comm,
                            .stream = stream});
}

ncclResult_t ncclSend(const void *in, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream)
{
    return take((nccl_call){.kind = SEND,
                            .in = in,
                            .count = count,
                            .type = type,
                            .peer = peer,
                            .comm = comm,
                            .stream = stream});
}

ncclResult_t ncclRecv(void *out, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream)
{
    return take((nccl_call){.kind = RECV,
                            .out = out,
                            .count = count,
                            .type = type,
                            .peer = peer,
                            .comm = comm,
                            .stream = stream});
}

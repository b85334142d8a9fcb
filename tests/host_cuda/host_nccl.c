/* NCCL for GPUs that are the host: communicators over local sockets.
 *
 * Every two ranks of a communicator have a connection.  Waiting for ranks that never come
 * ends after some seconds with an error.
 */
#include "host_nccl.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { MOST_WAIT = 20 }; /* seconds */

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- the library ---- */

ncclResult_t ncclGetVersion(int *version)
{
    *version = NCCL_VERSION_CODE;
    return ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t r)
{
    switch (r) {
    case ncclSuccess: return "no error";
    case ncclSystemError: return "unhandled system error";
    case ncclInvalidArgument: return "invalid argument";
    case ncclInvalidUsage: return "invalid usage";
    case ncclRemoteError: return "remote process exited or there was a network error";
    case ncclInProgress: return "NCCL operation in progress";
    default: return "unknown result code";
    }
}

const char *ncclGetLastError(ncclComm_t comm)
{
    (void)comm;
    return "";
}

ncclResult_t host_said(ncclComm_t comm)
{
    comm->asked = false;
    comm->busy = !comm->blocking;
    return comm->blocking ? comm->error : ncclInProgress;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *now)
{
    *now = !comm->busy || comm->asked ? comm->error : ncclInProgress;
    if (comm->asked) comm->busy = false;
    if (!comm->busy && comm->child_at) {
        *comm->child_at = comm->child;
        comm->child_at = NULL;
    }
    comm->asked = true;
    return ncclSuccess;
}

bool host_ready(const struct ncclComm *comm)
{
    return comm && !comm->busy && !comm->aborted;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
    unsigned long long words[2];
    if (getrandom(words, sizeof words, 0) != sizeof words) return ncclSystemError;
    memset(id, 0, sizeof *id);
    snprintf(id->internal, sizeof id->internal, "%016llx%016llx", words[0], words[1]);
    return ncclSuccess;
}

/* ---- connections ---- */

/* A name that begins with a zero byte is not in the file system. */
static socklen_t write_address(struct sockaddr_un *to, const char *name, int rank)
{
    memset(to, 0, sizeof *to);
    to->sun_family = AF_UNIX;
    snprintf(to->sun_path + 1, sizeof to->sun_path - 1, "mtf-nccl-%.80s-%d", name, rank);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(to->sun_path + 1));
}

static int call(const char *name, int rank)
{
    struct sockaddr_un there;
    socklen_t          length = write_address(&there, name, rank);
    for (double end = seconds() + MOST_WAIT; seconds() < end; usleep(1000)) {
        int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (s < 0) return -1;
        if (connect(s, (struct sockaddr *)&there, length) == 0) return s;
        close(s);
    }
    return -1;
}

static int answer(int listener)
{
    struct pollfd p = {.fd = listener, .events = POLLIN};
    return poll(&p, 1, MOST_WAIT * 1000) == 1 ? accept4(listener, NULL, NULL, SOCK_CLOEXEC) : -1;
}

/* Calls the ranks before this one and is called by those after it. */
static bool connect_all(ncclComm_t comm)
{
    struct sockaddr_un here;
    socklen_t          length = write_address(&here, comm->name, comm->rank);
    int                listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool ok = listener >= 0 && bind(listener, (struct sockaddr *)&here, length) == 0 &&
              listen(listener, MOST_RANKS) == 0;
    for (int k = 0; k < comm->rank && ok; k++) {
        comm->sockets[k] = call(comm->name, k);
        ok = comm->sockets[k] >= 0 &&
             write(comm->sockets[k], &comm->rank, sizeof comm->rank) == sizeof comm->rank;
    }
    for (int k = comm->rank + 1; k < comm->n && ok; k++) {
        int who = -1, s = answer(listener);
        ok = s >= 0 && read(s, &who, sizeof who) == sizeof who && who > comm->rank && who < comm->n;
        if (ok) comm->sockets[who] = s;
    }
    if (listener >= 0) close(listener);
    return ok;
}

static ncclResult_t make(ncclComm_t *made, const char *name, int n, int rank, bool blocking)
{
    if (n < 1 || n > MOST_RANKS || rank < 0 || rank >= n) return ncclInvalidArgument;
    ncclComm_t comm = calloc(1, sizeof *comm);
    snprintf(comm->name, sizeof comm->name, "%s", name);
    comm->n = n;
    comm->rank = rank;
    comm->blocking = blocking;
    for (int k = 0; k < MOST_RANKS; k++) comm->sockets[k] = -1;
    if (!connect_all(comm)) comm->error = ncclSystemError;
    *made = comm;
    return host_said(comm);
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int n, ncclUniqueId id, int rank,
                                    ncclConfig_t *config)
{
    return make(comm, id.internal, n, rank, !config || config->blocking != 0);
}

ncclResult_t ncclCommInitRank(ncclComm_t *comm, int n, ncclUniqueId id, int rank)
{
    return make(comm, id.internal, n, rank, true);
}

/* ---- parts of a communicator ---- */

typedef struct wish {
    int color, key;
} wish;

static bool swap_wishes(ncclComm_t comm, wish *all)
{
    for (int k = 0; k < comm->n; k++)
        if (k != comm->rank &&
            write(comm->sockets[k], &all[comm->rank], sizeof *all) != sizeof *all)
            return false;
    for (int k = 0; k < comm->n; k++) {
        struct pollfd p = {.fd = comm->sockets[k], .events = POLLIN};
        if (k == comm->rank) continue;
        if (poll(&p, 1, MOST_WAIT * 1000) != 1 ||
            recv(comm->sockets[k], &all[k], sizeof *all, MSG_WAITALL) != sizeof *all)
            return false;
    }
    return true;
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *made,
                           ncclConfig_t *config)
{
    wish all[MOST_RANKS] = {{0}};
    char name[NCCL_UNIQUE_ID_BYTES];
    int  n = 0, rank = 0;
    (void)config;
    if (!host_ready(comm)) return ncclInvalidArgument;
    all[comm->rank] = (wish){color, key};
    if (!swap_wishes(comm, all)) {
        comm->error = ncclRemoteError;
        return host_said(comm);
    }
    comm->splits++;
    for (int k = 0; k < comm->n; k++) {
        if (all[k].color != color) continue;
        n++;
        rank += all[k].key < key || (all[k].key == key && k < comm->rank);
    }
    snprintf(name, sizeof name, "%.60s.%d.%d", comm->name, comm->splits, color);
    *made = NULL;
    comm->child_at = made;
    make(&comm->child, name, n, rank, comm->blocking);
    host_said(comm);
    if (comm->blocking) ncclCommGetAsyncError(comm, &(ncclResult_t){0});
    return ncclSuccess; /* as the library does, also where it is not done yet */
}

/* ---- the end ---- */

ncclResult_t ncclCommFinalize(ncclComm_t comm)
{
    return host_said(comm);
}

ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
    for (int k = 0; k < comm->n; k++)
        if (comm->sockets[k] >= 0) close(comm->sockets[k]);
    free(comm);
    return ncclSuccess;
}

/* What is queued ends without a result; it still looks at the communicator, which stays. */
ncclResult_t ncclCommAbort(ncclComm_t comm)
{
    comm->aborted = true;
    return ncclSuccess;
}

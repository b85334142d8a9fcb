/* Communicators of an NCCL whose GPUs are processes of the host. */
#ifndef HOST_NCCL_H
#define HOST_NCCL_H

#include <nccl.h>
#include <stdbool.h>
#include <stddef.h>

enum { MOST_RANKS = 64 };

struct ncclComm {
    char         name[NCCL_UNIQUE_ID_BYTES]; /* the same in all its processes, and nowhere else */
    int          n, rank, splits;
    int          sockets[MOST_RANKS]; /* to each other rank */
    bool         blocking, aborted;
    bool         busy, asked;      /* with the last call; asked: for its result */
    ncclComm_t   child, *child_at; /* made by the last call, and where it will be told */
    ncclResult_t error;
};

/* What a call on a communicator returns: without blocking, the result comes later. */
ncclResult_t host_said(ncclComm_t comm);
/* False: the result of the call before has not been asked for. */
bool host_ready(const struct ncclComm *comm);

#endif

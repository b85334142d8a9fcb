/* Communicators of an NCCL whose cards are processes of the host. */
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
    bool         blocking, asked;     /* asked: the last call's result has been asked for */
    bool         aborted;
    ncclResult_t error;
};

/* What a call on a communicator returns: without blocking, the result comes later. */
ncclResult_t host_said(ncclComm_t comm);

#endif

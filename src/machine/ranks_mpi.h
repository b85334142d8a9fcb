/* Ranks over MPI: waiting that listens. */
#ifndef MACHINE_RANKS_MPI_H
#define MACHINE_RANKS_MPI_H

#include <mpi.h>

#include "machine/meeting.h"
#include "machine/ranks.h"

typedef struct rank_error {
    int  kind;
    char text[sizeof((fault *)0)->text];
} rank_error;

struct ranks {
    mtf_session *session;
    int          number, count, node; /* node: ranks on this machine */
    MPI_Comm     comm, alarm;         /* data; errors and farewells */
    bool         ours;                /* we initialised MPI */
    _Atomic bool alarmed;             /* another rank's error came */
    bool         told, orderly;       /* ours was sent; all closed without an error */
    bool         speaks;              /* chosen to say the error */
    rank_error   mine;                /* what was sent */
};

/* Waits until all requests are complete, at most `seconds`; stops where another rank fails, or
 * where `*failed`, if given, is no longer negative. */
arrival ranks_wait(ranks *r, int n, MPI_Request *requests, double seconds, _Atomic int *failed);
double  ranks_clock(void);

#endif

/* Ranks over MPI: waiting that listens. */
#ifndef MACHINE_RANKS_MPI_H
#define MACHINE_RANKS_MPI_H

#include <mpi.h>

#include "machine/meeting.h"
#include "machine/ranks.h"
#include "machine/watch.h"
#include "space/mesh.h"

typedef struct rank_error {
    int  kind, lost; /* lost: as below */
    char text[sizeof((fault *)0)->text];
} rank_error;

struct ranks {
    mtf_session *session;
    int          number, count, node; /* node: ranks on this machine */
    MPI_Comm     comm, alarm;         /* data; errors and farewells */
    bool         ours;                /* we initialised MPI */
    const mesh  *mesh;                /* whose processors they have; NULL: not known yet */
    watch        watch;               /* over the other ranks of this machine */
    _Atomic int  lost;                /* a rank that ended without a word; -1: none */
    _Atomic bool alarmed;             /* another rank's error came */
    bool         foreign;             /* and is the session's */
    bool         told, orderly;       /* ours was sent; all closed without an error */
    bool         speaks;              /* chosen to say the error */
    rank_error   mine;                /* what was sent */
};

/* Waits until all requests are complete, at most `seconds`; stops where another rank fails or is
 * lost, or where `*failed`, if given, is no longer negative. */
arrival ranks_wait(ranks *r, int n, MPI_Request *requests, double seconds, _Atomic int *failed);
/* Does this rank answer?  Those that wait themselves do; who computes or stands still does not. */
bool   ranks_answers(ranks *r, int rank);
bool   ranks_say_lost(ranks *r, const char *what); /* records who was; always false */
double ranks_clock(void);

#endif

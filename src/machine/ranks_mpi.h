/* Ranks over MPI: waiting that also checks for errors. */
#ifndef MACHINE_RANKS_MPI_H
#define MACHINE_RANKS_MPI_H

#include <mpi.h>

#include "machine/barrier.h"
#include "machine/ranks.h"
#include "machine/mailbox.h"
#include "machine/watch.h"
#include "space/mesh.h"

typedef struct rank_error {
    int  kind, lost; /* lost: as in struct ranks */
    char text[sizeof((fault *)0)->text];
} rank_error;

struct ranks {
    mtf_session *session;
    int          number, count, node; /* node: number of ranks on this machine, */
    int          place;               /* and the number of this one among them */
    MPI_Comm     comm, alarm;         /* data; errors and pings */
    bool         ours;                /* this library initialised MPI */
    const mesh  *mesh;                /* the mesh over all ranks; NULL: not known yet */
    watch        watch;               /* of the other ranks on this machine, and of links */
    mailbox    **mailboxes;           /* by rank; NULL: not reachable, gets messages instead */
    int         *host;                /* by rank: the first rank with which it shares memory */
    mailbox_use  used;
    bool         crowded;       /* more ranks on this machine than cores */
    _Atomic int  lost;          /* a rank that exited without a message; -1: none */
    _Atomic bool cut;           /* it was this rank's neighbour in the ring, on another machine */
    _Atomic bool alarmed;       /* another rank's error has arrived */
    _Atomic bool foreign;       /* and it is the session's error */
    bool         told, orderly; /* this rank's error was sent; all closed without an error */
    bool         speaks;        /* chosen to print the error */
    rank_error   mine;          /* the error that was sent */
};

/* The condition that a processor waits for: messages, or posts in mailboxes. */
typedef struct awaited awaited;
struct awaited {
    bool (*came)(const awaited *what);
    bool (*lacks)(const awaited *what, int k); /* is peer k late?  May be NULL */
    int                          n;
    const int                   *peers; /* processors */
    MPI_Request                 *requests;
    const struct participant    *participant;
    const struct post_condition *note; /* what the members of the group are to post */
};

bool messages_came(const awaited *what);

/* Waits until the condition holds, at most `seconds`; returns early when another rank fails or is
 * lost, or when `*failed`, if given, is no longer negative. */
arrival ranks_await(ranks *r, const awaited *what, double seconds, _Atomic int *failed);
/* Spins while an answer is likely, then yields the core: there may be more ranks than cores. */
void ranks_back_off(int tries, double waited);
/* Does this rank answer a ping?  A rank that waits does; one that computes or is stuck does not. */
bool ranks_answers(ranks *r, int rank);
bool ranks_say_lost(ranks *r, const char *what); /* records the error; always false */

#endif

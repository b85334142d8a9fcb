/* Ranks over MPI: waiting that listens. */
#ifndef MACHINE_RANKS_MPI_H
#define MACHINE_RANKS_MPI_H

#include <mpi.h>

#include "machine/barrier.h"
#include "machine/ranks.h"
#include "machine/mailbox.h"
#include "machine/watch.h"
#include "space/mesh.h"

typedef struct rank_error {
    int  kind, lost; /* lost: as below */
    char text[sizeof((fault *)0)->text];
} rank_error;

struct ranks {
    mtf_session *session;
    int          number, count, node; /* node: ranks on this machine */
    MPI_Comm     comm, alarm;         /* data; errors and goodbyes */
    bool         ours;                /* we initialised MPI */
    const mesh  *mesh;                /* whose processors they have; NULL: not known yet */
    watch        watch;               /* over the other ranks of this machine */
    mailbox    **mailboxes;           /* by rank; NULL: out of reach, it gets messages */
    mailbox_use  turn;
    bool         crowded;       /* more ranks on this machine than cores */
    _Atomic int  lost;          /* a rank that exited without a message; -1: none */
    _Atomic bool cut;           /* it was this rank's neighbour on another machine */
    _Atomic bool alarmed;       /* another rank's error came */
    _Atomic bool foreign;       /* and is the session's */
    bool         told, orderly; /* ours was sent; all closed without an error */
    bool         speaks;        /* chosen to say the error */
    rank_error   mine;          /* what was sent */
};

/* What somebody waits for: messages, or what others note in their mailboxes. */
typedef struct awaited awaited;
struct awaited {
    bool (*came)(const awaited *what);
    bool (*lacks)(const awaited *what, int k); /* has that of peer k not come?  May be NULL */
    int                       n;
    const int                *peers; /* processors */
    MPI_Request              *requests;
    const struct participant *participant;
    const struct post_condition *note; /* what the members of its group are to post */
};

bool messages_came(const awaited *what);

/* Waits until it came, at most `seconds`; stops where another rank fails or is lost, or where
 * `*failed`, if given, is no longer negative. */
arrival ranks_await(ranks *r, const awaited *what, double seconds, _Atomic int *failed);
/* Spins while an answer is likely, then gives the core away: there may be more ranks than cores. */
void ranks_back_off(int tries, double waited);
/* Does this rank answer?  Those that wait themselves do; who computes or stands still does not. */
bool ranks_answers(ranks *r, int rank);
bool ranks_say_lost(ranks *r, const char *what); /* records who was; always false */

#endif

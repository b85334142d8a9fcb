/* Internals of the wire between processes. */
#ifndef MACHINE_WIRE_MPI_H
#define MACHINE_WIRE_MPI_H

#include "machine/participant.h"
#include "machine/ranks_mpi.h"
#include "machine/wire.h"
#include "machine/wire_room.h"
#include "program/stages.h"

#define ASK_AGAIN 0.5 /* seconds after which late ranks are asked once more */

typedef struct post {
    const char *in;
    char       *out;
} post;

/* One processor's working space. */
typedef struct side {
    needs        room;
    char        *work;
    MPI_Request *requests;
    int         *peers; /* by request: the other processor */
    int         *late;
    int          used; /* requests of the current collective */
    participant  participant;
} side;

typedef struct mpi_wire {
    wire      face;
    ranks    *ranks;
    int       processors; /* of the whole mesh */
    int       first, end; /* those of this process */
    int       widest;     /* the most processors in one rank */
    site      site;
    host_mesh hosts;   /* the mesh by hosts: mailboxes' groups are along its axes */
    barrier   barrier; /* between this process's processors */
    post     *posts;   /* by processor of this process */
    side     *sides;
} mpi_wire;

static inline bool mpi_is_here(const mpi_wire *w, int processor)
{
    return processor >= w->first && processor < w->end;
}

/* wire_mpi_messages.c */
void mpi_send(mpi_wire *w, int me, int to, const char *data, int64_t bytes);
void mpi_receive(mpi_wire *w, int me, int from, char *data, int64_t bytes);
/* Waits for the messages begin .. end-1 of the current collective; false if a processor failed. */
bool mpi_finish(mpi_wire *w, int me, const instr *i, int begin, int end);
bool mpi_await(mpi_wire *w, int me, const instr *i, const awaited *what);
bool mpi_meet(mpi_wire *w, int me, const instr *i);

/* wire_mpi_exchange.c */
bool mpi_exchange(mpi_wire *w, int me, const instr *i);

/* wire_mpi_stages.c */
bool staged_reduce(mpi_wire *w, int me, const instr *i, const stages *t); /* and reduce_scatter */
bool staged_gather(mpi_wire *w, int me, const instr *i, const stages *t);

/* wire_mpi_shared.c */
/* Do the processors that differ from `me` along these axes only share memory?  If so, begins a
 * collective with them. */
bool shared_serves(mpi_wire *w, int me, unsigned axes);
/* These need a preceding shared_serves that returned true. */
bool shared_reduce(participant *g, const instr *i); /* reduce and reduce_scatter */
bool shared_exchange(participant *g, const instr *i);
bool shared_wait(participant *g, const instr *i, const post_condition *note);

/* One round of a collective, of at most two steps.  A collective counts its rounds from 0. */
typedef struct mail_round {
    int      half;
    uint64_t step; /* the last one posted */
} mail_round;

/* Waits until the half of the mailbox that this round overwrites is free. */
bool round_begin(participant *g, const instr *i, int64_t which, mail_round *r);
/* Posts the content of the mailbox, and waits for the posts of the other members. */
bool round_swap(participant *g, const instr *i, mail_round *r);
bool round_end(participant *g, const mail_round *last); /* after the last round; always true */

/* wire_mpi_shares.c: for the members inside a host, which have begun a collective. */
/* Combines this member's shares, one after the other at `to`; NULL: each at its place in the result,
 * which all members then have.  Gives the number of rounds. */
bool shared_combine(participant *g, const instr *i, const stages *t, char *to, int64_t *rounds);
/* Gathers the shares, of which each member has its own in the result; rounds are counted from
 * `first`. */
bool shared_gather(participant *g, const instr *i, const stages *t, int64_t first);

#endif

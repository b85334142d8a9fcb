/* The inside of the wire between processes. */
#ifndef MACHINE_WIRE_MPI_H
#define MACHINE_WIRE_MPI_H

#include "machine/ranks_mpi.h"
#include "machine/wire.h"

enum { MOST_BYTES = 1 << 30 }; /* of one message */
/* What so many processors rather combine each for itself than in shards. */
enum { SWAP_BYTES = 1 << 14, SWAP_MEMBERS = 4 };
#define ASK_AGAIN 0.5 /* seconds after which those who are late are asked once more */

typedef struct post {
    const char *in;
    char       *out;
} post;

/* What a collective takes besides its operands. */
typedef struct needs {
    int64_t work; /* bytes of packed regions and shards under way */
    int     messages, parts;
} needs;

/* Those with whom a processor shares memory in the current collective. */
typedef struct company {
    unsigned axes; /* along which they differ */
    group    group;
    bool     shares;  /* all of them do */
    seat   **seats;   /* by member */
    int     *members; /* their processors */
} company;

/* One processor's working space. */
typedef struct side {
    needs        room;
    char        *work;
    const char **parts; /* by member of a group */
    MPI_Request *requests;
    int         *peers; /* by request: whose answer it waits for */
    int         *late;
    int          used; /* requests of the current collective */
    company      company;
} side;

typedef struct mpi_wire {
    wire    face;
    ranks  *ranks;
    int     processors; /* of the whole mesh */
    int     first, end; /* those of this process */
    int     widest;     /* most processors in one rank */
    meeting meeting;    /* of this process's processors */
    post   *posts;      /* by processor of this process */
    side   *sides;
} mpi_wire;

static inline bool mpi_is_here(const mpi_wire *w, int processor)
{
    return processor >= w->first && processor < w->end;
}

static inline int64_t mpi_aligned(int64_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

/* wire_mpi_messages.c */
void mpi_send(mpi_wire *w, int me, int to, const char *data, int64_t bytes);
void mpi_receive(mpi_wire *w, int me, int from, char *data, int64_t bytes);
int  mpi_pieces(int64_t bytes); /* how many messages carry this many bytes */
/* Waits for the messages begin .. end-1 of the current collective; false where somebody failed. */
bool mpi_finish(mpi_wire *w, int me, const instr *i, int begin, int end);
bool mpi_await(mpi_wire *w, int me, const instr *i, const awaited *what);
bool mpi_meet(mpi_wire *w, int me, const instr *i);

/* wire_mpi_exchange.c */
bool mpi_exchange(mpi_wire *w, int me, const instr *i);
void exchange_needs(const mpi_wire *w, int me, const instr *i, needs *n);
/* The axes along which parts are only gathered: each dimension stays as it is cut or becomes whole.
 * 0: something else is asked for. */
unsigned exchange_gathers(const exchange_args *how);

/* wire_mpi_seats.c */
/* Do those who differ from me along these axes only share memory? */
bool seats_reach(const mpi_wire *w, int me, unsigned axes);
bool seats_serve(mpi_wire *w, int me, unsigned axes); /* likewise, and they come together */
/* The axes of those between whom an exchange is rather done so; 0: send messages. */
unsigned seats_suit(const mpi_wire *w, int me, const instr *i);
/* These follow a seats_serve that was true. */
bool seats_reduce(mpi_wire *w, int me, const instr *i); /* also where each keeps a part */
bool seats_exchange(mpi_wire *w, int me, const instr *i);

#endif

/* Messages between processors, and waiting for them. */
#include "machine/wire.h"
#include "mtf_build.h"

#if MTF_HAVE_MPI

#include <stdio.h>

#include "base/clock.h"
#include "machine/wire_mpi.h"

/* ---- messages ---- */

static int rank_of(const mpi_wire *w, int processor)
{
    if (w->widest == 1) return processor;
    return (int)(((processor + 1) * (int64_t)w->ranks->count - 1) / w->processors);
}

static int local_number(const mpi_wire *w, int processor)
{
    return processor - (int)part_range(w->processors, w->ranks->count, rank_of(w, processor)).begin;
}

static int tag_of(const mpi_wire *w, int from, int to)
{
    if (w->widest == 1) return 0;
    return local_number(w, from) * w->widest + local_number(w, to);
}

static bool is_outside(const mpi_wire *w, int me, int processor)
{
    const int *host = w->ranks->host;
    return host[rank_of(w, me)] != host[rank_of(w, processor)];
}

void mpi_send(mpi_wire *w, int me, int to, const char *data, int64_t bytes)
{
    side *s = &w->sides[me - w->first];
    s->participant.moved.sent_bytes += bytes;
    if (is_outside(w, me, to)) s->participant.moved.sent_outside += bytes;
    for (int64_t at = 0; at < bytes; at += MOST_BYTES) {
        int64_t n = bytes - at < MOST_BYTES ? bytes - at : MOST_BYTES;
        MPI_Isend(data + at, (int)n, MPI_BYTE, rank_of(w, to), tag_of(w, me, to), w->ranks->comm,
                  &s->requests[s->used]);
        s->peers[s->used++] = to;
    }
}

void mpi_receive(mpi_wire *w, int me, int from, char *data, int64_t bytes)
{
    side *s = &w->sides[me - w->first];
    s->participant.moved.received_bytes += bytes;
    if (is_outside(w, me, from)) s->participant.moved.received_outside += bytes;
    for (int64_t at = 0; at < bytes; at += MOST_BYTES) {
        int64_t n = bytes - at < MOST_BYTES ? bytes - at : MOST_BYTES;
        MPI_Irecv(data + at, (int)n, MPI_BYTE, rank_of(w, from), tag_of(w, from, me),
                  w->ranks->comm, &s->requests[s->used]);
        s->peers[s->used++] = from;
    }
}

/* ---- waiting ---- */

static bool lacks_message(const awaited *what, int k)
{
    int done = 1;
    MPI_Request_get_status(what->requests[k], &done, MPI_STATUS_IGNORE);
    return !done;
}

/* Lists the late processors in s->late and returns their number. */
static int find_late(side *s, const awaited *what)
{
    int n = 0;
    for (int k = 0; k < what->n; k++) {
        bool listed = n && s->late[n - 1] == what->peers[k];
        if (!listed && what->lacks(what, k)) s->late[n++] = what->peers[k];
    }
    return n;
}

/* A processor that waits for another one is not the cause: leaves in s->late only those whose ranks
 * do not answer. */
static int find_unresponsive(mpi_wire *w, side *s, const awaited *what)
{
    int  n = find_late(s, what), silent = 0, asked = -1;
    bool answers = false;
    for (int k = 0; k < n; k++) {
        int rank = rank_of(w, s->late[k]);
        if (rank != asked) answers = ranks_answers(w->ranks, rank);
        if (!answers) s->late[silent++] = s->late[k];
        asked = rank;
    }
    return silent;
}

/* Cancelled messages must not arrive in memory that is used again. */
static void forget(side *s)
{
    for (int k = 0; k < s->used; k++) {
        if (s->requests[k] == MPI_REQUEST_NULL) continue;
        MPI_Cancel(&s->requests[k]);
        MPI_Request_free(&s->requests[k]);
    }
    s->used = 0;
}

static bool report_lost(mpi_wire *w, const instr *i)
{
    char what[300];
    snprintf(what, sizeof what, "%s of \"%.200s\"", instr_name(i->kind),
             mtf_name_of_tensor(i->cause));
    return ranks_say_lost(w->ranks, what);
}

/* A late rank that answers waits for another one, which is the cause, and will report that one. */
bool mpi_await(mpi_wire *w, int me, const instr *i, const awaited *what)
{
    side   *s = &w->sides[me - w->first];
    int     patience = w->face.session->opts.patience;
    double  start = clock_seconds(), seconds = patience;
    arrival a;
    while ((a = ranks_await(w->ranks, what, seconds, &w->face.failed)) == SOMEBODY_LATE) {
        int  silent = find_unresponsive(w, s, what);
        bool enough = clock_seconds() - start > 2 * patience + 2;
        if (silent || enough) {
            wire_late(&w->face, i, silent ? silent : find_late(s, what), s->late);
            break;
        }
        seconds = ASK_AGAIN;
    }
    if (a == ALL_CAME) return true;
    if (a == SOMEBODY_LOST) report_lost(w, i);
    forget(s);
    return false;
}

bool mpi_finish(mpi_wire *w, int me, const instr *i, int begin, int end)
{
    side   *s = &w->sides[me - w->first];
    awaited what = {.came = messages_came,
                    .lacks = lacks_message,
                    .n = end - begin,
                    .peers = s->peers + begin,
                    .requests = s->requests + begin};
    return mpi_await(w, me, i, &what);
}

/* A barrier of this process's processors; false if one failed. */
bool mpi_meet(mpi_wire *w, int me, const instr *i)
{
    if (w->end - w->first == 1) return true;
    arrival a = barrier_wait(&w->barrier, me - w->first, 2 * w->face.session->opts.patience + 5);
    if (a != SOMEBODY_LATE) return a == ALL_CAME;
    side *s = &w->sides[me - w->first];
    int   n = 0;
    for (int k = 0; k < w->end - w->first; k++)
        if (barrier_lacks(&w->barrier, me - w->first, k)) s->late[n++] = w->first + k;
    return wire_late(&w->face, i, n, s->late);
}

#endif

/* Ranks over MPI: error messages, barriers, closing. */
#include "machine/ranks.h"
#include "mtf_build.h"

#if MTF_HAVE_MPI

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "machine/ranks_mpi.h"

/* Messages on the alarm communicator: an error; it has been printed; acknowledged; a ping; its
 * answer. */
enum { TAG_ERROR, TAG_SAID, TAG_KNOWN, TAG_ASK, TAG_HERE };
enum { GRACE = 3 };        /* seconds within which a running rank acknowledges TAG_SAID */
#define ANSWER_SECONDS 1.0 /* seconds within which a waiting rank answers a ping */
#define LAST_WORDS 0.01    /* seconds within which the error of a rank that has ended arrives */

/* Seconds after which the sender of a message is considered late.  Sleeping earlier would slow down
 * long messages, which MPI moves only while both sides call it. */
static const double under_way = 0.1;
/* Seconds of waiting after which processes are checked; short, because the starter soon kills all
 * other ranks after one was lost. */
static const double worrying = 0.005;

void ranks_back_off(int tries, double waited)
{
    struct timespec pause = {.tv_nsec = 50000};
    if (waited > under_way)
        nanosleep(&pause, NULL);
    else if (tries > 100)
        sched_yield();
}

/* ---- errors of other ranks ---- */

bool ranks_alarmed(ranks *r)
{
    if (atomic_load(&r->alarmed)) return true;
    int         there;
    MPI_Message message;
    MPI_Status  status;
    MPI_Improbe(MPI_ANY_SOURCE, TAG_ERROR, r->alarm, &there, &message, &status);
    if (!there) return false;
    rank_error a;
    MPI_Mrecv(&a, (int)sizeof a, MPI_BYTE, &message, MPI_STATUS_IGNORE);
    a.text[sizeof a.text - 1] = 0;
    if (a.lost >= 0) atomic_store(&r->lost, a.lost);
    if (fault_take(&r->session->fault, a.kind, a.text)) r->foreign = true;
    atomic_store(&r->alarmed, true);
    return true;
}

bool ranks_foreign(const ranks *r)
{
    return r->foreign;
}

/* Does not wait for completion, since the receiver may be dead. */
static void send_word(ranks *r, int to, int tag, const void *data, int bytes)
{
    MPI_Request request;
    MPI_Isend(data, bytes, MPI_BYTE, to, tag, r->alarm, &request);
    MPI_Request_free(&request);
}

/* Is it another rank that has not ended?  Sending to a dead rank may end this process. */
static bool is_there(const ranks *r, int rank)
{
    return rank != r->number && rank != r->lost;
}

/* The number of ranks between the lost one and this one, in the order of their numbers. */
static int distance(const ranks *r)
{
    return (r->number - r->lost - 1 + r->count) % r->count;
}

/* A rank that was connected to the lost rank of another machine, and follows it in the ring,
 * reports the loss at once: the next call of MPI may end this process. */
static bool speaks_at_once(const ranks *r)
{
    return r->cut && distance(r) == 0;
}

void ranks_tell(ranks *r)
{
    if (r->told || mtf_ok(r->session) || atomic_load(&r->alarmed)) return;
    if (speaks_at_once(r) && !r->speaks) return;
    r->told = true;
    r->mine.kind = r->session->fault.kind;
    r->mine.lost = r->lost;
    snprintf(r->mine.text, sizeof r->mine.text, "%s", r->session->fault.text);
    for (int k = 0; k < r->count; k++)
        if (is_there(r, k)) send_word(r, k, TAG_ERROR, &r->mine, (int)sizeof r->mine);
}

/* Answers a ping; called while waiting. */
static void answer(ranks *r)
{
    int         there;
    MPI_Message message;
    MPI_Status  status;
    MPI_Improbe(MPI_ANY_SOURCE, TAG_ASK, r->alarm, &there, &message, &status);
    if (!there) return;
    MPI_Mrecv(NULL, 0, MPI_BYTE, &message, MPI_STATUS_IGNORE);
    send_word(r, status.MPI_SOURCE, TAG_HERE, NULL, 0);
}

/* Has a rank ended without sending an error?  Ranks of other machines that did send one also sent a
 * goodbye. */
static bool notice_loss(ranks *r)
{
    enum { LOOKS = 200 }; /* at least: on a busy machine the time passes quickly */
    bool   link = false;
    int    ended = watch_ended(&r->watch, &link);
    double begin = clock_seconds();
    if (ended < 0) return false;
    if (link) atomic_store(&r->cut, true);
    for (int k = 0; !link && (k < LOOKS || clock_seconds() - begin < LAST_WORDS); k++)
        if (ranks_alarmed(r)) return false;
    atomic_store(&r->lost, ended);
    return true;
}

arrival ranks_await(ranks *r, const awaited *what, double seconds, _Atomic int *failed)
{
    enum { LOOK = 64 }; /* tries between looks at the clock and at error messages */
    double begin = 0, waited = 0;
    for (int tries = 1;; tries++) {
        /* Before MPI is called: it may end the process when it finds a broken connection. */
        if (r->watch.links && tries > 1 && notice_loss(r)) return SOMEBODY_LOST;
        if (what->came(what)) return ALL_CAME;
        if (failed && atomic_load(failed) >= 0) return SOMEBODY_FAILED;
        if (tries % LOOK == 0 || waited > under_way) {
            if (ranks_alarmed(r)) return SOMEBODY_FAILED;
            if (tries == LOOK) begin = clock_seconds();
            waited = clock_seconds() - begin;
            if (waited > seconds) return SOMEBODY_LATE;
        }
        if (waited > worrying && tries % LOOK == 0 && notice_loss(r)) return SOMEBODY_LOST;
        if (waited > under_way) answer(r);
        ranks_back_off(tries, waited);
    }
}

bool messages_came(const awaited *what)
{
    int done;
    MPI_Testall(what->n, what->requests, &done, MPI_STATUSES_IGNORE);
    return done;
}

static arrival await_message(ranks *r, MPI_Request *request, double seconds)
{
    awaited what = {.came = messages_came, .n = 1, .requests = request};
    return ranks_await(r, &what, seconds, NULL);
}

/* "rank 1, processor x=1" */
static void write_whose(const ranks *r, int rank, char *text, size_t room)
{
    size_t used = (size_t)snprintf(text, room, "rank %d", rank);
    if (!r->mesh) return;
    span its = part_range(mesh_size(r->mesh), r->count, rank);
    int  first[PLACES_NAMED];
    for (int k = 0; k < PLACES_NAMED; k++) first[k] = (int)its.begin + k;
    used += (size_t)snprintf(text + used, room - used, ", processor%s ", its.size == 1 ? "" : "s");
    mesh_write_places(r->mesh, (int)its.size, first, text + used, room - used);
}

bool ranks_say_lost(ranks *r, const char *what)
{
    char whose[450];
    write_whose(r, r->lost, whose, sizeof whose);
    return fail(&r->session->fault, ERR_LOST,
                "%s: its process was killed or crashed; it exited without a message during %s",
                whose, what);
}

/* ---- barriers and broadcasts ---- */

/* `whom`: the late rank; -1: one of the others, which is asked for. */
static bool late(ranks *r, const char *what, int whom)
{
    char text[40] = "the others";
    if (whom < 0) whom = ranks_silent(r);
    if (ranks_alarmed(r)) return false; /* another rank knew it sooner */
    if (whom >= 0) snprintf(text, sizeof text, "rank %d", whom);
    return fail(&r->session->fault, ERR_LATE, "%s waited %d seconds for %s (--patience)", what,
                r->session->opts.patience, text);
}

/* The other ranks wait a little longer than rank 0, which knows better which rank is late. */
static double patience(const ranks *r)
{
    return r->session->opts.patience + (r->number ? 1 : 0);
}

static bool finish_transfer(ranks *r, MPI_Request *request, const char *what, int whom)
{
    arrival a = await_message(r, request, patience(r));
    if (a == SOMEBODY_LOST) return ranks_say_lost(r, what);
    return a == SOMEBODY_LATE ? late(r, what, whom) : a == ALL_CAME;
}

bool ranks_meet(ranks *r, const char *what)
{
    MPI_Request request;
    char        word = 0; /* an empty broadcast would not wait */
    for (int k = 1; k < r->count && r->number == 0; k++) {
        MPI_Irecv(NULL, 0, MPI_BYTE, k, 0, r->comm, &request);
        TRY(finish_transfer(r, &request, what, k));
    }
    if (r->number) {
        MPI_Isend(NULL, 0, MPI_BYTE, 0, 0, r->comm, &request);
        TRY(finish_transfer(r, &request, what, 0));
    }
    MPI_Ibcast(&word, 1, MPI_BYTE, 0, r->comm, &request);
    return finish_transfer(r, &request, what, -1);
}

bool ranks_gather(ranks *r, const char *what, const void *mine, void *all, int bytes)
{
    MPI_Request request;
    TRY(ranks_meet(r, what));
    MPI_Iallgather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, r->comm, &request);
    return finish_transfer(r, &request, what, -1);
}

bool ranks_spread(ranks *r, const char *what, int owner, const rank_block *b, void *array)
{
    MPI_Datatype element, block;
    MPI_Request  request;
    MPI_Type_contiguous(b->bytes, MPI_BYTE, &element);
    MPI_Type_create_subarray(b->ndims, b->whole, b->size, b->begin, MPI_ORDER_C, element, &block);
    MPI_Type_commit(&block);
    MPI_Ibcast(array, 1, block, owner, r->comm, &request);
    MPI_Type_free(&block); /* MPI frees both once the request is complete */
    MPI_Type_free(&element);
    return finish_transfer(r, &request, what, owner);
}

/* ---- closing ---- */

/* Waits at most `seconds` for an empty message; returns its sender, or -1. */
static int hear(ranks *r, int from, int tag, double seconds)
{
    MPI_Request request;
    MPI_Status  status;
    double      begin = clock_seconds(), waited = 0;
    MPI_Irecv(NULL, 0, MPI_BYTE, from, tag, r->alarm, &request);
    for (int done = 0;;) {
        MPI_Test(&request, &done, &status);
        if (done) return status.MPI_SOURCE;
        waited = clock_seconds() - begin;
        if (waited > seconds) return -1;
        ranks_back_off(1000, waited);
    }
}

/* How many seconds this rank waits for a rank of higher priority to print the error.  After a loss
 * the time is short: the starter soon kills all other ranks. */
static double answer_time(const ranks *r)
{
    int before = r->lost >= 0 ? distance(r) : r->number;
    int waits = before < 8 ? before : 8;
    if (before == 0) return 1e-3;
    return r->lost >= 0 ? 0.1 * waits : GRACE + 0.25 * waits;
}

/* Rank 0 prints the error.  If rank 0 is stuck, the lowest other rank does, since it has waited the
 * shortest time; a rank 0 that arrives later then finds the message that it was printed. */
bool ranks_part(ranks *r)
{
    if (mtf_ok(r->session) && ranks_meet(r, "closing")) {
        r->orderly = true;
        return false;
    }
    if (r->number && !r->told && !r->foreign && r->lost < 0) {
        char whose[450];
        write_whose(r, r->number, whose, sizeof whose);
        fault_whose(&r->session->fault, whose);
    }
    ranks_tell(r);
    if (speaks_at_once(r)) return r->speaks = true;
    /* The launcher may kill this rank and wake a stalled one, which would report it as lost. */
    watch_say_goodbye(&r->watch);
    int speaker = hear(r, MPI_ANY_SOURCE, TAG_SAID, answer_time(r));
    r->speaks = speaker < 0;
    if (!r->speaks) send_word(r, speaker, TAG_KNOWN, NULL, 0);
    return r->speaks;
}

bool ranks_answers(ranks *r, int rank)
{
    MPI_Request request;
    MPI_Irecv(NULL, 0, MPI_BYTE, rank, TAG_HERE, r->alarm, &request);
    send_word(r, rank, TAG_ASK, NULL, 0);
    if (await_message(r, &request, ANSWER_SECONDS) == ALL_CAME) return true;
    MPI_Cancel(&request);
    MPI_Request_free(&request);
    return false;
}

bool ranks_look(ranks *r, const char *what)
{
    answer(r);
    if (ranks_alarmed(r)) return false;
    return !notice_loss(r) || ranks_say_lost(r, what);
}

int ranks_silent(ranks *r)
{
    for (int k = 0; k < r->count; k++)
        if (k != r->number && !ranks_answers(r, k)) return k;
    return -1;
}

/* Tells the other ranks that the error was printed.  A rank that does not acknowledge is stuck and
 * would never exit, so the job is aborted. */
static void spread_word(ranks *r)
{
    double end = clock_seconds() + GRACE;
    fflush(NULL); /* the starter may kill this process once a rank exits */
    for (int k = 0; k < r->count; k++)
        if (is_there(r, k)) send_word(r, k, TAG_SAID, NULL, 0);
    for (int k = 0; k < r->count; k++)
        if (is_there(r, k) && hear(r, k, TAG_KNOWN, end - clock_seconds()) < 0)
            MPI_Abort(MPI_COMM_WORLD, 1);
}

/* After an error, MPI and `r` are not freed: messages that no rank will receive are still being
 * sent from `r`.  The exit status ends the job. */
void ranks_close(ranks *r)
{
    if (r->speaks) {
        ranks_tell(r); /* if it was postponed */
        spread_word(r);
    }
    if (!r->orderly) {
        watch_say_goodbye(&r->watch);
        return;
    }
    watch_close(&r->watch, r->session);
    for (int k = 0; r->mailboxes && k < r->count; k++) mailbox_unmap(r->mailboxes[k]);
    block_free(&r->session->allocator, r->mailboxes);
    block_free(&r->session->allocator, r->host);
    MPI_Comm_free(&r->comm);
    MPI_Comm_free(&r->alarm);
    if (r->ours) MPI_Finalize();
    block_free(&r->session->allocator, r);
}

#endif

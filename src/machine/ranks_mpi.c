/* Ranks over MPI: meeting, listening, parting. */
#include "machine/ranks.h"
#include "mtf_build.h"

#if MTF_HAVE_MPI

#include <sched.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "machine/ranks_mpi.h"

/* On the alarm communicator: an error, "I have said it", "I know". */
enum { TAG_ERROR, TAG_SAID, TAG_KNOWN };
enum { GRACE = 3 }; /* seconds in which a rank that lives answers a farewell */

double ranks_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- joining ---- */

bool ranks_over(void)
{
    int over;
    MPI_Finalized(&over);
    return over;
}

/* Opened all the same where the session has failed already: the others want to know why. */
static void start(ranks *r, bool threads)
{
    int      running, has, wants = threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SERIALIZED;
    MPI_Comm node;
    MPI_Initialized(&running);
    if (!running)
        MPI_Init_thread(NULL, NULL, wants, &has);
    else
        MPI_Query_thread(&has);
    r->ours = !running;
    MPI_Comm_dup(MPI_COMM_WORLD, &r->comm);
    MPI_Comm_dup(MPI_COMM_WORLD, &r->alarm);
    MPI_Comm_rank(r->comm, &r->number);
    MPI_Comm_size(r->comm, &r->count);
    MPI_Comm_split_type(r->comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &r->node);
    MPI_Comm_free(&node);
    if (has < wants)
        fail(&r->session->fault, ERR_MPI,
             "this MPI library lets only one thread communicate: start as many ranks as "
             "the mesh has processors");
}

ranks *ranks_open(mtf_session *s, bool threads)
{
    if (ranks_over()) {
        fail(&s->fault, ERR_MPI,
             "MPI was finalised when an earlier session closed; to open several, initialise it "
             "before the first and finalise it behind the last");
        return NULL;
    }
    ranks *r = block_alloc(&s->allocator, &s->fault, sizeof *r, true);
    if (!r) return NULL;
    r->session = s;
    start(r, threads);
    return r;
}

int ranks_number(const ranks *r)
{
    return r->number;
}

int ranks_count(const ranks *r)
{
    return r->count;
}

/* Bound to some cores by the starter, or with a fair share of all. */
int ranks_cores(const ranks *r)
{
    cpu_set_t bound;
    long      all = sysconf(_SC_NPROCESSORS_ONLN);
    if (sched_getaffinity(0, sizeof bound, &bound) == 0 && CPU_COUNT(&bound) < all)
        return CPU_COUNT(&bound);
    return all / r->node > 1 ? (int)(all / r->node) : 1;
}

/* ---- listening ---- */

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
    fault_take(&r->session->fault, a.kind, a.text);
    atomic_store(&r->alarmed, true);
    return true;
}

/* Nobody waits for its completion: the receiver may be dead. */
static void send_word(ranks *r, int to, int tag, const void *data, int bytes)
{
    MPI_Request request;
    MPI_Isend(data, bytes, MPI_BYTE, to, tag, r->alarm, &request);
    MPI_Request_free(&request);
}

void ranks_tell(ranks *r)
{
    if (r->told || mtf_ok(r->session) || atomic_load(&r->alarmed)) return;
    r->told = true;
    r->mine.kind = r->session->fault.kind;
    snprintf(r->mine.text, sizeof r->mine.text, "%s", r->session->fault.text);
    for (int k = 0; k < r->count; k++)
        if (k != r->number) send_word(r, k, TAG_ERROR, &r->mine, (int)sizeof r->mine);
}

/* Seconds after which a message is no longer under way: its sender has not come.  Whoever sleeps
 * before that slows down a long message, which moves only while both sides look after it. */
static const double under_way = 0.1;

/* Spins while an answer is likely, then gives the core away: there may be more ranks than cores. */
static void breathe(int tries, double waited)
{
    struct timespec pause = {.tv_nsec = 50000};
    if (waited > under_way)
        nanosleep(&pause, NULL);
    else if (tries > 100)
        sched_yield();
}

arrival ranks_wait(ranks *r, int n, MPI_Request *requests, double seconds, _Atomic int *failed)
{
    enum { LOOK = 64 }; /* how many tries go without a look at the clock and the alarm */
    double begin = 0, waited = 0;
    for (int tries = 1;; tries++) {
        int done;
        MPI_Testall(n, requests, &done, MPI_STATUSES_IGNORE);
        if (done) return ALL_CAME;
        if (failed && atomic_load(failed) >= 0) return SOMEBODY_FAILED;
        if (tries % LOOK == 0 || waited > under_way) {
            if (ranks_alarmed(r)) return SOMEBODY_FAILED;
            if (tries == LOOK) begin = ranks_clock();
            waited = ranks_clock() - begin;
            if (waited > seconds) return SOMEBODY_LATE;
        }
        breathe(tries, waited);
    }
}

/* ---- meeting ---- */

static bool late(ranks *r, const char *what, const char *whom)
{
    return fail(&r->session->fault, ERR_LATE, "%s waited %d seconds for %s (--patience)", what,
                r->session->opts.patience, whom);
}

/* The others are a little more patient than rank 0, which knows better who is late. */
static double patience(const ranks *r)
{
    return r->session->opts.patience + (r->number ? 1 : 0);
}

static bool finish(ranks *r, MPI_Request *request, const char *what, const char *whom)
{
    arrival a = ranks_wait(r, 1, request, patience(r), NULL);
    return a == SOMEBODY_LATE ? late(r, what, whom) : a == ALL_CAME;
}

bool ranks_meet(ranks *r, const char *what)
{
    MPI_Request request;
    char        whom[40];
    for (int k = 1; k < r->count && r->number == 0; k++) {
        snprintf(whom, sizeof whom, "rank %d", k);
        MPI_Irecv(NULL, 0, MPI_BYTE, k, 0, r->comm, &request);
        TRY(finish(r, &request, what, whom));
    }
    if (r->number) {
        MPI_Isend(NULL, 0, MPI_BYTE, 0, 0, r->comm, &request);
        TRY(finish(r, &request, what, "rank 0"));
    }
    MPI_Ibcast(NULL, 0, MPI_BYTE, 0, r->comm, &request);
    return finish(r, &request, what, "the others");
}

bool ranks_gather(ranks *r, const char *what, const void *mine, void *all, int bytes)
{
    MPI_Request request;
    TRY(ranks_meet(r, what));
    MPI_Iallgather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, r->comm, &request);
    return finish(r, &request, what, "the others");
}

bool ranks_spread(ranks *r, const char *what, int owner, const rank_block *b, void *array)
{
    MPI_Datatype element, block;
    MPI_Request  request;
    char         whom[40];
    MPI_Type_contiguous(b->bytes, MPI_BYTE, &element);
    MPI_Type_create_subarray(b->ndims, b->whole, b->size, b->begin, MPI_ORDER_C, element, &block);
    MPI_Type_commit(&block);
    MPI_Ibcast(array, 1, block, owner, r->comm, &request);
    MPI_Type_free(&block); /* both live on until the request is complete */
    MPI_Type_free(&element);
    snprintf(whom, sizeof whom, "rank %d", owner);
    return finish(r, &request, what, whom);
}

/* ---- parting ---- */

/* Waits for an empty message, at most `seconds`; returns who sent it, or -1. */
static int hear(ranks *r, int from, int tag, double seconds)
{
    MPI_Request request;
    MPI_Status  status;
    double      begin = ranks_clock(), waited = 0;
    MPI_Irecv(NULL, 0, MPI_BYTE, from, tag, r->alarm, &request);
    for (int done = 0;;) {
        MPI_Test(&request, &done, &status);
        if (done) return status.MPI_SOURCE;
        waited = ranks_clock() - begin;
        if (waited > seconds) return -1;
        breathe(1000, waited);
    }
}

/* Rank 0 speaks.  Where it does not come, being stuck, the lowest of the others does, who has
 * waited least; should rank 0 come after all, it finds that this was said. */
bool ranks_part(ranks *r)
{
    if (mtf_ok(r->session) && ranks_meet(r, "closing")) {
        r->orderly = true;
        return false;
    }
    if (r->number && !r->told && !atomic_load(&r->alarmed)) {
        char whose[40];
        snprintf(whose, sizeof whose, "rank %d", r->number);
        fault_whose(&r->session->fault, whose);
    }
    ranks_tell(r);
    double turn = r->number ? GRACE + 0.25 * (r->number < 8 ? r->number : 8) : 1e-3;
    int    speaker = hear(r, MPI_ANY_SOURCE, TAG_SAID, turn);
    r->speaks = speaker < 0;
    if (!r->speaks) send_word(r, speaker, TAG_KNOWN, NULL, 0);
    return r->speaks;
}

/* Says that it was said.  Whoever does not answer is stuck and will not exit by itself. */
static void spread_word(ranks *r)
{
    double end = ranks_clock() + GRACE;
    fflush(NULL); /* the first to exit may end this process */
    for (int k = 0; k < r->count; k++)
        if (k != r->number) send_word(r, k, TAG_SAID, NULL, 0);
    for (int k = 0; k < r->count; k++)
        if (k != r->number && hear(r, k, TAG_KNOWN, end - ranks_clock()) < 0)
            MPI_Abort(MPI_COMM_WORLD, 1);
}

/* After an error MPI and `r`, from which it may still be sending, are left as they are: messages
 * are under way that nobody will receive.  The exit status ends the job. */
void ranks_close(ranks *r)
{
    if (r->speaks) spread_word(r);
    if (!r->orderly) return;
    MPI_Comm_free(&r->comm);
    MPI_Comm_free(&r->alarm);
    if (r->ours) MPI_Finalize();
    block_free(&r->session->allocator, r);
}

#endif

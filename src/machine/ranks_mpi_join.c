/* Joining the other ranks: process addresses, shared memory, links. */
#include "machine/ranks.h"
#include "mtf_build.h"

#if MTF_HAVE_MPI

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cores.h"
#include "base/thread.h"
#include "machine/launch.h"
#include "machine/link.h"
#include "machine/ranks_mpi.h"

bool ranks_over(void)
{
    int over;
    MPI_Finalized(&over);
    return over;
}

/* Waits while yielding the core: there may be more ranks than cores, and MPI often spins. */
static void complete(MPI_Request *request)
{
    double begin = clock_seconds();
    for (int tries = 0, done = 0;; tries++) {
        MPI_Test(request, &done, MPI_STATUS_IGNORE);
        if (done) return;
        ranks_back_off(tries, clock_seconds() - begin);
    }
}

/* ---- what ranks know of each other ---- */

/* Ranks on the same machine are watched, and share memory. */
typedef struct rank_identity {
    char           machine[MPI_MAX_PROCESSOR_NAME];
    int            pretended; /* number of its host, where MTF_HOSTS says how many there are */
    watched        process;
    mailbox_handle mailbox;
} rank_identity;

static bool is_near(const rank_identity *a, const rank_identity *b)
{
    return memcmp(a->machine, b->machine, sizeof a->machine) == 0 && a->pretended == b->pretended &&
           process_is_near(&a->process.address, &b->process.address);
}

static void gather(const ranks *r, const void *mine, void *all, size_t bytes)
{
    MPI_Request request;
    MPI_Iallgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, r->comm, &request);
    complete(&request);
}

/* MTF_SHARE=no: messages only, for comparison and where shared memory is scarce. */
static bool may_share(ranks *r)
{
    const char *wish = getenv("MTF_SHARE");
    if (!wish || !*wish) return true;
    if (strcmp(wish, "no") != 0)
        fail(&r->session->fault, ERR_USAGE,
             "MTF_SHARE is \"%s\"; it must be no (messages instead of shared memory), or not set",
             wish);
    return false;
}

/* MTF_HOSTS=2: the first half of the ranks treats the other as if it were on another host, for tests.
 * Returns the number of this rank's. */
static int pretended_host(ranks *r)
{
    const char *wish = getenv("MTF_HOSTS");
    char       *end;
    if (!wish || !*wish) return 0;
    long hosts = strtol(wish, &end, 10);
    if (*end || hosts < 1 || hosts > r->count) {
        fail(&r->session->fault, ERR_USAGE,
             "MTF_HOSTS is \"%s\"; it must be a number of hosts from 1 to %d, the number of ranks, "
             "or not set",
             wish, r->count);
        return 0;
    }
    return (int)(r->number * hosts / r->count);
}

/* Maps the mailboxes of all ranks of this machine.  A rank that cannot map them all uses no shared
 * memory, and tells the other ranks so. */
static void map_mailboxes(ranks *r, const rank_identity *identities, int *found)
{
    int all = r->mailboxes[r->number] != NULL;
    for (int k = 0; k < r->count && all; k++) {
        if (k == r->number || !is_near(&identities[k], &identities[r->number])) continue;
        r->mailboxes[k] = mailbox_map(&identities[k].process.address, &identities[k].mailbox);
        all = r->mailboxes[k] != NULL;
    }
    gather(r, &all, found, sizeof all);
    for (int k = 0; k < r->count; k++) {
        if (all && found[k]) continue;
        mailbox_unmap(r->mailboxes[k]);
        r->mailboxes[k] = NULL;
    }
}

/* After map_mailboxes; the same on all ranks.  A rank that shares no memory is its own host. */
static void find_hosts(ranks *r, const rank_identity *identities, const int *shares)
{
    for (int k = 0; k < r->count; k++) {
        int j = shares[k] ? k - 1 : -1;
        while (j >= 0 && !(shares[j] && is_near(&identities[j], &identities[k]))) j--;
        r->host[k] = j >= 0 ? r->host[j] : k;
    }
}

static bool all_near(const ranks *r, const rank_identity *identities)
{
    for (int k = 1; k < r->count; k++)
        if (!is_near(&identities[0], &identities[k])) return false;
    return true;
}

/* Ranks form a ring, in which each rank has a link to the next one if that is on another machine.
 * So there are few links, and the end of any rank is noticed on its machine or by both
 * neighbours. */
static void make_links(ranks *r, const rank_identity *identities, link_offer *offers, int *found)
{
    int        next = (r->number + 1) % r->count, before = (r->number + r->count - 1) % r->count;
    link_offer mine;
    if (all_near(r, identities)) return;
    int listener = link_listen(&mine);
    gather(r, &mine, offers, sizeof mine);
    int call = is_near(&identities[next], &identities[r->number]) ? -1 : link_call(&offers[next]);
    int called = call >= 0;
    gather(r, &called, found, sizeof called);
    if (found[before]) watch_link(&r->watch, link_answer(listener, &mine), before);
    if (called && link_was_answered(call, &offers[next]))
        watch_link(&r->watch, call, next);
    else if (called)
        close(call);
    if (listener >= 0) close(listener);
}

static void meet_neighbours(ranks *r)
{
    enum { LINKS = 2 };
    mtf_session   *s = r->session;
    rank_identity  mine = {.process = {process_here(), r->number}, .mailbox = {.descriptor = -1}};
    int            length;
    size_t         count = (size_t)r->count;
    rank_identity *identities = block_alloc(&s->allocator, &s->fault, sizeof mine * count, true);
    watched       *near = block_alloc(&s->allocator, &s->fault, sizeof *near * count, true);
    int           *found = block_alloc(&s->allocator, &s->fault, sizeof *found * count, true);
    link_offer    *offers = block_alloc(&s->allocator, &s->fault, sizeof *offers * count, true);
    r->mailboxes = block_alloc(&s->allocator, &s->fault, sizeof(mailbox *) * count, true);
    r->host = block_alloc(&s->allocator, &s->fault, sizeof *r->host * count, true);
    MPI_Get_processor_name(mine.machine, &length);
    mine.pretended = pretended_host(r);
    if (identities && near && found && offers && r->mailboxes && r->host) {
        if (may_share(r)) r->mailboxes[r->number] = mailbox_open(&mine.mailbox);
        gather(r, &mine, identities, sizeof mine);
        for (int k = 0; k < r->count; k++) {
            if (k == r->number) r->place = r->node;
            if (is_near(&identities[k], &mine)) near[r->node++] = identities[k].process;
        }
        watch_open(&r->watch, s, r->node, near, LINKS);
        make_links(r, identities, offers, found);
        map_mailboxes(r, identities, found);
        find_hosts(r, identities, found);
        mailbox_withdraw(&mine.mailbox);
    }
    r->crowded = r->node > cores_machine();
    block_free(&s->allocator, identities);
    block_free(&s->allocator, near);
    block_free(&s->allocator, found);
    block_free(&s->allocator, offers);
}

/* ---- joining ---- */

/* A process launched by the starter of another MPI library sees only itself: each process would do
 * the whole job, and write the same files. */
static bool meets_others(ranks *r)
{
    launch l = launch_find();
    if (r->count > 1 || l.size == 1) return true;
    return fail(&r->session->fault, ERR_MPI,
                "%d processes were started together, by %s, but to this build's MPI, %s, each of "
                "them is alone: start them with the mpirun of %s",
                l.size, l.by, MTF_BUILD_MPI, MTF_BUILD_MPI);
}

/* MPI is started even if the session has failed already: the other ranks need its error.  False if
 * there are no other ranks. */
static bool start_mpi(ranks *r, bool threads)
{
    int         running, has, wants = threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SERIALIZED;
    MPI_Request request;
    MPI_Initialized(&running);
    if (!running) {
        sigset_t before = thread_block_signals(); /* inherited by the library's threads */
        MPI_Init_thread(NULL, NULL, wants, &has);
        thread_restore_signals(&before);
    } else {
        MPI_Query_thread(&has);
    }
    r->ours = !running;
    MPI_Comm_rank(MPI_COMM_WORLD, &r->number);
    MPI_Comm_size(MPI_COMM_WORLD, &r->count);
    TRY(meets_others(r));
    MPI_Comm_idup(MPI_COMM_WORLD, &r->comm, &request);
    complete(&request);
    MPI_Comm_idup(MPI_COMM_WORLD, &r->alarm, &request);
    complete(&request);
    meet_neighbours(r);
    if (has < wants)
        fail(&r->session->fault, ERR_MPI,
             "this MPI library lets only one thread communicate: start as many ranks as "
             "the mesh has processors");
    return true;
}

ranks *ranks_open(mtf_session *s, bool threads)
{
    if (ranks_over()) {
        fail(&s->fault, ERR_MPI,
             "MPI was finalised when an earlier session closed; to open several, initialise it "
             "before the first and finalise it after the last");
        return NULL;
    }
    ranks *r = block_alloc(&s->allocator, &s->fault, sizeof *r, true);
    if (!r) return NULL;
    r->session = s;
    r->lost = -1;
    if (start_mpi(r, threads)) return r;
    block_free(&s->allocator, r);
    return NULL;
}

int ranks_number(const ranks *r)
{
    return r->number;
}

int ranks_count(const ranks *r)
{
    return r->count;
}

int ranks_place(const ranks *r)
{
    return r->place;
}

void ranks_know_mesh(ranks *r, const mesh *m)
{
    r->mesh = m;
}

/* The cores to which the starter has bound the process, or an equal share of all. */
int ranks_cores(const ranks *r)
{
    int all = cores_machine(), mine = cores_count();
    if (mine < all) return mine;
    return r->node && all / r->node > 1 ? all / r->node : 1;
}

#endif

/* Errors between GPUs: seen while waiting, and ended together.
 *
 * Work that needs another rank never ends once that rank has failed.  So every wait
 * looks for errors of NCCL and of other ranks, and ends with one.  Communicators are
 * aborted, which ends their kernels, only after the error was printed: when a process was
 * killed, the launcher soon ends the others.
 */
#include "base/clock.h"
#include "cuda/driver/cuda_use.h"
#include "cuda/wire/wire_nccl.h"

#if MTF_HAVE_NCCL

#include <time.h>

static const char what_runs[] = "a step on GPUs";
/* Seconds in which a rank that has ended is noticed, or tells its error. */
static const double last_words = 2;

void nccl_abort_all(nccl_wire *w)
{
    if (w->aborted) return;
    w->aborted = true;
    if (!cuda_use(w->context)) return;
    for (int k = w->ngroups - 1; k >= 0; k--)
        if (w->groups[k].comm) nccl_api(w)->ncclCommAbort(w->groups[k].comm);
}

/* When the session closes and ranks are no longer heard: other GPUs may be slower, or gone. */
static bool wait_at_end(nccl_wire *w, double waited)
{
    if (!mtf_ok(w->face.session) || waited > w->face.session->opts.patience) nccl_abort_all(w);
    return true;
}

static void take_a_break(void)
{
    struct timespec pause = {.tv_nsec = 50000};
    nanosleep(&pause, NULL);
}

/* What NCCL notices is often the end of another rank, which is then the error. */
static bool report(nccl_wire *w, ncclResult_t r, const char *what)
{
    const cuda_collectives *api = nccl_api(w);
    double                  begin = clock_seconds();
    bool                    remote = w->ranks && (r == ncclRemoteError || r == ncclSystemError);
    while (remote && clock_seconds() - begin < last_words && ranks_look(w->ranks, what_runs))
        take_a_break();
    if (mtf_ok(w->face.session)) {
        const char *more = api->ncclGetLastError(NULL);
        fail(&w->face.session->fault, ERR_DEVICE, "NCCL could not %s: %s%s%s", what,
             api->ncclGetErrorString(r), more && *more ? ": " : "", more ? more : "");
    }
    return false;
}

static bool report_silent(nccl_wire *w)
{
    char text[200];
    int  rank = ranks_silent(w->ranks);
    if (rank < 0) return true;
    mesh_write_places(w->face.mesh, 1, &rank, text, sizeof text);
    return fail(&w->face.session->fault, ERR_LATE, "%s waited %d seconds for %s (--patience)",
                what_runs, w->face.session->opts.patience, text);
}

/* A rank that answers waits as well: steps may be longer than the user's patience. */
bool nccl_look(void *with, double waited)
{
    nccl_wire *w = with;
    double     patience = w->face.session->opts.patience;
    if (!w->ranks) return wait_at_end(w, waited);
    if (!mtf_ok(w->face.session)) return false;
    for (int k = 0; k < w->ngroups; k++) {
        ncclResult_t now = ncclSuccess;
        ncclResult_t asked = nccl_api(w)->ncclCommGetAsyncError(w->groups[k].comm, &now);
        if (asked != ncclSuccess) now = asked;
        if (now != ncclSuccess && now != ncclInProgress) return report(w, now, "finish a step");
    }
    TRY(ranks_look(w->ranks, what_runs));
    if (waited < patience) w->asked = 0;
    if (waited - w->asked < patience) return true;
    w->asked = waited;
    return report_silent(w);
}

bool nccl_done(nccl_wire *w, ncclComm_t comm, ncclResult_t r, const char *what)
{
    double begin = clock_seconds();
    while (r == ncclInProgress && !w->aborted) {
        ncclResult_t asked = nccl_api(w)->ncclCommGetAsyncError(comm, &r);
        if (asked != ncclSuccess) r = asked;
        if (r != ncclInProgress) break;
        TRY(nccl_look(w, clock_seconds() - begin));
        take_a_break();
    }
    return !w->aborted && (r == ncclSuccess || report(w, r, what));
}

#endif

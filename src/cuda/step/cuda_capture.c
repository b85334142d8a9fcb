/* Whole steps, captured once as a graph of the driver and replayed from then on.
 *
 * All processors of the process capture into one graph: the first one's stream begins the
 * capture, and the others' join it by waiting for that stream.  The first step of a
 * program runs as usual, the second is captured.  What changes between steps is in the
 * GPU's memory, written before the graph is replayed.
 */
#include "cuda/step/cuda_capture.h"

#include "cuda/driver/cuda_device.h"
#include "cuda/driver/cuda_use.h"
#include "cuda/driver/cuda_wait.h"
#include "cuda/step/cuda_loops.h"
#include "cuda/step/cuda_program.h"
#include "cuda/step/fetch_mirror.h"
#include "cuda/wire/cuda_peers.h"

/* Loops of longer steps are not unrolled, where the GPU repeats them by itself; */
enum { MOST_UNROLLED = 10000 };
/* elsewhere longer steps would take more memory for the graph than they save in time. */
enum { MOST_QUEUED = 100000 };

typedef struct capture {
    int           steps; /* so far */
    bool          begun, useless;
    CUgraphExec   graph;
    arena         arena;
    fetch_mirror *mirrors; /* of each processor */
} capture;

static cuda_context *context_of(const device_step *s, int k)
{
    return cuda_of(s->contexts[k]);
}

/* ---- order between the streams of a step ---- */

static bool others_follow_first(const device_step *s)
{
    if (s->n == 1) return true;
    void *point = cuda_peers.mark(s->contexts[0]);
    for (int k = 1; k < s->n; k++) TRY(cuda_peers.follow(s->contexts[k], point));
    return true;
}

static bool first_follows_others(const device_step *s)
{
    for (int k = 1; k < s->n; k++)
        TRY(cuda_peers.follow(s->contexts[0], cuda_peers.mark(s->contexts[k])));
    return true;
}

/* ---- replaying ---- */

static bool replay(const device_step *s, const capture *r)
{
    cuda_context *first = context_of(s, 0);
    TRY(cuda_use(first) && first_follows_others(s) && cuda_use(first));
    for (int k = 0; k < s->n; k++) TRY(cuda_write_words(first, s->states[k], first->stream));
    CUDA_TRY(first, cuGraphLaunch(r->graph, first->stream), "replay a step");
    for (int k = 0; k < s->n; k++) context_of(s, k)->mirror = &r->mirrors[k];
    return cuda_pace(first) && others_follow_first(s);
}

/* ---- capture ---- */

/* Instructions that a step queues, loops included; more than MOST_QUEUED count as that and one.  A loop
 * that a value ends is captured once, and its condition twice. */
static int64_t queued_instrs(const program *p)
{
    int64_t times[MAX_NESTING + 1] = {1}, sum = 0;
    int     depth = 0;
    for (int k = 0; k < p->ninstrs && sum <= MOST_QUEUED; k++) {
        if (p->instrs[k].kind == INSTR_LOOP) {
            int64_t trips = p->instrs[k].loop.trips < 0 ? 2 : p->instrs[k].loop.trips;
            times[depth + 1] = times[depth] * (trips > MOST_QUEUED ? MOST_QUEUED + 1 : trips);
            if (times[depth + 1] > MOST_QUEUED) return MOST_QUEUED + 1;
            depth++;
        } else if (p->instrs[k].kind == INSTR_AGAIN) {
            depth--;
        } else {
            sum += times[depth];
        }
    }
    return sum;
}

/* Do no other processors take part? */
static bool is_alone(const program *p)
{
    for (int k = 0; k < p->ninstrs; k++)
        if (instr_is_collective(&p->instrs[k])) return false;
    return true;
}

static bool make_mirrors(const device_step *s, capture *r)
{
    r->mirrors = arena_array(&r->arena, fetch_mirror, s->n);
    TRY(r->mirrors != NULL);
    for (int k = 0; k < s->n; k++) {
        cuda_context *c = context_of(s, k);
        TRY(cuda_use(c) && mirror_make(c, &r->arena, s->programs[k], s->states[k], &r->mirrors[k]));
    }
    return true;
}

static bool begin_capture(const device_step *s, capture *r)
{
    cuda_context *first = context_of(s, 0);
    TRY(make_mirrors(s, r) && cuda_use(first));
    CUDA_TRY(first, cuStreamBeginCapture(first->stream, CU_STREAM_CAPTURE_MODE_RELAXED),
             "capture a step");
    TRY(others_follow_first(s));
    for (int k = 0; k < s->n; k++) context_of(s, k)->capturing = true;
    return true;
}

static bool finish_capture(const device_step *s, capture *r)
{
    cuda_context *first = context_of(s, 0);
    CUgraph       graph = NULL;
    for (int k = 0; k < s->n; k++) {
        context_of(s, k)->capturing = false;
        cuda_leave_loops(context_of(s, k));
    }
    bool ok = mtf_ok(first->device->face.session);
    for (int k = 0; k < s->n && ok; k++)
        ok = cuda_use(context_of(s, k)) && mirror_capture(context_of(s, k), &r->mirrors[k]);
    ok = ok && first_follows_others(s);
    /* After an error as well: streams that still capture can neither be waited for nor used again. */
    TRY(cuda_use(first));
    CUresult ended = first->device->api.driver.cuStreamEndCapture(first->stream, &graph);
    if (!ok) {
        if (graph) first->device->api.driver.cuGraphDestroy(graph);
        return false;
    }
    TRY(cuda_ok(&first->device->api, cuda_fault(first), ended, "end the capture of a step"));
    CUresult made = first->device->api.driver.cuGraphInstantiate(&r->graph, graph, 0);
    first->device->api.driver.cuGraphDestroy(graph);
    return cuda_ok(&first->device->api, cuda_fault(first), made, "make a graph of a step");
}

static capture *capture_of(device *d, device_step *s)
{
    mtf_session *m = d->session;
    if (!s->capture) {
        capture *r = block_alloc(&m->allocator, &m->fault, sizeof *r, true);
        if (!r) return NULL;
        r->arena = arena_make(&m->allocator, &m->fault);
        int64_t most = 0;
        for (int k = 0; k < s->n; k++)
            if (queued_instrs(s->programs[k]) > most) most = queued_instrs(s->programs[k]);
        s->rolled = most > MOST_UNROLLED && s->n == 1 && is_alone(s->programs[0]) &&
                    cuda_captures_loops(s->contexts[0]);
        r->useless = most > MOST_QUEUED && !s->rolled;
        s->capture = r;
    }
    return s->capture;
}

static void enter(device *d, device_step *s)
{
    s->replayed = false;
    if (!s->repeats) return;
    capture *r = capture_of(d, s);
    if (!r || r->useless) return;
    if (r->graph)
        s->replayed = replay(s, r);
    else if (r->steps > 0)
        s->captured = r->begun = begin_capture(s, r);
}

/* The step's numbers have been counted on already: the captured step is the one before. */
static void leave(device *d, device_step *s)
{
    capture *r = s->capture;
    (void)d;
    if (!r) return;
    r->steps++;
    if (!r->begun) return;
    s->captured = r->begun = false;
    if (!finish_capture(s, r)) return;
    for (int k = 0; k < s->n; k++) s->states[k]->step--;
    replay(s, r);
    for (int k = 0; k < s->n; k++) s->states[k]->step++;
}

static void drop(device *d, device_step *s)
{
    capture *r = s->capture;
    if (!r) return;
    if (r->graph && cuda_use(context_of(s, 0))) {
        const cuda_driver *api = &context_of(s, 0)->device->api.driver;
        cuda_finish(context_of(s, 0), "finish its work");
        api->cuGraphExecDestroy(r->graph);
    }
    for (int k = 0; r->mirrors && k < s->n; k++) mirror_free(context_of(s, k), &r->mirrors[k]);
    arena_free(&r->arena);
    block_free(&d->session->allocator, r);
    s->capture = NULL;
}

const device_recorder cuda_recorder = {.enter = enter,
                                       .leave = leave,
                                       .drop = drop,
                                       .captures_loops = cuda_captures_loops,
                                       .loop_begins = cuda_loop_begins,
                                       .loop_ends = cuda_loop_ends};

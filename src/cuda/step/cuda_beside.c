/* Collectives on a stream of their own, beside other work.
 *
 * The second stream begins a collective where the first one has come to; the first goes on, and
 * waits for it before the instruction that touches its operands (program/hazards.h).  Events say
 * so, which become edges where a step is captured.
 */
#include "cuda/step/cuda_beside.h"

#include "cuda/driver/cuda_device.h"

/* Its kernels are few, and others wait for them: they go first.  Numbers beyond the least are as good. */
enum { FIRST_OF_ALL = -100 };

static bool open_queue(cuda_context *c)
{
    if (!c->second)
        CUDA_TRY(c, cuStreamCreateWithPriority(&c->second, CU_STREAM_NON_BLOCKING, FIRST_OF_ALL),
                 "make a second stream");
    if (!c->begun) CUDA_TRY(c, cuEventCreate(&c->begun, CU_EVENT_DISABLE_TIMING), "make an event");
    return true;
}

bool cuda_beside_open(cuda_context *c, const program *p, arena *a, cuda_beside *b)
{
    TRY(hazards_find(p, a, &b->when));
    b->ended = arena_array(a, CUevent, p->ninstrs + 1);
    b->last = -1;
    TRY(b->ended != NULL);
    for (int k = 0; k <= p->ninstrs; k++) {
        int awaited = b->when.awaits[k];
        if (awaited < 0 || b->ended[awaited]) continue;
        TRY(open_queue(c));
        CUDA_TRY(c, cuEventCreate(&b->ended[awaited], CU_EVENT_DISABLE_TIMING), "make an event");
    }
    return true;
}

void cuda_beside_close(cuda_context *c, const program *p, cuda_beside *b)
{
    for (int k = 0; b->ended && k <= p->ninstrs; k++)
        if (b->ended[k]) c->device->api.driver.cuEventDestroy(b->ended[k]);
    b->ended = NULL;
}

bool cuda_order(device_context *face, const program *p, int index, run_state *r)
{
    cuda_context      *c = cuda_of(face);
    const cuda_beside *b = cuda_beside_of(r);
    int                awaited = b->when.awaits[index];
    if (awaited >= 0 && awaited <= b->last)
        CUDA_TRY(c, cuStreamWaitEvent(c->stream, b->ended[awaited], 0), "wait for a collective");
    if (index == p->ninstrs || !b->when.beside[index]) return true;
    CUDA_TRY(c, cuEventRecord(c->begun, c->stream), "note a point in its stream");
    CUDA_TRY(c, cuStreamWaitEvent(c->second, c->begun, 0), "begin a collective");
    c->wires = c->second;
    return true;
}

bool cuda_collected(device_context *face, const program *p, int index, run_state *r)
{
    cuda_context *c = cuda_of(face);
    cuda_beside  *b = cuda_beside_of(r);
    (void)p;
    if (c->wires == c->stream) return true;
    c->wires = c->stream;
    b->last = index;
    if (b->ended[index])
        CUDA_TRY(c, cuEventRecord(b->ended[index], c->second), "note the end of a collective");
    return true;
}

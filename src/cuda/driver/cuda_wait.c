/* The host waits for what was queued on a GPU. */
#include "cuda/driver/cuda_wait.h"

#include <time.h>

#include "base/clock.h"
#include "cuda/driver/cuda_device.h"

static CUresult query(const cuda_context *c, CUstream stream, CUevent event)
{
    const cuda_driver *api = &c->device->api.driver;
    return event ? api->cuEventQuery(event) : api->cuStreamQuery(stream);
}

/* Queued work may need other processes, which may fail: so the host asks again and again, and looks
 * after them. */
static bool await(cuda_context *c, CUstream stream, CUevent event, CUresult *now)
{
    enum { LOOK = 64 };              /* questions between looks */
    static const double soon = 1e-3; /* seconds in which most work is done: no pauses before */
    struct timespec     pause = {.tv_nsec = 20000};
    double              begin = clock_seconds();
    for (int tries = 1; (*now = query(c, stream, event)) == CUDA_ERROR_NOT_READY; tries++) {
        double waited = tries % LOOK ? 0 : clock_seconds() - begin;
        if (tries % LOOK == 0 && !c->look(c->look_with, waited)) return false;
        if (waited > soon) nanosleep(&pause, NULL);
    }
    return true;
}

bool cuda_outcome(cuda_context *c, CUresult *result)
{
    if (c->look) return await(c, c->stream, NULL, result);
    *result = c->device->api.driver.cuStreamSynchronize(c->stream);
    return true;
}

bool cuda_finish(cuda_context *c, const char *what)
{
    CUresult result;
    return cuda_outcome(c, &result) && cuda_ok(&c->device->api, cuda_fault(c), result, what);
}

/* After an error the first stream need not have waited for the second one, whose work may need other
 * processes: giving memory back would wait for it without looking after them. */
void cuda_finish_all(cuda_context *c)
{
    CUresult result;
    if (!cuda_finish(c, "finish its work") || !c->second) return;
    if (c->look)
        await(c, c->second, NULL, &result);
    else
        c->device->api.driver.cuStreamSynchronize(c->second);
}

bool cuda_await(cuda_context *c, CUevent event, const char *what)
{
    CUresult result;
    if (!c->look)
        result = c->device->api.driver.cuEventSynchronize(event);
    else
        TRY(await(c, NULL, event, &result));
    return cuda_ok(&c->device->api, cuda_fault(c), result, what);
}

bool cuda_pace(cuda_context *c)
{
    if (!c->look || c->capturing) return true;
    CUevent *point = &c->points[c->npoints++ % 2];
    if (*point)
        TRY(cuda_await(c, *point, "finish its work"));
    else
        CUDA_TRY(c, cuEventCreate(point, CU_EVENT_DISABLE_TIMING), "make an event");
    CUDA_TRY(c, cuEventRecord(*point, c->wires), "note a point in its stream");
    return true;
}

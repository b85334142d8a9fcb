/* Waiting for queued work. */
#ifndef CUDA_DRIVER_CUDA_WAIT_H
#define CUDA_DRIVER_CUDA_WAIT_H

#include "cuda/driver/cuda_device.h"

/* Waits for all queued work, or for an event; `what` as in CUDA_TRY. */
bool cuda_finish(cuda_context *c, const char *what);
/* The same without a sentence: what the driver says of the work.  False: see the session's error. */
bool cuda_outcome(cuda_context *c, CUresult *result);
bool cuda_await(cuda_context *c, CUevent event, const char *what);
void cuda_finish_all(cuda_context *c); /* on both streams, also after an error */
/* Where other processes take part: waits for the last but one call of this function to be passed in the
 * stream.  A stream that is full would block the host, which could then not look after them. */
bool cuda_pace(cuda_context *c);

#endif

/* The check device's memory and contexts, which are those of the device that it checks. */
#ifndef MACHINE_CHECK_CONTEXT_H
#define MACHINE_CHECK_CONTEXT_H

#include "machine/device_peers.h"

/* Each write to a device with memory of its own is waited for: with 4 KiB at a time, filling the
 * workspaces of matrix products took minutes. */
enum { CHECK_PATTERN = 1 << 20 };
enum { POISON = 0xff, GUARD = 0xa5 }; /* bytes of unwritten memory, and between buffers */

typedef struct check_device {
    device       face;
    device      *inner;
    device_peers peers; /* where the inner device has them */
} check_device;

typedef struct check_context {
    device_context  face;
    device_context *inner;
    bool            owned; /* inner was opened for this one */
    /* Of this step: the first tensor with an infinity, NULL: none; a NaN came from outside, maybe with
     * poison's bits. */
    const mtf_tensor *infinite;
    bool              nan_given;
    char             *mirror; /* a copy of memory that the host cannot read */
    size_t            room;
    unsigned char     pattern[]; /* CHECK_PATTERN bytes that fill memory the host cannot write */
} check_context;

static inline device *inner_of(device *d)
{
    return ((check_device *)d)->inner;
}

static inline device_context *inside(device_context *c)
{
    return ((check_context *)c)->inner;
}

static inline check_context *checking(device_context *c)
{
    return (check_context *)c;
}

static inline const device *under(device_context *c)
{
    return inside(c)->device;
}

/* A context of the check device over one of the inner device, which it closes with itself if `owned`. */
device_context *check_wrap(device *d, device_context *inner, bool owned);
/* Sets memory of the inner device. */
void check_fill(device_context *c, void *memory, int value, size_t bytes);
/* A copy of memory that the host can read, or memory itself; valid until the next call. */
const char *check_view(device_context *c, const void *memory, size_t bytes);
const char *check_view_buffer(device_context *c, const program *p, int b, const run_state *r);

/* Fills in all functions that call the inner device's: not begin, run, end. */
void check_forward(check_device *c, device *inner);

#endif

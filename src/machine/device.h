/* Devices: where bytes live and kernels run.
 *
 * A device is a table of functions over private state.  Adding one touches one
 * file and the list in machine.c.
 */
#ifndef MACHINE_DEVICE_H
#define MACHINE_DEVICE_H

#include <stdatomic.h>

#include "base/session.h"
#include "program/program.h"

struct short_tile; /* machine/kernels/short_tile.h */

typedef struct device device;

/* What kernels did: each adds what its own loops ran over, whatever the instruction says of itself. */
typedef struct work_done {
    _Atomic int64_t flops;
} work_done;

/* What kernels need besides the instruction. */
typedef struct run_state {
    void            **base; /* where each buffer begins */
    uint64_t          seed;
    uint32_t          step;
    int               threads;
    void             *scratch;   /* working space, scratch_bytes for so many threads */
    work_done        *done;      /* NULL: nobody counts */
    /* cpu: the chip's tiles of bf16 products, from begin on; NULL: plain loops */
    const struct short_tile *tile;
    const mtf_tensor *infinite;  /* check: the step's first that had an infinity; NULL: none */
    bool              nan_given; /* check: a NaN came from outside, with any bits */
    void             *prepared;  /* what the device made for the program: its own affair */
} run_state;

/* One processor's side of a device: a queue of work, and what that work needs.
 *
 * Work may be queued.  It runs in the order in which it was given; a read waits for all work before it. */
typedef struct device_context {
    device *device;
    int     processor;
} device_context;

struct device {
    const char *name;
    const char *says;
    bool        host_memory; /* the host can read and write the device's memory directly */
    /* A processor's context; NULL after an error. */
    device_context *(*open_context)(device *d, int processor);
    void (*close_context)(device_context *c);
    /* Memory for a program's slab or a variable; NULL after an error. */
    void *(*alloc)(device_context *c, size_t bytes);
    void (*release)(device_context *c, void *memory, size_t bytes);
    size_t (*taken)(device_context *c, const void *memory); /* bytes that its allocator counted */
    /* From the host, whose memory may change afterwards, and to the host.  Where neither side is in
     * use by queued work, any context serves. */
    void (*write)(device_context *c, void *to, const void *from, size_t bytes);
    void (*read)(device_context *c, void *to, const void *from, size_t bytes);
    /* Host memory from which one write may be queued; it is valid until that write.  Returns NULL after
     * an error.  May be NULL where host_memory is set. */
    void *(*stage)(device_context *c, size_t bytes);
    void (*wait)(device_context *c); /* until all queued work is done; NULL: work is never queued */
    /* Around each step of all processors, in the caller's thread: the device takes, and gives back,
     * what it shares with the program around it.  May be NULL. */
    void (*enter)(device *d);
    void (*leave)(device *d);
    /* Once, before a program's first step, when its buffers are in place, and when it is closed.
     * May be NULL. */
    bool (*prepare)(device_context *c, const program *p, run_state *r);
    void (*forget)(device_context *c, const program *p, run_state *r);
    bool (*begin)(device_context *c, const program *p, run_state *r);          /* around each step */
    bool (*run)(device_context *c, const program *p, int index, run_state *r); /* one instruction  */
    bool (*end)(device_context *c, const program *p, run_state *r);
    size_t (*scratch_bytes)(device *d, const program *p, int threads); /* of all together */
    void (*close)(device *d);
    mtf_session *session;
};

device *device_cpu_open(mtf_session *s);
device *device_check_open(mtf_session *s, device *inner); /* its close closes `inner` as well */
/* A context of the check device over one of the inner device that is open already, and stays open. */
device_context *device_check_over(device *check, device_context *inner);

#endif

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
} run_state;

struct device {
    const char *name;
    const char *says;
    /* Memory for a program's slab or a variable; NULL after an error. */
    void *(*alloc)(device *d, size_t bytes);
    void (*release)(device *d, void *memory, size_t bytes);
    size_t (*taken)(device *d, const void *memory); /* bytes that its allocator counted for it */
    void (*write)(device *d, void *to, const void *from, size_t bytes); /* from the host */
    void (*read)(device *d, void *to, const void *from, size_t bytes);  /* to the host   */
    /* Around each step of all processors, in the caller's thread: the device takes, and gives back,
     * what it shares with the program around it.  May be NULL. */
    void (*enter)(device *d);
    void (*leave)(device *d);
    bool (*begin)(device *d, const program *p, run_state *r);           /* around each step */
    bool (*run)(device *d, const program *p, int index, run_state *r);  /* one instruction  */
    bool (*end)(device *d, const program *p, run_state *r);
    size_t (*scratch_bytes)(device *d, const program *p, int threads); /* of all together */
    void (*close)(device *d);
    mtf_session *session;
};

device *device_cpu_open(mtf_session *s);
device *device_check_open(mtf_session *s, device *inner); /* its close closes `inner` as well */

#endif

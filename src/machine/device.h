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

/* What kernels did: each kernel adds the flops of the loops that it ran, independently of the
 * plan. */
typedef struct work_done {
    _Atomic int64_t flops;
} work_done;

/* What kernels need besides the instruction. */
typedef struct run_state {
    void            **base; /* start of each buffer */
    uint64_t          seed;
    uint32_t          step;
    int               threads;
    void             *scratch;   /* working space; scratch_bytes gives its size */
    work_done        *done;      /* NULL: not counted */
    /* cpu: the chip's kernel for tiles of bf16 products, set by begin; NULL: plain loops */
    const struct short_tile *tile;
    const mtf_tensor *infinite;  /* check: first tensor of the step with an infinity; NULL: none */
    bool              nan_given; /* check: a NaN came from outside, maybe with poison's bits */
} run_state;

struct device {
    const char *name;
    const char *says;
    /* Memory for a program's slab or a variable; NULL after an error. */
    void *(*alloc)(device *d, size_t bytes);
    void (*release)(device *d, void *memory, size_t bytes);
    size_t (*taken)(device *d, const void *memory); /* bytes that the allocator counted */
    void (*write)(device *d, void *to, const void *from, size_t bytes); /* from the host */
    void (*read)(device *d, void *to, const void *from, size_t bytes);  /* to the host   */
    /* Called before and after each step of all processors, in the caller's thread: the device sets,
     * and restores, process-wide settings that it shares with the host program.  May be NULL. */
    void (*enter)(device *d);
    void (*leave)(device *d);
    bool (*begin)(device *d, const program *p, run_state *r);           /* before each step */
    bool (*run)(device *d, const program *p, int index, run_state *r);  /* one instruction */
    bool (*end)(device *d, const program *p, run_state *r);
    size_t (*scratch_bytes)(device *d, const program *p, int threads); /* of all threads */
    void (*close)(device *d);
    mtf_session *session;
};

device *device_cpu_open(mtf_session *s);
device *device_check_open(mtf_session *s, device *inner); /* closing it closes `inner` too */

#endif

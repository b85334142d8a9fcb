/* Devices: where bytes live and kernels run.
 *
 * A device is a table of functions over private state: memory, and programs.  What its
 * processors do for each other is a second table, how steps are captured a third.  Adding
 * one touches one folder and the list in run/devices.c.
 */
#ifndef MACHINE_DEVICE_H
#define MACHINE_DEVICE_H

#include <stdatomic.h>

#include "base/session.h"
#include "program/program.h"

typedef struct device          device;
typedef struct device_peers    device_peers;    /* machine/device_peers.h */
typedef struct device_recorder device_recorder; /* machine/device_recorder.h */
typedef struct device_step     device_step;

/* What kernels did: each kernel adds the flops of the loops that it ran, independently of the
 * plan. */
typedef struct work_done {
    _Atomic int64_t flops;
} work_done;

/* What kernels need besides the instruction. */
typedef struct run_state {
    void      **base; /* start of each buffer */
    uint64_t    seed;
    uint32_t    step;
    int         threads;    /* among which the processor divides its work */
    bool        alone;      /* one of them does it all, part by part: results are the same */
    void       *scratch;    /* working space; scratch_bytes gives its size */
    work_done  *done;       /* NULL: not counted */
    bool        one_by_one; /* each instruction's results are looked at, or its time */
    void       *prepared;   /* private data of the device for the program, from `prepare` on */
    const void *chosen;     /* and for the step, from `begin` on; NULL: none */
} run_state;

/* One processor's part of a device: a stream of work, and what that work needs.
 *
 * Work may be queued.  It runs in the order in which it was queued; a read waits for all earlier
 * work. */
typedef struct device_context {
    device *device;
    int     processor;
} device_context;

/* Memory that contexts share. */
typedef struct memory_bank {
    int         number;    /* contexts of the same number share it */
    char        name[120]; /* as errors call it: its kind, number and maker's name */
    const char *kind;      /* what a user would need more of */
    int64_t     left, all; /* bytes */
} memory_bank;

/* Functions that `device_complete` lists are never NULL: a device that has none gets one that does nothing. */
struct device {
    const char         *name;
    const char         *says;
    mtf_session        *session;
    bool                host_memory; /* the host can read and write the device's memory directly */
    const device_peers *peers;       /* NULL: host_memory is set, and the host does it */
    const device_recorder *recorder; /* NULL: no step is captured */
    void (*close)(device *d);

    /* A processor's context; NULL after an error.  `place` is its number among the processors of this
     * machine. */
    device_context *(*open_context)(device *d, int processor, int place);
    void (*close_context)(device_context *c);

    /* Memory for a program's slab or a variable; NULL after an error. */
    void *(*alloc)(device_context *c, size_t bytes);
    void (*release)(device_context *c, void *memory, size_t bytes);
    size_t (*taken)(device_context *c, const void *memory); /* bytes that the allocator counted */
    /* The memory that alloc takes from; NULL: the host's. */
    bool (*bank)(device_context *c, memory_bank *b);
    /* From the host, whose memory may change afterwards, and to the host.  Any context may be used
     * if no queued work uses either side. */
    void (*write)(device_context *c, void *to, const void *from, size_t bytes);
    void (*read)(device_context *c, void *to, const void *from, size_t bytes);
    /* Host memory from which one write may be queued; it is valid until that write.  Returns NULL
     * after an error.  NULL: host_memory is set. */
    void *(*stage)(device_context *c, size_t bytes);
    void (*wait)(device_context *c); /* until all queued work is done */

    /* Called around each step of all processors, in the caller's thread: the device sets, and restores,
     * process-wide settings that it shares with the host program. */
    void (*enter)(device *d);
    void (*leave)(device *d);
    size_t (*scratch_bytes)(device *d, const program *p, int threads); /* of all threads */
    /* A program will be prepared soon: the device may begin with what needs no memory. */
    void (*announce)(device_context *c, const program *p);
    /* Called once, before a program's first step, when its buffers are allocated, and when it is
     * closed. */
    bool (*prepare)(device_context *c, const program *p, run_state *r);
    void (*forget)(device_context *c, const program *p, run_state *r);
    bool (*begin)(device_context *c, const program *p, run_state *r); /* before each step */
    bool (*run)(device_context *c, const program *p, int index, run_state *r); /* one instruction */
    bool (*end)(device_context *c, const program *p, run_state *r);
};

/* Fills in what the device has no function for: wait, enter, leave, announce, prepare, forget, end. */
void device_complete(device *d);

/* A kind of device, as far as plans need it before one is opened. */
typedef struct device_kind {
    device *(*open)(mtf_session *s); /* NULL after an error */
    int64_t (*scratch_bytes)(const program *p, int threads);
    /* Bytes of its own memory for each of so many processors; 0: not known.  NULL: it uses the host's. */
    int64_t (*memory_each)(int processors);
    instr_way *way; /* how it carries out instructions */
} device_kind;

#endif

/* Devices: where bytes live and kernels run.
 *
 * A device is a table of functions over private state.  Adding one touches one
 * folder and the list in run/devices.c.
 */
#ifndef MACHINE_DEVICE_H
#define MACHINE_DEVICE_H

#include <stdatomic.h>

#include "base/session.h"
#include "program/program.h"

struct short_tile; /* cpu/short_tile.h */

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
    bool              one_by_one; /* each instruction's results are looked at, or its time */
    void             *prepared;  /* private data of the device for the program */
} run_state;

/* One processor's part of a device: a stream of work, and what that work needs.
 *
 * Work may be queued.  It runs in the order in which it was queued; a read waits for all earlier
 * work. */
typedef struct device_context {
    device *device;
    int     processor;
} device_context;

struct region; /* machine/overlap.h */
struct wire;   /* machine/wire.h */
struct ranks;  /* machine/ranks.h */

/* What processors of one process do in each other's memory, where that is not the host's.  All of it is
 * queued; functions return false after an error. */
typedef struct device_peers {
    /* Makes ready what the program's collectives will ask for. */
    bool (*prepare)(device_context *c, const mesh *m, const program *p);
    /* A point in the stream, which holds until the next but one of this context, */
    void *(*mark)(device_context *c);
    /* and makes work that is queued from now on wait for such a point of another context. */
    bool (*follow)(device_context *c, void *mark);
    bool (*copy)(device_context *c, void *to, const void *from, int64_t bytes);
    bool (*copy_region)(device_context *c, const struct region *r, const char *from, char *to,
                        int64_t element);
    /* As combine() of machine/combine.h. */
    bool (*combine)(device_context *c, fold_kind kind, mtf_dtype type, int n,
                    const char *const *parts, char *out, int64_t elements);
    /* The same with a result for each part.  They may lie where the parts do.  NULL: use combine. */
    bool (*combine_all)(device_context *c, fold_kind kind, mtf_dtype type, int n,
                        const char *const *parts, char *const *outs, int64_t elements);
    int most_combined; /* by combine_all */
} device_peers;

/* A program's step on all processors of a process. */
typedef struct device_step {
    int              n;
    device_context **contexts;
    const program  **programs;
    run_state      **states;
    bool             repeats;   /* every step queues the same work, so that it may be captured */
    bool             replayed;    /* this step was replayed from the capture */
    bool             captured;  /* this step is being captured: it has one turn of each loop that */
    bool             rolled;    /*   a value ends, and, if `rolled`, of all others */
    void            *capture; /* belongs to the device */
} device_step;

/* Memory that contexts share. */
typedef struct memory_bank {
    int     number;    /* contexts of the same number share it */
    char    name[120]; /* as errors call it: its kind, number and maker's name */
    const char *kind;  /* what a user would need more of */
    int64_t left, all; /* bytes */
} memory_bank;

struct device {
    const char *name;
    const char *says;
    bool        host_memory; /* the host can read and write the device's memory directly */
    const device_peers *peers; /* NULL where host_memory is set */
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
     * after an error.  May be NULL if host_memory is set. */
    void *(*stage)(device_context *c, size_t bytes);
    void (*wait)(device_context *c); /* until all queued work is done; NULL: work is never queued */
    /* Called before and after each step of all processors, in the caller's thread: the device sets,
     * and restores, process-wide settings that it shares with the host program.  If it replays the whole
     * step from a capture it sets s->replayed, and no processor runs.  May be NULL. */
    void (*enter)(device *d, device_step *s);
    void (*leave)(device *d, device_step *s);
    void (*drop)(device *d, device_step *s); /* the program ends; may be NULL */
    /* A program will be prepared soon: the device may begin with what needs no memory.  May be NULL. */
    void (*announce)(device_context *c, const program *p);
    /* Called once, before a program's first step, when its buffers are allocated, and when it is
     * closed.  May be NULL. */
    bool (*prepare)(device_context *c, const program *p, run_state *r);
    void (*forget)(device_context *c, const program *p, run_state *r);
    bool (*begin)(device_context *c, const program *p, run_state *r);          /* before each step */
    bool (*run)(device_context *c, const program *p, int index, run_state *r); /* one instruction */
    bool (*end)(device_context *c, const program *p, run_state *r);
    /* Called before each instruction, whoever carries it out, and after each collective: the device may
     * queue collectives beside other work.  NULL, or not called in a step: it does not. */
    bool (*order)(device_context *c, const program *p, int index, run_state *r);
    bool (*collected)(device_context *c, const program *p, int index, run_state *r);
    /* Loops of a step that is captured.  Can this context capture them?  Called before the first turn and
     * at the end of the only one that is queued; what is between is repeated while the byte at `flag` is
     * not 0, or, where that is NULL, for so many turns.  May be NULL. */
    bool (*captures_loops)(device_context *c);
    bool (*loop_begins)(device_context *c, const void *flag);
    bool (*loop_ends)(device_context *c, const void *flag, int64_t turns);
    size_t (*scratch_bytes)(device *d, const program *p, int threads); /* of all threads */
    /* Connects this processor, which is alone in its process, with those of the other ranks.  NULL:
     * the host connects them. */
    struct wire *(*open_wire)(device_context *c, const mesh *m, struct ranks *r);
    void (*close)(device *d);
    mtf_session *session;
};

/* A kind of device, as far as plans need it before one is opened. */
typedef struct device_kind {
    device *(*open)(mtf_session *s); /* NULL after an error */
    int64_t (*scratch_bytes)(const program *p, int threads);
    /* Bytes of its own memory for each of so many processors; 0: not known.  NULL: it uses the host's. */
    int64_t (*memory_each)(int processors);
    instr_way *way; /* how it carries out instructions */
} device_kind;

bool    device_is_checked(const mtf_session *s); /* does the session's device check what runs on it? */
device *device_check_open(mtf_session *s, device *inner); /* closing it closes `inner` too */
/* A context of the check device that uses an open context of the inner device, which stays open. */
device_context *device_check_over(device *check, device_context *inner);

#endif

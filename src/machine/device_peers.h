/* What processors do for each other, where their memory is not the host's. */
#ifndef MACHINE_DEVICE_PEERS_H
#define MACHINE_DEVICE_PEERS_H

#include "machine/device.h"

struct region; /* machine/overlap.h */
struct wire;   /* machine/wire.h */
struct ranks;  /* machine/ranks.h */

/* Processors of one process read and write each other's memory.  All of it is queued; functions return
 * false after an error. */
struct device_peers {
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
    /* Connects this processor, which is alone in its process, with those of the other ranks.  NULL:
     * the host connects them. */
    struct wire *(*open_wire)(device_context *c, const mesh *m, struct ranks *r);
    /* Called before each instruction, whoever carries it out, and after each collective: the device may
     * queue collectives beside other work.  Both NULL, or not called in a step: it does not. */
    bool (*order)(device_context *c, const program *p, int index, run_state *r);
    bool (*collected)(device_context *c, const program *p, int index, run_state *r);
};

/* Does the device itself connect processes?  Can it queue collectives beside other work? */
static inline bool device_connects(const device *d)
{
    return d->peers && d->peers->open_wire;
}

static inline bool device_orders(const device *d)
{
    return d->peers && d->peers->order;
}

#endif

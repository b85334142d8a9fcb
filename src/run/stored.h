/* What a store holds, and whose errors they are. */
#ifndef RUN_STORED_H
#define RUN_STORED_H

#include "graph/node.h"
#include "machine/wire.h"
#include "run/devices.h"
#include "run/thread_pool.h"
#include "space/layout.h"

typedef struct store_entry {
    const char *name;
    mtf_dtype   type, master; /* in this session, and in checkpoints */
    mtf_shape   shape;        /* of the whole */
    bool        trainable;
    bool        of_model; /* trainable, or else a part of what the model computes with */
    placement   where;
    void      **parts;  /* by processor, on the device */
    bool        packed; /* the parts lie in blocks with others' (run/store_blocks.h) */
} store_entry;

typedef struct store {
    mtf_session        *session;
    mesh                mesh;
    layout              layout;
    int                 processors; /* in the whole mesh */
    int                 first, end; /* those in this process; arrays by processor have only these */
    int                 threads;    /* inside each processor */
    site                site;       /* what plans need to know of the processes */
    ranks              *ranks;      /* the other processes; NULL: none */
    device             *device;
    device_context    **contexts; /* by processor */
    device             *check;    /* a checking device for the same memory; NULL: not used yet, */
    device_context    **check_contexts; /* and its contexts, by processor */
    wire               *wire;           /* NULL: one processor */
    thread_pool        *thread_pool;
    name_table          entries;
    bool                settled; /* the rules for state are final (run/settle.h) */
    store_entry       **all;
    int                 count, room;
    struct store_block *blocks;
    int                 nblocks, blocks_room;
} store;

/* Bytes of one processor's part of a tensor. */
int64_t store_part_bytes(const store *s, mtf_dtype type, const mtf_shape *shape,
                         const placement *where, int processor);
/* Adds a processor, and the rank where asked for, to an error that was found while it was dealt with. */
void store_name(const store *s, int processor, bool rank);
/* The same with the rank; always false. */
bool store_blame(const store *s, int processor);

#endif

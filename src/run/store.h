/* The session's mesh, device, wire, thread pool and variables.
 *
 * Variables belong to the session, not to a program: programs that name the
 * same variable share it.  Each processor holds its own part.
 */
#ifndef RUN_STORE_H
#define RUN_STORE_H

#include "graph/node.h"
#include "run/devices.h"
#include "machine/wire.h"
#include "run/thread_pool.h"
#include "space/layout.h"

typedef struct store_entry {
    const char *name;
    mtf_dtype   type, master; /* in this session, and in checkpoints */
    mtf_shape   shape; /* of the whole */
    bool        trainable;
    placement   where;
    void      **parts; /* by processor, on the device */
    bool        packed; /* the parts lie in blocks with others' (run/store_blocks.h) */
} store_entry;

typedef struct store {
    mtf_session  *session;
    mesh          mesh;
    layout        layout;
    int           processors; /* in the whole mesh */
    int           first, end; /* those in this process; arrays by processor have only these */
    int           threads;    /* inside each processor */
    site          site;       /* what plans need to know of the processes */
    ranks        *ranks;      /* the other processes; NULL: none */
    device       *device;
    device_context **contexts; /* by processor */
    device       *check; /* a checking device for the same memory; NULL: not used yet, */
    device_context **check_contexts; /* and its contexts, by processor */
    wire         *wire; /* NULL: one processor */
    thread_pool         *thread_pool;
    name_table    entries;
    bool          settled; /* the rules for state are final (run/settle.h) */
    store_entry **all;
    int           count, room;
    struct store_block *blocks;
    int           nblocks, blocks_room;
} store;

/* The session's store, created on first use.  NULL after an error. */
store *store_of(mtf_session *s);
/* Before there is a store: parses mesh and layout, and connects to the other processes; `*r` is
 * NULL if there are none. */
bool store_prepare(mtf_session *s, ranks **r);
/* After that: bytes that each processor of this process may use, and its site, if all processes are
 * on one machine. */
int64_t store_memory_each(mtf_session *s);
site    store_site(mtf_session *s);
/* The variable's parts; initialised on first use.  Another shape or type for the same name is an
 * error.  NULL after an error. */
store_entry *store_variable(store *s, const mtf_tensor *w);
/* The same for all variables of a program: new ones are initialised together. */
bool store_variables(store *s, int n, const port *ports);
/* Initialises a variable again. */
bool store_restart(store *s, const mtf_tensor *w);
/* Frees the memory of a variable's parts. */
void store_release(store *s, store_entry *e);
/* Contexts, by processor, of the checking device; NULL after an error. */
device_context **store_check_contexts(store *s);
/* Adds a processor, and the rank where asked for, to an error that was found while it was dealt with. */
void store_name(const store *s, int processor, bool rank);
/* The same with the rank; always false. */
bool store_blame(const store *s, int processor);
void store_wait(const store *s); /* until all work of this process is done */
/* Bytes of one processor's part of a tensor. */
int64_t store_part_bytes(const store *s, mtf_dtype type, const mtf_shape *shape,
                         const placement *where, int processor);

#endif

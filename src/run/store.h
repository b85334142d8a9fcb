/* The session's machine: mesh, device, wire, thread pool, and variables by name.
 *
 * Variables belong to the session, not to a program: programs that name the
 * same variable share it.  Each processor holds its own part.
 */
#ifndef RUN_STORE_H
#define RUN_STORE_H

#include "graph/node.h"
#include "machine/machine.h"
#include "machine/wire.h"
#include "run/thread_pool.h"
#include "space/layout.h"

typedef struct store_entry {
    const char *name;
    mtf_dtype   type, master; /* as it is kept here, and in checkpoints */
    mtf_shape   shape; /* of the whole */
    bool        trainable;
    placement   where;
    void      **parts; /* by processor, on the device */
} store_entry;

typedef struct store {
    mtf_session  *session;
    mesh          mesh;
    layout        layout;
    int           processors; /* of the whole mesh */
    int           first, end; /* those of this process; arrays by processor have only these */
    int           threads;    /* inside each processor */
    site          site;       /* what plans have to know of all that */
    ranks        *ranks;      /* the other processes; NULL: none */
    device       *device;
    device_context **contexts; /* by processor */
    device       *check; /* one that checks, for the same memory; NULL: it was not asked for, */
    device_context **check_contexts; /* and its contexts over these */
    wire         *wire; /* NULL: one processor */
    thread_pool         *thread_pool;
    name_table    entries;
    bool          settled; /* rules for state are those that hold to the end (run/settle.h) */
    store_entry **all;
    int           count, room;
} store;

/* The session's store, made on first use. NULL after an error. */
store *store_of(mtf_session *s);
/* Before there is a store: mesh and layout are put in words, and the other processes joined; `*r` is
 * NULL where there are none. */
bool store_prepare(mtf_session *s, ranks **r);
/* After that: bytes that each processor of this process may take, and what its site will be, where
 * all processes share a machine. */
int64_t store_memory_each(mtf_session *s);
site    store_site(mtf_session *s);
/* The variable's parts; initialised on first use.  Another shape or type under the name is an
 * error.  NULL after an error. */
store_entry *store_variable(store *s, const mtf_tensor *w);
/* Gives a variable its first value again. */
bool store_restart(store *s, const mtf_tensor *w);
/* Gives the memory of a variable's parts back. */
void store_release(store *s, store_entry *e);
/* Contexts, by processor, that check what runs in them, over the session's; NULL after an error. */
device_context **store_check_contexts(store *s);
void store_wait(const store *s); /* until all work of this process is done */
/* Bytes of one processor's part of a tensor. */
int64_t store_part_bytes(const store *s, mtf_dtype type, const mtf_shape *shape,
                         const placement *where, int processor);

#endif

/* Variables by name: they belong to the session, not to a program. */
#ifndef RUN_STORE_H
#define RUN_STORE_H

#include "graph/node.h"
#include "machine/machine.h"

typedef struct store_entry {
    const char *name;
    mtf_dtype   type;
    mtf_shape   shape;
    int64_t     bytes;
    void       *memory;   /* on the device */
} store_entry;

/* The session's store, with its device; made on first use. NULL after an error. */
typedef struct store store;
store       *store_of(mtf_session *s);
device      *store_device(store *s);
/* The variable's memory; initialised on first use.  Another shape or type under the name is an
 * error.  NULL after an error. */
store_entry *store_variable(store *s, const mtf_tensor *w);

#endif

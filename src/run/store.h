/* The session's mesh, device, wire, thread pool and variables.
 *
 * Variables belong to the session, not to a program: programs that name the
 * same variable share it.  Each processor holds its own part.
 */
#ifndef RUN_STORE_H
#define RUN_STORE_H

#include "run/stored.h"

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
void             store_wait(const store *s); /* until all work of this process is done */

#endif

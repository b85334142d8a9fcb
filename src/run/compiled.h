/* A compiled program: one for each processor of the mesh.
 *
 * Everything that a step needs is allocated when the graph is compiled: the slabs,
 * the tables of buffer addresses, scratch space for kernels.
 */
#ifndef RUN_COMPILED_H
#define RUN_COMPILED_H

#include "machine/device_recorder.h"
#include "microbatch/microbatch.h"
#include "run/counts.h"
#include "run/store.h"

/* One processor's part of a program. */
typedef struct processor {
    program        *program;
    device_context *context;
    char           *slab;
    void          **base; /* by buffer */
    run_state       state;
    size_t          scratch_bytes;
    run_counts      counts; /* used if the program is measured */
} processor;

struct mtf_program {
    mtf_session *session;
    mtf_graph   *graph;
    microbatched planned; /* the graph that the programs were made from */
    store       *store;
    device      *device;
    processor   *processors;
    device_step  step;
    bool        *fed;        /* by input */
    int64_t      peak_bytes; /* of the processor that needs most */
    int64_t      guard;      /* unused bytes between buffers */
    bool         closed, stepped;
};

/* Compiles for the check device, whatever the session's device is: slow, but it names the first
 * NaN. */
mtf_program *compile_checked(mtf_graph *g, int n, mtf_tensor *const *fetches);
/* Counts and times the program's instructions from the next step on, or no longer; the session's
 * option `measure` does it for every program.  A step that is timed is not replayed from a capture,
 * and waits for each instruction.  False after an error. */
bool program_measure(mtf_program *p, bool on);

static inline const program *first_program(const mtf_program *p)
{
    return p->processors[p->store->first].program;
}

static inline bool alive(const mtf_program *p)
{
    return p && !p->closed && mtf_ok(p->session);
}

#endif

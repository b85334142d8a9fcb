/* Steps that a device captures once and replays. */
#ifndef MACHINE_DEVICE_RECORDER_H
#define MACHINE_DEVICE_RECORDER_H

#include "machine/device.h"

/* A program's step on all processors of a process. */
struct device_step {
    int              n;
    device_context **contexts;
    const program  **programs;
    run_state      **states;
    bool             repeats;  /* every step queues the same work, so that it may be captured */
    bool             replayed; /* this step was replayed from the capture */
    bool  captured; /* this step is being captured: it has one iteration of each loop that */
    bool  rolled;   /*   a value ends, and, if `rolled`, of all others */
    void *capture;  /* belongs to the device */
};

/* All functions are there. */
struct device_recorder {
    /* Called before and after each step of all processors, in the caller's thread.  If the device replays the
     * whole step from a capture it sets s->replayed, and no processor runs. */
    void (*enter)(device *d, device_step *s);
    void (*leave)(device *d, device_step *s);
    void (*drop)(device *d, device_step *s); /* the program ends */
    /* Loops of a step that is captured.  Can this context capture them?  Called before the first iteration and
     * at the end of the only one that is queued; what is between is repeated while the byte at `flag` is
     * not 0, or, where that is NULL, for so many iterations. */
    bool (*captures_loops)(device_context *c);
    bool (*loop_begins)(device_context *c, const void *flag);
    bool (*loop_ends)(device_context *c, const void *flag, int64_t iterations);
};

#endif

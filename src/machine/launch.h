/* Whether an MPI starter launched this process, from the environment. */
#ifndef MACHINE_LAUNCH_H
#define MACHINE_LAUNCH_H

typedef struct launch {
    int         rank, size;
    const char *by; /* the starter's name for messages */
} launch;

/* {0, 1, NULL} without a starter: such a run never initialises MPI. */
launch launch_find(void);

#endif

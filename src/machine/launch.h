/* Whether an MPI starter launched this process, from the environment. */
#ifndef MACHINE_LAUNCH_H
#define MACHINE_LAUNCH_H

typedef struct launch {
    int         rank, size;
    const char *by; /* the starter, in words */
} launch;

/* {0, 1, NULL} where nobody did: such a run never touches MPI. */
launch launch_find(void);

#endif

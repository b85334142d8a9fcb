/* Whether an MPI starter launched this process, from the environment. */
#ifndef MACHINE_LAUNCH_H
#define MACHINE_LAUNCH_H

typedef struct launch {
    int rank, size;
} launch;

/* {0, 1} where nobody did: such a run never touches MPI. */
launch launch_find(void);

#endif

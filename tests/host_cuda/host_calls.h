/* Between kernels compiled for the host and the driver that runs them. */
#ifndef HOST_CALLS_H
#define HOST_CALLS_H

enum { HOST_WARP_SYNC = 1, HOST_WARP_SHUFFLE, HOST_WARP_BALLOT, HOST_WARP_MATRIX };

/* The thread that runs now. */
typedef struct host_thread {
    int       thread, threads;
    long long block, blocks;
    char     *shared; /* dynamic shared memory */
} host_thread;

typedef struct host_calls {
    const host_thread *(*now)(void);
    void (*sync)(int line);
    void (*meet)(int place, int threads, int waits, int line);
    /* Waits for the other threads of the warp; what all of them gave. */
    const unsigned long long *(*warp)(unsigned long long mine, int kind, int line);
    void (*stop)(const char *why);
} host_calls;

#endif

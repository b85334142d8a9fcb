/* GPUs, and the processors that run on them. */
#ifndef CUDA_DRIVER_CUDA_DEVICE_H
#define CUDA_DRIVER_CUDA_DEVICE_H

#include <pthread.h>

#include "cuda/driver/cuda_api.h"
#include "machine/device_peers.h"

/* What upper rooms keep for a GPU or a processor. */
typedef struct kernel_module   kernel_module;   /* driver/cuda_modules.c */
typedef struct staging_block   staging_block;   /* driver/staging.h */
typedef struct product_memory  product_memory;  /* library/product_choice.c */
typedef struct dnn_plans       dnn_plans;       /* library/dnn_plans.c */
typedef struct program_kernels program_kernels; /* step/cuda_kernels.h */
typedef struct fetch_mirror    fetch_mirror;    /* step/fetch_mirror.h */
typedef struct loop_capture    loop_capture;    /* step/cuda_loops.c */

/* One GPU, opened once, whatever the number of its processors. */
typedef struct cuda_gpu {
    int             number;
    CUdevice        device;
    CUcontext       context; /* the GPU's primary one, which libraries share */
    char            name[100];
    char            architecture[16]; /* as NVRTC calls it: sm_90a */
    int             multiprocessors;
    int             shared_bytes; /* that a block may have in shared memory */
    bool            starts_early; /* kernels wait for the one before by themselves */
    int             cluster;      /* blocks that a cluster may have */
    size_t          bytes;
    double          bandwidth; /* bytes a second from and to its memory; 0: not known */
    pthread_mutex_t lock;      /* of what follows */
    arena           arena;
    kernel_module **modules;
    int             nmodules, modules_room;
    int64_t         clock; /* how often modules were held */
    CUmodule        loop_module;
    CUfunction      goes_on; /* says whether a loop has another iteration; NULL: not loaded */
} cuda_gpu;

typedef struct cuda_device {
    device          face;
    device_peers    peers;
    cuda_api        api;
    cuda_gpu       *gpus;
    int             ngpus;
    pthread_mutex_t product_lock; /* of what follows: algorithms of products, by GPU and shape */
    arena           product_arena;
    product_memory *products;
    int             nproducts, products_room;
    int64_t         products_clock; /* how often a choice was looked for */
    struct {
        int modules, products, plans; /* of a GPU, of all, of a processor */
    } most;                           /* kept in memory beyond what programs use */
} cuda_device;

/* Memory of the GPU that was asked for. */
typedef struct taken_memory {
    const void *memory;
    size_t      bytes;
} taken_memory;

/* A processor: its stream on one of the GPUs. */
typedef struct cuda_context {
    device_context face;
    cuda_device   *device;
    cuda_gpu      *gpu;
    CUstream       stream;
    CUstream second; /* for collectives beside other work; NULL: no program has asked for it */
    CUstream wires;  /* where collectives go now: one of these two */
    CUevent  begun;  /* the point in the first stream after which the last collective began */
    cublasLtHandle_t    products;
    dnn_plans          *plans; /* of the library; NULL: no program has asked for them */
    arena               arena;
    taken_memory       *taken;
    int                 ntaken, taken_room;
    program_kernels    *announced; /* of a program that will be prepared; NULL: none */
    staging_block      *blocks;
    int                 nblocks, blocks_room;
    int64_t             given; /* blocks given out */
    CUevent             marks[2];
    unsigned            nmarks;       /* made so far */
    bool                capturing;    /* what is queued is being captured */
    const fetch_mirror *mirror;       /* of the step that was replayed last; NULL: none was */
    loop_capture       *loops;        /* NULL: none was captured */
    bool                after_kernel; /* what was queued last is a kernel of the same program */
    /* Called while the host waits for this stream, with the seconds so far.  False: waiting is of no
     * use, because of an error.  NULL: no other process takes part in the work. */
    bool (*look)(void *with, double waited);
    void    *look_with;
    CUevent  points[2]; /* of cuda_pace */
    unsigned npoints;   /* made so far */
} cuda_context;

static inline cuda_context *cuda_of(device_context *c)
{
    return (cuda_context *)c;
}

static inline fault *cuda_fault(const cuda_context *c)
{
    return &c->device->face.session->fault;
}

/* Calls a function of the driver; false, with a sentence, where it fails.  `what` completes "the GPU
 * could not ...". */
#define CUDA_TRY(c, call, what)                                                                    \
    TRY(cuda_ok(&(c)->device->api, cuda_fault(c), (c)->device->api.driver.call, what))

#endif

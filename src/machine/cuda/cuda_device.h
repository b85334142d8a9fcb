/* Cards, and the processors that run on them. */
#ifndef MACHINE_CUDA_DEVICE_H
#define MACHINE_CUDA_DEVICE_H

#include <pthread.h>

#include "machine/cuda/kernel_compile.h"
#include "machine/cuda/kernel_source.h"
#include "machine/cuda/map_groups.h"
#include "machine/device.h"
#include "program/hazards.h"

typedef struct kernel_module kernel_module; /* cuda_modules.c */

/* Modules that stay loaded: those of a program. */
typedef struct kernel_hold {
    arena          *arena;
    kernel_module **modules;
    int             n, room;
} kernel_hold;

/* One card, opened once, whatever the number of its processors. */
typedef struct cuda_card {
    int             number;
    CUdevice        device;
    CUcontext       context; /* the card's primary one, which libraries share */
    char            name[100];
    char            architecture[16]; /* as NVRTC calls it: sm_90a */
    int             multiprocessors;
    bool            takes_turns; /* kernels wait for the one before by themselves */
    int             cluster;     /* blocks that a cluster may have */
    size_t          bytes;
    double          bandwidth; /* bytes a second from and to its memory; 0: not known */
    pthread_mutex_t lock;    /* of what follows */
    arena           arena;
    kernel_module **modules;
    int             nmodules, modules_room;
    int64_t         clock; /* how often modules were held */
    CUmodule        loop_module;
    CUfunction      goes_on; /* says whether a loop has another turn; NULL: not loaded */
} cuda_card;

typedef struct product_memory product_memory; /* product_choice.c */
typedef struct loop_recorder  loop_recorder;  /* cuda_loops.c */
typedef struct dnn_plans      dnn_plans;      /* dnn_plans.c */

typedef struct cuda_device {
    device          face;
    cuda_api        api;
    cuda_card      *cards;
    int             ncards;
    pthread_mutex_t product_lock; /* of what follows: algorithms of products, by card and shape */
    arena           product_arena;
    product_memory *products;
    int             nproducts, products_room;
    int64_t         products_clock; /* how often a choice was looked for */
    struct {
        int modules, products, plans; /* of a card, of all, of a processor */
    } most; /* kept in memory beyond what programs use */
} cuda_device;

/* Pinned memory of the host from which writes are queued. */
typedef struct staging_block {
    void   *memory;
    size_t  bytes;
    CUevent done; /* of the write from it */
    int64_t turn; /* when it was given out last */
} staging_block;

/* Memory of the card that was asked for. */
typedef struct taken_memory {
    const void *memory;
    size_t      bytes;
} taken_memory;

/* A program's kernels until they are on the card. */
typedef struct program_kernels {
    const program *program;
    bool           one_by_one; /* no kernel carries out several instructions */
    arena          arena;
    kernel_source  source;
    kernel_plan   *plans;     /* one for each instruction */
    const instr  **operands;  /* the instruction, or all of its group; NULL: it belongs to one before */
    map_group    **groups;    /* by instruction: the maps of which it is the first; NULL: none */
    kernel_job    *job;   /* NULL: none is being compiled */
    struct library_hold *library; /* plans that its instructions may get */
} program_kernels;

/* Small results of a recorded step, which it copies to pinned memory of the host. */
typedef struct mirrored {
    const char *from; /* on the card */
    size_t      bytes, at;
} mirrored;

typedef struct fetch_mirror {
    char     *memory; /* NULL: there are none */
    int       n;
    mirrored *parts;
} fetch_mirror;

/* A processor: its queue on one of the cards. */
typedef struct cuda_context {
    device_context   face;
    cuda_device     *device;
    cuda_card       *card;
    CUstream         stream;
    CUstream         second; /* for collectives beside other work; NULL: no program has asked for it */
    CUstream         wires;  /* where collectives go now: one of these two */
    CUevent          begun;  /* the point in the first queue after which the last collective began */
    cublasLtHandle_t products;
    dnn_plans       *plans; /* of the library; NULL: no program has asked for them */
    arena            arena;
    taken_memory    *taken;
    int              ntaken, taken_room;
    program_kernels *announced; /* of a program that will be prepared; NULL: none */
    staging_block   *blocks;
    int              nblocks, blocks_room;
    int64_t          turns; /* blocks given out */
    CUevent          marks[2];
    unsigned         nmarks; /* made so far */
    bool             recording; /* what is queued is being recorded */
    const fetch_mirror *mirror;    /* of the step that was played last; NULL: none was */
    loop_recorder   *loops;        /* NULL: none was recorded */
    bool             after_kernel; /* what was queued last is a kernel of the same program */
    /* Called while the host waits for this queue, with the seconds so far.  False: waiting is of no
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

/* Calls a function of the driver; false, with a sentence, where it fails.  `what` completes "the card
 * could not ...". */
#define CUDA_TRY(c, call, what)                                                                    \
    TRY(cuda_ok(&(c)->device->api, cuda_fault(c), (c)->device->api.driver.call, what))

device *device_cuda_open(mtf_session *s);

/* Connects processors of several ranks (wire_nccl.c). */
struct wire *cuda_open_wire(device_context *c, const mesh *m, struct ranks *r);

/* ---- cards (cuda_cards.c) ---- */
bool cuda_open_cards(cuda_device *d);
bool cuda_start_card(cuda_device *d, cuda_card *card); /* before its first use */
void cuda_close_cards(cuda_device *d);
/* The calling thread uses the context's card from now on. */
bool cuda_use(cuda_context *c);

/* ---- waiting (cuda_wait.c) ---- */
/* Waits for all queued work, or for an event; `what` as in CUDA_TRY. */
bool cuda_finish(cuda_context *c, const char *what);
/* The same without a sentence: what the driver says of the work.  False: see the session's error. */
bool cuda_outcome(cuda_context *c, CUresult *result);
bool cuda_await(cuda_context *c, CUevent event, const char *what);
void cuda_finish_all(cuda_context *c); /* on both queues, also after an error */
/* Where other processes take part: waits for the last but one call of this function to be passed in the
 * queue.  A queue that is full would block the host, which could then not look after them. */
bool cuda_pace(cuda_context *c);

/* ---- memory (cuda_memory.c) ---- */
/* Bytes of a card for each of so many processors, before any card is opened; 0: not known. */
int64_t cuda_memory_each(int processors);

/* ---- staging ---- */
void *cuda_stage(device_context *c, size_t bytes);
/* The block that begins at `memory`; NULL: it is ordinary memory. */
staging_block *cuda_staged(cuda_context *c, const void *memory);
void           cuda_close_staging(cuda_context *c);

extern const device_peers cuda_peers; /* cuda_peers.c */

/* ---- whole steps (cuda_recording.c) ---- */
void cuda_enter(device *d, device_step *s);
void cuda_leave(device *d, device_step *s);
void cuda_drop(device *d, device_step *s);
/* Queues the number of the step and the seed for one processor. */
bool cuda_write_words(cuda_context *c, const run_state *r, CUstream on);

/* ---- collectives beside other work (cuda_beside.c) ---- */
typedef struct cuda_beside {
    hazards  when;
    CUevent *ended; /* by instruction: after a collective that something waits for; NULL: none */
    int      last;  /* the last collective of this step that was queued beside other work */
} cuda_beside;
bool cuda_beside_open(cuda_context *c, const program *p, arena *a, cuda_beside *b);
void cuda_beside_close(cuda_context *c, const program *p, cuda_beside *b);
bool cuda_order(device_context *c, const program *p, int index, run_state *r);
bool cuda_collected(device_context *c, const program *p, int index, run_state *r);

/* ---- small results (fetch_mirror.c) ---- */
/* Room for what the program fetches; what is in the arena lives as long as that. */
bool mirror_make(cuda_context *c, arena *a, const program *p, const run_state *r, fetch_mirror *m);
bool mirror_record(cuda_context *c, const fetch_mirror *m); /* queues the copies */
void mirror_free(cuda_context *c, fetch_mirror *m);
/* Where bytes of the card's memory are on the host, when all queued work is done; NULL: nowhere. */
const void *mirror_find(const cuda_context *c, const void *from, size_t bytes);

/* ---- programs (cuda_prepare.c, cuda_program.c) ---- */
cuda_beside *cuda_beside_of(const run_state *r);
bool cuda_prepare(device_context *c, const program *p, run_state *r);
void cuda_forget(device_context *c, const program *p, run_state *r);
bool cuda_begin(device_context *c, const program *p, run_state *r);
bool cuda_run(device_context *c, const program *p, int index, run_state *r);
bool cuda_end(device_context *c, const program *p, run_state *r);

/* ---- working space (cuda_scratch.c) ---- */
size_t cuda_scratch_bytes(device *d, const program *p, int threads);
/* The same, and how instructions are carried out, before any card is opened. */
int64_t     cuda_scratch(const program *p, int threads);
const char *cuda_way(const instr *i);

/* ---- kernels of programs (cuda_kernels.c) ---- */
/* Of one instruction; products have none, and those with epilogues are written in parts if need be. */
bool cuda_write_kernels(kernel_source *s, const instr *i, kernel_plan *plan);
void cuda_announce(device_context *c, const program *p);
/* Those of a program, written and being compiled; NULL after an error. */
program_kernels *cuda_kernels_of(cuda_context *c, const program *p, bool one_by_one);
/* They are on the card, and held. */
bool             cuda_finish_kernels(cuda_context *c, program_kernels *k, kernel_hold *h);
void             cuda_drop_kernels(cuda_context *c, program_kernels *k);
void             cuda_drop_announced(cuda_context *c, const program *p); /* NULL: of any program */

/* ---- tables of groups of maps (cuda_tables.c) ---- */
/* All of a program, one after another.  They are written once, before its first step: a kernel may
 * read them before its turn. */
typedef struct cuda_tables {
    uint64_t *there, *here; /* on the card, NULL where there are none; and on the host */
    size_t    bytes, used;
} cuda_tables;
bool  cuda_tables_open(cuda_context *c, const program_kernels *k, arena *a, cuda_tables *t);
void *cuda_tables_add(cuda_tables *t, const map_group *g, void *const *base); /* on the card */
bool  cuda_tables_write(cuda_context *c, const cuda_tables *t);
void  cuda_tables_close(cuda_context *c, cuda_tables *t);

/* ---- loops of recorded steps (cuda_loops.c): as the functions of `device` ---- */
bool cuda_records_loops(device_context *c);
bool cuda_loop_begins(device_context *c, const void *flag);
bool cuda_loop_ends(device_context *c, const void *flag, int64_t turns);
extern const char cuda_loop_kernel[];     /* its text */
bool cuda_in_loop(const cuda_context *c); /* is a loop being recorded? */
void cuda_leave_loops(cuda_context *c);   /* after an error inside of one */
void cuda_close_loops(cuda_context *c);

/* ---- kernels (cuda_modules.c) ---- */
/* Makes all kernels of the source ready on the context's card, and holds them; NULL: for ever. */
bool cuda_load_kernels(cuda_context *c, kernel_source *s, kernel_hold *h);
/* The same in two steps, between which they are compiled: NULL where the card has all of them. */
bool cuda_start_missing(cuda_context *c, kernel_source *s, kernel_job **job);
bool cuda_load_compiled(cuda_context *c, kernel_source *s, kernel_job *job, kernel_hold *h);
void cuda_let_kernels(cuda_context *c, kernel_hold *h); /* its program no longer runs them */
/* One of them, which has been loaded; NULL: it has not. */
CUfunction cuda_kernel(cuda_context *c, const char *name);
void       cuda_unload_kernels(cuda_device *d, cuda_card *card);

#endif

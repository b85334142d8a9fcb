/* Work on queues: done as soon as possible, or recorded to be done again. */
#ifndef HOST_WORK_H
#define HOST_WORK_H

#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>

#include "host_block.h"

enum { MOST_PARAMETERS = 256 };

struct CUfunc_st {
    struct CUfunc_st *next; /* of its module */
    char              name[200];
    host_kernel      *kernel;
    int               parameters;
    int               most_shared;
};

/* What another library does on a queue; `data` is a copy of what it gave. */
typedef void host_call(const void *data);
/* The same, which may have to wait for other processes: false as long as it does. */
typedef bool host_attempt(void *data);

typedef enum work_kind { WORK_LAUNCH, WORK_COPY, WORK_FILL, WORK_CALL, WORK_ATTEMPT, WORK_LOOP } work_kind;

/* Of a conditional node; its address is the node's handle. */
typedef struct condition {
    unsigned          value; /* first: kernels set it */
    unsigned          at_first;
    bool              is_assigned; /* when the graph is played */
    struct condition *next;        /* of the graph */
} condition;

typedef struct work {
    work_kind     kind;
    CUfunction    function;
    long long     blocks;
    int           threads, shared;
    void         *parameters[MOST_PARAMETERS]; /* of a kernel, or a call's data */
    host_call    *call;
    host_attempt *attempt;
    const char   *name; /* of the call */
    CUDA_MEMCPY2D copy; /* addresses of both sides in the fields of the host */
    unsigned char fill;
    bool          from_host;
    void         *kept_source; /* a copy of what is copied from the host */
    condition    *loop;        /* a body is done while it holds, */
    CUgraph       body;        /*   what was recorded; */
    struct work  *turn;        /*   or, in a graph that is played, what it made of that */
    struct work  *next;
} work;

enum { MOST_JOINED = 64 };
struct CUgraph_st {
    work    *first, **end;
    CUstream origin;
    condition *conditions;
    int      njoined; /* queues that wait for what is being recorded */
    CUstream joined[MOST_JOINED];
};

struct CUgraphExec_st {
    work      *first;
    condition *conditions;
};

struct CUevent_st {
    double  milliseconds; /* when it was recorded */
    CUgraph recording;    /* of the queue, then */
    CUstream stream;      /* that queue */
};

struct CUstream_st {
    CUgraph recording; /* NULL: work is done */
    work   *first, **end; /* what waits for another process, and all after it */
};

CUresult host_do(CUstream stream, const work *w);
/* Does what can be done; true: nothing is left. */
bool host_go_on(CUstream stream);
void host_forget(CUstream stream);

CUresult host_queue_attempt(CUstream stream, const char *name, host_attempt *attempt,
                            const void *data, size_t bytes);
/* Queues a call of another library; `name` says what it is. */
CUresult host_queue(CUstream stream, const char *name, host_call *call, const void *data,
                    size_t bytes);

#endif

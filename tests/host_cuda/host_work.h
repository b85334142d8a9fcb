/* Work on streams: done as soon as possible, or captured to be done again. */
#ifndef HOST_WORK_H
#define HOST_WORK_H

#include <cuda.h>
#include <stdatomic.h>
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

/* What another library does on a stream; `data` is a copy of what it gave. */
typedef void host_call(const void *data);
/* The same, which may have to wait for other processes: false as long as it does. */
typedef bool host_attempt(void *data);

typedef enum work_kind {
    WORK_LAUNCH,
    WORK_COPY,
    WORK_FILL,
    WORK_CALL,
    WORK_ATTEMPT,
    WORK_WAIT, /* for another stream */
    WORK_LOOP
} work_kind;

/* Of a conditional node; its address is the node's handle. */
typedef struct condition {
    unsigned          value; /* first: kernels set it */
    unsigned          at_first;
    bool              is_assigned; /* when the graph is replayed */
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
    CUstream      stream;      /* on which it was captured */
    CUstream      awaited;     /* WAIT: this stream, */
    long long     position;    /* until so much of its work is done */
    condition    *loop;        /* a body is done while it holds, */
    CUgraph       body;        /*   what was captured; */
    struct work  *repeated;    /*   or, in a graph that is replayed, what it made of that */
    struct work  *next;
} work;

enum { MOST_JOINED = 64 };
struct CUgraph_st {
    work      *first, **end;
    CUstream   origin;
    condition *conditions;
    int        njoined; /* streams that wait for what is being captured */
    CUstream   joined[MOST_JOINED];
};

struct CUgraphExec_st {
    work      *first;
    condition *conditions;
};

struct CUevent_st {
    double            milliseconds; /* when it was captured */
    CUgraph           capture;      /* of the stream, then */
    CUstream          stream;       /* that stream; NULL: none */
    _Atomic long long position;     /* in that stream, or in what was captured of it */
};

struct CUstream_st {
    CUgraph capture;      /* NULL: work is done */
    work   *first, **end; /* what is not done yet */
    bool    second;       /* it was made with a priority, as streams beside the first ones are */
    _Atomic long long queued, done; /* pieces of work so far */
    long long         captured;     /* the same, in the current capture */
    CUstream          next;         /* of all streams */
    bool              unused;
};

/* Which streams do their work only when somebody waits for it: see README.md. */
typedef enum lateness { LATE_NONE, LATE_FIRST, LATE_ALL } lateness;
lateness host_lateness(void);

CUresult host_do(CUstream stream, const work *w);
/* Does what can be done; true: nothing is left, or nothing up to a position. */
bool host_go_on(CUstream stream);
bool host_go_on_to(CUstream stream, long long position);
/* Work queued from now on waits for the event. */
CUresult host_wait(CUstream stream, CUevent event);
void     host_forget(CUstream stream);

/* Orders captured work as badly as streams and events allow (host_order.c).  NULL: some of it is not
 * waited for by the stream that began the capture. */
work **host_order(CUgraph graph, lateness how, size_t *n);

CUresult host_queue_attempt(CUstream stream, const char *name, host_attempt *attempt,
                            const void *data, size_t bytes);
/* Queues a call of another library; `name` says what it is. */
CUresult host_queue(CUstream stream, const char *name, host_call *call, const void *data,
                    size_t bytes);

#endif

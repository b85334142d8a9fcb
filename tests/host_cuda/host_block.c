/* One block of a kernel: threads that take turns.
 *
 * A thread of the GPU is a fiber, a stack of its own in one thread of the host.  It runs
 * until it ends or waits for others; most never wait, and all of those use one stack.
 * Threads begin in the order of their numbers in even blocks, from the last one in odd
 * blocks, so that a missing SYNC() shows.
 */
#include "host_block.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { STACK = 256 * 1024, MOST_THREADS = 1024, LANES = 32, SHARED_GUARD = 64, PLACES = 16 };

typedef enum status { READY, AT_SYNC, AT_PLACE, AT_WARP, ENDED } status;

typedef struct fiber {
    struct fiber *next; /* of those not in use */
    void         *at;   /* its stack pointer while it does not run */
    char         *stack;
} fiber;

typedef struct lane_state {
    status status;
    fiber *fiber;
    int    line, kind, half;
} lane_state;

typedef struct host_block {
    host_thread        now; /* the thread that runs */
    const char        *name;
    host_kernel       *kernel;
    void             **parameters;
    void              *scheduler; /* its stack pointer */
    fiber             *running, *unused;
    int                at_sync, ended;
    int                at_place[PLACES];
    int                at_warp[MOST_THREADS / LANES];
    lane_state         thread[MOST_THREADS];
    unsigned long long given[MOST_THREADS / LANES][2][LANES];
} host_block;

static _Thread_local host_block *block;

/* ---- stacks ---- */

/* Saves the registers that a function keeps, and the stack pointer to *from; takes up `to`. */
void host_switch(void **from, void *to);
#if defined(__aarch64__)
__asm__(".text\n.p2align 4\n.hidden host_switch\n.globl host_switch\n.type host_switch, %function\n"
        "host_switch:\n"
        "sub sp, sp, #160\n"
        "stp x19, x20, [sp, #0]\nstp x21, x22, [sp, #16]\nstp x23, x24, [sp, #32]\n"
        "stp x25, x26, [sp, #48]\nstp x27, x28, [sp, #64]\nstp x29, x30, [sp, #80]\n"
        "stp d8, d9, [sp, #96]\nstp d10, d11, [sp, #112]\nstp d12, d13, [sp, #128]\n"
        "stp d14, d15, [sp, #144]\n"
        "mov x2, sp\nstr x2, [x0]\nmov sp, x1\n"
        "ldp x19, x20, [sp, #0]\nldp x21, x22, [sp, #16]\nldp x23, x24, [sp, #32]\n"
        "ldp x25, x26, [sp, #48]\nldp x27, x28, [sp, #64]\nldp x29, x30, [sp, #80]\n"
        "ldp d8, d9, [sp, #96]\nldp d10, d11, [sp, #112]\nldp d12, d13, [sp, #128]\n"
        "ldp d14, d15, [sp, #144]\n"
        "add sp, sp, #160\nret\n");
static void *first_frame(char *end, void (*enter)(void))
{
    uint64_t *frame = (uint64_t *)(end - 160);
    memset(frame, 0, 160);
    frame[11] = (uint64_t)(uintptr_t)enter; /* x30 */
    return frame;
}
#elif defined(__x86_64__)
__asm__(".text\n.p2align 4\n.hidden host_switch\n.globl host_switch\n.type host_switch, @function\n"
        "host_switch:\n"
        "pushq %rbp\npushq %rbx\npushq %r12\npushq %r13\npushq %r14\npushq %r15\n"
        "movq %rsp, (%rdi)\nmovq %rsi, %rsp\n"
        "popq %r15\npopq %r14\npopq %r13\npopq %r12\npopq %rbx\npopq %rbp\nret\n");
static void *first_frame(char *end, void (*enter)(void))
{
    uint64_t *frame = (uint64_t *)(end - 80); /* after `ret`, 8 bytes beside a multiple of 16 */
    memset(frame, 0, 80);
    frame[6] = (uint64_t)(uintptr_t)enter;
    return frame;
}
#else
#error "host_switch is written for arm64 and x86-64"
#endif

static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static fiber          *pool;

static void stop(const char *why)
{
    fprintf(stderr, "kernel %s, block %lld, thread %d: %s\n", block->name, block->now.block,
            block->now.thread, why);
    abort();
}

static void fiber_body(void)
{
    for (;;) {
        block->kernel(block->parameters);
        lane_state *mine = &block->thread[block->now.thread];
        mine->status = ENDED;
        block->ended++;
        host_switch(&block->running->at, block->scheduler);
    }
}

static fiber *fiber_take(host_block *b)
{
    fiber *f = b->unused;
    if (f) {
        b->unused = f->next;
        return f;
    }
    pthread_mutex_lock(&pool_lock);
    if ((f = pool)) pool = f->next;
    pthread_mutex_unlock(&pool_lock);
    if (!f) {
        f = calloc(1, sizeof *f);
        f->stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (f->stack == MAP_FAILED) stop("no memory for its stack");
    }
    /* It may have run in another thread, whose `block` its frames still address. */
    f->at = first_frame(f->stack + STACK, fiber_body);
    return f;
}

static void fibers_return(host_block *b)
{
    pthread_mutex_lock(&pool_lock);
    while (b->unused) {
        fiber *f = b->unused;
        b->unused = f->next;
        f->next = pool;
        pool = f;
    }
    pthread_mutex_unlock(&pool_lock);
}

/* ---- waiting ---- */

static void wait_as(status s, int kind, int line)
{
    lane_state *mine = &block->thread[block->now.thread];
    mine->status = s;
    mine->kind = kind;
    mine->line = line;
    host_switch(&block->running->at, block->scheduler);
}

static void sync_block(int line)
{
    if (++block->at_sync < block->now.threads) {
        wait_as(AT_SYNC, 0, line);
        return;
    }
    block->at_sync = 0;
    for (int k = 0; k < block->now.threads; k++)
        if (block->thread[k].status == AT_SYNC) block->thread[k].status = READY;
}

static void meet(int place, int threads, int waits, int line)
{
    host_block *b = block;
    if (place < 1 || place >= PLACES || threads % LANES)
        stop("whole warps meet, at places from 1 to 15");
    if (++b->at_place[place] < threads) {
        if (waits) wait_as(AT_PLACE, place, line);
        return;
    }
    b->at_place[place] = 0;
    for (int k = 0; k < b->now.threads; k++)
        if (b->thread[k].status == AT_PLACE && b->thread[k].kind == place)
            b->thread[k].status = READY;
}

static const unsigned long long *sync_warp(unsigned long long mine, int kind, int line)
{
    host_block *b = block;
    int         t = b->now.thread, warp = t / LANES, first = warp * LANES;
    lane_state *me = &b->thread[t];
    if (b->now.threads % LANES) stop("warps work together in blocks of whole warps");
    unsigned long long *given = b->given[warp][me->half];
    given[t % LANES] = mine;
    me->half = !me->half;
    if (++b->at_warp[warp] < LANES) {
        wait_as(AT_WARP, kind, line);
        return given;
    }
    b->at_warp[warp] = 0;
    for (int k = first; k < first + LANES; k++) {
        if (k == t) continue;
        if (b->thread[k].kind != kind) stop("threads of a warp wait for different things");
        b->thread[k].status = READY;
    }
    return given;
}

static const host_thread *thread_now(void)
{
    return &block->now;
}

const host_calls host_block_calls = {thread_now, sync_block, meet, sync_warp, stop};

/* ---- turns ---- */

/* Runs thread t until it waits or ends. */
static void resume(host_block *b, int t)
{
    lane_state *l = &b->thread[t];
    if (!l->fiber) l->fiber = fiber_take(b);
    b->now.thread = t;
    b->running = l->fiber;
    host_switch(&b->scheduler, l->fiber->at);
    if (l->status == ENDED) {
        l->fiber->next = b->unused;
        b->unused = l->fiber;
        l->fiber = NULL;
    }
}

static void stop_deadlock(const host_block *b)
{
    static const char *const waits_in[] = {
        [AT_SYNC] = "SYNC()", [AT_PLACE] = "MEET()", [AT_WARP] = "a word of its warp"};
    for (int t = 0; t < b->now.threads; t++) {
        const lane_state *l = &b->thread[t];
        if (l->status == READY || l->status == ENDED) continue;
        fprintf(
            stderr,
            "kernel %s, block %lld: thread %d waits in %s (line %d of its text) for threads that "
            "never come: %d of %d have ended, %d wait in SYNC()\n",
            b->name, b->now.block, t, waits_in[l->status], l->line, b->ended, b->now.threads,
            b->at_sync);
        abort();
    }
}

static void run_block(host_block *b, long long which)
{
    int n = b->now.threads;
    b->now.block = which;
    b->ended = b->at_sync = 0;
    memset(b->at_warp, 0, sizeof b->at_warp);
    memset(b->at_place, 0, sizeof b->at_place);
    memset(b->thread, 0, sizeof *b->thread * (size_t)n);
    while (b->ended < n) {
        int ran = 0;
        for (int k = 0; k < n; k++) {
            int t = which % 2 ? n - 1 - k : k;
            if (b->thread[t].status != READY) continue;
            resume(b, t);
            ran++;
        }
        if (!ran) stop_deadlock(b);
    }
}

void host_launch(const char *name, host_kernel *kernel, long long blocks, int threads, int shared,
                 void **parameters)
{
    host_block *outer = block, *b = calloc(1, sizeof *b);
    b->name = name, b->kernel = kernel, b->parameters = parameters;
    b->now.threads = threads, b->now.blocks = blocks;
    b->now.shared = aligned_alloc(256, (size_t)(shared + SHARED_GUARD + 255) / 256 * 256);
    block = b;
    for (long long k = 0; k < blocks; k++) {
        memset(b->now.shared, 0xfb, (size_t)shared + SHARED_GUARD);
        run_block(b, k);
        for (int g = 0; g < SHARED_GUARD; g++)
            if ((unsigned char)b->now.shared[shared + g] != 0xfb)
                stop("something was written beyond the block's shared memory");
    }
    fibers_return(b);
    free(b->now.shared);
    free(b);
    block = outer;
}

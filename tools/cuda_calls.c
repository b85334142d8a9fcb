/* Seconds in each call of NVIDIA's libraries.
 *
 * It stands between a program and what the program finds with dlsym, and prints at the end:
 *
 *     cc -O2 -shared -fPIC -o /tmp/cuda_calls.so tools/cuda_calls.c -ldl
 *     LD_PRELOAD=/tmp/cuda_calls.so build/bench/mtf_gpt2 --work first --size 124M --device cuda
 *
 * Calls of several threads are added up.  `since` is when a function was called first and
 * when its last call returned, counted from the first call of all.  What a library calls by
 * itself is not seen.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CALLS(F)                                                                                   \
    F(cuInit) F(cuDevicePrimaryCtxRetain) F(cuDevicePrimaryCtxRelease_v2) F(cuMemGetInfo_v2)       \
    F(cuMemAlloc_v2) F(cuMemFree_v2) F(cuMemHostAlloc) F(cuMemFreeHost) F(cuMemcpyHtoDAsync_v2)    \
    F(cuMemcpyDtoHAsync_v2) F(cuMemcpyDtoDAsync_v2) F(cuMemsetD8Async) F(cuStreamCreate)           \
    F(cuStreamSynchronize) F(cuEventSynchronize) F(cuEventRecord) F(cuEventCreate)                 \
    F(cuModuleLoadData) F(cuModuleUnload) F(cuModuleGetFunction) F(cuFuncSetAttribute)             \
    F(cuLaunchKernel) F(cuStreamBeginCapture_v2) F(cuStreamEndCapture)                             \
    F(cuGraphInstantiateWithFlags) F(cuGraphLaunch) F(nvrtcVersion) F(nvrtcCreateProgram)          \
    F(nvrtcCompileProgram) F(nvrtcGetCUBIN) F(nvrtcDestroyProgram) F(cublasLtCreate)               \
    F(cublasLtMatmul) F(cublasLtMatmulAlgoGetHeuristic) F(cublasLtMatmulAlgoCheck)                 \
    F(cublasLtMatmulDescCreate) F(cublasLtMatrixLayoutCreate)

enum {
#define F(name) CALL_##name,
    CALLS(F)
#undef F
    NCALLS
};

typedef struct tally {
    const char *name;
    void       *real;
    long        calls;
    double      seconds, longest, first, last;
} tally;

static tally tallies[NCALLS] = {
#define F(function) {.name = #function},
    CALLS(F)
#undef F
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static double          start;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void count(int which, double begin, double end)
{
    tally *t = &tallies[which];
    pthread_mutex_lock(&lock);
    if (start == 0) start = begin;
    if (t->calls++ == 0) t->first = begin - start;
    t->last = end - start;
    t->seconds += end - begin;
    if (end - begin > t->longest) t->longest = end - begin;
    pthread_mutex_unlock(&lock);
}

/* All of these take pointers and whole numbers; those that take fewer leave the rest alone. */
#define PARAMETERS                                                                                 \
    long a, long b, long c, long d, long e, long f, long g, long h, long i, long j, long k,        \
        long l, long m, long n, long o, long p
#define ARGUMENTS a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p

#define F(name)                                                                                    \
    static long call_##name(PARAMETERS)                                                            \
    {                                                                                              \
        double begin = now();                                                                      \
        long   result = ((long (*)(PARAMETERS))tallies[CALL_##name].real)(ARGUMENTS);              \
        count(CALL_##name, begin, now());                                                          \
        return result;                                                                             \
    }
CALLS(F)
#undef F

static void *wrapper_of(int which)
{
    static void *const wrappers[NCALLS] = {
#define F(name) (void *)call_##name,
        CALLS(F)
#undef F
    };
    return wrappers[which];
}

/* Only the program's own table is changed, not what the libraries ask of each other. */
static int is_program(const void *caller)
{
    Dl_info asker;
    return dladdr(caller, &asker) && !strstr(asker.dli_fname, ".so");
}

void *dlsym(void *library, const char *name)
{
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"};
    static void *(*real)(void *library, const char *name);
    for (int k = 0; !real && k < 3; k++)
        real = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", versions[k]);
    void *found = real(library, name);
    for (int k = 0; found && k < NCALLS; k++) {
        if (strcmp(tallies[k].name, name) != 0 || !is_program(__builtin_return_address(0))) continue;
        tallies[k].real = found;
        return wrapper_of(k);
    }
    return found;
}

static int by_seconds(const void *x, const void *y)
{
    const tally *a = x, *b = y;
    return a->seconds < b->seconds ? 1 : a->seconds > b->seconds ? -1 : 0;
}

__attribute__((destructor)) static void report(void)
{
    tally sorted[NCALLS];
    memcpy(sorted, tallies, sizeof sorted);
    qsort(sorted, NCALLS, sizeof *sorted, by_seconds);
    fprintf(stderr, "%-32s %8s %10s %10s   since\n", "call", "calls", "seconds", "longest");
    for (int k = 0; k < NCALLS && sorted[k].calls; k++)
        fprintf(stderr, "%-32s %8ld %10.4f %10.4f   %.3f .. %.3f\n", sorted[k].name,
                sorted[k].calls, sorted[k].seconds, sorted[k].longest, sorted[k].first,
                sorted[k].last);
}

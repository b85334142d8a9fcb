/* What a test program is asked to do: on which device, how much.
 *
 * MTF_TEST_DEVICE=cuda lets tests of layers, optimizers, models and random programs run on GPUs, against
 * the same values.  Without a GPU, LD_LIBRARY_PATH names the emulated one (tests/host_cuda).
 * MTF_TEST=fast lets tests take a sample of what they try; tests/speeds says which ones, and why.
 * An argument such as 1/4 lets a program take every fourth of its tests, from the second on.
 */
#ifndef TESTS_ASKED_H
#define TESTS_ASKED_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* NULL: none, the program chooses. */
static inline const char *asked_device(void)
{
    const char *said = getenv("MTF_TEST_DEVICE");
    return said && *said ? said : NULL;
}

/* MTF_TEST_GPU=real: GPUs are this machine's own, and quick.  Otherwise they are emulated. */
static inline bool asked_real_gpu(void)
{
    const char *said = getenv("MTF_TEST_GPU");
    if (!said || !*said) return false;
    if (strcmp(said, "real") == 0) return true;
    fprintf(stderr, "MTF_TEST_GPU is \"%s\"; it must be real, or not set\n", said);
    exit(2);
}

/* Keeps the first GPU open until the program ends, where GPUs are asked for: a third of a second, which
 * each session would take anew.  Not before a fork: a child cannot use a GPU that its parent has opened. */
static inline void asked_hold_gpu(void)
{
    int   gpu, (*init)(unsigned), (*get)(int *, int), (*retain)(void **, int);
    void *driver = asked_device() ? dlopen("libcuda.so.1", RTLD_NOW) : NULL, *context;
    if (!driver) return; /* opening a session will say so */
    *(void **)&init = dlsym(driver, "cuInit");
    *(void **)&get = dlsym(driver, "cuDeviceGet");
    *(void **)&retain = dlsym(driver, "cuDevicePrimaryCtxRetain");
    if (init && get && retain && !init(0) && !get(&gpu, 0)) retain(&context, gpu);
}

/* Much where all is asked for, as by hand and in `make test-all`, less in `make test`. */
static inline int asked_much(int all, int fast)
{
    const char *said = getenv("MTF_TEST");
    if (!said || !*said || strcmp(said, "all") == 0) return all;
    if (strcmp(said, "fast") == 0) return fast;
    fprintf(stderr, "MTF_TEST is \"%s\"; it must be fast or all\n", said);
    exit(2);
}

typedef struct share {
    int number, of;
} share;

/* Is the text a share?  Otherwise the share is the whole. */
static inline bool share_read(const char *text, share *s)
{
    char end;
    bool read = text && sscanf(text, "%d/%d%c", &s->number, &s->of, &end) == 2 && s->of > 0 &&
                s->number >= 0 && s->number < s->of;
    if (!read) *s = (share){0, 1};
    return read;
}

static inline bool share_has(share s, int index)
{
    return index % s.of == s.number;
}

/* Does test k take variant i of n?  All of them; in `make test`, and on GPUs, where each takes longer, one, and the
 * next test another one. */
static inline bool asked_takes(int k, int i, int n)
{
    return (!asked_device() && asked_much(1, 0)) || k % n == i;
}

#endif

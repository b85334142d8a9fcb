/* Programs of the tests on an emulated GPU, or on this machine's own. */
#ifndef TESTS_RUN_EMULATED_GPU_H
#define TESTS_RUN_EMULATED_GPU_H

#include "asked.h"

/* Of unistd.h, which has names that programs here use for other things. */
extern int execv(const char *path, char *const argv[]);

/* The emulated GPU's libraries must be in the loader's path when a program starts: it starts again. */
static inline void insist_on_emulated_gpu(char **argv)
{
    const char *path = getenv("LD_LIBRARY_PATH");
    if (path && strstr(path, HOST_CUDA_FOLDER)) return;
    setenv("LD_LIBRARY_PATH", HOST_CUDA_FOLDER, 1);
    setenv("MTF_CACHE_DIR", HOST_CUDA_FOLDER "/cache", 1);
    execv("/proc/self/exe", argv);
    perror(argv[0]);
    exit(1);
}

/* The same, unless MTF_TEST_GPU=real asks for the machine's own GPU. */
static inline void use_emulated_gpu(char **argv)
{
    if (!asked_real_gpu()) insist_on_emulated_gpu(argv);
}

/* Without starting again: a library that is loaded is found by its name from then on. */
static inline void load_emulated(const char *library)
{
    char path[1000];
    snprintf(path, sizeof path, HOST_CUDA_FOLDER "/%s", library);
    if (dlopen(path, RTLD_NOW | RTLD_LOCAL)) return;
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
}

static inline void load_emulated_gpu(void)
{
    if (asked_real_gpu()) return;
    load_emulated("libcuda.so.1");
    load_emulated("libnvrtc.so.13");
    load_emulated("libcublasLt.so.13");
}

#endif

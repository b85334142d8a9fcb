/* Programs of the tests on an emulated card, or on this machine's own. */
#ifndef TESTS_RUN_EMULATED_CARD_H
#define TESTS_RUN_EMULATED_CARD_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of unistd.h, which has names that programs here use for other things. */
extern int execv(const char *path, char *const argv[]);

/* The emulated card's libraries must be in the loader's path when a program starts: it starts again,
 * unless MTF_TEST_CARD=real asks for the machine's own card. */
static inline void use_emulated_card(char **argv)
{
    const char *path = getenv("LD_LIBRARY_PATH"), *card = getenv("MTF_TEST_CARD");
    if (card && strcmp(card, "real") == 0) return;
    if (path && strstr(path, HOST_CUDA_FOLDER)) return;
    setenv("LD_LIBRARY_PATH", HOST_CUDA_FOLDER, 1);
    setenv("MTF_CACHE_DIR", HOST_CUDA_FOLDER "/cache", 1);
    execv("/proc/self/exe", argv);
    perror(argv[0]);
    exit(1);
}

#endif

/* How long the threads of OpenMP spin before they sleep. */
#include "cli/waiting.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

/* Settings of GNU's runtime, in turns of its loop (20 to 200 us), and of LLVM's, in milliseconds. */
static const char *const short_waits[][2] = {{"GOMP_SPINCOUNT", "2000"}, {"KMP_BLOCKTIME", "0"}};
enum { SHORT_WAITS = sizeof short_waits / sizeof *short_waits };

void waiting_shorten(char **argv)
{
    char    path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length <= 0 || getenv("OMP_WAIT_POLICY")) return;
    for (int k = 0; k < SHORT_WAITS; k++)
        if (getenv(short_waits[k][0])) return;
    for (int k = 0; k < SHORT_WAITS; k++)
        if (setenv(short_waits[k][0], short_waits[k][1], 1) != 0) return;
    path[length] = 0;
    execv(path, argv); /* where that fails, it goes on as it is */
}

/* Finds what was installed with mtf: configurations, descriptions of machines, data. */
#include "base/installed.h"

#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "mtf_build.h"

bool installed_each(const char *kind, bool (*visit)(void *context, const char *folder),
                    void       *context)
{
    /* All but the first are of a source tree, whose data are in its root. */
    static const char *const beside[] = {"/../share/mtf", "/../share", "/../../share", "/.."};
    char                     program[PATH_MAX], folder[PATH_MAX + 40];
    ssize_t                  length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length > 0 ? length : 0] = 0;
    const char *home = dirname(program);
    snprintf(folder, sizeof folder, "%s/%s", MTF_BUILD_SHARE, kind);
    if (visit(context, folder)) return true;
    for (size_t k = 0; k < sizeof beside / sizeof *beside; k++) {
        snprintf(folder, sizeof folder, "%s%s/%s", home, beside[k], kind);
        char *whole = realpath(folder, NULL);
        bool  ok = whole && visit(context, whole);
        free(whole);
        if (ok) return true;
    }
    return false;
}

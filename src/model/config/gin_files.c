/* Where gin files are looked for. */
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/config/gin.h"
#include "mtf_build.h"

/* Kinds of files that came with mtf, each in a folder of its own; a name may leave it out. */
static const char *const inside[] = {"",          "models/", "layouts/", "learning_rates/",
                                     "decoding/", "recipes/"};

static bool is_file(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && S_ISREG(s.st_mode);
}

/* FOLDER/PATH, or with ".gin" after it. */
static bool try_in(const char *folder, const char *path, char *found, size_t room)
{
    static const char *const endings[] = {"", ".gin"};
    for (int k = 0; k < 2; k++) {
        int n = snprintf(found, room, "%s%s%s%s", folder, *folder ? "/" : "", path, endings[k]);
        if (n > 0 && (size_t)n < room && is_file(found)) return true;
    }
    return false;
}

/* The file as it came with mtf, by its whole path or by its name alone. */
static bool try_shared(const char *folder, const char *path, char *found, size_t room)
{
    const char *last = strrchr(path, '/');
    char        inner[PATH_MAX];
    if (try_in(folder, path, found, room)) return true;
    for (size_t k = 0; k < sizeof inside / sizeof *inside; k++) {
        int n = snprintf(inner, sizeof inner, "%s%s", inside[k], last ? last + 1 : path);
        if (n < (int)sizeof inner && try_in(folder, inner, found, room)) return true;
    }
    return false;
}

/* Where mtf was installed, then beside the running program, in case the installation was moved or
 * the program, or a test, runs from its build folder. */
static bool try_installed(const char *path, char *found, size_t room)
{
    static const char *const beside[] = {"/../share/mtf/gin", "/../share/gin", "/../../share/gin"};
    char                     program[PATH_MAX], folder[PATH_MAX + 40];
    ssize_t                  length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length > 0 ? length : 0] = 0;
    const char *home = dirname(program);
    if (try_shared(MTF_BUILD_GIN, path, found, room)) return true;
    for (size_t k = 0; k < sizeof beside / sizeof *beside; k++) {
        snprintf(folder, sizeof folder, "%s%s", home, beside[k]);
        char *whole = realpath(folder, NULL);
        bool  ok = whole && try_shared(whole, path, found, room);
        free(whole);
        if (ok) return true;
    }
    return false;
}

const char *gin_find(gin_file *g, const char *path, const char *from)
{
    enum { ROOM = 2 * PATH_MAX };
    char found[ROOM], folder[PATH_MAX];
    bool ok = try_in("", path, found, ROOM);
    if (!ok && from && *path != '/' && strlen(from) < sizeof folder) {
        strcpy(folder, from);
        ok = try_in(dirname(folder), path, found, ROOM);
    }
    for (int k = 0; !ok && g->folders && g->folders[k]; k++)
        ok = try_in(g->folders[k], path, found, ROOM);
    if (!ok && *path) ok = try_installed(path, found, ROOM);
    return ok ? arena_text(&g->session->arena, found) : NULL;
}

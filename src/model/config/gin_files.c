/* The folders in which gin files are searched. */
#include <dirent.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/installed.h"
#include "model/config/gin.h"

/* The subfolders of files installed with mtf; a name may omit them. */
static const char *const inside[] = {"",          "models/", "layouts/", "learning_rates/",
                                     "decoding/", "recipes/"};

static bool is_file(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && S_ISREG(s.st_mode);
}

/* FOLDER/PATH or FOLDER/PATH.gin. */
static bool try_in(const char *folder, const char *path, char *found, size_t room)
{
    static const char *const endings[] = {"", ".gin"};
    for (int k = 0; k < 2; k++) {
        int n = snprintf(found, room, "%s%s%s%s", folder, *folder ? "/" : "", path, endings[k]);
        if (n > 0 && (size_t)n < room && is_file(found)) return true;
    }
    return false;
}

/* A file installed with mtf, by its path or by its name alone. */
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

typedef struct wanted {
    const char *path;
    char       *found;
    size_t      room;
} wanted;

static bool try_installed(void *context, const char *folder)
{
    wanted *w = context;
    return try_shared(folder, w->path, w->found, w->room);
}

const char *gin_find(gin_file *g, const char *path, const char *from)
{
    enum { ROOM = 2 * PATH_MAX };
    char found[ROOM], folder[PATH_MAX];
    bool ok = try_in("", path, found, ROOM);
    if (!ok && from && *path != '/' && strlen(from) < sizeof folder) {
        memcpy(folder, from, strlen(from) + 1);
        ok = try_in(dirname(folder), path, found, ROOM);
    }
    for (int k = 0; !ok && g->folders && g->folders[k]; k++)
        ok = try_in(g->folders[k], path, found, ROOM);
    if (!ok && *path) ok = installed_each("gin", try_installed, &(wanted){path, found, ROOM});
    return ok ? arena_text(&g->session->arena, found) : NULL;
}

static bool holds(void *context, const char *folder)
{
    const char *path = context;
    size_t      n = strlen(folder);
    return strncmp(path, folder, n) == 0 && path[n] == '/';
}

bool gin_is_own(const char *found)
{
    return installed_each("gin", holds, (void *)found);
}

/* ---- names that there are ---- */

typedef struct offering {
    gin_file *gin;
    nearest  *near;
} offering;

static void offer_folder(const offering *o, const char *folder, const char *inner)
{
    char path[2 * PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", folder, inner);
    DIR           *all = opendir(path);
    struct dirent *entry;
    while (all && (entry = readdir(all)) != NULL) {
        char *name = arena_text(&o->gin->session->arena, entry->d_name);
        char *ending = name ? strstr(name, ".gin") : NULL;
        if (!ending || ending[4]) continue;
        *ending = 0;
        nearest_offer(o->near, name);
    }
    if (all) closedir(all);
}

static bool offer_installed(void *context, const char *folder)
{
    for (size_t k = 0; k < sizeof inside / sizeof *inside; k++)
        offer_folder(context, folder, inside[k]);
    return false;
}

void gin_offer_names(gin_file *g, nearest *near)
{
    installed_each("gin", offer_installed, &(offering){g, near});
}

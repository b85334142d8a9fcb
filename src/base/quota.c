/* Quotas: what time and memory the system grants a group of processes. */
#include "base/quota.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/numbers.h"

enum { MOST_PATH = 4096 };

/* Reads a file's first line; false: there is none. */
static bool read_line(const char *folder, const char *name, char *line, int room)
{
    char path[MOST_PATH];
    int  length = snprintf(path, sizeof path, "%s/%s", folder, name);
    if (length < 0 || length >= MOST_PATH) return false;
    FILE *f = fopen(path, "r");
    bool  ok = f && fgets(line, room, f);
    if (f) fclose(f);
    return ok;
}

/* Cores of one group: "QUOTA PERIOD" in one file, or each in a file of its own; without a quota
 * the text is "max", which parses as 0, or a negative number. */
static double cores_of(const char *folder)
{
    char   line[80];
    double quota = 0, period = 0;
    if (read_line(folder, "cpu.max", line, sizeof line)) {
        char *rest;
        quota = number_read(line, &rest);
        period = number_read(rest, NULL);
    } else {
        if (!read_line(folder, "cpu.cfs_quota_us", line, sizeof line)) return INFINITY;
        quota = number_read(line, NULL);
        if (!read_line(folder, "cpu.cfs_period_us", line, sizeof line)) return INFINITY;
        period = number_read(line, NULL);
    }
    return quota > 0 && period > 0 ? quota / period : INFINITY;
}

/* Bytes of one group, likewise. */
static double memory_of(const char *folder)
{
    char line[80];
    if (!read_line(folder, "memory.max", line, sizeof line) &&
        !read_line(folder, "memory.limit_in_bytes", line, sizeof line))
        return INFINITY;
    double bytes = number_read(line, NULL);
    return bytes > 0 ? bytes : INFINITY;
}

/* A limited resource: its controller in cgroup version 1, and how much one group may use. */
typedef struct limit {
    const char *controller;
    double (*of)(const char *folder);
} limit;

/* The least limit along the path from a group up to the root.  Parts of it that a container cannot
 * see have no files. */
static double limit_along(const limit *l, const char *root, const char *path)
{
    char   folder[MOST_PATH];
    int    length = snprintf(folder, sizeof folder, "%s%s", root, path);
    double least = INFINITY;
    if (length < 0 || length >= MOST_PATH) return least;
    for (size_t top = strlen(root); strlen(folder) >= top;) {
        least = fmin(least, l->of(folder));
        char *slash = strrchr(folder, '/');
        if (!slash) break;
        *slash = 0;
    }
    return least;
}

static bool has_word(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = list; at; at = strchr(at, ',')) {
        if (*at == ',') at++;
        if (strncmp(at, word, length) == 0 && (at[length] == ',' || at[length] == 0)) return true;
    }
    return false;
}

/* "ID:CONTROLLERS:PATH": a line of cgroup version 2 has no controllers. */
static double limit_of_line(const limit *l, char *line, const char *root)
{
    char  older[MOST_PATH];
    char *controllers = strchr(line, ':'),
         *path = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!path) return INFINITY;
    *controllers++ = 0, *path++ = 0;
    path[strcspn(path, "\n")] = 0;
    if (!*controllers) return limit_along(l, root, path);
    int length = snprintf(older, sizeof older, "%s/%s", root, l->controller);
    if (length < 0 || length >= MOST_PATH || !has_word(controllers, l->controller)) return INFINITY;
    return limit_along(l, older, path);
}

static double least_of_all(const limit *l, const char *membership, const char *root)
{
    char   line[MOST_PATH];
    double least = INFINITY;
    FILE  *f = fopen(membership, "r");
    while (f && fgets(line, sizeof line, f)) least = fmin(least, limit_of_line(l, line, root));
    if (f) fclose(f);
    return least;
}

int quota_cores(const char *membership, const char *root)
{
    double least = least_of_all(&(limit){"cpu", cores_of}, membership, root);
    return least < 1e6 ? (int)ceil(least) : 0;
}

int64_t quota_memory(const char *membership, const char *root)
{
    double least = least_of_all(&(limit){"memory", memory_of}, membership, root);
    return least < 0x1p60 ? (int64_t)least : 0;
}

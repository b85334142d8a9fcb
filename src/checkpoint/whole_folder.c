/* A folder that is published complete or not at all. */
#include "checkpoint/whole_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/textbuf.h"
#include "checkpoint/folder.h"
#include "checkpoint/manifest.h"

const char *draft_name(arena *a, const char *path, bool with_folder)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    textbuf     t = {.arena = a};
    text_add(&t, "%.*s.%s.%ld.part", with_folder ? (int)(name - path) : 0, path, name,
             (long)getpid());
    return text_done(&t);
}

bool whole_may_replace(arena *a, const char *path, const char *sign, bool force, fault *f)
{
    struct stat about;
    textbuf     inside = {.arena = a};
    if (stat(path, &about) != 0) return true;
    text_add(&inside, "%s/%s", path, sign);
    TRY(text_done(&inside) != NULL);
    if (access(inside.text, F_OK) != 0)
        return fail(f, ERR_FILE, "\"%s\" already exists and is not a %s; give a new name", path,
                    strcmp(sign, "config.json") == 0 ? "published model" : "checkpoint");
    return force || fail(f, ERR_FILE, "\"%s\" already exists; give a new name, or --force", path);
}

bool whole_begin(whole_folder *w, arena *a, const char *path)
{
    char *name = arena_text(a, path);
    TRY(name != NULL);
    for (size_t n = strlen(name); n > 1 && name[n - 1] == '/'; n--) name[n - 1] = 0;
    *w = (whole_folder){name, draft_name(a, name, true)};
    return w->draft != NULL;
}

bool whole_end(const whole_folder *w, bool ok, fault *f)
{
    fault unsaid = {0};
    /* The old folder stays until the new one is complete. */
    bool there = ok && access(w->path, F_OK) == 0;
    bool swapped = there && renameat2(AT_FDCWD, w->draft, AT_FDCWD, w->path, RENAME_EXCHANGE) == 0;
    if (there && !swapped) ok = folder_remove(w->path, f);
    if (ok && !swapped && rename(w->draft, w->path) != 0)
        ok = fail(f, ERR_FILE, "\"%s\" cannot be written: %s", w->path, strerror(errno));
    if (!ok || swapped) folder_remove(w->draft, &unsaid);
    return ok;
}

/* A lock that admits one writing process to a folder. */
#include "checkpoint/lock.h"

#include "base/process_start.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

static const char lock_name[] = "/.lock";

/* ---- the owner ---- */

typedef struct owner {
    long long process;
    long long began; /* ticks since the host started, because process ids are reused; 0: unknown */
    char      host[HOST_NAME_MAX + 1];
} owner;

static owner myself(void)
{
    owner o = {.process = getpid(), .began = process_start(getpid())};
    if (gethostname(o.host, sizeof o.host) != 0) snprintf(o.host, sizeof o.host, "unknown");
    o.host[sizeof o.host - 1] = 0;
    return o;
}

static bool lives(const owner *o)
{
    if (kill((pid_t)o->process, 0) != 0 && errno == ESRCH) return false;
    long long now = process_start(o->process);
    return !now || !o->began || now == o->began;
}

/* Reads the owner; false where the file is empty, because its process was killed before writing. */
static bool read_owner(int file, owner *o)
{
    char    text[sizeof o->host + 100];
    ssize_t n = pread(file, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = 0;
    *o = (owner){0};
    n = sscanf(text, "process %lld\nhost %64s\nbegan %lld\n", &o->process, o->host, &o->began);
    for (char *p = o->host; *p; p++)
        if (*p <= ' ' || *p > '~') *p = '?'; /* it will be printed */
    if (n == 3 && o->process > 0 && o->process <= INT_MAX) return true;
    *o = (owner){0};
    return false;
}

static bool write_owner(int file, const owner *o)
{
    char text[sizeof o->host + 100];
    int  n = snprintf(text, sizeof text, "process %lld\nhost %s\nbegan %lld\n", o->process, o->host,
                      o->began);
    return ftruncate(file, 0) == 0 && pwrite(file, text, (size_t)n, 0) == n;
}

/* ---- the lock ---- */

/* File systems on which another host's flock may not be seen: SMB, SMB2, 9P, FUSE. */
static bool keeps_locks_to_itself(int file)
{
    static const unsigned long kinds[] = {0xff534d42, 0xfe534d42, 0x01021997, 0x65735546};
    struct statfs              about;
    if (fstatfs(file, &about) != 0) return true;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (((unsigned long)about.f_type & 0xffffffff) == kinds[i]) return true;
    return false;
}

static bool refuse(const folder_lock *l, const owner *o, fault *f)
{
    owner  me = myself();
    size_t folder = strlen(l->path) - strlen(lock_name);
    if (!o->process)
        return fail(f, ERR_FILE, "\"%.*s\" is in use by another training", (int)folder, l->path);
    if (o->process == me.process && o->began == me.began && strcmp(o->host, me.host) == 0)
        return fail(f, ERR_FILE, "\"%.*s\" is in use by another training of this process",
                    (int)folder, l->path);
    return fail(f, ERR_FILE,
                "\"%.*s\" is in use by another training, process %lld on host %s; wait for its end "
                "or name another folder (if that process is gone, delete \"%s\")",
                (int)folder, l->path, o->process, o->host, l->path);
}

/* Whether the open file may be taken over from the owner that it names. */
static bool is_free(folder_lock *l, fault *f)
{
    owner before, me = myself();
    bool  known = read_owner(l->descriptor, &before);
    bool  here = known && strcmp(before.host, me.host) == 0;
    do l->locked = flock(l->descriptor, LOCK_EX | LOCK_NB) == 0;
    while (!l->locked && errno == EINTR);
    if (!l->locked && errno == EWOULDBLOCK) return refuse(l, &before, f);
    if (known && !l->locked && (!here || lives(&before))) return refuse(l, &before, f);
    if (known && l->locked && !here && keeps_locks_to_itself(l->descriptor))
        return refuse(l, &before, f);
    if (known)
        snprintf(l->before, sizeof l->before, "process %lld on host %s", before.process,
                 before.host);
    return true;
}

/* Another file may have been created under the name since this one was opened. */
static bool is_still_there(const folder_lock *l)
{
    struct stat opened, named;
    return fstat(l->descriptor, &opened) == 0 && stat(l->path, &named) == 0 &&
           opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

static bool failed(folder_lock *l, fault *f)
{
    fail(f, ERR_FILE, "\"%s\" cannot be written: %s", l->path, strerror(errno));
    lock_release(l);
    return false;
}

bool lock_is_of(const folder_lock *l, const char *folder)
{
    size_t n = strlen(folder);
    return l && l->descriptor >= 0 && strncmp(l->path, folder, n) == 0 &&
           strcmp(l->path + n, lock_name) == 0;
}

bool lock_take(folder_lock *l, const char *folder, fault *f)
{
    enum { ATTEMPTS = 100 };
    owner me = myself();
    *l = (folder_lock){.descriptor = -1};
    if (snprintf(l->path, sizeof l->path, "%s%s", folder, lock_name) >= (int)sizeof l->path)
        return fail(f, ERR_FILE, "the path of \"%s\" is too long", folder);
    for (int i = 0; i < ATTEMPTS; i++) {
        l->before[0] = 0;
        l->descriptor = open(l->path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (l->descriptor < 0) return failed(l, f);
        bool is_ours = is_free(l, f);
        /* On a full disk the owner cannot be written; flock alone then excludes others. */
        if (is_ours && is_still_there(l))
            return write_owner(l->descriptor, &me) || l->locked || failed(l, f);
        close(l->descriptor);
        l->descriptor = -1; /* so that lock_release does not delete another's file */
        if (!is_ours) break;
    }
    if (!f->kind) refuse(l, &(owner){0}, f);
    return false;
}

void lock_release(folder_lock *l)
{
    if (l->descriptor < 0) return;
    unlink(l->path);
    close(l->descriptor);
    *l = (folder_lock){.descriptor = -1};
}

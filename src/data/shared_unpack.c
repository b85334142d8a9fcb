/* Unpacked gzip files that the processes of a machine share. */
#include "data/shared_unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "data/gzip_over.h"

/* A complete file ends with these bytes: a process that was killed leaves one without. */
static const char complete[] = "mtf: unpacked\n";
enum { TAIL = sizeof complete, TRIES = 8, PATH = 400 };

/* ---- the file of that name ---- */

static bool name_of(int file, char path[PATH])
{
    struct stat about;
    const char *folder = getenv("TMPDIR");
    if (fstat(file, &about) != 0) return false;
    int n =
        snprintf(path, PATH, "%s/mtf-unpacked-%u-%llx-%llx-%llx-%llx-%lx", folder ? folder : "/tmp",
                 (unsigned)geteuid(), (unsigned long long)about.st_dev,
                 (unsigned long long)about.st_ino, (unsigned long long)about.st_size,
                 (unsigned long long)about.st_mtim.tv_sec, (unsigned long)about.st_mtim.tv_nsec);
    return n > 0 && n < PATH;
}

/* Is the open file, of our own, still the one of that name? */
static bool still_there(int file, const char *path)
{
    struct stat here, there;
    return fstat(file, &here) == 0 && lstat(path, &there) == 0 && S_ISREG(there.st_mode) &&
           here.st_uid == geteuid() && here.st_ino == there.st_ino && here.st_dev == there.st_dev;
}

static bool lock(int file, int how)
{
    while (flock(file, how) != 0)
        if (errno != EINTR) return false;
    return true;
}

/* Opened and locked with those that read it: waits for a process that unpacks.  -1: it cannot be. */
static int open_locked(const char *path)
{
    for (int i = 0; i < TRIES; i++) {
        int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (file < 0) return -1;
        bool locked = lock(file, LOCK_SH);
        if (locked && still_there(file, path)) return file;
        close(file); /* another process has just removed it */
        if (!locked) return -1;
    }
    return -1;
}

static bool is_complete(int file, size_t *size)
{
    struct stat about;
    char        tail[TAIL];
    if (fstat(file, &about) != 0 || about.st_size < TAIL) return false;
    *size = (size_t)about.st_size - TAIL;
    return pread(file, tail, TAIL, about.st_size - TAIL) == TAIL &&
           memcmp(tail, complete, TAIL) == 0;
}

/* ---- unpacking ---- */

static bool write_all(int file, const char *bytes, size_t n)
{
    while (n) {
        ssize_t put = write(file, bytes, n);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) return false;
        bytes += put;
        n -= (size_t)put;
    }
    return true;
}

/* *written: all of it; else the folder has no room. */
static bool unpack_to(gzFile gz, const char *path, int to, bool *written, fault *why)
{
    char    some[1 << 16];
    int64_t done = 0;
    *written = ftruncate(to, 0) == 0;
    while (*written) {
        errno = 0;
        int got = gzread(gz, some, sizeof some);
        if (got <= 0) break;
        *written = write_all(to, some, (size_t)got);
        done += got;
    }
    if (!*written) return true;
    TRY(gzip_over(why, gz, path, done));
    *written = write_all(to, complete, TAIL);
    return true;
}

static bool unpack(int from, const char *path, int to, bool *written, fault *why)
{
    int    copy = dup(from);
    gzFile gz = copy < 0 ? NULL : gzdopen(copy, "rb");
    *written = false;
    if (!gz && copy >= 0) close(copy);
    if (!gz) return true;
    bool ok = lseek(copy, 0, SEEK_SET) == 0 ? unpack_to(gz, path, to, written, why) : true;
    gzclose_r(gz);
    return ok;
}

/* ---- sharing ---- */

static void leave(int file, const char *path)
{
    if (flock(file, LOCK_EX | LOCK_NB) == 0 && still_there(file, path)) unlink(path);
    close(file);
}

/* With nothing locked, and each process as long as no other, so that of two that both want to write one
 * will find the file free. */
static void step_aside(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 100000L * (1 + getpid() % 32)}, NULL);
}

static bool write_locked(int file, const char *path, shared_unpacked *u, bool *filled, fault *why)
{
    TRY(unpack(file, path, u->file, filled, why));
    *filled = *filled && still_there(u->file, u->path) && is_complete(u->file, &u->size) &&
              lock(u->file, LOCK_SH);
    return true;
}

/* Of the processes that find the file incomplete one unpacks, while the others wait.  They wait for its
 * lock to be shared, never to be their own: those that read keep theirs as long as they live. */
static bool fill(int file, const char *path, shared_unpacked *u, bool *filled, fault *why)
{
    while (!(*filled = is_complete(u->file, &u->size))) {
        if (flock(u->file, LOCK_EX | LOCK_NB) == 0) return write_locked(file, path, u, filled, why);
        if (errno != EWOULDBLOCK && errno != EINTR) return true;
        step_aside(); /* the shared lock is lost by now */
        if (!lock(u->file, LOCK_SH)) return true;
    }
    return true;
}

static bool share(int file, const char *path, shared_unpacked *u, bool *shared, fault *why)
{
    TRY(fill(file, path, u, shared, why));
    *shared = *shared && u->size > 0;
    void *bytes = *shared ? mmap(NULL, u->size, PROT_READ, MAP_SHARED, u->file, 0) : MAP_FAILED;
    *shared = bytes != MAP_FAILED;
    u->bytes = *shared ? bytes : NULL;
    return true;
}

bool shared_unpack(arena *a, int file, const char *path, shared_unpacked **to, fault *why)
{
    char name[PATH];
    bool shared = false;
    *to = NULL;
    if (!name_of(file, name)) return true;
    shared_unpacked *u = arena_new(a, shared_unpacked);
    TRY(u && (u->path = arena_text(a, name)));
    if ((u->file = open_locked(name)) < 0) return true;
    bool ok = share(file, path, u, &shared, why);
    if (shared)
        *to = u;
    else
        leave(u->file, u->path);
    return ok;
}

void shared_close(shared_unpacked *u)
{
    munmap((void *)u->bytes, u->size);
    leave(u->file, u->path);
}

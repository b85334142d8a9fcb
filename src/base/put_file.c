/* Writes files atomically: under another name first, then renamed. */
#include "base/put_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool write_all(int file, const void *bytes, size_t n)
{
    for (size_t done = 0; done < n;) {
        ssize_t put = write(file, (const char *)bytes + done, n - done);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return false;
        done += (size_t)put;
    }
    return true;
}

/* Creates a file in the folder of `target`; its descriptor, or -1 with errno. */
static int open_beside(const char *target, char temporary[PATH_MAX])
{
    for (int attempt = 0; attempt < 100; attempt++) {
        int length =
            snprintf(temporary, PATH_MAX, "%s.%ld.%d.part", target, (long)getpid(), attempt);
        if (length >= PATH_MAX) {
            errno = ENAMETOOLONG;
            return -1;
        }
        int file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file >= 0 || errno != EEXIST) return file;
    }
    return -1;
}

/* Where the file will be: a link stays a link.  `replace`: by renaming.  0, or an errno. */
static int find_place(const char *path, char target[PATH_MAX], bool *replace)
{
    struct stat about;
    bool        there = stat(path, &about) == 0;
    *replace = !there || S_ISREG(about.st_mode);
    if (there && S_ISDIR(about.st_mode)) return EISDIR;
    if (there && access(path, W_OK) != 0) return errno; /* renaming would not check that */
    if (there && *replace) return realpath(path, target) ? 0 : errno;
    return snprintf(target, PATH_MAX, "%s", path) < PATH_MAX ? 0 : ENAMETOOLONG;
}

static int try_place(const char *path)
{
    char target[PATH_MAX], temporary[PATH_MAX];
    bool replace;
    int  wrong = find_place(path, target, &replace);
    if (wrong || !replace) return wrong;
    int file = open_beside(target, temporary);
    if (file < 0) return errno;
    close(file);
    unlink(temporary);
    return 0;
}

/* ---- public ---- */

static bool judge(fault *f, const char *path, int wrong)
{
    return !wrong || fail(f, ERR_FILE, "\"%s\" cannot be written: %s", path, strerror(wrong));
}

bool put_file_check(fault *f, const char *path)
{
    return judge(f, path, try_place(path));
}

bool put_open(put_stream *to, fault *f, const char *path)
{
    *to = (put_stream){.path = path, .file = -1};
    to->wrong = find_place(path, to->target, &to->replace);
    if (!to->wrong)
        to->file =
            to->replace ? open_beside(to->target, to->temporary) : open(path, O_WRONLY | O_CLOEXEC);
    if (!to->wrong && to->file < 0) to->wrong = errno;
    return judge(f, path, to->wrong);
}

bool put_piece(put_stream *to, fault *f, const void *bytes, size_t n)
{
    if (!to->wrong && !write_all(to->file, bytes, n)) to->wrong = errno;
    return judge(f, to->path, to->wrong);
}

/* A file that will be renamed is flushed first: otherwise the new name could reach the disk before the
 * bytes, and a crash lose it. */
bool put_close(put_stream *to, fault *f, bool keep)
{
    if (to->file < 0) return judge(f, to->path, to->wrong);
    if (to->replace && keep && !to->wrong && fsync(to->file) != 0 && errno != EINVAL)
        to->wrong = errno;
    if (close(to->file) != 0 && !to->wrong) to->wrong = errno;
    to->file = -1;
    if (to->replace && keep && !to->wrong && rename(to->temporary, to->target) != 0)
        to->wrong = errno;
    if (to->replace && (!keep || to->wrong)) unlink(to->temporary);
    return judge(f, to->path, to->wrong);
}

bool put_file(fault *f, const char *path, int n, const piece *pieces)
{
    put_stream to;
    bool       ok = put_open(&to, f, path);
    for (int k = 0; k < n && ok; k++) ok = put_piece(&to, f, pieces[k].bytes, pieces[k].n);
    return put_close(&to, f, ok) && ok;
}

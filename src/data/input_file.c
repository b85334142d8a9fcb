/* Files of examples, in memory: mapped, read or unpacked. */
#include "data/input_file.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/gzip_over.h"
#include "data/shared_unpack.h"

enum { LEAST_SHARED = 1 << 18 };

/* ---- patterns ---- */

static bool copy_paths(mtf_session *s, size_t n, char *const *from, const char ***paths)
{
    *paths = arena_array(&s->arena, const char *, n);
    TRY(*paths != NULL);
    for (size_t i = 0; i < n; i++) TRY(((*paths)[i] = arena_text(&s->arena, from[i])) != NULL);
    return true;
}

/* By bytes: glob's own order follows the locale, which may differ between processes. */
static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int input_paths(mtf_session *s, const char *pattern, const char ***paths)
{
    struct stat about;
    if (stat(pattern, &about) == 0)
        return copy_paths(s, 1, (char *[]){(char *)pattern}, paths) ? 1 : 0;
    glob_t found = {0};
    int    code = glob(pattern, GLOB_NOSORT, NULL, &found), count = 0;
    if (code == 0) qsort(found.gl_pathv, found.gl_pathc, sizeof *found.gl_pathv, by_bytes);
    if (code == 0 && found.gl_pathc > INT_MAX)
        fail(&s->fault, ERR_FILE, "\"%s\" matches too many files", pattern);
    else if (code == 0)
        count = copy_paths(s, found.gl_pathc, found.gl_pathv, paths) ? (int)found.gl_pathc : 0;
    else if (code == GLOB_NOSPACE)
        fail(&s->fault, ERR_MEMORY, "no memory for the files that \"%s\" matches", pattern);
    else if (strpbrk(pattern, "*?["))
        fail(&s->fault, ERR_FILE, "no file matches \"%s\"", pattern);
    else
        fail(&s->fault, ERR_FILE, "\"%s\": %s", pattern, strerror(ENOENT));
    globfree(&found);
    return count;
}

/* ---- plain files ---- */

static bool read_plain(mtf_session *s, input_file *f, int file, size_t size)
{
    uint8_t *bytes = block_alloc(&s->allocator, &s->fault, size, false);
    TRY(bytes != NULL);
    f->bytes = bytes;
    while (f->size < size) {
        ssize_t got = read(file, bytes + f->size, size - f->size);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return fail(&s->fault, ERR_FILE, "\"%s\": %s", f->path, strerror(errno));
        if (got == 0) break;
        f->size += (size_t)got;
    }
    return true;
}

static bool map_plain(mtf_session *s, input_file *f, int file, size_t size)
{
    void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0);
    if (bytes == MAP_FAILED) return read_plain(s, f, file, size);
    f->bytes = bytes;
    f->size = size;
    f->mapped = true;
    return true;
}

/* ---- gzip files ---- */

typedef struct unpacking {
    mtf_session *session;
    input_file  *file;
    gzFile       gz;
    uint8_t     *bytes;
    size_t       room;
} unpacking;

static bool more_room(unpacking *u)
{
    const mtf_session *s = u->session;
    size_t             most = s->opts.memory, room = u->room;
    if (room >= most)
        return fail(&u->session->fault, ERR_MEMORY,
                    "\"%s\" unpacks to more than %zu bytes, the memory of this session",
                    u->file->path, most);
    room = room > most / 2 ? most : 2 * room;
    uint8_t *bytes = block_alloc(&s->allocator, &u->session->fault, room, false);
    TRY(bytes != NULL);
    memcpy(bytes, u->bytes, u->file->size);
    block_free(&s->allocator, u->bytes);
    u->file->bytes = u->bytes = bytes;
    u->room = room;
    return true;
}

static bool unpack(unpacking *u)
{
    input_file *f = u->file;
    fault      *why = &u->session->fault;
    for (;;) {
        if (f->size == u->room) TRY(more_room(u));
        size_t   free_room = u->room - f->size;
        unsigned piece = free_room < INT_MAX / 2 ? (unsigned)free_room : INT_MAX / 2;
        errno = 0;
        int got = gzread(u->gz, u->bytes + f->size, piece);
        if (got > 0) {
            f->size += (size_t)got;
            continue;
        }
        return gzip_over(why, u->gz, f->path, (int64_t)f->size);
    }
}

/* The last four bytes of a gzip file are its unpacked size modulo 2^32: a good first guess, unless
 * it is more than deflate can make of the file, 1032 bytes of one. */
size_t input_unpacked_guess(int file, size_t size, size_t most)
{
    uint8_t last[4] = {0};
    if (pread(file, last, sizeof last, (off_t)size - 4) != sizeof last) return 1 << 16;
    size_t guess =
        (size_t)last[0] | (size_t)last[1] << 8 | (size_t)last[2] << 16 | (size_t)last[3] << 24;
    if (guess / 1032 > size || guess > most) guess = 1 << 16;
    return guess + 1; /* one more, so that the end is found without growing */
}

static bool read_gzip(mtf_session *s, input_file *f, int file, size_t size)
{
    unpacking u = {
        .session = s, .file = f, .room = input_unpacked_guess(file, size, s->opts.memory)};
    u.bytes = block_alloc(&s->allocator, &s->fault, u.room, false);
    TRY(u.bytes != NULL);
    f->bytes = u.bytes;
    int copy = dup(file);
    u.gz = copy < 0 ? NULL : gzdopen(copy, "rb");
    if (!u.gz) {
        if (copy >= 0) close(copy);
        return fail(&s->fault, ERR_FILE, "\"%s\": %s", f->path, strerror(errno ? errno : ENOMEM));
    }
    gzbuffer(u.gz, 1 << 17);
    bool ok = unpack(&u);
    gzclose_r(u.gz);
    return ok;
}

/* Shared where it can be, else for this process alone. */
static bool open_gzip(const input_files *all, input_file *f, int file, size_t size)
{
    mtf_session *s = all->session;
    if (all->share && size >= LEAST_SHARED) {
        TRY(shared_unpack(&s->arena, file, f->path, &f->shared, &s->fault));
        if (f->shared) {
            f->bytes = f->shared->bytes;
            f->size = f->shared->size;
            return true;
        }
        lseek(file, 0, SEEK_SET); /* unpacking has read from it */
    }
    return read_gzip(s, f, file, size);
}

/* ---- any file ---- */

static bool load(const input_files *all, input_file *f, int file)
{
    mtf_session *s = all->session;
    struct stat  about;
    uint8_t      mark[2] = {0};
    if (fstat(file, &about) != 0)
        return fail(&s->fault, ERR_FILE, "\"%s\": %s", f->path, strerror(errno));
    if (!S_ISREG(about.st_mode))
        return fail(&s->fault, ERR_FILE, "\"%s\" is %s; a file of examples is needed", f->path,
                    S_ISDIR(about.st_mode) ? "a folder" : "no regular file");
    size_t  size = (size_t)about.st_size;
    ssize_t got = pread(file, mark, sizeof mark, 0);
    if (got < 0) return fail(&s->fault, ERR_FILE, "\"%s\": %s", f->path, strerror(errno));
    if (mark[0] == 0x1f && mark[1] == 0x8b) return open_gzip(all, f, file, size);
    return size < INPUT_LEAST_MAPPED ? read_plain(s, f, file, size) : map_plain(s, f, file, size);
}

input_file *input_open(input_files *files, const char *path)
{
    mtf_session *s = files->session;
    for (int i = 0; i < files->count; i++)
        if (strcmp(files->all[i]->path, path) == 0) return files->all[i];
    input_file *f = arena_new(&s->arena, input_file);
    if (!f || !arena_push(&s->arena, files->all, files->count, files->room)) return NULL;
    files->all[files->count++] = f;
    f->path = path;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* must not block on a pipe */
    if (file < 0) {
        fail(&s->fault, ERR_FILE, "\"%s\": %s", path, strerror(errno));
        return NULL;
    }
    bool ok = load(files, f, file);
    close(file);
    return ok ? f : NULL;
}

bool input_index(mtf_session *s, place_index *index, int64_t count)
{
    size_t places = (size_t)(count / INDEX_STRIDE) + 1;
    index->at = block_alloc(&s->allocator, &s->fault, sizeof(int64_t) * places, true);
    index->count = count;
    return index->at != NULL;
}

void input_passed(const input_file *f, int64_t at, int64_t *given_up)
{
    enum { SOME = 4 << 20 }; /* a multiple of the sizes of pages */
    if (!f->mapped || at - *given_up < SOME) return;
    int64_t end = at / SOME * SOME;
    madvise((void *)(f->bytes + *given_up), (size_t)(end - *given_up), MADV_DONTNEED);
    *given_up = end;
}

bool input_refresh(const input_files *files, fault *why)
{
    for (int i = 0; i < files->count; i++) {
        const input_file *f = files->all[i];
        struct stat       about;
        if (!f->mapped) continue;
        if (stat(f->path, &about) != 0 || about.st_size < (off_t)f->size)
            return fail(
                why, ERR_FILE,
                "\"%s\" has changed since it was opened; data must stay as they are while they "
                "are read",
                f->path);
        madvise((void *)f->bytes, f->size,
                MADV_DONTNEED); /* they come again when they are needed */
    }
    return true;
}

void input_close(input_files *files)
{
    const mtf_allocator *allocator = &files->session->allocator;
    for (int i = 0; i < files->count; i++) {
        input_file *f = files->all[i];
        if (f->shared)
            shared_close(f->shared);
        else if (f->mapped)
            munmap((void *)f->bytes, f->size);
        else
            block_free(allocator, (void *)f->bytes);
        block_free(allocator, f->lines.at);
        block_free(allocator, f->rows.at);
        block_free(allocator, f->records.at);
    }
    files->count = 0;
}

/* Files of text that are read in pieces, at any place. */
#include "data/text/corpus.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/gzip_over.h"
#include "data/input_file.h"

enum { KEPT = 8 << 20 }; /* sections overlap: the next one begins before what was read last */

/* A gzip file that is being unpacked, with the bytes that were unpacked last. */
struct unpacked {
    corpus_file *file;
    gzFile       gz;
    int64_t      at; /* where the kept bytes begin in the text */
    size_t       size;
    uint8_t      kept[KEPT];
};

/* ---- opening ---- */

static bool system_error(fault *why, const char *path)
{
    return fail(why, ERR_FILE, "\"%s\": %s", path, strerror(errno));
}

static bool look_at(fault *why, int file, corpus_file *f)
{
    struct stat about;
    uint8_t     mark[2] = {0};
    if (fstat(file, &about) != 0) return system_error(why, f->path);
    if (!S_ISREG(about.st_mode))
        return fail(why, ERR_FILE, "\"%s\" is %s; a file of examples is needed", f->path,
                    S_ISDIR(about.st_mode) ? "a folder" : "no regular file");
    if (pread(file, mark, sizeof mark, 0) < 0) return system_error(why, f->path);
    f->packed = mark[0] == 0x1f && mark[1] == 0x8b;
    f->stored = about.st_size;
    f->size = f->packed ? -1 : f->stored;
    f->changed[0] = about.st_mtim.tv_sec;
    f->changed[1] = about.st_mtim.tv_nsec;
    return true;
}

static int open_file(fault *why, const char *path)
{
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* must not block on a pipe */
    if (file < 0) system_error(why, path);
    return file;
}

bool corpus_open(mtf_session *s, const char *pattern, corpus *c)
{
    const char **paths;
    *c = (corpus){.session = s};
    TRY((c->nfiles = input_paths(s, pattern, &paths)) > 0);
    TRY((c->files = arena_array(&s->arena, corpus_file, c->nfiles)) != NULL);
    for (int i = 0; i < c->nfiles; i++) {
        corpus_file *f = &c->files[i];
        f->path = paths[i];
        int file = open_file(&s->fault, f->path);
        TRY(file >= 0);
        bool ok = look_at(&s->fault, file, f);
        close(file);
        TRY(ok);
        c->packed |= f->packed;
    }
    return true;
}

/* ---- files that change ---- */

static bool has_changed(fault *why, const corpus_file *f)
{
    return fail(why, ERR_FILE,
                "\"%s\" has changed since it was opened; text must stay as it is while it is read",
                f->path);
}

/* Opens a file again; it must be the one that it was. */
static int open_again(fault *why, const corpus_file *f)
{
    corpus_file now = {.path = f->path};
    int         file = open_file(why, f->path);
    if (file < 0) return -1;
    bool ok = look_at(why, file, &now);
    if (ok && (now.stored != f->stored || now.changed[0] != f->changed[0] ||
               now.changed[1] != f->changed[1]))
        ok = has_changed(why, f);
    if (!ok) close(file);
    return ok ? file : -1;
}

/* ---- plain files ---- */

static bool read_plain(const corpus_file *f, int64_t at, char *to, size_t n, fault *why)
{
    int file = open_again(why, f);
    TRY(file >= 0);
    bool ok = true;
    for (size_t done = 0; ok && done < n;) {
        ssize_t got = pread(file, to + done, n - done, (off_t)at + (off_t)done);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) ok = system_error(why, f->path);
        if (got == 0) ok = has_changed(why, f); /* cut short just now */
        done += got > 0 ? (size_t)got : 0;
    }
    close(file);
    return ok;
}

/* ---- gzip files ---- */

static void close_packed(unpacked *u)
{
    if (u->gz) gzclose_r(u->gz);
    u->gz = NULL;
    u->file = NULL;
}

static bool open_packed(unpacked *u, corpus_file *f, fault *why)
{
    close_packed(u);
    int file = open_again(why, f);
    TRY(file >= 0);
    u->gz = gzdopen(file, "rb");
    if (!u->gz) {
        close(file);
        return fail(why, ERR_MEMORY, "no memory to unpack \"%s\"", f->path);
    }
    u->file = f;
    u->at = 0;
    u->size = 0;
    return true;
}

/* Unpacks some more; at the end of the file its size is known. */
static bool unpack_more(unpacked *u, fault *why)
{
    if (u->size == KEPT) {
        memmove(u->kept, u->kept + KEPT / 2, KEPT / 2);
        u->at += KEPT / 2;
        u->size = KEPT / 2;
    }
    errno = 0;
    int got = gzread(u->gz, u->kept + u->size, (unsigned)(KEPT - u->size));
    if (got > 0) {
        u->size += (size_t)got;
        return true;
    }
    int64_t end = u->at + (int64_t)u->size;
    TRY(gzip_over(why, u->gz, u->file->path, end));
    u->file->size = end;
    return true;
}

static bool read_packed(unpacked *u, corpus_file *f, int64_t at, char *to, size_t n, size_t *got,
                        fault *why)
{
    if (u->file != f || at < u->at) TRY(open_packed(u, f, why));
    for (*got = 0; *got < n;) {
        int64_t from = at + (int64_t)*got, end = u->at + (int64_t)u->size;
        if (from < end) {
            size_t some = (size_t)(end - from) < n - *got ? (size_t)(end - from) : n - *got;
            memcpy(to + *got, u->kept + (from - u->at), some);
            *got += some;
        } else if (f->size >= 0 && end >= f->size) {
            break;
        } else if (!unpack_more(u, why)) {
            close_packed(u);
            return false;
        }
    }
    return true;
}

/* ---- any file ---- */

bool corpus_read(corpus *c, corpus_file *f, int64_t at, void *to, size_t n, size_t *got, fault *why)
{
    *got = 0;
    if (f->packed) {
        const mtf_allocator *from = &c->session->opts.allocator; /* any thread may use it */
        if (!c->gz) TRY((c->gz = block_alloc(from, why, sizeof *c->gz, true)) != NULL);
        return read_packed(c->gz, f, at, to, n, got, why);
    }
    if (at >= f->size || n == 0) return true;
    if ((int64_t)n > f->size - at) n = (size_t)(f->size - at);
    *got = n;
    return read_plain(f, at, to, n, why);
}

bool corpus_within(corpus *c, int64_t bytes, bool *within)
{
    int64_t total = 0;
    *within = false;
    for (int i = 0; i < c->nfiles && total <= bytes; i++) {
        corpus_file *f = &c->files[i];
        char         one;
        size_t       got;
        if (f->packed) TRY(corpus_read(c, f, bytes, &one, 1, &got, &c->session->fault));
        total = f->size < 0 ? INT64_MAX : total + f->size;
    }
    *within = total <= bytes;
    return true;
}

int64_t corpus_stored(const corpus *c)
{
    int64_t total = 0;
    for (int i = 0; i < c->nfiles; i++) total += c->files[i].stored;
    return total;
}

void corpus_close(corpus *c)
{
    if (!c->gz) return;
    close_packed(c->gz);
    block_free(&c->session->opts.allocator, c->gz);
    c->gz = NULL;
}

/* Writing: elements of tensors to their places in files. */
#include "checkpoint/writing.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/dtype.h"
#include "checkpoint/checksum.h"
#include "checkpoint/folder.h"

static bool failed(fault *f, const char *path)
{
    return fail(f, ERR_FILE, "\"%s\" cannot be written: %s", path, strerror(errno));
}

static bool put_all(int file, const char *bytes, int64_t n, int64_t at)
{
    for (int64_t done = 0; done < n;) {
        ssize_t put = pwrite(file, bytes + done, (size_t)(n - done), at + done);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return false;
        done += put;
    }
    return true;
}

/* ---- files ---- */

/* Allocates space on the disk now, so that a full disk is found at once.  Where the file system cannot
 * do that, it is found while writing. */
static bool take_room(int file, int64_t bytes)
{
    int got;
    do got = fallocate(file, 0, 0, bytes);
    while (got != 0 && errno == EINTR);
    return got == 0 || ((errno == EOPNOTSUPP || errno == ENOSYS) && ftruncate(file, bytes) == 0);
}

bool writing_prepare(const contents *c, const char *const *headers)
{
    fault *f = c->arena->fault;
    char   path[PATH_MAX];
    TRY(folder_make(c->folder, f));
    for (int i = 0; i < c->nfiles; i++) {
        const kept_file *k = &c->files[i];
        TRY(contents_path(c, i, path));
        int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file < 0) return failed(f, path);
        bool ok = (take_room(file, k->bytes) && put_all(file, headers[i], k->header_bytes, 0)) ||
                  failed(f, path);
        if (close(file) != 0 && ok) ok = failed(f, path);
        TRY(ok);
    }
    return true;
}

bool writing_small(const contents *c, const char *name, const char *text, size_t bytes)
{
    fault *f = c->arena->fault;
    char   path[PATH_MAX];
    if (snprintf(path, PATH_MAX, "%s/%s", c->folder, name) >= PATH_MAX)
        return fail(f, ERR_FILE, "the path of \"%s\" is too long", name);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0) return failed(f, path);
    bool ok = (put_all(file, text, (int64_t)bytes, 0) && fsync(file) == 0) || failed(f, path);
    if (close(file) != 0 && ok) ok = failed(f, path);
    return ok;
}

/* ---- tensors ---- */

bool writer_open(writer *w, const contents *c, const mtf_allocator *a, part_copier copier,
                 int parts, fault *f)
{
    *w = (writer){.contents = c, .allocator = a, .copier = copier, .fault = f, .descriptor = -1};
    w->cursors = block_alloc(a, f, sizeof *w->cursors * (size_t)(parts + 1), false);
    w->stage = block_alloc(a, f, STAGE_BYTES, false);
    w->held = block_alloc(a, f, STAGE_BYTES, false);
    if (w->cursors && w->stage && w->held) return true;
    writer_close(w);
    return false;
}

bool writer_sync(writer *w)
{
    char path[PATH_MAX];
    if (w->descriptor < 0) return true;
    TRY(contents_path(w->contents, w->file, path));
    bool ok = fsync(w->descriptor) == 0 || failed(w->fault, path);
    if (close(w->descriptor) != 0 && ok) ok = failed(w->fault, path);
    w->descriptor = -1;
    return ok;
}

void writer_close(writer *w)
{
    if (w->descriptor >= 0) close(w->descriptor);
    w->descriptor = -1;
    block_free(w->allocator, w->cursors);
    block_free(w->allocator, w->stage);
    block_free(w->allocator, w->held);
    w->cursors = NULL, w->stage = w->held = NULL;
}

/* One file is open at a time; tensors are written in the order of files. */
static bool go_to(writer *w, int file)
{
    char path[PATH_MAX];
    if (w->descriptor >= 0 && w->file == file) return true;
    TRY(writer_sync(w) && contents_path(w->contents, file, path));
    w->file = file;
    w->descriptor = open(path, O_WRONLY | O_CLOEXEC);
    if (w->descriptor >= 0) return true;
    return fail(w->fault, ERR_FILE,
                "\"%s\" cannot be opened: %s; all ranks write into one folder, which must be on a "
                "file system that they share",
                path, strerror(errno));
}

void writer_begin(writer *w, kept_tensor *t, mtf_dtype type)
{
    w->tensor = t;
    w->type = type;
    w->used = 0;
    t->sum = 0;
    t->summed = true;
}

static bool flush(writer *w)
{
    const kept_tensor *t = w->tensor;
    int64_t            bytes = (int64_t)mtf_dtype_bytes(t->type);
    char               path[PATH_MAX];
    if (w->used == 0) return true;
    TRY(go_to(w, t->file));
    bool ok = put_all(w->descriptor, w->stage, w->used * bytes, t->at + w->begin * bytes);
    if (ok) /* starts writing to the disk early, so that the final sync is short */
        sync_file_range(w->descriptor, t->at + w->begin * bytes, w->used * bytes,
                        SYNC_FILE_RANGE_WRITE);
    w->used = 0;
    if (ok) return true;
    int why = errno;
    TRY(contents_path(w->contents, t->file, path));
    errno = why;
    return failed(w->fault, path);
}

/* Copies elements of a part to the stage, converted to the file's type. */
static void fetch(writer *w, char *to, const char *from, int64_t count)
{
    bool   same = w->type == w->tensor->type;
    char  *held = same ? to : w->held;
    size_t bytes = (size_t)count * mtf_dtype_bytes(w->type);
    if (w->copier.copy)
        w->copier.copy(w->copier.where, held, from, bytes);
    else
        memcpy(held, from, bytes);
    if (!same) dtype_convert(w->tensor->type, to, w->type, held, count);
}

bool writer_put(writer *w, int64_t place, const char *from, int64_t count)
{
    size_t        bytes = mtf_dtype_bytes(w->tensor->type), held = mtf_dtype_bytes(w->type);
    const int64_t room = (int64_t)(STAGE_BYTES / (bytes > held ? bytes : held));
    while (count > 0) {
        if (w->used == room || (w->used && place != w->begin + w->used)) TRY(flush(w));
        if (w->used == 0) w->begin = place;
        int64_t n = room - w->used < count ? room - w->used : count;
        char   *to = w->stage + (size_t)w->used * bytes;
        fetch(w, to, from, n);
        w->tensor->sum += checksum_elements(bytes, to, n, place);
        w->used += n;
        place += n;
        from += (size_t)n * held;
        count -= n;
    }
    return true;
}

bool writer_end(writer *w)
{
    return flush(w);
}

bool writer_parts(writer *w, kept_tensor *t, mtf_dtype type, int nparts, const mtf_part *parts)
{
    part_runs r;
    part_run  run;
    int64_t   bytes = (int64_t)mtf_dtype_bytes(type);
    writer_begin(w, t, type);
    runs_start(&r, &t->shape, nparts, parts, w->cursors);
    while (runs_next(&r, &run))
        TRY(writer_put(w, run.place, (const char *)parts[run.part].data + run.from * bytes,
                       run.count));
    return writer_end(w);
}

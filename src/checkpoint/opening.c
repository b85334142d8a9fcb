/* Opens a checkpoint and checks everything except elements. */
#include "checkpoint/opening.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "checkpoint/bundle.h"
#include "checkpoint/checksum.h"
#include "checkpoint/folder.h"
#include "checkpoint/manifest.h"
#include "checkpoint/safetensors.h"

/* ---- files ---- */

/* A missing or unreadable file is damage; a file without read permission is not. */
static error_kind kind_of(int why)
{
    return why == ENOENT || why == EIO ? ERR_DAMAGED : ERR_FILE;
}

/* Opens a regular file and gives its length; -1 after an error. */
static int open_file(const char *path, int64_t *bytes, fault *f)
{
    struct stat about;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* opening a pipe must not block */
    if (file < 0 || fstat(file, &about) != 0) {
        fail(f, kind_of(errno), "\"%s\" cannot be opened: %s", path, strerror(errno));
    } else if (!S_ISREG(about.st_mode)) {
        fail(f, ERR_DAMAGED, "\"%s\" is not a regular file", path);
    } else {
        *bytes = about.st_size;
        return file;
    }
    if (file >= 0) close(file);
    return -1;
}

bool file_read(int descriptor, const char *path, int64_t at, void *bytes, int64_t n, fault *f)
{
    for (int64_t done = 0; done < n;) {
        ssize_t got = pread(descriptor, (char *)bytes + done, (size_t)(n - done), at + done);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0)
            return fail(f, kind_of(errno), "\"%s\" cannot be read: %s", path, strerror(errno));
        if (got == 0)
            return fail(f, ERR_DAMAGED,
                        "\"%s\" is cut short: it ends at byte %lld of at least %lld", path,
                        (long long)(at + done), (long long)(at + n));
        done += got;
    }
    return true;
}

int checkpoint_file(const contents *c, int file)
{
    char    path[PATH_MAX];
    int64_t bytes;
    return contents_path(c, file, path) ? open_file(path, &bytes, c->arena->fault) : -1;
}

/* The first `n` bytes in memory of the arena's allocator, to be freed; NULL after an error. */
static unsigned char *read_start(arena *a, int file, const char *path, int64_t n)
{
    unsigned char *bytes = block_alloc(a->from, a->fault, (size_t)n, false);
    if (bytes && file_read(file, path, 0, bytes, n, a->fault)) return bytes;
    block_free(a->from, bytes);
    return NULL;
}

/* ---- headers ---- */

/* Adds the contents of the header of file `number` to `to`. */
static bool read_header(contents *c, int number, contents *to)
{
    kept_file    *k = &c->files[number];
    fault        *f = c->arena->fault;
    char          path[PATH_MAX];
    unsigned char head[SAFETENSORS_START] = {0}, *header = NULL;
    int64_t       bytes = 0;
    TRY(contents_path(c, number, path));
    int file = open_file(path, &bytes, f);
    TRY(file >= 0);
    bool ok = true;
    if (c->manifest && bytes != k->bytes)
        ok = fail(f, ERR_DAMAGED, "\"%s\" has %lld bytes and should have %lld: it is %s", path,
                  (long long)bytes, (long long)k->bytes,
                  bytes < k->bytes ? "cut short" : "longer than it should be");
    k->bytes = bytes;
    if (ok && bytes >= SAFETENSORS_START) ok = file_read(file, path, 0, head, SAFETENSORS_START, f);
    if (ok) ok = (k->header_bytes = safetensors_header_bytes(path, head, bytes, f)) > 0;
    if (ok) ok = (header = read_start(c->arena, file, path, k->header_bytes)) != NULL;
    if (ok && c->manifest && checksum_bytes(header, (size_t)k->header_bytes) != k->header_sum)
        ok = fail(f, ERR_DAMAGED,
                  "\"%s\": its header is damaged: the sum over its bytes is not what the "
                  "manifest says",
                  path);
    if (ok) ok = safetensors_parse(to, number, path, header, k->header_bytes, bytes);
    block_free(c->arena->from, header);
    close(file);
    return ok;
}

/* The headers must agree with the manifest; they give the tensors' places. */
static bool compare_headers(contents *c)
{
    contents headers = contents_make(c->arena);
    headers.path = c->path, headers.folder = c->folder;
    headers.files = c->files, headers.nfiles = c->nfiles;
    for (int i = 0; i < c->nfiles; i++) TRY(read_header(c, i, &headers));
    for (int i = 0; i < c->ntensors; i++) {
        kept_tensor       *t = c->tensors[i];
        const kept_tensor *h = contents_find(&headers, t->name);
        bool               same = h && !h->foreign && h->type == t->type && h->file == t->file &&
                    h->shape.ndims == t->shape.ndims;
        for (int d = 0; same && d < t->shape.ndims; d++)
            same = h->shape.dims[d].size == t->shape.dims[d].size;
        if (!same)
            return fail(c->arena->fault, ERR_DAMAGED,
                        "\"%s\": tensor \"%s\" is not what the manifest says",
                        contents_file(c, t->file), t->shown);
        t->at = h->at;
    }
    if (headers.ntensors == c->ntensors) return true;
    return fail(c->arena->fault, ERR_DAMAGED, "\"%s/%s\": it has %d tensors, and the files %d",
                c->folder, manifest_name, c->ntensors, headers.ntensors);
}

/* ---- kinds of paths ---- */

/* A folder that was renamed: its name would say another step than the one that training continues from. */
static bool check_step(const contents *c)
{
    int64_t named = folder_step(c->folder);
    return named < 0 || named == c->step ||
           fail(c->arena->fault, ERR_FILE,
                "\"%s\" has the checkpoint of step %lld, as its %s says: its name should be "
                "step_%08lld",
                c->folder, (long long)c->step, manifest_name, (long long)c->step);
}

static bool open_manifest(contents *c, const char *path)
{
    int64_t bytes;
    int     file = open_file(path, &bytes, c->arena->fault);
    TRY(file >= 0);
    unsigned char *text = read_start(c->arena, file, path, bytes);
    bool           ok = text && manifest_parse(c, path, (const char *)text, (size_t)bytes);
    block_free(c->arena->from, text);
    close(file);
    return ok && check_step(c) && compare_headers(c);
}

static bool add_file(contents *c, const char *name)
{
    TRY(arena_push(c->arena, c->files, c->nfiles, c->files_room));
    c->files[c->nfiles] = (kept_file){.name = arena_text(c->arena, name)};
    return c->files[c->nfiles++].name != NULL;
}

static bool open_one(contents *c, const char *path)
{
    const char *slash = strrchr(path, '/');
    char       *folder = arena_text(c->arena, slash ? path : ".");
    TRY(folder != NULL);
    if (slash) folder[slash == path ? 1 : slash - path] = 0;
    c->path = path, c->folder = folder;
    return add_file(c, slash ? slash + 1 : path) && read_header(c, 0, c);
}

static bool is_safetensors(const char *name)
{
    static const char suffix[] = ".safetensors";
    size_t            length = strlen(name), s = sizeof suffix - 1;
    return name[0] != '.' && length > s && strcmp(name + length - s, suffix) == 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const kept_file *)a)->name, ((const kept_file *)b)->name);
}

/* weights-00001-of-00003.safetensors: mtf's name for a file of a checkpoint. */
static bool is_own(const char *name)
{
    int number, count, used = 0;
    return sscanf(name, "weights-%5d-of-%5d.safetensors%n", &number, &count, &used) == 2 && used &&
           !name[used];
}

/* A folder with safetensors files that another program wrote. */
static bool open_several(contents *c, const char *path)
{
    DIR *d = opendir(path);
    if (!d)
        return fail(c->arena->fault, ERR_FILE, "\"%s\" cannot be opened: %s", path,
                    strerror(errno));
    bool ok = true;
    for (struct dirent *e; ok && (e = readdir(d)) != NULL;)
        if (is_safetensors(e->d_name)) ok = add_file(c, e->d_name);
    closedir(d);
    TRY(ok);
    if (c->nfiles == 0)
        return fail(c->arena->fault, ERR_FILE,
                    "\"%s\" holds no checkpoint: neither step_... folders nor safetensors files",
                    path);
    qsort(c->files, (size_t)c->nfiles, sizeof *c->files, by_name);
    if (is_own(c->files[0].name)) /* these are parts of a checkpoint */
        return fail(c->arena->fault, ERR_DAMAGED,
                    "\"%s/%s\" is missing; without it the checkpoint cannot be checked for damage",
                    path, manifest_name);
    for (int i = 0; i < c->nfiles; i++) TRY(read_header(c, i, c));
    return true;
}

/* The index, then the lengths of the files. */
static bool read_bundle(contents *c, const char *path, int file, int64_t bytes)
{
    char           name[PATH_MAX];
    unsigned char *text = read_start(c->arena, file, path, bytes);
    bool           ok = text && bundle_parse(c, path, text, (size_t)bytes);
    block_free(c->arena->from, text);
    for (int i = 0; ok && i < c->nfiles; i++) {
        int data =
            contents_path(c, i, name) ? open_file(name, &c->files[i].bytes, c->arena->fault) : -1;
        ok = data >= 0;
        if (ok) close(data);
    }
    return ok && bundle_fits(c);
}

/* A checkpoint of TensorFlow. */
static bool open_bundle(contents *c, const char *index)
{
    const char *slash = strrchr(index, '/');
    char       *folder = arena_text(c->arena, slash ? index : ".");
    int64_t     bytes;
    TRY(folder != NULL);
    if (slash) folder[slash == index ? 1 : slash - index] = 0;
    c->path = index, c->folder = folder;
    int file = open_file(index, &bytes, c->arena->fault);
    TRY(file >= 0);
    bool ok = read_bundle(c, index, file, bytes);
    close(file);
    return ok;
}

static const char *beside(contents *c, const char *folder, const char *name)
{
    textbuf t = {.arena = c->arena};
    text_add(&t, "%s/%s", folder, name);
    return text_done(&t);
}

/* One of the checkpoints in a folder; *there: whether the folder has any. */
static bool open_step(contents *c, const char *path, int64_t step, bool *there)
{
    int64_t *steps;
    int      n, found = -1;
    TRY(folder_steps(c->arena, path, &steps, &n));
    *there = n > 0;
    if (n == 0) return true;
    for (int i = 0; i < n; i++)
        if (step == NEWEST || steps[i] == step) found = i;
    if (found < 0)
        return fail(c->arena->fault, ERR_FILE,
                    "\"%s\" has no checkpoint of step %lld; the first is of step %lld, the last of "
                    "step %lld",
                    path, (long long)step, (long long)steps[0], (long long)steps[n - 1]);
    c->path = c->folder = folder_step_path(c->arena, path, steps[found]);
    const char *manifest = c->folder ? beside(c, c->folder, manifest_name) : NULL;
    return manifest && open_manifest(c, manifest);
}

/* A folder without checkpoints of mtf. */
static bool open_foreign(contents *c, const char *path)
{
    const char *index = bundle_index_path(c->arena, path);
    if (index) return open_bundle(c, index);
    return !c->arena->fault->kind && open_several(c, path);
}

/* What is no folder, or does not exist. */
static bool open_named(contents *c, const char *path)
{
    struct stat about;
    const char *index = bundle_index_path(c->arena, path);
    if (index) return open_bundle(c, index);
    if (stat(path, &about) == 0) return open_one(c, path);
    return fail(c->arena->fault, ERR_FILE, "\"%s\" cannot be opened: %s", path, strerror(errno));
}

bool checkpoint_open(contents *c, const char *path, int64_t step)
{
    struct stat about;
    bool        there = false;
    if (stat(path, &about) != 0 || !S_ISDIR(about.st_mode)) return open_named(c, path);
    c->path = c->folder = arena_text(c->arena, path);
    const char *manifest = beside(c, path, manifest_name);
    TRY(c->folder && manifest);
    if (access(manifest, F_OK) == 0 || folder_step(path) >= 0) return open_manifest(c, manifest);
    TRY(open_step(c, path, step, &there));
    return there || open_foreign(c, path);
}

/* Bundles: TensorFlow's checkpoints, an index and files with elements. */
#include "checkpoint/bundle.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/byte_order.h"
#include "base/textbuf.h"
#include "checkpoint/sorted_table.h"

/* The numbers that TensorFlow gives to element types; `type` is valid where there is no other name. */
static const struct {
    int         number;
    mtf_dtype   type;
    const char *foreign;
} kinds[] = {
    {1, MTF_F32, NULL},    {2, MTF_F64, NULL},   {3, MTF_I32, NULL},     {9, MTF_I64, NULL},
    {10, MTF_BOOL, NULL},  {14, MTF_BF16, NULL}, {19, MTF_F16, NULL},    {4, MTF_I32, "uint8"},
    {5, MTF_I32, "int16"}, {6, MTF_I32, "int8"}, {7, MTF_I32, "string"},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* ---- paths ---- */

static bool is_file(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISREG(about.st_mode);
}

static const char *joined(arena *a, const char *folder, const char *name, const char *suffix)
{
    textbuf t = {.arena = a};
    text_add(&t, "%s%s%s%s", folder, *folder ? "/" : "", name, suffix);
    return text_done(&t);
}

static const char suffix[] = ".index";

static bool is_index(const char *name)
{
    size_t n = strlen(name), k = sizeof suffix - 1;
    return name[0] != '.' && n > k && strcmp(name + n - k, suffix) == 0;
}

/* The number before the suffix, as in model.ckpt-1000.index; -1: none. */
static long long number_of(const char *name)
{
    const char *dash = strrchr(name, '-');
    long long   number;
    return dash && sscanf(dash + 1, "%18lld.index", &number) == 1 ? number : -1;
}

/* The index of the highest number in a folder; NULL: there is none. */
static const char *last_in(arena *a, const char *folder)
{
    DIR        *d = opendir(folder);
    const char *last = NULL;
    for (struct dirent *e; d && (e = readdir(d)) != NULL;)
        if (is_index(e->d_name) && (!last || number_of(e->d_name) > number_of(last)))
            last = arena_text(a, e->d_name);
    if (d) closedir(d);
    return last ? joined(a, folder, last, "") : NULL;
}

/* What the file "checkpoint" of a folder calls the newest, without a folder: it may have moved. */
static const char *newest_in(arena *a, const char *folder)
{
    char        line[PATH_MAX + 100], name[PATH_MAX] = "";
    const char *path = joined(a, folder, "checkpoint", "");
    FILE       *file = path && is_file(path) ? fopen(path, "re") : NULL;
    while (file && !*name && fgets(line, sizeof line, file))
        sscanf(line, "model_checkpoint_path: \"%4095[^\"\n]\"", name);
    if (file) fclose(file);
    const char *slash = strrchr(name, '/');
    return *name ? joined(a, folder, slash ? slash + 1 : name, suffix) : last_in(a, folder);
}

const char *bundle_index_path(arena *a, const char *path)
{
    const char *slash = strrchr(path, '/');
    struct stat about;
    if (stat(path, &about) == 0 && S_ISDIR(about.st_mode)) return newest_in(a, path);
    if (is_index(slash ? slash + 1 : path)) return path;
    const char *index = joined(a, "", path, suffix);
    return index && is_file(index) ? index : NULL;
}

/* ---- reading ---- */

typedef struct bundle_reading {
    contents   *contents;
    const char *path, *stem; /* stem: the index's name without its folder and suffix */
    bool        headed;
} bundle_reading;

static bool wrong(const bundle_reading *r, const char *name, const char *how)
{
    return fail(r->contents->arena->fault, ERR_DAMAGED, "\"%s\": tensor \"%.200s\" %s", r->path,
                name, how);
}

/* The first entry: 1: how many files there are, 2: the byte order, 0 for little-endian. */
static bool read_head(bundle_reading *r, message head)
{
    enum { MOST_FILES = 99999 };
    contents     *c = r->contents;
    message_field f;
    uint64_t      files = 0, order = 0;
    while (head.at < head.end) {
        if (!message_take_field(&head, &f))
            return fail(c->arena->fault, ERR_DAMAGED, "\"%s\" has a damaged first entry", r->path);
        if (f.number == 1 && f.kind == WIRE_VARINT) files = f.value;
        if (f.number == 2 && f.kind == WIRE_VARINT) order = f.value;
    }
    if (order) return fail(c->arena->fault, ERR_FILE, "\"%s\" is big-endian", r->path);
    if (files == 0 || files > MOST_FILES)
        return fail(c->arena->fault, ERR_DAMAGED, "\"%s\" says it has %llu files", r->path,
                    (unsigned long long)files);
    TRY((c->files = arena_array(c->arena, kept_file, files)) != NULL);
    for (c->nfiles = 0; c->nfiles < (int)files; c->nfiles++) {
        textbuf t = {.arena = c->arena};
        text_add(&t, "%s.data-%05d-of-%05d", r->stem, c->nfiles, (int)files);
        TRY((c->files[c->nfiles].name = text_done(&t)) != NULL);
    }
    r->headed = true;
    return true;
}

/* 2: a dimension, in which 1 is the size. */
static bool read_shape(message shape, mtf_shape *to)
{
    message_field f, g;
    int64_t       count = 1;
    while (shape.at < shape.end) {
        if (!message_take_field(&shape, &f) || (f.number == 3 && f.value)) return false;
        if (f.number != 2 || f.kind != WIRE_LENGTH) continue;
        if (to->ndims == MTF_MAX_DIMS) return false;
        int64_t size = 0;
        while (f.inside.at < f.inside.end) {
            if (!message_take_field(&f.inside, &g)) return false;
            if (g.number == 1 && g.kind == WIRE_VARINT) size = (int64_t)g.value;
        }
        if (size < 0 || __builtin_mul_overflow(count, size, &count) || count > INT64_MAX / 16)
            return false;
        to->dims[to->ndims++].size = size;
    }
    return true;
}

/* What is known of a tensor, by the numbers of fields. */
typedef struct bundle_entry {
    uint64_t number; /* of its type */
    uint64_t file, at, bytes, crc;
    message  shape;
    bool     sliced;
} bundle_entry;

static bool read_entry(message m, bundle_entry *e)
{
    message_field f;
    *e = (bundle_entry){.number = 0};
    while (m.at < m.end) {
        if (!message_take_field(&m, &f)) return false;
        switch (f.number) {
        case 1: e->number = f.value; break;
        case 2: e->shape = f.inside; break;
        case 3: e->file = f.value; break;
        case 4: e->at = f.value; break;
        case 5: e->bytes = f.value; break;
        case 6: e->crc = f.value; break;
        case 7: e->sliced = true; break;
        default: break;
        }
    }
    return true;
}

static bool set_type(const bundle_reading *r, uint64_t number, kept_tensor *t)
{
    textbuf text = {.arena = r->contents->arena};
    for (int k = 0; k < KINDS; k++)
        if ((uint64_t)kinds[k].number == number) {
            t->type = kinds[k].type;
            t->foreign = kinds[k].foreign;
            return true;
        }
    text_add(&text, "number %llu", (unsigned long long)number);
    return (t->foreign = text_done(&text)) != NULL;
}

static bool set_place(const bundle_reading *r, const bundle_entry *e, kept_tensor *t)
{
    if (e->file >= (uint64_t)r->contents->nfiles) return wrong(r, t->shown, "is in no file");
    if (e->bytes > INT64_MAX || e->at > INT64_MAX - e->bytes)
        return wrong(r, t->shown, "is at an impossible place");
    if (!t->foreign && (int64_t)e->bytes != t->bytes)
        return wrong(r, t->shown, "has fewer or more bytes than its shape and type have");
    t->file = (int)e->file, t->at = (int64_t)e->at, t->bytes = (int64_t)e->bytes;
    t->summed = t->crc = !t->foreign;
    t->sum = crc32c_unmasked((uint32_t)e->crc);
    return true;
}

/* Names with a zero byte are those of slices, whose tensor has an entry of its own. */
static bool read_tensor(bundle_reading *r, const char *name, size_t bytes, message value)
{
    bundle_entry e;
    mtf_shape    shape = {0};
    if (strlen(name) != bytes) return true;
    kept_tensor *t = contents_add(r->contents, name);
    TRY(t != NULL);
    if (!read_entry(value, &e) || !read_shape(e.shape, &shape))
        return wrong(r, t->shown, "has a damaged entry in the index");
    if (e.sliced)
        return fail(r->contents->arena->fault, ERR_FILE,
                    "\"%s\": variable \"%.200s\" is partitioned, and kept as slices; save it whole",
                    r->path, t->shown);
    return set_type(r, e.number, t) && contents_shape(r->contents, t, t->type, &shape) &&
           set_place(r, &e, t);
}

static bool visit(void *context, const char *name, size_t bytes, message value)
{
    bundle_reading *r = context;
    if (bytes == 0) return read_head(r, value);
    if (r->headed) return read_tensor(r, name, bytes, value);
    return fail(r->contents->arena->fault, ERR_DAMAGED, "\"%s\" does not say how many files it has",
                r->path);
}

bool bundle_parse(contents *c, const char *path, const void *bytes, size_t n)
{
    const char    *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
    textbuf        stem = {.arena = c->arena};
    bundle_reading r = {.contents = c, .path = path};
    crc32c_tables *crc = arena_new(c->arena, crc32c_tables);
    slash = slash ? slash + 1 : path;
    text_add(&stem, "%.*s", dot && dot > slash ? (int)(dot - slash) : 0, slash);
    r.stem = text_done(&stem);
    c->step = number_of(slash) > 0 ? number_of(slash) : 0;
    TRY(crc && r.stem && byte_order_suits(c->arena->fault, path, HOST_IS_LITTLE_ENDIAN));
    crc32c_fill(crc);
    c->crc = crc;
    sorted_table table = {c->arena, crc, path, {bytes, (const uint8_t *)bytes + n}};
    TRY(table_read(&table, visit, &r));
    return r.headed || fail(c->arena->fault, ERR_DAMAGED, "\"%s\" is empty", path);
}

bool bundle_fits(const contents *c)
{
    for (int i = 0; i < c->ntensors; i++) {
        const kept_tensor *t = c->tensors[i];
        int64_t            bytes = c->files[t->file].bytes;
        if (t->at + t->bytes > bytes)
            return fail(
                c->arena->fault, ERR_DAMAGED,
                "\"%s\" is cut short: tensor \"%.200s\" ends at byte %lld, the file at %lld",
                contents_file(c, t->file), t->shown, (long long)(t->at + t->bytes),
                (long long)bytes);
    }
    return true;
}

/* ---- writing ---- */

static message written(const message_out *m)
{
    return (message){m->bytes, m->bytes + m->used};
}

/* One file, little-endian, made by version 1 of the format. */
static bool add_head(table_writer *w)
{
    message_out version = {.used = 0}, head = {.used = 0};
    message_put_key(&version, 1, WIRE_VARINT);
    message_put_varint(&version, 1);
    message_put_key(&head, 1, WIRE_VARINT);
    message_put_varint(&head, 1);
    message_put_counted(&head, 3, version.bytes, version.used);
    return table_add(w, "", written(&head));
}

static void put_shape(message_out *m, const mtf_shape *s)
{
    message_out shape = {.used = 0};
    for (int d = 0; d < s->ndims; d++) {
        message_out dim = {.used = 0};
        message_put_key(&dim, 1, WIRE_VARINT);
        message_put_varint(&dim, (uint64_t)s->dims[d].size);
        message_put_counted(&shape, 2, dim.bytes, dim.used);
    }
    message_put_counted(m, 2, shape.bytes, shape.used);
}

static bool add_tensor(table_writer *w, const kept_tensor *t)
{
    message_out m = {.used = 0};
    int         k = 0;
    while (kinds[k].type != t->type) k++;
    message_put_key(&m, 1, WIRE_VARINT);
    message_put_varint(&m, (uint64_t)kinds[k].number);
    put_shape(&m, &t->shape);
    message_put_key(&m, 4, WIRE_VARINT);
    message_put_varint(&m, (uint64_t)t->at);
    message_put_key(&m, 5, WIRE_VARINT);
    message_put_varint(&m, (uint64_t)t->bytes);
    message_put_key(&m, 6, WIRE_FIXED32);
    message_put_fixed(&m, crc32c_masked((uint32_t)t->sum), 4);
    return table_add(w, t->name, written(&m));
}

bool bundle_print(const contents *c, byte_list *to)
{
    table_writer w = {.bytes = *to};
    bool         ok = add_head(&w);
    for (int i = 0; ok && i < c->ntensors; i++) ok = add_tensor(&w, c->tensors[i]);
    ok = ok && table_end(&w, c->crc);
    *to = w.bytes;
    table_close(&w);
    return ok;
}

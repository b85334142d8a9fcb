/* mtf ckpt convert: another checkpoint, file or array of the same tensors. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/dtype.h"
#include "base/pattern.h"
#include "base/session.h"
#include "checkpoint/checksum.h"
#include "checkpoint/folder.h"
#include "checkpoint/manifest.h"
#include "checkpoint/opening.h"
#include "checkpoint/writing.h"
#include "cli/ckpt.h"
#include "run/npy.h"

/* A tensor as it was and as it becomes. */
typedef struct change {
    const kept_tensor *from;
    kept_tensor       *to;
} change;

typedef struct conversion {
    mtf_session   *session;
    const options *options;
    ckpt_source    source;
    contents       target;
    change        *changes;
    int            nchanges;
} conversion;

/* "left=right" in two, at the last sign. */
static bool halves(conversion *v, const char *option, const char *text, char **left, char **right)
{
    *left = arena_text(&v->session->arena, text);
    TRY(*left != NULL);
    *right = strrchr(*left, '=');
    if (!*right)
        return fail(&v->session->fault, ERR_USAGE, "--%s takes PATTERN=WHAT, not \"%s\"", option,
                    text);
    *(*right)++ = 0;
    return true;
}

static const char *new_name(conversion *v, const char *name)
{
    fault *f = &v->session->fault;
    for (int i = 0; option_nth(v->options, "rename", i); i++) {
        char *pattern, *with;
        if (!halves(v, "rename", option_nth(v->options, "rename", i), &pattern, &with)) return NULL;
        const char *renamed = pattern_replace(pattern, with, name, &v->session->arena);
        if (renamed || f->kind) return renamed;
    }
    return name;
}

/* Floating types become floating ones, integers integers; `all` is every such tensor. */
static bool new_type(conversion *v, const kept_tensor *t, mtf_dtype *type)
{
    fault *f = &v->session->fault;
    *type = t->type;
    for (int i = 0; option_nth(v->options, "type", i); i++) {
        const char *text = option_nth(v->options, "type", i);
        char       *pattern, *word;
        mtf_dtype   wanted;
        TRY(halves(v, "type", text, &pattern, &word));
        if (!dtype_parse(word, &wanted))
            return fail(f, ERR_USAGE, "--type %s: there is no element type \"%s\"", text, word);
        bool kin = dtype_is_float(wanted) == dtype_is_float(t->type) &&
                   (wanted == MTF_BOOL) == (t->type == MTF_BOOL);
        bool here = strcmp(pattern, "all") == 0 || pattern_matches(pattern, t->name, f);
        TRY(mtf_ok(v->session));
        if (kin && here) *type = wanted;
    }
    return true;
}

static bool plan(conversion *v)
{
    mtf_session    *s = v->session;
    const contents *c = &v->source.contents;
    const char     *only = option_nth(v->options, "only", 0);
    v->changes = arena_array(&s->arena, change, c->ntensors);
    v->target = contents_make(&s->arena);
    v->target.folder = v->options->words[2];
    v->target.step = c->step, v->target.position = c->position;
    v->target.seed = c->seed, v->target.config = c->config;
    TRY(v->changes != NULL);
    for (int i = 0; i < c->ntensors; i++) {
        const char *name = c->tensors[i]->name;
        if (only && !pattern_matches(only, name, &s->fault)) {
            TRY(mtf_ok(s));
            continue;
        }
        const kept_tensor *from = ckpt_find(&v->source, name);
        const char        *called = from ? new_name(v, name) : NULL;
        kept_tensor       *to = called ? contents_add(&v->target, called) : NULL;
        mtf_dtype          type;
        mtf_shape          shape;
        TRY(to && new_type(v, from, &type));
        shape = from->shape;
        for (int d = 0; d < shape.ndims && !from->named; d++) shape.dims[d].name = NULL;
        TRY(contents_shape(&v->target, to, type, &shape));
        v->changes[v->nchanges++] = (change){from, to};
    }
    if (v->nchanges) return true;
    return fail(&s->fault, ERR_NAME, "\"%s\" has no tensor that --only \"%s\" matches", c->folder,
                only ? only : "");
}

/* In the order of the new files. */
static bool copy_tensors(conversion *v, writer *w, char *buffer)
{
    for (int k = 0; k < v->target.ntensors; k++) {
        const change *c = v->changes;
        while (c->to != v->target.tensors[k]) c++;
        int64_t  count = shape_size(&c->from->shape), room = reader_room(c->from);
        uint64_t sum = 0;
        writer_begin(w, c->to, c->from->type);
        for (int64_t at = 0; at < count; at += room) {
            int64_t n = count - at < room ? count - at : room;
            TRY(ckpt_get(&v->source, c->from, at, buffer, n));
            sum += checksum_elements(mtf_dtype_bytes(c->from->type), buffer, n, at);
            TRY(writer_put(w, at, buffer, n));
        }
        TRY(writer_end(w));
        if (c->from->summed && sum != c->from->sum)
            return fail(&v->session->fault, ERR_FILE, "\"%s\": tensor \"%s\" is damaged",
                        v->source.contents.folder, c->from->name);
    }
    return writer_sync(w);
}

static bool write_files(conversion *v, const char *const *headers)
{
    mtf_session *s = v->session;
    writer       w;
    TRY(writing_prepare(&v->target, headers));
    TRY(writer_open(&w, &v->target, &s->allocator, (part_copier){0}, 1, &s->fault));
    char *buffer = block_alloc(&s->allocator, &s->fault, STAGE_BYTES, false);
    bool  ok = buffer && copy_tensors(v, &w, buffer);
    block_free(&s->allocator, buffer);
    writer_close(&w);
    return ok;
}

static bool ends_in(const char *text, const char *suffix)
{
    size_t n = strlen(text), k = strlen(suffix);
    return n > k && strcmp(text + n - k, suffix) == 0;
}

/* ---- the three forms ---- */

static bool to_npy(conversion *v, const char *path)
{
    mtf_session *s = v->session;
    if (v->nchanges != 1)
        return fail(
            &s->fault, ERR_USAGE,
            "a .npy file holds one tensor, and %d were chosen; choose one with --only '^NAME$'",
            v->nchanges);
    const change *c = &v->changes[0];
    int64_t       count = shape_size(&c->from->shape), sizes[MTF_SHAPE_ROOM];
    char         *from = block_alloc(&s->allocator, &s->fault, (size_t)c->from->bytes, false);
    char         *to = block_alloc(&s->allocator, &s->fault, (size_t)c->to->bytes, false);
    for (int d = 0; d < c->to->shape.ndims; d++) sizes[d] = c->to->shape.dims[d].size;
    bool ok = from && to && ckpt_get(&v->source, c->from, 0, from, count);
    if (ok) dtype_convert(c->to->type, to, c->from->type, from, count);
    ok = ok && npy_write(s, path, c->to->type, c->to->shape.ndims, sizes, to);
    block_free(&s->allocator, from);
    block_free(&s->allocator, to);
    return ok;
}

/* Written under another name beside it, and renamed when it is whole. */
static bool finish(mtf_session *s, const char *from, const char *to)
{
    if (rename(from, to) == 0) return true;
    return fail(&s->fault, ERR_FILE, "\"%s\" cannot be written: %s", to, strerror(errno));
}

static bool to_file(conversion *v, const char *path)
{
    mtf_session *s = v->session;
    const char  *slash = strrchr(path, '/');
    textbuf      part = {.arena = &s->arena}, folder = {.arena = &s->arena},
            whole = {.arena = &s->arena};
    text_add(&part, ".%s.part", slash ? slash + 1 : path);
    text_add(&folder, "%.*s", slash ? (int)(slash - path + 1) : 1, slash ? path : ".");
    TRY(text_done(&part) && text_done(&folder));
    text_add(&whole, "%s/%s", folder.text, part.text);
    TRY(text_done(&whole) != NULL);
    v->target.folder = folder.text;
    unlink(whole.text);
    const char **headers = contents_arrange(&v->target, part.text);
    return headers && write_files(v, headers) && finish(s, whole.text, path);
}

static bool to_folder(conversion *v, const char *path)
{
    mtf_session *s = v->session;
    textbuf      part = {.arena = &s->arena};
    size_t       length = strlen(path);
    while (length > 1 && path[length - 1] == '/') length--;
    text_add(&part, "%.*s.part", (int)length, path);
    TRY(text_done(&part) != NULL);
    if (access(path, F_OK) == 0)
        return fail(&s->fault, ERR_FILE, "\"%s\" is there already; give a new name", path);
    if (access(part.text, F_OK) == 0) TRY(folder_remove(part.text, &s->fault));
    v->target.folder = part.text;
    const char **headers = contents_arrange(&v->target, NULL);
    TRY(headers && write_files(v, headers));
    const char *manifest = manifest_print(&v->target);
    return manifest && writing_small(&v->target, manifest_name, manifest, strlen(manifest)) &&
           folder_sync(part.text, &s->fault) && finish(s, part.text, path);
}

bool ckpt_convert(mtf_session *s, const options *o)
{
    conversion  v = {.session = s, .options = o};
    const char *to = o->words[2];
    bool        ok = ckpt_open(&v.source, s, o->words[1]) && plan(&v);
    if (ok)
        ok = ends_in(to, ".npy")           ? to_npy(&v, to)
             : ends_in(to, ".safetensors") ? to_file(&v, to)
                                           : to_folder(&v, to);
    ckpt_close(&v.source);
    if (ok) printf("%s: %d tensor%s\n", to, v.nchanges, v.nchanges == 1 ? "" : "s");
    return ok;
}

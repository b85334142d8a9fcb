/* mtf ckpt convert: other types, names or formats of tensors. */
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/dtype.h"
#include "base/pattern.h"
#include "base/printable.h"
#include "base/session.h"
#include "checkpoint/arrange.h"
#include "checkpoint/folder.h"
#include "checkpoint/manifest.h"
#include "checkpoint/opening.h"
#include "checkpoint/whole_folder.h"
#include "checkpoint/writing.h"
#include "cli/ckpt.h"
#include "cli/graph_file.h"
#include "model/config/kept.h"
#include "cli/outputs.h"
#include "run/npy.h"

/* A tensor before and after conversion. */
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

/* Splits "left=right" at the last equals sign. */
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

/* Whether option i matches this tensor; *what is the text after the equals sign. */
static bool names(conversion *v, const char *option, int i, const char *name, char **pattern,
                  char **what)
{
    const char *text = option_nth(v->options, option, i);
    return halves(v, option, text, pattern, what) &&
           option_is_pattern(v->session, option, *pattern) &&
           pattern_matches(*pattern, name, &v->session->fault);
}

static const char *new_name(conversion *v, const char *name)
{
    for (int i = 0; option_nth(v->options, "rename", i); i++) {
        char *pattern, *with;
        if (names(v, "rename", i, name, &pattern, &with))
            return pattern_replace(pattern, with, name, &v->session->arena);
        if (!mtf_ok(v->session)) return NULL;
    }
    return name;
}

/* Floating types are converted to floating types, integers to integers.  `all=bf16` applies to every
 * floating tensor; any other pattern that matches a tensor which cannot be converted is an error. */
static bool new_type(conversion *v, const kept_tensor *t, mtf_dtype *type)
{
    fault *f = &v->session->fault;
    *type = t->type;
    for (int i = 0; option_nth(v->options, "type", i); i++) {
        const char *text = option_nth(v->options, "type", i);
        char       *pattern = NULL, *word = NULL;
        mtf_dtype   wanted;
        bool        named = names(v, "type", i, t->name, &pattern, &word);
        TRY(mtf_ok(v->session));
        assert(pattern && word);
        if (!dtype_parse(word, &wanted))
            return fail(f, ERR_USAGE, "--type %s: there is no element type \"%s\"", text, word);
        if (dtype_is_f8(wanted))
            return fail(f, ERR_USAGE, "--type %s: no variable is %s; write bf16 or f16", text,
                        word);
        bool all = strcmp(pattern, "all") == 0;
        bool kin = dtype_is_float(wanted) == dtype_is_float(t->type) &&
                   (wanted == MTF_BOOL) == (t->type == MTF_BOOL);
        if (all && !kin && dtype_is_float(wanted)) continue;
        if (!all && !named) continue;
        if (!kin)
            return fail(
                f, ERR_TYPE,
                "--type %s: tensor \"%s\" is %s and cannot become %s; floating types become "
                "floating ones, integers integers",
                text, t->shown, mtf_dtype_name(t->type), mtf_dtype_name(wanted));
        *type = wanted;
    }
    return true;
}

/* A pattern that matches nothing is probably a mistake. */
static bool all_match(conversion *v, const char *option)
{
    for (int i = 0; option_nth(v->options, option, i); i++) {
        char *pattern, *what;
        bool  matched = false;
        TRY(halves(v, option, option_nth(v->options, option, i), &pattern, &what));
        if (strcmp(option, "type") == 0 && strcmp(pattern, "all") == 0) continue;
        for (int k = 0; k < v->nchanges && !matched; k++)
            matched = names(v, option, i, v->changes[k].from->name, &pattern, &what);
        if (!matched)
            return fail(&v->session->fault, ERR_USAGE,
                        "--%s %s: the pattern matches no name of a tensor that is converted",
                        option, option_nth(v->options, option, i));
    }
    return true;
}

static kept_tensor *add_target(conversion *v, const kept_tensor *from)
{
    const char *called = new_name(v, from->name);
    if (called && contents_find(&v->target, called)) {
        fail(&v->session->fault, ERR_NAME,
             "two tensors would have the name \"%s\"; the second was \"%s\"",
             contents_find(&v->target, called)->shown, from->shown);
        return NULL;
    }
    return called ? contents_add(&v->target, called) : NULL;
}

static bool plan(conversion *v)
{
    mtf_session    *s = v->session;
    const contents *c = &v->source.contents;
    const char     *only = option_nth(v->options, "only", 0);
    v->changes = arena_array(&s->arena, change, c->ntensors);
    v->target = contents_make(&s->arena);
    v->target.path = v->target.folder = v->options->words[2];
    v->target.step = c->step, v->target.position = c->position;
    v->target.seed = c->seed, v->target.config = c->config, v->target.facts = c->facts;
    TRY(v->changes != NULL && option_is_pattern(s, "only", only));
    for (int i = 0; i < c->ntensors; i++) {
        const char *name = c->tensors[i]->name;
        if (only && !pattern_matches(only, name, &s->fault)) continue;
        const kept_tensor *from = ckpt_find(&v->source, name);
        kept_tensor       *to = from ? add_target(v, from) : NULL;
        mtf_dtype          type;
        mtf_shape          shape;
        TRY(to && new_type(v, from, &type));
        shape = from->shape;
        for (int d = 0; d < shape.ndims && !from->named; d++) shape.dims[d].name = NULL;
        TRY(contents_shape(&v->target, to, type, &shape));
        v->changes[v->nchanges++] = (change){from, to};
    }
    if (v->nchanges) return all_match(v, "rename") && all_match(v, "type");
    if (only)
        return fail(&s->fault, ERR_NAME, "\"%s\" has no tensor that --only \"%s\" matches", c->path,
                    only);
    return fail(&s->fault, ERR_FILE, "\"%s\" has no tensors", c->path);
}

/* Values outside the new type's range would wrap around or become infinite. */
static bool all_fit(const conversion *v, const change *c, const void *elements, int64_t count)
{
    char text[DTYPE_REFUSAL];
    for (int64_t i = 0; c->from->type != c->to->type && i < count; i++) {
        double x = dtype_load(c->from->type, elements, i);
        if (dtype_refuses(c->to->type, x, text))
            return fail(
                &v->session->fault, ERR_VALUE,
                "\"%s\": tensor \"%s\" has the element %.15g, which is out of the range of %s",
                v->source.contents.path, c->from->shown, x, mtf_dtype_name(c->to->type));
    }
    return true;
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
            sum = contents_sum(&v->source.contents, c->from, sum, buffer, n, at);
            TRY(all_fit(v, c, buffer, n) && writer_put(w, at, buffer, n));
        }
        TRY(writer_end(w));
        TRY(contents_agrees(&v->source.contents, c->from, sum, &v->session->fault));
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

/* A model's checkpoint stays one that mtf decode opens. */
static bool copy_config(const conversion *v)
{
    const char *text = ckpt_config(v->session, &v->source.contents);
    return text ? writing_small(&v->target, CONFIG_KEPT, text, strlen(text)) : mtf_ok(v->session);
}

/* ---- the three formats ---- */

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
    if (ok) {
        uint64_t sum = contents_sum(&v->source.contents, c->from, 0, from, count, 0);
        ok = contents_agrees(&v->source.contents, c->from, sum, &s->fault) &&
             all_fit(v, c, from, count);
    }
    if (ok) dtype_convert(c->to->type, to, c->from->type, from, count);
    ok = ok && npy_write(s, path, c->to->type, c->to->shape.ndims, sizes, to);
    block_free(&s->allocator, from);
    block_free(&s->allocator, to);
    return ok;
}

static bool finish_copy(mtf_session *s, const char *from, const char *to)
{
    if (rename(from, to) == 0) return true;
    return fail(&s->fault, ERR_FILE, "\"%s\" cannot be written: %s", to, strerror(errno));
}

static bool to_file(conversion *v, const char *path)
{
    mtf_session *s = v->session;
    const char  *slash = strrchr(path, '/');
    const char  *part = draft_name(&s->arena, path, false),
               *whole = draft_name(&s->arena, path, true);
    textbuf folder = {.arena = &s->arena};
    text_add(&folder, "%.*s", slash ? (int)(slash - path + 1) : 1, slash ? path : ".");
    TRY(part && whole && text_done(&folder));
    v->target.folder = folder.text;
    const char **headers = contents_arrange(&v->target, part);
    bool         ok = headers && write_files(v, headers) && finish_copy(s, whole, path);
    if (!ok) unlink(whole);
    return ok;
}

static bool write_folder(conversion *v, const char *part)
{
    const char **headers = contents_arrange(&v->target, NULL);
    TRY(headers && write_files(v, headers));
    const char *manifest = manifest_print(&v->target);
    return manifest && copy_config(v) &&
           writing_small(&v->target, manifest_name, manifest, strlen(manifest)) &&
           folder_sync(part, &v->session->fault);
}

static bool to_folder(conversion *v, const char *path)
{
    mtf_session *s = v->session;
    whole_folder w;
    TRY(whole_begin(&w, &s->arena, path));
    v->target.folder = w.draft;
    return whole_end(&w, write_folder(v, w.draft), &s->fault);
}

/* ---- checking the destination ---- */

/* File name extensions of formats that mtf does not write. */
static bool is_foreign(mtf_session *s, const char *path)
{
    static const char *const endings[] = {".npz",  ".pt",   ".pth",  ".bin", ".h5",
                                          ".ckpt", ".onnx", ".gguf", ".json"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (ends_in(path, endings[i]))
            return !fail(
                &s->fault, ERR_USAGE,
                "\"%s\": mtf writes .safetensors and .npy files, and folders, but no %s files",
                path, endings[i]);
    return false;
}

static bool may_write(conversion *v, const char *path, bool as_file)
{
    mtf_session *s = v->session;
    struct stat  about;
    bool         force = option_given(v->options, "force");
    TRY(!is_foreign(s, path) && output_is_other(s, v->source.contents.path, path));
    if (!as_file) TRY(folder_suits(path, v->source.contents.step, &s->fault));
    if (!as_file) return whole_may_replace(&s->arena, path, manifest_name, force, &s->fault);
    if (stat(path, &about) != 0) return true;
    if (!S_ISREG(about.st_mode))
        return fail(&s->fault, ERR_FILE, "\"%s\" already exists and is not a regular file", path);
    return force ||
           fail(&s->fault, ERR_FILE, "\"%s\" already exists; give a new name, or --force", path);
}

bool ckpt_convert(mtf_session *s, const options *o)
{
    conversion  v = {.session = s, .options = o};
    const char *to = o->words[2];
    bool        npy = ends_in(to, ".npy"), file = ends_in(to, ".safetensors");
    bool ok = ckpt_open(&v.source, s, o->words[1]) && may_write(&v, to, npy || file) && plan(&v);
    if (ok) ok = npy ? to_npy(&v, to) : file ? to_file(&v, to) : to_folder(&v, to);
    ckpt_close(&v.source);
    if (ok)
        printable_print(stdout, "%s: %d tensor%s\n", to, v.nchanges, v.nchanges == 1 ? "" : "s");
    return ok;
}

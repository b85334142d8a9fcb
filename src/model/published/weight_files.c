/* Converts published weights to checkpoints and back. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/session.h"
#include "base/textbuf.h"
#include "checkpoint/arrange.h"
#include "checkpoint/folder.h"
#include "checkpoint/manifest.h"
#include "checkpoint/opening.h"
#include "checkpoint/whole_folder.h"
#include "checkpoint/writing.h"
#include "model/config/kept.h"
#include "model/published/conversion.h"

/* ---- elements ---- */

/* Copies elements of `bytes` each between our tensor and the published one, in small square tiles,
 * because a transpose reads or writes one side with a stride. */
static inline void copy_elements(const published_weight *w, bool imports, char *ours, char *theirs,
                                 size_t bytes)
{
    enum { SQUARE = 32 };
    int64_t row = w->transposed ? 1 : w->columns * w->parts, column = w->transposed ? w->rows : 1;
    int64_t first = w->part * w->columns;
    ours += (size_t)(w->piece * w->rows * w->columns) * bytes;
    for (int64_t i0 = 0; i0 < w->rows; i0 += SQUARE)
        for (int64_t j0 = 0; j0 < w->columns; j0 += SQUARE)
            for (int64_t i = i0; i < w->rows && i < i0 + SQUARE; i++)
                for (int64_t j = j0; j < w->columns && j < j0 + SQUARE; j++) {
                    char *mine = ours + (size_t)(i * w->columns + j) * bytes;
                    char *other = theirs + (size_t)(first + i * row + j * column) * bytes;
                    if (imports)
                        memcpy(mine, other, bytes);
                    else
                        memcpy(other, mine, bytes);
                }
}

static void copy_weight(const published_weight *w, bool imports, mtf_dtype type, char *ours,
                        char *theirs)
{
    switch (mtf_dtype_bytes(type)) {
    case 2: copy_elements(w, imports, ours, theirs, 2); break;
    case 4: copy_elements(w, imports, ours, theirs, 4); break;
    default: copy_elements(w, imports, ours, theirs, mtf_dtype_bytes(type)); break;
    }
}

/* Reads a whole tensor into a new block, which the caller frees; NULL after an error. */
static char *read_tensor(conversion *v, const kept_tensor *t)
{
    mtf_session *s = v->session;
    size_t       bytes = mtf_dtype_bytes(t->type);
    int64_t      count = shape_size(&t->shape), room = reader_room(t);
    char        *block = block_alloc(&s->allocator, &s->fault, (size_t)t->bytes, false);
    bool         ok = block != NULL;
    uint64_t     sum = 0;
    for (int64_t at = 0; ok && at < count; at += room) {
        int64_t n = count - at < room ? count - at : room;
        char   *to = block + (size_t)at * bytes;
        ok = reader_get(&v->reader, t, at, to, n);
        if (ok) sum = contents_sum(&v->source, t, sum, to, n, at);
    }
    if (ok && contents_agrees(&v->source, t, sum, &s->fault)) return block;
    block_free(&s->allocator, block);
    return NULL;
}

/* How many weights from k on become one tensor of the target. */
static int group_size(const conversion *v, int k)
{
    return v->imports ? v->weights[k].pieces : v->weights[k].parts;
}

/* Import: extracts one variable from a published tensor, or builds it from several; what fills it is 0.  Export: builds the tensor
 * from its variables, or extracts it from one. */
static char *make_tensor(conversion *v, int k, const kept_tensor *to)
{
    mtf_session *s = v->session;
    char        *made = block_alloc(&s->allocator, &s->fault, (size_t)to->bytes, true);
    int          n = group_size(v, k);
    for (int i = k; made && i < k + n; i++) {
        const published_weight *w = &v->weights[i];
        char                   *from = read_tensor(v, conversion_source(v, w));
        if (from)
            copy_weight(w, v->imports, to->type, v->imports ? made : from,
                        v->imports ? from : made);
        block_free(&s->allocator, from);
        if (from) continue;
        block_free(&s->allocator, made);
        made = NULL;
    }
    return made;
}

/* ---- writing ---- */

/* The tensors to write, and for each the number of its first weight. */
static bool plan(conversion *v, const char *path)
{
    const published_weight *w;
    v->target = contents_make(&v->session->arena);
    v->target.path = v->target.folder = path;
    if (!v->imports) v->target.format = "pt"; /* PyTorch; the transformers library requires it */
    for (int k = 0; k < v->nweights; k += group_size(v, k)) {
        w = &v->weights[k];
        const kept_tensor *from = conversion_source(v, w);
        for (int i = 1; i < group_size(v, k); i++) {
            const kept_tensor *other = conversion_source(v, w + i);
            if (other->type != from->type)
                return fail(&v->session->fault, ERR_TYPE,
                            "\"%s\": \"%s\" is %s and \"%s\" %s; they become one tensor",
                            v->source.path, from->shown, mtf_dtype_name(from->type), other->shown,
                            mtf_dtype_name(other->type));
        }
        kept_tensor *to = contents_add(&v->target, v->imports ? w->ours : w->theirs);
        TRY(to &&
            contents_shape(&v->target, to, from->type, v->imports ? &w->shape : &w->their_shape));
    }
    return true;
}

static int weight_of(const conversion *v, const kept_tensor *to)
{
    int k = 0;
    while (strcmp(v->imports ? v->weights[k].ours : v->weights[k].theirs, to->name) != 0) k++;
    return k;
}

static bool write_tensors(conversion *v, writer *w)
{
    mtf_session *s = v->session;
    for (int i = 0; i < v->target.ntensors; i++) {
        kept_tensor *to = v->target.tensors[i];
        char        *made = make_tensor(v, weight_of(v, to), to);
        TRY(made != NULL);
        int64_t count = shape_size(&to->shape), room = reader_room(to);
        size_t  bytes = mtf_dtype_bytes(to->type);
        bool    ok = true;
        writer_begin(w, to, to->type);
        for (int64_t at = 0; ok && at < count; at += room)
            ok =
                writer_put(w, at, made + (size_t)at * bytes, count - at < room ? count - at : room);
        block_free(&s->allocator, made);
        TRY(ok && writer_end(w));
    }
    return writer_sync(w);
}

static bool write_files(conversion *v)
{
    mtf_session *s = v->session;
    writer       w;
    const char **headers = contents_arrange(&v->target, v->imports ? NULL : "model.safetensors");
    TRY(headers && writing_prepare(&v->target, headers) &&
        writer_open(&w, &v->target, &s->allocator, (part_copier){0}, 1, &s->fault));
    bool ok = write_tensors(v, &w);
    writer_close(&w);
    const char *text = v->config.text;
    TRY(ok);
    if (v->imports) {
        const char *gin = published_gin(&s->arena, &v->config);
        TRY(mtf_ok(s) && (!gin || writing_small(&v->target, CONFIG_KEPT, gin, strlen(gin))));
        v->target.config = text;
        text = manifest_print(&v->target);
    }
    return text && writing_small(&v->target, v->imports ? manifest_name : "config.json", text,
                                 strlen(text));
}

/* The folder has a temporary name until it is complete. */
static bool write_folder(conversion *v, const char *path)
{
    mtf_session *s = v->session;
    whole_folder w;
    TRY(plan(v, path) && whole_begin(&w, &s->arena, path));
    v->target.folder = w.draft;
    bool ok = write_files(v) && folder_sync(w.draft, &s->fault);
    return whole_end(&w, ok, &s->fault);
}

static const char legacy_sign[] = "encoder/final_layer_norm/scale";

static bool convert_open(conversion *v, const published_call *call, published_done *done)
{
    mtf_session *s = v->session;
    const char  *sign = v->imports ? manifest_name : "config.json";
    TRY(conversion_settle_heads(v));
    v->config.legacy_names =
        v->config.family == PUBLISHED_T5 &&
        (v->imports ? !v->config.gated : contents_find(&v->source, legacy_sign) != NULL);
    v->weights = published_weights(&s->arena, &v->config, &v->nweights);
    TRY(v->weights && conversion_check(v));
    if (!v->imports) TRY(published_agrees(v, call->config ? call->config : v->source.path));
    TRY(whole_may_replace(&s->arena, call->to, sign, call->force, &s->fault) &&
        write_folder(v, call->to));
    if (done) *done = (published_done){v->config, v->target.ntensors, v->spare, v->unlike};
    return true;
}

static bool convert(conversion *v, const published_call *call, published_done *done)
{
    mtf_session *s = v->session;
    TRY(reader_open(&v->reader, &v->source, &s->allocator, (part_copier){0}, 1, &s->fault));
    bool ok = convert_open(v, call, done);
    reader_close(&v->reader);
    return ok;
}

/* ---- the two directions ---- */

static const char *beside(arena *a, const char *folder, const char *name)
{
    textbuf t = {.arena = a};
    text_add(&t, "%s/%s", folder, name);
    return text_done(&t);
}

/* The folder of a safetensors file, or the folder itself. */
static const char *folder_of(arena *a, const char *path)
{
    static const char suffix[] = ".safetensors";
    size_t            n = strlen(path), k = sizeof suffix - 1;
    if (n < k || strcmp(path + n - k, suffix) != 0) return path;
    char *copy = arena_text(a, path), *slash = copy ? strrchr(copy, '/') : NULL;
    if (!copy) return NULL;
    if (!slash) return ".";
    slash[slash == copy] = 0;
    return copy;
}

bool published_import(mtf_session *s, const published_call *call, published_done *done)
{
    conversion  v = {.session = s, .imports = true, .source = contents_make(&s->arena)};
    arena      *a = &s->arena;
    const char *folder = folder_of(a, call->from), *from = call->from;
    const char *config = call->config ? call->config
                         : folder     ? beside(a, folder, "config.json")
                                      : NULL;
    char        whole[PATH_MAX];
    TRY(config && published_read(s, config, &v.config));
    if (call->gin && v.config.family == PUBLISHED_BERT)
        return fail(&s->fault, ERR_USAGE,
                    "--gin: a BERT is described by its config.json, not by a gin file");
    if (realpath(folder, whole)) TRY((v.config.folder = arena_text(a, whole)) != NULL);
    if (folder == call->from) { /* files of a folder may hold tensors besides the weights */
        const char *usual = beside(a, folder, "model.safetensors");
        TRY(usual != NULL);
        if (access(usual, F_OK) == 0) from = usual;
    }
    return checkpoint_open(&v.source, from, NEWEST) && convert(&v, call, done);
}

bool published_export(mtf_session *s, const published_call *call, published_done *done)
{
    conversion v = {.session = s, .source = contents_make(&s->arena)};
    TRY(checkpoint_open(&v.source, call->from, NEWEST));
    if (call->config) {
        TRY(published_read(s, call->config, &v.config));
    } else {
        if (!v.source.config || v.source.config[0] != '{')
            return fail(&s->fault, ERR_FILE,
                        "\"%s\" was not made by mtf ckpt import, so that it does not say what the "
                        "model is; give its config.json with --config",
                        v.source.path);
        TRY(published_parse(s, v.source.path, v.source.config, &v.config));
    }
    return convert(&v, call, done);
}

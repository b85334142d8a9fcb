/* Copies checkpoints of the original, Mesh TensorFlow, and checkpoints for it. */
#include "model/published/bundle_copy.h"

#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "base/session.h"
#include "base/textbuf.h"
#include "checkpoint/arrange.h"
#include "checkpoint/bundle.h"
#include "checkpoint/folder.h"
#include "checkpoint/manifest.h"
#include "checkpoint/whole_folder.h"
#include "checkpoint/writing.h"
#include "model/config/kept.h"

static const char step_name[] = "global_step";

typedef struct copying {
    mtf_session    *session;
    reader         *reader;
    const contents *source;
    contents        target;
    bundle_copy    *call;
} copying;

/* ---- what is copied ---- */

/* Its dimensions keep their names, if they have any. */
static bool add_tensor(copying *v, const kept_tensor *t)
{
    mtf_shape    shape = t->shape;
    kept_tensor *to = contents_add(&v->target, t->name);
    for (int d = 0; d < shape.ndims && !t->named; d++) shape.dims[d].name = NULL;
    return to && contents_shape(&v->target, to, t->type, &shape);
}

static bool plan(copying *v)
{
    textbuf spare = {.arena = &v->session->arena};
    v->target = contents_make(&v->session->arena);
    v->target.path = v->call->to;
    for (int i = 0; i < v->source->ntensors; i++) {
        const kept_tensor *t = v->source->tensors[i];
        if (t->foreign)
            text_add(&spare, "%s%s (%s)", spare.used ? ", " : "", t->shown, t->foreign);
        else
            TRY(add_tensor(v, t));
    }
    v->call->tensors = v->target.ntensors;
    v->call->spare = spare.used ? text_done(&spare) : NULL;
    return v->target.ntensors || fail(&v->session->fault, ERR_FILE,
                                      "\"%s\" has no variables that mtf reads", v->source->path);
}

/* global_step; where there is none, the step of the source. */
static bool read_step(const copying *v, int64_t *step)
{
    const kept_tensor *t = contents_find(v->source, step_name);
    char               element[8] = {0};
    *step = v->source->step;
    if (!t || t->foreign || (t->type != MTF_I64 && t->type != MTF_I32)) return true;
    if (shape_size(&t->shape) != 1) return true;
    TRY(reader_get(v->reader, t, 0, element, 1));
    *step = (int64_t)dtype_load(t->type, element, 0);
    return *step >= 0 || fail(&v->session->fault, ERR_FILE, "\"%s\": %s is %lld", v->source->path,
                              step_name, (long long)*step);
}

/* ---- elements ---- */

static bool copy_tensor(copying *v, writer *w, const kept_tensor *from, kept_tensor *to, char *room)
{
    int64_t  count = shape_size(&from->shape), most = reader_room(from);
    uint64_t sum = 0, crc = 0;
    writer_begin(w, to, to->type);
    for (int64_t at = 0; at < count; at += most) {
        int64_t n = count - at < most ? count - at : most;
        TRY(reader_get(v->reader, from, at, room, n));
        sum = contents_sum(v->source, from, sum, room, n, at);
        if (to->crc) crc = contents_sum(&v->target, to, crc, room, n, at);
        TRY(writer_put(w, at, room, n));
    }
    if (to->crc) to->sum = crc;
    return writer_end(w) && contents_agrees(v->source, from, sum, &v->session->fault);
}

/* A checkpoint that was imported with weights alone has no step: the original asks for one. */
static bool write_step(copying *v, writer *w, kept_tensor *to)
{
    writer_begin(w, to, MTF_I64);
    TRY(writer_put(w, 0, (const char *)&v->target.step, 1) && writer_end(w));
    to->sum = contents_sum(&v->target, to, 0, &v->target.step, 1, 0);
    return true;
}

static bool copy_tensors(copying *v, writer *w, char *room)
{
    for (int i = 0; i < v->target.ntensors; i++) {
        kept_tensor       *to = v->target.tensors[i];
        const kept_tensor *from = contents_find(v->source, to->name);
        TRY(from ? copy_tensor(v, w, from, to, room) : write_step(v, w, to));
    }
    return writer_sync(w);
}

static bool write_data(copying *v, const char *const *headers)
{
    mtf_session *s = v->session;
    writer       w;
    TRY(writing_prepare(&v->target, headers) &&
        writer_open(&w, &v->target, &s->allocator, (part_copier){0}, 1, &s->fault));
    char *room = block_alloc(&s->allocator, &s->fault, STAGE_BYTES, false);
    bool  ok = room && copy_tensors(v, &w, room);
    block_free(&s->allocator, room);
    writer_close(&w);
    return ok;
}

static bool write_text(const copying *v, const char *name, const char *text)
{
    return text && writing_small(&v->target, name, text, strlen(text));
}

static bool write_gin(const copying *v)
{
    return !v->call->gin || write_text(v, CONFIG_KEPT, v->call->gin);
}

/* ---- import ---- */

static bool import_files(copying *v)
{
    const char **headers = contents_arrange(&v->target, NULL);
    return headers && write_data(v, headers) && write_gin(v) &&
           write_text(v, manifest_name, manifest_print(&v->target));
}

/* ---- export ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp((*(kept_tensor *const *)a)->name, (*(kept_tensor *const *)b)->name);
}

static const char *step_file(copying *v, const char *suffix)
{
    textbuf t = {.arena = &v->session->arena};
    text_add(&t, "model.ckpt-%lld%s", (long long)v->target.step, suffix);
    return text_done(&t);
}

/* The tensors, one after the other, in one file without a header. */
static bool export_arrange(copying *v)
{
    contents      *c = &v->target;
    arena         *a = &v->session->arena;
    crc32c_tables *crc = arena_new(a, crc32c_tables);
    TRY(crc && (c->files = arena_new(a, kept_file)) != NULL);
    c->files[0].name = step_file(v, ".data-00000-of-00001");
    TRY(c->files[0].name != NULL);
    c->nfiles = 1;
    crc32c_fill(crc);
    c->crc = crc;
    qsort(c->tensors, (size_t)c->ntensors, sizeof *c->tensors, by_name);
    for (int i = 0; i < c->ntensors; i++) {
        c->tensors[i]->crc = true;
        c->tensors[i]->at = c->files[0].bytes;
        c->files[0].bytes += c->tensors[i]->bytes;
    }
    return true;
}

static bool export_index(copying *v)
{
    mtf_session *s = v->session;
    byte_list    bytes = {.from = &s->allocator, .why = &s->fault};
    const char  *name = step_file(v, ".index");
    bool         ok = name && bundle_print(&v->target, &bytes) &&
              writing_small(&v->target, name, bytes.bytes, (size_t)bytes.count);
    bytes_free(&bytes);
    return ok;
}

static bool export_files(copying *v)
{
    textbuf     t = {.arena = &v->session->arena};
    const char *none[] = {""}, *name = step_file(v, "");
    kept_tensor step = {.name = step_name, .type = MTF_I64};
    TRY(name && (contents_find(&v->target, step_name) || add_tensor(v, &step)));
    text_add(&t, "model_checkpoint_path: \"%s\"\nall_model_checkpoint_paths: \"%s\"\n", name, name);
    v->call->tensors = v->target.ntensors;
    return export_arrange(v) && write_data(v, none) && export_index(v) && write_gin(v) &&
           write_text(v, "checkpoint", text_done(&t));
}

/* ---- both ---- */

/* The folder has a temporary name until it is complete; `sign` is a file that it has then. */
static bool copy_all(copying *v, const char *sign, bool (*write_files)(copying *v))
{
    mtf_session *s = v->session;
    whole_folder w;
    int64_t      step;
    TRY(plan(v) && read_step(v, &step) && folder_suits(v->call->to, step, &s->fault) &&
        whole_may_replace(&s->arena, v->call->to, sign, v->call->force, &s->fault) &&
        whole_begin(&w, &s->arena, v->call->to));
    v->target.step = v->target.position = step;
    v->target.folder = w.draft;
    return whole_end(&w, write_files(v) && folder_sync(w.draft, &s->fault), &s->fault);
}

bool bundle_import(mtf_session *s, reader *from, bundle_copy *c)
{
    copying v = {.session = s, .reader = from, .source = from->contents, .call = c};
    return copy_all(&v, manifest_name, import_files);
}

bool bundle_export(mtf_session *s, reader *from, bundle_copy *c)
{
    copying v = {.session = s, .reader = from, .source = from->contents, .call = c};
    return copy_all(&v, "checkpoint", export_files);
}

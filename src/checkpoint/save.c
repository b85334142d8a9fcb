/* Saving: every process writes its parts, the first publishes.
 *
 * All files are written and flushed before the manifest, and the manifest
 * before the folder gets its name.  In the background a thread writes copies
 * of the parts; communication with other ranks stays in the caller's thread.
 */
#include <string.h>

#include "checkpoint/agree.h"
#include "checkpoint/arrange.h"
#include "checkpoint/background.h"
#include "checkpoint/folder.h"
#include "checkpoint/lock.h"
#include "checkpoint/manifest.h"
#include "checkpoint/writing.h"
#include "mtf_train.h"
#include "run/parts.h"
#include "run/share.h"

/* What this process writes of a tensor. */
typedef struct piece {
    kept_tensor *tensor;
    mtf_dtype    type; /* in memory */
    int          nparts;
    mtf_part    *parts;
} piece;

/* A checkpoint that is being written. */
typedef struct saver {
    store        *store;
    arena         arena;
    fault         fault; /* until all ranks agree */
    contents      contents;
    mtf_save_opts opts;
    const char   *folder;
    piece        *pieces; /* by tensor */
    writer        writer;
    char         *copies; /* of the parts, for the thread; NULL: none */
    background    thread;
    folder_lock   lock;    /* of this save; a training has its own */
    bool          drafted; /* the first rank: there is a draft folder */
} saver;

static const char what[] = "saving a checkpoint";

static bool is_first(const store *s)
{
    return !s->ranks || ranks_number(s->ranks) == 0;
}

/* ---- what there is to write ---- */

static bool copy_facts(saver *v)
{
    const char *const *from = v->opts.facts;
    int                n = 0;
    while (from && from[n]) n++;
    const char **to = arena_array(&v->arena, const char *, n + 1);
    TRY(to != NULL);
    for (int i = 0; i < n; i++) TRY((to[i] = arena_text(&v->arena, from[i])) != NULL);
    v->contents.facts = to;
    return true;
}

static bool list_tensors(saver *v)
{
    const store *s = v->store;
    contents    *c = &v->contents;
    *c = contents_make(&v->arena);
    c->folder = folder_draft_path(&v->arena, v->folder, v->opts.step);
    c->step = v->opts.step;
    c->position = v->opts.position;
    c->config = v->opts.config ? arena_text(&v->arena, v->opts.config) : NULL;
    c->seed = s->session->opts.seed;
    TRY(c->folder && mtf_ok(s->session) && copy_facts(v));
    for (int i = 0; i < s->count; i++) {
        kept_tensor *t = contents_add(c, s->all[i]->name);
        TRY(t && contents_shape(c, t, s->all[i]->master, &s->all[i]->shape));
    }
    return true;
}

/* Of several processors that have the same part, one writes it. */
static bool list_parts(saver *v, int64_t *bytes)
{
    store *s = v->store;
    v->pieces = arena_array(&v->arena, piece, v->contents.ntensors);
    TRY(v->pieces != NULL);
    for (int i = 0; i < v->contents.ntensors; i++) {
        piece             *p = &v->pieces[i];
        kept_tensor       *t = v->contents.tensors[i];
        const store_entry *e = names_get(&s->entries, t->name);
        *p = (piece){.tensor = t, .type = e->type};
        p->parts = arena_array(&v->arena, mtf_part, s->end - s->first);
        TRY(p->parts != NULL);
        for (int k = s->first; k < s->end; k++) {
            if (share_speaker(s, k, &e->shape, &e->where) != k) continue;
            p->parts[p->nparts++] = part_of(s, k, &e->shape, &e->where, e->parts[k]);
            *bytes += store_part_bytes(s, e->type, &e->shape, &e->where, k);
        }
    }
    return true;
}

/* Copies the parts to the host; from then on steps may change the variables. */
static bool copy_parts(saver *v, int64_t bytes)
{
    store *s = v->store;
    v->copies = block_alloc(&s->session->allocator, &v->fault, (size_t)bytes, false);
    TRY(v->copies != NULL);
    char *to = v->copies;
    for (int i = 0; i < v->contents.ntensors; i++)
        for (int k = 0; k < v->pieces[i].nparts; k++) {
            mtf_part *part = &v->pieces[i].parts[k];
            size_t    n = (size_t)mtf_shape_size(part->shape) * mtf_dtype_bytes(v->pieces[i].type);
            s->device->read(s->contexts[part->processor], to, part->data, n);
            part->data = to;
            to += n;
        }
    v->writer.copier = (part_copier){0};
    return true;
}

static void from_device(void *where, void *to, const void *from, size_t bytes)
{
    device_context *c = where;
    c->device->read(c, to, from, bytes);
}

static bool prepare_save(saver *v, int64_t *bytes)
{
    store *s = v->store;
    TRY(list_tensors(v));
    const char **headers = contents_arrange(&v->contents, NULL);
    TRY(headers && list_parts(v, bytes));
    store_wait(s);
    TRY(writer_open(&v->writer, &v->contents, &s->session->allocator,
                    (part_copier){from_device, s->contexts[s->first]}, s->end - s->first,
                    &v->fault));
    if (!is_first(s)) return true;
    TRY(folder_ready(v->folder, &v->fault));
    if (!lock_is_of(s->session->lock, v->folder)) TRY(lock_take(&v->lock, v->folder, &v->fault));
    TRY(folder_clean(&v->arena, v->folder));
    v->drafted = true;
    return writing_prepare(&v->contents, headers);
}

/* ---- writing ---- */

static void write_pieces(void *context)
{
    saver *v = context;
    bool   ok = true;
    for (int i = 0; ok && i < v->contents.ntensors; i++) {
        const piece *p = &v->pieces[i];
        ok = writer_parts(&v->writer, p->tensor, p->type, p->nparts, p->parts);
    }
    if (ok) writer_sync(&v->writer);
}

/* ---- the name ---- */

static bool put_manifest(saver *v)
{
    contents   *c = &v->contents;
    const char *text = manifest_print(c);
    TRY(text && writing_small(c, manifest_name, text, strlen(text)) &&
        folder_sync(c->folder, &v->fault) && folder_publish(&v->arena, v->folder, v->opts.step));
    v->drafted = false;
    return folder_prune(&v->arena, v->folder, v->opts.keep, v->opts.keep_every, v->opts.step);
}

/* After all ranks have written: adds up the sums of whole tensors, and the first rank publishes. */
static bool commit(saver *v)
{
    store    *s = v->store;
    contents *c = &v->contents;
    TRY(agree(s, what, &v->fault));
    uint64_t *sums = arena_array(&v->arena, uint64_t, c->ntensors);
    for (int i = 0; sums && i < c->ntensors; i++) sums[i] = c->tensors[i]->sum;
    TRY(agree(s, what, &v->fault) && agree_sums(s, what, c->ntensors, sums));
    for (int i = 0; i < c->ntensors; i++) c->tensors[i]->sum = sums[i];
    if (is_first(s)) put_manifest(v);
    return agree(s, what, &v->fault);
}

/* Removes the draft of a failed save; other ranks no longer write, or write to deleted files. */
static void discard(saver *v)
{
    mtf_session *s = v->store->session;
    fault        unsaid = {0};
    writer_close(&v->writer);
    if (v->drafted) folder_remove(v->contents.folder, &unsaid);
    lock_release(&v->lock);
    block_free(&s->allocator, v->copies);
    arena_free(&v->arena);
    s->saver = NULL;
    block_free(&s->allocator, v);
}

/* After another error of the session, ranks may have ended: then nothing is published. */
static bool finish_save(saver *v)
{
    mtf_session *s = v->store->session;
    background_wait(&v->thread);
    bool ok = mtf_ok(s) ? commit(v) : v->store->ranks ? false : !v->fault.kind && put_manifest(v);
    discard(v);
    return ok;
}

static void finish_at_close(void *context)
{
    mtf_session *s = context;
    if (s->saver) finish_save(s->saver);
}

static bool will_finish(const mtf_session *s)
{
    for (const session_closer *c = s->finishers; c; c = c->older)
        if (c->close == finish_at_close) return true;
    return false;
}

bool mtf_save_wait(mtf_session *s)
{
    if (s && s->saver) return finish_save(s->saver);
    return mtf_ok(s);
}

bool mtf_save_poll(mtf_session *s)
{
    TRY(mtf_ok(s));
    saver *v = s->saver;
    if (!v || !agree_all(v->store, what, background_done(&v->thread))) return mtf_ok(s);
    return finish_save(v);
}

/* ---- start ---- */

static bool sound(mtf_session *s, const char *folder, const mtf_save_opts *o)
{
    const int64_t most = (int64_t)1 << 53; /* what JSON's numbers hold exactly */
    if (!folder || !*folder)
        return fail(&s->fault, ERR_USAGE, "a checkpoint needs a folder; give mtf_save its path");
    if (o->step < 0 || o->step > most || o->position < 0 || o->position > most)
        return fail(&s->fault, ERR_VALUE,
                    "checkpoint: step %lld, position %lld: both must be from 0 to 2^53",
                    (long long)o->step, (long long)o->position);
    return true;
}

static saver *begin_save(store *s, const char *folder, const mtf_save_opts *o)
{
    mtf_session *m = s->session;
    saver       *v = block_alloc(&m->allocator, &m->fault, sizeof *v, true);
    if (!v) return NULL;
    v->store = s;
    v->arena = arena_make(&m->allocator, &v->fault);
    v->opts = *o;
    v->writer.descriptor = v->lock.descriptor = -1;
    v->writer.allocator = &m->allocator;
    v->folder = arena_text(&v->arena, folder);
    m->saver = v;
    return v;
}

bool mtf_save(mtf_session *s, const char *folder, const mtf_save_opts *opts)
{
    mtf_save_opts o = opts ? *opts : (mtf_save_opts){0};
    int64_t       bytes = 0;
    TRY(mtf_save_wait(s) && sound(s, folder, &o));
    store *t = store_of(s);
    TRY(t != NULL);
    if (t->count == 0)
        return fail(&s->fault, ERR_USAGE,
                    "there are no variables to save yet; compile the program first");
    if (!will_finish(s)) TRY(session_before_close(s, finish_at_close, s));
    saver *v = begin_save(t, folder, &o);
    TRY(v != NULL);
    if (v->folder) prepare_save(v, &bytes);
    if (!v->fault.kind && o.background) copy_parts(v, bytes);
    if (!agree(t, what, &v->fault)) {
        discard(v);
        return false;
    }
    if (o.background && background_start(&v->thread, write_pieces, v)) return true;
    write_pieces(v);
    return finish_save(v);
}

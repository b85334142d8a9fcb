/* Loading: every process reads its own parts, and all compare sums. */
#include <stdio.h>
#include <string.h>

#include "base/dtype.h"
#include "base/pattern.h"
#include "checkpoint/agree.h"
#include "checkpoint/opening.h"
#include "checkpoint/reading.h"
#include "checkpoint/writing.h"
#include "mtf_train.h"
#include "run/parts.h"
#include "run/share.h"

/* A variable and the tensor that it becomes. */
typedef struct wish {
    store_entry *entry;
    kept_tensor *tensor;
} wish;

typedef struct loader {
    store        *store;
    arena         arena;
    fault         fault; /* until all ranks know of it */
    contents      contents;
    mtf_load_opts opts;
    wish         *wishes;
    int           nwishes;
} loader;

static const char what[] = "loading a checkpoint";

/* ---- who becomes what ---- */

/* Its name in the checkpoint; NULL after an error. */
static const char *name_there(loader *l, const char *name)
{
    for (const char *const *r = l->opts.rename; r && r[0] && r[1]; r += 2) {
        const char *renamed = pattern_replace(r[0], r[1], name, &l->arena);
        if (renamed || l->fault.kind) return renamed;
    }
    return name;
}

static bool missing(loader *l, const char *here, const char *there)
{
    nearest near = {.wanted = there};
    char    hint[200], as[300] = "";
    for (int i = 0; i < l->contents.ntensors; i++)
        nearest_offer(&near, l->contents.tensors[i]->name);
    if (strcmp(here, there) != 0) snprintf(as, sizeof as, ", looked for as \"%.200s\"", there);
    return fail(&l->fault, ERR_FILE, "\"%s\" lacks variable \"%.200s\"%s%s", l->contents.folder,
                here, as, nearest_hint(&near, hint, sizeof hint));
}

static bool same_sizes(const mtf_shape *a, const mtf_shape *b)
{
    if (a->ndims != b->ndims) return false;
    for (int d = 0; d < a->ndims; d++)
        if (a->dims[d].size != b->dims[d].size) return false;
    return true;
}

static bool fits(loader *l, const store_entry *e, const kept_tensor *t)
{
    const char *file = l->contents.files[t->file].name;
    char        a[SHAPE_TEXT], b[SHAPE_TEXT];
    bool        converts = l->opts.convert && dtype_is_float(t->type) && dtype_is_float(e->master);
    if (t->foreign)
        return fail(&l->fault, ERR_FILE,
                    "\"%s/%s\": tensor \"%s\" has elements of type %s, which mtf lacks",
                    l->contents.folder, file, t->name, t->foreign);
    if (t->named ? !mtf_shape_equal(t->shape, e->shape) : !same_sizes(&t->shape, &e->shape))
        return fail(&l->fault, ERR_FILE,
                    "\"%s/%s\": tensor \"%s\" is %s%s, but the variable \"%s\" is %s%s",
                    l->contents.folder, file, t->name, mtf_dtype_name(t->type),
                    shape_text(&t->shape, a), e->name, mtf_dtype_name(e->master),
                    shape_text(&e->shape, b));
    if (t->type == e->master || converts) return true;
    return fail(
        &l->fault, ERR_FILE,
        "\"%s/%s\": tensor \"%s\" is %s, but the variable \"%s\" is kept as %s; convert the "
        "checkpoint, or say that floating types shall be converted",
        l->contents.folder, file, t->name, mtf_dtype_name(t->type), e->name,
        mtf_dtype_name(e->master));
}

static bool choose(loader *l)
{
    const store *s = l->store;
    l->wishes = arena_array(&l->arena, wish, s->count);
    TRY(l->wishes != NULL);
    for (int i = 0; i < s->count; i++) {
        store_entry *e = s->all[i];
        if (l->opts.only && !pattern_matches(l->opts.only, e->name, &l->fault)) {
            TRY(!l->fault.kind);
            continue;
        }
        const char *there = name_there(l, e->name);
        TRY(there != NULL);
        kept_tensor *t = contents_find(&l->contents, there);
        if (!t && l->opts.partial) continue;
        if (!t) return missing(l, e->name, there);
        TRY(fits(l, e, t));
        l->wishes[l->nwishes++] = (wish){e, t};
    }
    if (l->nwishes) return true;
    return fail(&l->fault, ERR_FILE, "\"%s\" has none of the %d variables that were to be loaded",
                l->contents.folder, s->count);
}

/* ---- reading ---- */

static void to_device(void *where, void *to, const void *from, size_t bytes)
{
    device *d = where;
    d->write(d, to, from, bytes);
}

/* A part that another processor of this process has as well is copied from there. */
static void copy_part(const loader *l, reader *r, const store_entry *e, int from, int to)
{
    const store *s = l->store;
    size_t       left = (size_t)store_part_bytes(s, e->type, &e->shape, &e->where, to);
    for (size_t at = 0; left > 0;) {
        size_t n = left < STAGE_BYTES ? left : STAGE_BYTES;
        s->device->read(s->device, r->stage, (const char *)e->parts[from] + at, n);
        s->device->write(s->device, (char *)e->parts[to] + at, r->stage, n);
        at += n, left -= n;
    }
}

/* Room for what one tensor needs, by processor of this process. */
typedef struct read_room {
    mtf_part *parts;
    bool     *counts;
    int      *first; /* by speaker: who of this process has its part already */
} read_room;

static bool read_one(loader *l, reader *r, const read_room *room, const wish *w, uint64_t *sum)
{
    const store       *s = l->store;
    const store_entry *e = w->entry;
    int                n = 0;
    for (int k = s->first; k < s->end; k++) {
        int speaker = share_speaker(s, k, &e->shape, &e->where);
        room->first[k - s->first] = k;
        for (int q = s->first; q < k; q++)
            if (room->first[q - s->first] == q &&
                share_speaker(s, q, &e->shape, &e->where) == speaker)
                room->first[k - s->first] = q;
        if (room->first[k - s->first] != k) continue;
        room->counts[n] = speaker == k;
        room->parts[n++] = part_of(s, k, &e->shape, &e->where, e->parts[k]);
    }
    TRY(reader_parts(r, w->tensor, e->type, n, room->parts, room->counts, sum));
    for (int k = s->first; k < s->end; k++)
        if (room->first[k - s->first] != k) copy_part(l, r, e, room->first[k - s->first], k);
    return true;
}

static bool read_all(loader *l, uint64_t *sums)
{
    const store *s = l->store;
    int          here = s->end - s->first;
    reader       r;
    read_room    room = {.parts = arena_array(&l->arena, mtf_part, here),
                         .counts = arena_array(&l->arena, bool, here),
                         .first = arena_array(&l->arena, int, here)};
    TRY(room.parts && room.counts && room.first);
    TRY(reader_open(&r, &l->contents, &s->session->allocator, (part_copier){to_device, s->device},
                    here, &l->fault));
    bool ok = true;
    for (int i = 0; ok && i < l->nwishes; i++) ok = read_one(l, &r, &room, &l->wishes[i], &sums[i]);
    reader_close(&r);
    return ok;
}

static bool sums_agree(const loader *l, const uint64_t *sums)
{
    for (int i = 0; i < l->nwishes; i++)
        TRY(contents_agrees(&l->contents, l->wishes[i].tensor, sums[i], &l->store->session->fault));
    return true;
}

static bool tell(const loader *l, mtf_loaded *loaded)
{
    const contents *c = &l->contents;
    arena          *a = &l->store->session->arena;
    if (!loaded) return true;
    *loaded = (mtf_loaded){.step = c->step, .position = c->position, .seed = c->seed};
    loaded->config = arena_text(a, c->config ? c->config : "");
    loaded->path = arena_text(a, c->folder);
    loaded->variables = l->nwishes;
    return loaded->config && loaded->path;
}

static bool load(loader *l, const char *path, mtf_loaded *loaded)
{
    store *s = l->store;
    if (checkpoint_open(&l->contents, path, l->opts.step ? l->opts.step : NEWEST)) choose(l);
    TRY(agree(s, what, &l->fault));
    uint64_t *sums = arena_array(&l->arena, uint64_t, l->nwishes);
    if (sums) read_all(l, sums);
    TRY(agree(s, what, &l->fault) && agree_sums(s, what, l->nwishes, sums));
    return sums_agree(l, sums) && tell(l, loaded);
}

bool mtf_load(mtf_session *s, const char *path, const mtf_load_opts *opts, mtf_loaded *loaded)
{
    if (loaded) *loaded = (mtf_loaded){.config = "", .path = ""};
    TRY(mtf_save_wait(s));
    loader l = {.store = store_of(s), .opts = opts ? *opts : (mtf_load_opts){0}};
    TRY(l.store != NULL);
    if (l.store->count == 0)
        return fail(&s->fault, ERR_USAGE,
                    "there are no variables to load yet; compile the program first");
    l.arena = arena_make(&s->allocator, &l.fault);
    l.contents = contents_make(&l.arena);
    bool ok = load(&l, path, loaded);
    arena_free(&l.arena);
    return ok;
}

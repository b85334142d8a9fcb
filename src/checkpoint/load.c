/* Loading: every process reads its parts, and all compare sums. */
#include <stdio.h>
#include <string.h>

#include "base/dtype.h"
#include "base/pattern.h"
#include "base/textbuf.h"
#include "checkpoint/agree.h"
#include "checkpoint/load.h"
#include "checkpoint/opening.h"
#include "checkpoint/reading.h"
#include "checkpoint/transpose.h"
#include "checkpoint/writing.h"
#include "run/parts.h"
#include "run/share.h"

/* A variable and the tensor that it is loaded from. */
typedef struct wish {
    store_entry *entry;
    kept_tensor *tensor;
    bool         transposed; /* the tensor has its dimensions in another order */
} wish;

typedef struct loader {
    store        *store;
    arena         arena;
    fault         fault; /* of this rank, until all agree */
    fault        *why;   /* of all ranks */
    contents      contents;
    mtf_load_opts opts;
    wish         *wishes;
    int           nwishes, wanted;
    const char  **missing; /* names of wanted variables that the checkpoint lacks, then NULL */
    int           nmissing;
} loader;

static const char what[] = "loading a checkpoint";

/* ---- matching variables and tensors ---- */

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
        nearest_offer(&near, l->contents.tensors[i]->shown);
    if (strcmp(here, there) != 0) snprintf(as, sizeof as, ", looked for as \"%.200s\"", there);
    return fail(&l->fault, ERR_FILE, "\"%s\" lacks variable \"%.200s\"%s%s", l->contents.path, here,
                as, nearest_hint(&near, hint, sizeof hint));
}

static bool same_sizes(const mtf_shape *a, const mtf_shape *b)
{
    if (a->ndims != b->ndims) return false;
    for (int d = 0; d < a->ndims; d++)
        if (a->dims[d].size != b->dims[d].size) return false;
    return true;
}

/* Dimensions are compared by name where the file names them. */
static bool shapes_fit(const store_entry *e, const kept_tensor *t)
{
    if (!t->named) return same_sizes(&t->shape, &e->shape);
    return mtf_shape_equal(t->shape, e->shape) || transpose_suits(&t->shape, &e->shape);
}

static bool fits(loader *l, const store_entry *e, const kept_tensor *t)
{
    const char *file = contents_file(&l->contents, t->file);
    char        text[SHAPE_TEXT];
    bool        converts = l->opts.convert && dtype_is_float(t->type) && dtype_is_float(e->master);
    if (t->foreign)
        return fail(&l->fault, ERR_FILE,
                    "\"%s\": tensor \"%s\" has elements of type %s, which mtf lacks", file,
                    t->shown, t->foreign);
    if (!shapes_fit(e, t))
        return fail(&l->fault, ERR_FILE,
                    "\"%s\": tensor \"%s\" is %s%s, but the variable \"%s\" is %s%s", file,
                    t->shown, mtf_dtype_name(t->type), contents_shape_text(&l->contents, t),
                    e->name, mtf_dtype_name(e->master), shape_text(&e->shape, text));
    if (t->type == e->master || converts) return true;
    return fail(&l->fault, ERR_FILE,
                "\"%s\": tensor \"%s\" is %s, but the variable \"%s\" is kept as %s; %s", file,
                t->shown, mtf_dtype_name(t->type), e->name, mtf_dtype_name(e->master),
                dtype_is_float(t->type) && dtype_is_float(e->master)
                    ? "ask for a conversion (--init-convert), or convert it with mtf ckpt convert"
                    : "only floating types are converted");
}

static bool is_wanted(loader *l, const store_entry *e)
{
    if (l->opts.trainable && !e->of_model) return false;
    return !l->opts.only || pattern_matches(l->opts.only, e->name, &l->fault);
}

/* A pattern that renames nothing is probably a mistake. */
static bool renames_match(loader *l)
{
    const store *s = l->store;
    for (const char *const *r = l->opts.rename; r && r[0] && r[1]; r += 2) {
        bool matched = false;
        for (int i = 0; i < s->count && !matched; i++)
            matched = is_wanted(l, s->all[i]) && pattern_matches(r[0], s->all[i]->name, &l->fault);
        if (!matched) /* unless the pattern is invalid, which was reported */
            return fail(
                &l->fault, ERR_USAGE,
                "nothing is renamed by \"%s=%s\": the pattern matches the name of none of the "
                "%d variables that are to be loaded",
                r[0], r[1], l->wanted);
    }
    return true;
}

static bool count_wanted(loader *l)
{
    const store *s = l->store;
    for (int i = 0; i < s->count; i++) l->wanted += is_wanted(l, s->all[i]);
    TRY(!l->fault.kind);
    if (l->wanted) return renames_match(l);
    const char *kind = l->opts.trainable ? "variable of the model" : "variable";
    if (l->opts.only)
        return fail(&l->fault, ERR_USAGE, "no %s has a name that \"%s\" matches", kind,
                    l->opts.only);
    return fail(&l->fault, ERR_USAGE, "there is no %s to load", kind);
}

/* Why a variable does not fit; "": it does. */
static void misfit(loader *l, const store_entry *e, char *text, size_t room)
{
    char               shape[SHAPE_TEXT];
    const char        *there = is_wanted(l, e) ? name_there(l, e->name) : NULL;
    const kept_tensor *t = there ? contents_find(&l->contents, there) : NULL;
    text[0] = 0;
    if (!there || (!t && l->opts.partial)) return;
    if (!t)
        snprintf(text, room, "\"%.80s\" %s%s is missing", e->name, mtf_dtype_name(e->master),
                 shape_text(&e->shape, shape));
    else if (!t->foreign && !shapes_fit(e, t))
        snprintf(text, room, "\"%.80s\" is %s there and %s here", e->name,
                 contents_shape_text(&l->contents, t), shape_text(&e->shape, shape));
}

/* Adds the other variables that do not fit to the error about the first. */
static bool misfits(loader *l, int first)
{
    enum { MOST_NAMED = 4 };
    textbuf others = {.arena = &l->arena};
    char    said[sizeof l->fault.text], one[300];
    int     n = 0, kind = l->fault.kind;
    snprintf(said, sizeof said, "%s", l->fault.text);
    fault_clear(&l->fault);
    for (int i = first + 1; i < l->store->count; i++) {
        misfit(l, l->store->all[i], one, sizeof one);
        if (one[0] && n++ < MOST_NAMED) text_add(&others, "%s%s", n > 1 ? ", " : "", one);
    }
    const char *list = n ? text_done(&others) : NULL;
    fault_clear(&l->fault); /* errors of the search do not count */
    if (!list) return fault_take(&l->fault, kind, said) && false;
    size_t used = strlen(said);
    snprintf(said + used, sizeof said - used, "; %d other%s not fit: %s%s", n,
             n == 1 ? " does" : "s do", list, n > MOST_NAMED ? ", ..." : "");
    fault_take(&l->fault, kind, said);
    return false;
}

static bool choose(loader *l)
{
    const store *s = l->store;
    l->wishes = arena_array(&l->arena, wish, s->count);
    l->missing = arena_array(&l->arena, const char *, s->count + 1);
    TRY(l->wishes && l->missing && count_wanted(l));
    for (int i = 0; i < s->count; i++) {
        store_entry *e = s->all[i];
        if (!is_wanted(l, e)) continue;
        const char *there = name_there(l, e->name);
        TRY(there != NULL);
        kept_tensor *t = contents_find(&l->contents, there);
        bool         spared = l->opts.partial || (l->opts.trainable && !e->trainable);
        if (!t && !spared) return missing(l, e->name, there) || misfits(l, i);
        if (!t) {
            l->missing[l->nmissing++] = e->name;
            continue;
        }
        if (!fits(l, e, t)) return misfits(l, i);
        bool transposed = t->named && transpose_suits(&t->shape, &e->shape);
        l->wishes[l->nwishes++] = (wish){e, t, transposed};
    }
    if (l->nwishes) return true;
    return fail(&l->fault, ERR_FILE, "\"%s\" has none of the %d variables that were to be loaded",
                l->contents.path, l->wanted);
}

/* ---- reading ---- */

static void to_device(void *where, void *to, const void *from, size_t bytes)
{
    device_context *c = where;
    c->device->write(c, to, from, bytes);
}

/* Where two processors of this process have the same part, it is read once and copied. */
static void copy_part(const loader *l, reader *r, const store_entry *e, int from, int to)
{
    const store *s = l->store;
    size_t       left = (size_t)store_part_bytes(s, e->type, &e->shape, &e->where, to);
    for (size_t at = 0; left > 0;) {
        size_t n = left < STAGE_BYTES ? left : STAGE_BYTES;
        s->device->read(s->contexts[from], r->stage, (const char *)e->parts[from] + at, n);
        s->device->write(s->contexts[to], (char *)e->parts[to] + at, r->stage, n);
        at += n, left -= n;
    }
}

/* Work space for one tensor, by processor of this process. */
typedef struct read_room {
    mtf_part *parts;
    bool     *counts;
    int      *first; /* the first processor of this process that has the same part */
} read_room;

/* The part with its dimensions in the file's order. */
static mtf_part part_there(const mtf_shape *there, const mtf_part *p, void *data)
{
    mtf_part q = {.processor = p->processor, .shape = {.ndims = there->ndims}, .data = data};
    for (int d = 0; d < there->ndims; d++) {
        int at = mtf_shape_find(p->shape, there->dims[d].name);
        q.shape.dims[d] = p->shape.dims[at];
        q.begin[d] = p->begin[at];
    }
    return q;
}

/* Allocates memory for one part, because its elements are read in one order and written in another. */
static bool read_transposed(loader *l, reader *r, const wish *w, const mtf_part *p, bool counts,
                            uint64_t *sum)
{
    const mtf_allocator *a = &l->store->session->allocator;
    size_t               bytes = mtf_dtype_bytes(w->entry->type);
    int64_t              count = shape_size(&p->shape), room = (int64_t)(STAGE_BYTES / bytes);
    part_copier          copier = r->copier;
    char                *lies = block_alloc(a, &l->fault, (size_t)(count + 1) * bytes, false);
    TRY(lies != NULL);
    mtf_part there = part_there(&w->tensor->shape, p, lies);
    r->copier = (part_copier){0};
    bool ok = reader_parts(r, w->tensor, w->entry->type, 1, &there, &counts, sum);
    r->copier = copier;
    transposing t = transpose_start(&there.shape, &p->shape);
    for (int64_t at = 0; ok && at < count; at += room) {
        int64_t n = count - at < room ? count - at : room;
        transpose_next(&t, bytes, lies, r->stage, n);
        copier.copy(copier.where, (char *)p->data + (size_t)at * bytes, r->stage,
                    (size_t)n * bytes);
    }
    block_free(a, lies);
    return ok;
}

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
    for (int i = 0; w->transposed && i < n; i++)
        TRY(read_transposed(l, r, w, &room->parts[i], room->counts[i], sum));
    if (!w->transposed) TRY(reader_parts(r, w->tensor, e->type, n, room->parts, room->counts, sum));
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
    store_wait(s);
    TRY(reader_open(&r, &l->contents, &s->session->allocator,
                    (part_copier){to_device, s->contexts[s->first]}, here, &l->fault));
    bool ok = true;
    for (int i = 0; ok && i < l->nwishes; i++) ok = read_one(l, &r, &room, &l->wishes[i], &sums[i]);
    reader_close(&r);
    return ok;
}

/* A CRC needs all bytes in their order, which nobody has read. */
static bool sums_agree(const loader *l, const uint64_t *sums)
{
    for (int i = 0; i < l->nwishes; i++)
        if (!l->wishes[i].tensor->crc)
            TRY(contents_agrees(&l->contents, l->wishes[i].tensor, sums[i], l->why));
    return true;
}

/* A copy of a NULL-terminated list of strings, which lives as long as the session. */
static const char *const *copy_texts(arena *a, const char *const *from)
{
    int n = 0;
    while (from && from[n]) n++;
    const char **to = arena_array(a, const char *, n + 1);
    for (int i = 0; to && i < n; i++)
        if (!(to[i] = arena_text(a, from[i]))) return NULL;
    return to;
}

static bool tell(const loader *l, mtf_loaded *loaded)
{
    const contents *c = &l->contents;
    arena          *a = &l->store->session->arena;
    if (!loaded) return true;
    *loaded = (mtf_loaded){.step = c->step, .position = c->position, .seed = c->seed};
    loaded->config = arena_text(a, c->config ? c->config : "");
    loaded->path = arena_text(a, c->path);
    loaded->variables = l->nwishes;
    loaded->wanted = l->wanted;
    loaded->missing = copy_texts(a, l->missing);
    loaded->facts = copy_texts(a, c->facts);
    return loaded->config && loaded->path && loaded->missing && loaded->facts;
}

static bool load(loader *l, const char *path, const load_judge *judge, mtf_loaded *loaded)
{
    store *s = l->store;
    if (checkpoint_open(&l->contents, path, l->opts.step ? l->opts.step : NEWEST) &&
        (!judge || judge->accepts(judge->context, &l->contents, &l->fault)))
        choose(l);
    TRY(agree_on(s, what, &l->fault, l->why));
    uint64_t *sums = arena_array(&l->arena, uint64_t, l->nwishes);
    if (sums) read_all(l, sums);
    TRY(agree_on(s, what, &l->fault, l->why) && agree_sums(s, what, l->nwishes, sums));
    return sums_agree(l, sums) && tell(l, loaded);
}

bool checkpoint_load(store *s, const char *path, const mtf_load_opts *opts, const load_judge *judge,
                     mtf_loaded *loaded, fault *why)
{
    loader l = {.store = s, .opts = opts ? *opts : (mtf_load_opts){0}, .why = why};
    if (s->count == 0)
        return fail(why, ERR_USAGE,
                    "there are no variables to load yet; compile the program first");
    l.arena = arena_make(&s->session->allocator, &l.fault);
    l.contents = contents_make(&l.arena);
    bool ok = load(&l, path, judge, loaded);
    arena_free(&l.arena);
    return ok;
}

bool mtf_load(mtf_session *s, const char *path, const mtf_load_opts *opts, mtf_loaded *loaded)
{
    fault why = {0};
    if (loaded) *loaded = (mtf_loaded){.config = "", .path = ""};
    TRY(mtf_save_wait(s));
    store *t = store_of(s);
    TRY(t != NULL);
    bool ok = checkpoint_load(t, path, opts, NULL, loaded, &why);
    if (why.kind != ERR_NONE && fault_take(&s->fault, why.kind, why.text))
        s->fault.named = why.named;
    return ok && mtf_ok(s);
}

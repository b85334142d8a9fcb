/* The checks before a conversion of weights. */
#include "model/published/conversion.h"

#include <assert.h>
#include <string.h>

#include "base/pattern.h"
#include "base/session.h"
#include "base/textbuf.h"

static const char *source_name(const conversion *v, const published_weight *w)
{
    return v->imports ? w->theirs : w->ours;
}

kept_tensor *conversion_source(const conversion *v, const published_weight *w)
{
    return v->imports ? published_find(&v->config, &v->source, w->theirs)
                      : contents_find(&v->source, w->ours);
}

/* ---- checking for completeness ---- */

/* A list of names for an error message, which prints the first few. */
typedef struct complaint {
    textbuf text;
    int     count;
} complaint;

enum { COMPLAINTS_SAID = 4 };

static bool says(complaint *c)
{
    return c->count++ < COMPLAINTS_SAID;
}

static void close_complaint(complaint *c, textbuf *all, const char *heading)
{
    if (!c->count) return;
    text_add(all, "%s %d %s:%s", all->used ? ";" : "", c->count, heading, c->text.text);
    if (c->count > COMPLAINTS_SAID) text_add(all, ", ...");
}

static bool same_sizes(const mtf_shape *a, const mtf_shape *b)
{
    bool same = a->ndims == b->ndims;
    for (int d = 0; same && d < a->ndims; d++) same = a->dims[d].size == b->dims[d].size;
    return same;
}

static void add_sizes(textbuf *t, const mtf_shape *s)
{
    for (int d = 0; d < s->ndims; d++)
        text_add(t, "%s%lld", d ? "," : "[", (long long)s->dims[d].size);
    text_add(t, "%s", s->ndims ? "]" : "[]");
}

static void check_weight(const conversion *v, const published_weight *w, complaint *missing,
                         complaint *unfit)
{
    const kept_tensor *t = conversion_source(v, w);
    const mtf_shape   *wanted = v->imports ? &w->their_shape : &w->shape;
    if (!t) {
        if (says(missing)) {
            text_add(&missing->text, "%s %s ", missing->count > 1 ? "," : "", source_name(v, w));
            add_sizes(&missing->text, wanted);
        }
    } else if (t->foreign || !same_sizes(&t->shape, wanted)) {
        if (!says(unfit)) return;
        text_add(&unfit->text, "%s %s is %s", unfit->count > 1 ? "," : "", t->shown,
                 t->foreign ? t->foreign : "");
        add_sizes(&unfit->text, &t->shape);
        text_add(&unfit->text, ", not ");
        add_sizes(&unfit->text, wanted);
    }
}

/* Whether two tensors have the same elements; false after an error, too. */
static bool same_elements(conversion *v, const kept_tensor *a, const kept_tensor *b)
{
    mtf_session *s = v->session;
    if (a->foreign || b->foreign || a->type != b->type || !same_sizes(&a->shape, &b->shape))
        return false;
    size_t  bytes = mtf_dtype_bytes(a->type);
    int64_t count = shape_size(&a->shape), room = reader_room(a);
    char   *one = block_alloc(&s->allocator, &s->fault, (size_t)room * bytes, false);
    char   *other = block_alloc(&s->allocator, &s->fault, (size_t)room * bytes, false);
    bool    same = one && other;
    for (int64_t at = 0; same && at < count; at += room) {
        int64_t n = count - at < room ? count - at : room;
        same = reader_get(&v->reader, a, at, one, n) && reader_get(&v->reader, b, at, other, n) &&
               memcmp(one, other, (size_t)n * bytes) == 0;
    }
    block_free(&s->allocator, one);
    block_free(&s->allocator, other);
    return same;
}

static bool settle_logits(conversion *v)
{
    published_config  *c = &v->config;
    published_logits   names = published_logits_of(c);
    const kept_tensor *head =
        contents_find(&v->source, v->imports ? names.their_head : names.our_head);
    const kept_tensor *table = v->imports ? published_find(c, &v->source, names.their_table) : NULL;
    if (!head) {
        c->tied = c->tied || c->family == PUBLISHED_T5;
    } else if (c->tied) {
        c->tied = table && same_elements(v, head, table);
        TRY(mtf_ok(v->session));
    }
    if (c->tied || c->unscaled) return true;
    assert(head != NULL); /* only T5 scales logits */
    return fail(&v->session->fault, ERR_FILE,
                "\"%s\" has a \"%s\" of its own, but config.json asks for logits divided by "
                "sqrt(d_model), which mtf does only where they use the embedding",
                v->source.path, head->shown);
}

/* BERT's files may lack heads: a model that only predicts masked words has no pooler. */
static bool settle_heads(conversion *v)
{
    published_config *c = &v->config;
    const contents   *from = &v->source;
    bool              in = v->imports;
    c->pooled = in ? published_find(c, from, "bert.pooler.dense.weight") != NULL
                   : contents_find(from, "bert/pooler/kernel") != NULL;
    c->masks = contents_find(from, in ? "cls.predictions.bias" : "cls/predictions/output_bias");
    c->follows =
        contents_find(from, in ? "cls.seq_relationship.weight" : "cls/seq_relationship/kernel");
    return true;
}

bool conversion_settle_heads(conversion *v)
{
    return v->config.family == PUBLISHED_BERT ? settle_heads(v) : settle_logits(v);
}

/* A spare tensor: listed with its reason, or an error where it is not the copy that it should be. */
static bool add_spare(conversion *v, const kept_tensor *t, const published_spare *p, textbuf *list)
{
    const char *why = p->why;
    text_add(list, "%s%s (", list->used ? ", " : "", t->shown);
    if (why) {
        text_add(list, "%s)", why);
        return true;
    }
    const kept_tensor *of = published_find(&v->config, &v->source, p->copy_of);
    if (of && !same_elements(v, t, of)) {
        TRY(mtf_ok(v->session));
        return fail(&v->session->fault, ERR_FILE,
                    "\"%s\": \"%s\" differs from \"%s\"; mtf has one table for both",
                    v->source.path, t->shown, of->shown);
    }
    text_add(list, "a copy of %s)", p->copy_of);
    return true;
}

/* Which tensors of the source are converted, by number; NULL: no memory. */
static const bool *find_known(const conversion *v)
{
    const contents *c = &v->source;
    bool           *known = arena_array(&v->session->arena, bool, c->ntensors);
    for (int k = 0; known && k < v->nweights; k++) {
        const kept_tensor *t = conversion_source(v, &v->weights[k]);
        for (int i = 0; t && i < c->ntensors; i++) known[i] = known[i] || c->tensors[i] == t;
    }
    return known;
}

static bool take_spare(conversion *v, textbuf *list)
{
    if (!list->used) return true;
    v->spare = text_done(list);
    return v->spare != NULL;
}

/* Tensors of a published file that the model lacks: config.json may belong to another model. */
static bool find_unknown(conversion *v, complaint *unknown)
{
    const contents *c = &v->source;
    const bool     *known = find_known(v);
    textbuf         spare = {.arena = &v->session->arena};
    TRY(known != NULL);
    for (int i = 0; i < c->ntensors; i++) {
        const kept_tensor *t = c->tensors[i];
        if (known[i]) continue;
        const published_spare *p = published_find_spare(&v->config, t->name, &v->session->fault);
        TRY(mtf_ok(v->session));
        if (p) {
            TRY(add_spare(v, t, p, &spare));
            continue;
        }
        if (!says(unknown)) continue;
        text_add(&unknown->text, "%s %s ", unknown->count > 1 ? "," : "", t->shown);
        add_sizes(&unknown->text, &t->shape);
    }
    return take_spare(v, &spare);
}

/* What optimizers, averages and scaled losses keep besides a model. */
static bool is_of_training(const conversion *v, const char *name)
{
    static const char pattern[] = "(/adam_[mv]|_slot_(vr|vc|v|m)|_momentum_v|/average)$|"
                                  "^(global_step|loss_scale|good_steps|skipped_steps)$";
    return pattern_matches(pattern, name, &v->session->fault);
}

/* Tensors of a checkpoint that published files have no place for. */
static bool list_left_out(conversion *v)
{
    const contents *c = &v->source;
    const bool     *known = find_known(v);
    textbuf         list = {.arena = &v->session->arena};
    int             training = 0;
    TRY(known != NULL);
    for (int i = 0; i < c->ntensors; i++) {
        if (known[i]) continue;
        if (is_of_training(v, c->tensors[i]->name))
            training++;
        else
            text_add(&list, "%s%s", list.used ? ", " : "", c->tensors[i]->shown);
        v->unlike |=
            pattern_matches("/top_k_gating/bias$", c->tensors[i]->name, &v->session->fault);
    }
    if (training)
        text_add(&list, "%s%d tensor%s of training (optimizer, averages, steps)",
                 list.used ? ", and " : "", training, training == 1 ? "" : "s");
    return mtf_ok(v->session) && take_spare(v, &list);
}

bool conversion_check(conversion *v)
{
    arena    *a = &v->session->arena;
    complaint missing = {{.arena = a}, 0}, unfit = missing, unknown = missing;
    textbuf   all = {.arena = a};
    for (int k = 0; k < v->nweights; k++)
        if (v->imports ? v->weights[k].part == 0 : v->weights[k].piece == 0)
            check_weight(v, &v->weights[k], &missing, &unfit);
    if (v->imports) TRY(find_unknown(v, &unknown));
    close_complaint(&missing, &all, "missing");
    close_complaint(&unfit, &all, "of another shape");
    close_complaint(&unknown, &all, "unknown");
    TRY(text_done(&all) != NULL);
    if (!all.used) return v->imports || list_left_out(v);
    return fail(&v->session->fault, ERR_FILE,
                "\"%s\" does not have the tensors of the model that its config.json describes:%s",
                v->source.path, all.text);
}

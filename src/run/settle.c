/* Decides on rules for state at the first compilation. */
#include "run/settle.h"

#include <string.h>

#include "base/textbuf.h"
#include "price/decline.h"
#include "run/parts.h"
#include "run/share.h"

/* ---- deciding ---- */

static bool decide(store *s, mtf_graph *g, int n, mtf_tensor *const *fetches, const char **declined)
{
    estimate_opts o = {.mesh = &s->mesh, .layout = &s->layout, .rates = PRICE_RATES};
    textbuf       t = {.arena = &s->session->arena};
    o.rates.site = &s->site;
    TRY(decline_state_rules(g, n, fetches, &o, &s->layout));
    for (int r = 0; r < s->layout.ndeclined; r++)
        text_add(&t, "%s%s", r ? "," : "", s->layout.declined[r].text);
    *declined = text_done(&t);
    return *declined != NULL;
}

static bool has_rule(const char *list, const char *rule)
{
    size_t n = strlen(rule);
    for (const char *at = list; *at; at += strspn(at, ",")) {
        size_t length = strcspn(at, ",");
        if (length == n && strncmp(at, rule, n) == 0) return true;
        at += length;
    }
    return false;
}

/* Declines the rules that the first process has declined. */
static void follow(layout *l, const char *declined)
{
    int n = 0;
    for (int r = 0; r < l->nstate; r++)
        if (!has_rule(declined, l->state[r].text)) l->state[n++] = l->state[r];
    l->nstate = n;
}

bool settle_tell(mtf_session *s, const layout *l)
{
    for (int r = 0; r < l->ndeclined; r++) {
        textbuf t = {.arena = &s->arena};
        text_add(&t, "mtf: ");
        decline_write(&l->declined[r], &t);
        text_add(&t, "\n");
        const char *text = text_done(&t);
        TRY(text != NULL);
        session_say(s, text);
    }
    return true;
}

/* ---- moving ---- */

static bool is_at(const store_entry *e, const placement *where)
{
    bool same = true;
    for (int d = 0; d < e->shape.ndims; d++)
        same = same && cut_equal(&e->where.dim[d], &where->dim[d]);
    return same;
}

/* If memory runs out, the parts allocated so far are freed with the session. */
static bool change_parts(store *s, store_entry *e, const placement *where, const char *whole)
{
    void **parts = arena_array(&s->session->arena, void *, s->processors);
    TRY(parts != NULL);
    store_release(s, e);
    e->parts = parts;
    e->packed = false;
    e->where = *where;
    for (int p = s->first; p < s->end; p++) {
        parts[p] = s->device->alloc(s->contexts[p],
                                    (size_t)store_part_bytes(s, e->type, &e->shape, where, p));
        TRY(parts[p] != NULL);
        TRY(part_write(s, p, e->type, &e->shape, where, whole, parts[p]));
    }
    return true;
}

/* Moves a variable that was read or set before the rules were settled. */
static bool move(store *s, store_entry *e)
{
    mtf_session *m = s->session;
    placement    where;
    TRY(layout_place(&s->layout, &e->shape, e->name, &m->fault, &where));
    layout_refine(&s->layout, &e->shape, &where);
    if (is_at(e, &where)) return true;
    size_t bytes = (size_t)shape_size(&e->shape) * mtf_dtype_bytes(e->type);
    char  *whole = block_alloc(&m->allocator, &m->fault, bytes, false);
    bool   ok = whole && parts_get(s, e, whole) && change_parts(s, e, &where, whole);
    block_free(&m->allocator, whole);
    return ok;
}

bool settle_state(store *s, mtf_graph *g, int nfetches, mtf_tensor *const *fetches)
{
    const char *declined = "";
    bool        first = !s->ranks || ranks_number(s->ranks) == 0;
    if (s->settled) return true;
    s->settled = true;
    TRY(!s->ranks || share_agrees(s->session, s->ranks, "state layouts", s->layout.nstate > 0));
    if (s->layout.nstate == 0) return true;
    if (first)
        TRY(decide(s, g, nfetches, fetches, &declined) && settle_tell(s->session, &s->layout));
    TRY(!s->ranks || share_text(s->session, s->ranks, "settling the state layout", &declined));
    if (!first) follow(&s->layout, declined);
    for (int k = 0; k < s->count; k++) TRY(move(s, s->all[k]));
    return true;
}

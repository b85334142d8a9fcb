/* Declines rules for state that would raise the memory.
 *
 * A variable that is stored in parts is gathered when a step needs the whole: then its part is
 * in memory twice.  Usually the parts that other processors store save more than that, but not
 * if all weights are needed at once, as in a loop, nor if a program only reads its weights.
 */
#include "price/decline.h"

#include <string.h>

typedef struct trial {
    mtf_graph           *graph;
    int                  nfetches;
    mtf_tensor *const   *fetches;
    const estimate_opts *opts;
    layout              *layout;
} trial;

/* Plans the layout with these rules for state. */
static bool peak_with(const trial *t, layout_rule *state, int n, int64_t *peak)
{
    layout        l = *t->layout;
    estimate_opts o = *t->opts;
    l.state = state;
    l.nstate = n;
    o.layout = &l;
    return estimate_peak(t->graph, t->nfetches, t->fetches, &o, peak);
}

/* The rule whose absence lowers the memory most, of equal ones the last; -1: none. */
static bool find_worst(const trial *t, layout_rule *room, int *worst, int64_t *least)
{
    const layout *l = t->layout;
    *worst = -1;
    for (int r = l->nstate - 1; r >= 0; r--) {
        int     n = 0;
        int64_t peak;
        if (l->state[r].firm) continue;
        for (int k = 0; k < l->nstate; k++)
            if (k != r) room[n++] = l->state[k];
        TRY(peak_with(t, room, n, &peak));
        if (peak < *least) *least = peak, *worst = r;
    }
    return true;
}

static void leave_out(layout *l, int r, int64_t without, int64_t with)
{
    l->declined[l->ndeclined++] = (declined_rule){l->state[r].text, without, with};
    l->nstate--;
    memmove(&l->state[r], &l->state[r + 1], sizeof *l->state * (size_t)(l->nstate - r));
}

/* Several rules together may raise the memory even if each alone does not. */
static bool try_without_all(const trial *t, layout_rule *room, int64_t now)
{
    layout *l = t->layout;
    int     firm = 0;
    int64_t without;
    for (int r = 0; r < l->nstate; r++)
        if (l->state[r].firm) room[firm++] = l->state[r];
    if (l->nstate - firm < 2) return true; /* the only one was tried alone */
    TRY(peak_with(t, room, firm, &without));
    for (int r = l->nstate - 1; r >= 0 && without < now; r--)
        if (!l->state[r].firm) leave_out(l, r, without, now);
    return true;
}

void decline_write(const declined_rule *r, textbuf *t)
{
    text_add(t,
             "state rule \"%s\" is declined: it would raise the planned memory from %lld to %lld "
             "bytes; \"%s!\" keeps it",
             r->text, (long long)r->without, (long long)r->with, r->text);
}

bool decline_state_rules(mtf_graph *g, int nfetches, mtf_tensor *const *fetches,
                         const estimate_opts *opts, layout *l)
{
    trial   t = {g, nfetches, fetches, opts, l};
    arena  *a = &g->session->arena;
    int     firm = 0, worst;
    int64_t now, least;
    for (int r = 0; r < l->nstate; r++) firm += l->state[r].firm;
    if (firm == l->nstate || mesh_size(opts->mesh) == 1) return true;
    layout_rule *kept = arena_array(a, layout_rule, l->nstate),
                *room = arena_array(a, layout_rule, l->nstate);
    l->declined = arena_array(a, declined_rule, l->nstate);
    TRY(kept && room && l->declined);
    memcpy(kept, l->state, sizeof *kept * (size_t)l->nstate);
    l->state = kept; /* the old list may be shared */
    TRY(peak_with(&t, l->state, l->nstate, &now));
    for (;;) {
        least = now;
        TRY(find_worst(&t, room, &worst, &least));
        if (worst < 0) return try_without_all(&t, room, now);
        leave_out(l, worst, least, now);
        now = least;
    }
}

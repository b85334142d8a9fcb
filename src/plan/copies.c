/* Copies: bounds the memory of gathered variables.
 *
 * A variable whose stored state is cut further is gathered when it is first
 * needed whole, and the copy serves its later uses, such as those of the
 * gradient.  If all copies together would take more than three quarters of what
 * the rules for state save, the oldest are freed, small ones last, and later
 * uses gather again.  Sizes are upper bounds for all processors, which must all
 * decide the same.
 */
#include <string.h>

#include "base/dtype.h"
#include "plan/planner.h"

enum { ALIGN = 64 }; /* bytes: copies are aligned in the slab */

static int64_t copy_bytes(const emitter *e, const mtf_tensor *x)
{
    return (shard_most(e, x) * mtf_dtype_bytes(x->type) + ALIGN - 1) / ALIGN * ALIGN;
}

void copies_begin(emitter *e)
{
    planner     *p = e->planner;
    const block *root = &p->survey.graph->root;
    for (int k = 0; e->layout && e->layout->nstate && k < root->nnodes; k++) {
        const node *n = root->nodes[k];
        placement   home, where;
        if (!p->survey.live[n->id] || strcmp(n->op->name, "variable") != 0) continue;
        const mtf_tensor *w = n->out[0];
        where = emit_placement(e, &w->shape, EVERY_DIM);
        if (!emit_home(e, &w->shape, &home)) continue;
        p->saved += (shard_extent(e, w, &where, false) - shard_extent(e, w, &home, true)) *
                    mtf_dtype_bytes(w->type);
    }
}

/* Is it a variable, or computed from one alone, like a cast? */
static bool is_of_variable(const mtf_tensor *x)
{
    const node *n = x->node->nin == 1 ? x->node->in[0]->node : x->node;
    return strcmp(n->op->name, "variable") == 0;
}

bool copies_note(emitter *e, const mtf_tensor *x)
{
    planner *p = e->planner;
    if (!is_of_variable(x) || x->node->home != &p->survey.graph->root) return true;
    TRY(arena_push(p->survey.scratch, p->copies, p->ncopies, p->copies_room));
    p->copies[p->ncopies++] = x;
    p->copied += copy_bytes(e, x);
    return true;
}

static bool reads(emitter *e, const node *n, const shard *h)
{
    bool found = false;
    for (int i = 0; i < n->nin; i++) found = found || shard_of(e, n->in[i]) == h;
    return found;
}

/* The bytes that n may gather. */
static int64_t bytes_to_come(emitter *e, const node *n)
{
    int64_t bytes = 0;
    for (int i = 0; i < n->nin; i++)
        if (shard_of(e, n->in[i])->now.finer && is_of_variable(n->in[i]))
            bytes += copy_bytes(e, n->in[i]);
    return bytes;
}

void copies_make_room(emitter *e, const node *n)
{
    planner *p = e->planner;
    int64_t  room = p->saved / 4 * 3 - (p->ncopies ? bytes_to_come(e, n) : 0);
    for (int small = 0; small < 2 && p->copied > room; small++) {
        int count = p->ncopies;
        p->ncopies = 0;
        for (int k = 0; k < count; k++) {
            const mtf_tensor *x = p->copies[k];
            shard            *h = shard_of(e, x);
            if (p->copied <= room || debts_is_small(x) > small || reads(e, n, h)) {
                p->copies[p->ncopies++] = x;
                continue;
            }
            p->copied -= copy_bytes(e, x);
            h->now = *h->before;
            h->before = NULL;
        }
    }
}

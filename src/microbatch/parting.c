/* What each tensor of a graph is while its batch passes in parts. */
#include "microbatch/parting.h"

#include <string.h>

#include "base/dtype.h"
#include "ops/catalogue.h"
#include "ops/state.h"

/* ---- the nodes, with regions replaced by their bodies ---- */

mtf_tensor *parting_tensor(const parting *p, mtf_tensor *x)
{
    while (p->stands_for[x->id]) x = p->stands_for[x->id];
    return x;
}

/* of the tensor that x is equal to */
static part_state *parting_of(const parting *p, mtf_tensor *x)
{
    return &p->of[parting_tensor(p, x)->id];
}

static bool shape_has(const parting *p, const mtf_shape *shape, const char *name)
{
    int d = shape_find(shape, name);
    return d >= 0 && shape->dims[d].size == p->batch.size;
}

const char *parting_name(const parting *p, const mtf_tensor *x)
{
    for (int k = 0; k < p->nnames; k++)
        if (shape_has(p, &x->shape, p->names[k])) return p->names[k];
    return NULL;
}

bool parting_has_batch(const parting *p, const mtf_tensor *x)
{
    return parting_name(p, x) != NULL;
}

/* ---- other names of the batch ---- */

static int64_t elements_before(const mtf_shape *shape, int dim)
{
    int64_t n = 1;
    for (int d = 0; d < dim; d++) n *= shape->dims[d].size;
    return n;
}

/* The name that a reshape of x [.., batch, ..] to y gives the batch, with the same elements before and after
 * it; NULL: none. */
static const char *name_after(const parting *p, const mtf_shape *x, const char *name,
                              const mtf_shape *y)
{
    int64_t before = elements_before(x, shape_find(x, name));
    for (int d = 0; d < y->ndims; d++)
        if (y->dims[d].size == p->batch.size && elements_before(y, d) == before)
            return y->dims[d].name;
    return NULL;
}

static int place_of(const parting *p, const char *name)
{
    for (int k = 0; k < p->nnames; k++)
        if (strcmp(p->names[k], name) == 0) return k;
    return -1;
}

/* Gives up names that n has together with others of the batch. */
static void drop_mixed(parting *p, const node *n)
{
    unsigned seen = 0;
    for (int k = 0; k < p->nnames; k++) {
        for (int i = 0; i < n->nin; i++)
            if (shape_has(p, &n->in[i]->shape, p->names[k])) seen |= 1u << k;
        for (int o = 0; o < n->nout; o++)
            if (shape_has(p, &n->out[o]->shape, p->names[k])) seen |= 1u << k;
    }
    if (!(seen & (seen - 1))) return;
    int kept = 0;
    for (int k = 0; k < p->nnames; k++)
        if (k == 0 || !(seen >> k & 1)) p->names[kept++] = p->names[k];
    p->nnames = kept;
}

enum { MOST_NAMES = 8 };

/* In order, because a name may come of another; names that something has beside others do not count. */
static bool find_names(parting *p, arena *a)
{
    p->names = arena_array(a, const char *, MOST_NAMES);
    TRY(p->names != NULL);
    p->names[p->nnames++] = p->batch.name;
    for (int k = 0; k < p->nnodes; k++) {
        const node *n = p->nodes[k];
        const char *from = n->op == &op_reshape ? parting_name(p, n->in[0]) : NULL;
        const char *to = from ? name_after(p, &n->in[0]->shape, from, &n->out[0]->shape) : NULL;
        bool        fresh = to && place_of(p, to) < 0 && !shape_has(p, &n->out[0]->shape, from);
        if (fresh && p->nnames < MOST_NAMES) p->names[p->nnames++] = to;
    }
    for (int k = 0; k < p->nnodes; k++)
        if (p->nodes[k]->op != &op_reshape) drop_mixed(p, p->nodes[k]);
    return true;
}

/* Is it lowered as its first block would be in its place? */
static bool is_region(const node *n)
{
    return n->op == &op_recompute || n->op == &op_custom_gradient;
}

static void list_nodes(parting *p, const block *b)
{
    for (int i = 0; i < b->nnodes; i++) {
        const node *n = b->nodes[i];
        mtf_tensor *choice = survey_choice(n);
        if (!p->survey.live[n->id] || n->op == &op_param) continue;
        if (choice) {
            p->stands_for[n->out[0]->id] = choice;
        } else if (is_region(n)) {
            const block *body = n->blocks[0];
            for (int k = 0; k < body->nparams; k++) p->stands_for[body->params[k]->id] = n->in[k];
            list_nodes(p, body);
            for (int o = 0; o < n->nout; o++) p->stands_for[n->out[o]->id] = body->results[o];
        } else {
            p->nodes[p->nnodes++] = n;
        }
    }
}

/* ---- forwards: kinds and levels ---- */

static bool is_named(const node *n, const char *name)
{
    return strcmp(n->op->name, name) == 0;
}

static bool any_has_batch(const parting *p, const node *n)
{
    bool any = false;
    for (int i = 0; i < n->nin; i++) any = any || parting_has_batch(p, parting_tensor(p, n->in[i]));
    for (int o = 0; o < n->nout; o++) any = any || parting_has_batch(p, n->out[o]);
    return any;
}

/* Does a reshape leave the batch where it is, with the same elements before it and after it? */
static bool keeps_batch(const parting *p, const node *n)
{
    const mtf_shape *x = &n->in[0]->shape, *y = &n->out[0]->shape;
    const char      *from = parting_name(p, n->in[0]), *to = parting_name(p, n->out[0]);
    return from && to &&
           elements_before(x, shape_find(x, from)) == elements_before(y, shape_find(y, to));
}

/* The name that the batch has in n. */
static const char *name_in(const parting *p, const node *n)
{
    const char *name = NULL;
    for (int i = 0; i < n->nin && !name; i++) name = parting_name(p, parting_tensor(p, n->in[i]));
    for (int o = 0; o < n->nout && !name; o++) name = parting_name(p, n->out[o]);
    return name ? name : p->batch.name;
}

/* What the batch is to n.  SPLIT_WHOLE: n needs all of it at once. */
static dim_split split_of(const parting *p, const node *n)
{
    if (n->op->flags & OP_EFFECT || n->op->blocks) return SPLIT_WHOLE;
    if (n->op == &op_reshape) return keeps_batch(p, n) ? SPLIT_FREE : SPLIT_WHOLE;
    if (n->op == &op_constant) return node_attr(n, "data")->data.bytes ? SPLIT_WHOLE : SPLIT_FREE;
    if (n->op == &op_depend || n->op->flags & OP_ITERATION) return SPLIT_FREE;
    if (!n->op->split) return SPLIT_WHOLE;
    dim_split split = n->op->split(n, name_in(p, n));
    bool      parted = split == SPLIT_FREE || split == SPLIT_SUM;
    return parted && !(n->op->flags & OP_DIRECT) ? split : SPLIT_WHOLE;
}

/* Nothing but where it comes from would be lost by computing it whole. */
static bool is_light(const parting *p, const node *n)
{
    if (is_named(n, "input")) return true;
    if (variable_is(n) || n->op->flags & (OP_ITERATION | OP_EFFECT) || n->op->blocks) return false;
    for (int i = 0; i < n->nin; i++)
        if (!parting_of(p, n->in[i])->light) return false;
    for (int o = 0; o < n->nout; o++)
        if ((double)shape_size(&n->out[o]->shape) > p->light) return false;
    return true;
}

/* Does n, whose result is owed, add to it in each part what its owed inputs do? */
static bool parting_passes_on(const parting *p, const node *n)
{
    double smaller = 0;
    int    owed = 0;
    if (any_has_batch(p, n)) return false;
    if (!n->op->debt || n->nout != 1 || n->op->flags & (OP_DIRECT | OP_EFFECT)) return false;
    /* Short floats would be rounded in each part. */
    if (dtype_compute(n->out[0]->type) != n->out[0]->type) return false;
    for (int i = 0; i < n->nin; i++) {
        mtf_tensor *x = parting_tensor(p, n->in[i]);
        if (n->op->debt(n, i) != DEBT_SUM || p->of[x->id].kind != PART_OWED) return false;
        if (p->survey.readers[x->id] != 1 || dtype_compute(x->type) != x->type) return false;
        smaller += (double)shape_size(&x->shape);
        owed++;
    }
    return owed && (double)shape_size(&n->out[0]->shape) <= smaller;
}

/* The inputs that n computes with. */
static int inputs_of(const node *n)
{
    return n->op == &op_depend ? 1 : n->nin;
}

/* The pass that could compute n: after those that complete what it reads. */
static int level_of(const parting *p, const node *n, bool whole, bool passes_on)
{
    int level = 0;
    for (int i = 0; i < inputs_of(n); i++) {
        const part_state *x = parting_of(p, n->in[i]);
        bool later = x->kind == PART_OWED ? !passes_on : x->kind == PART_CUT && whole && !x->light;
        if (x->level + later > level) level = x->level + later;
    }
    return level;
}

/* Is n only an order that parts do not keep: a value from outside the passes is there before them. */
static bool is_idle(const parting *p, const node *n)
{
    bool within = false;
    if (n->op != &op_depend || parting_of(p, n->in[0])->kind == PART_CUT) return false;
    for (int i = 0; i < n->nin; i++) within = within || parting_of(p, n->in[i])->kind != PART_WHOLE;
    return within;
}

static void classify(parting *p, const node *n)
{
    bool light = is_light(p, n), batch = any_has_batch(p, n), on = parting_passes_on(p, n);
    if (n->op->flags & OP_IDENTITY)
        p->stands_for[n->out[0]->id] = n->in[0]; /* readers need not wait for the effect */
    dim_split split = batch ? split_of(p, n) : on ? SPLIT_SUM : SPLIT_WHOLE;
    bool      whole = split == SPLIT_WHOLE;
    int       level = level_of(p, n, whole, on);
    if (level >= MOST_PASSES && !p->late) p->late = n->out[0];
    if (batch && n->op->blocks && !p->undivided) p->undivided = n->out[0];
    for (int o = 0; o < n->nout; o++) {
        mtf_tensor *y = n->out[o];
        part_state *s = &p->of[y->id];
        bool        cut = !whole && parting_has_batch(p, y);
        bool        owed = !whole && !cut && !light; /* a light sum needs no pass */
        *s = (part_state){.kind = cut    ? PART_CUT
                                  : owed ? PART_OWED
                                         : PART_WHOLE,
                          .level = level,
                          .light = light};
        if (s->kind != PART_WHOLE && s->level >= p->npasses) p->npasses = s->level + 1;
    }
}

/* ---- backwards: which pass computes what ---- */

static void need_before(part_state *s, int pass)
{
    if (pass < s->before) s->before = pass;
}

/* The whole value of x is needed before a pass. */
static void need_whole(const parting *p, mtf_tensor *x, int before)
{
    part_state *s = parting_of(p, x);
    need_before(s, before);
    if (s->kind == PART_CUT && s->light)
        s->also_whole = true;
    else if (s->kind != PART_WHOLE)
        s->summed = true;
}

static int first_of(unsigned passes)
{
    return passes ? __builtin_ctz(passes) : MOST_PASSES;
}

/* The passes that compute n by parts: those of its readers, and one that completes its sums. */
static unsigned passes_of(const parting *p, const node *n)
{
    unsigned passes = 0;
    for (int o = 0; o < n->nout; o++) {
        const part_state *s = &p->of[n->out[o]->id];
        passes |= s->passes;
        if (s->summed) passes |= 1u << (s->before - 1);
    }
    return passes;
}

static void schedule_parts(const parting *p, const node *n)
{
    unsigned passes = passes_of(p, n);
    bool     on = parting_passes_on(p, n);
    for (int o = 0; o < n->nout; o++) p->of[n->out[o]->id].passes = passes;
    for (int i = 0; i < inputs_of(n) && passes; i++) {
        part_state *x = parting_of(p, n->in[i]);
        bool        by_parts = x->kind == PART_CUT || (x->kind == PART_OWED && on);
        if (by_parts)
            x->passes |= passes;
        else
            need_whole(p, n->in[i], first_of(passes));
    }
}

static void schedule_whole(const parting *p, const node *n)
{
    int before = p->npasses;
    for (int o = 0; o < n->nout; o++)
        if (p->of[n->out[o]->id].before < before) before = p->of[n->out[o]->id].before;
    for (int o = 0; o < n->nout; o++) p->of[n->out[o]->id].before = before;
    for (int i = 0; i < n->nin; i++) need_whole(p, n->in[i], before);
}

/* Outputs of one node are of one kind, or some are cut and the others owed. */
static void schedule(const parting *p, const node *n)
{
    bool parts = false, whole = n->nout == 0;
    for (int o = 0; o < n->nout; o++) {
        const part_state *s = &p->of[n->out[o]->id];
        parts = parts || s->kind != PART_WHOLE;
        whole = whole || s->kind == PART_WHOLE || s->also_whole;
    }
    if (whole) schedule_whole(p, n);
    if (parts) schedule_parts(p, n);
}

static double largest_input(const parting *p)
{
    double most = 0;
    for (int k = 0; k < p->nnodes; k++) {
        double size =
            is_named(p->nodes[k], "input") ? (double)shape_size(&p->nodes[k]->out[0]->shape) : 0;
        if (size > most) most = size;
    }
    return most;
}

bool parting_find(mtf_graph *g, int nfetches, mtf_tensor *const *fetches, mtf_dim batch, arena *a,
                  parting *p)
{
    *p = (parting){.graph = g, .batch = batch, .survey = {.graph = g, .scratch = a}};
    p->nodes = arena_array(a, const node *, g->nnodes + 1);
    p->stands_for = arena_array(a, mtf_tensor *, g->ntensors + 1);
    p->of = arena_array(a, part_state, g->ntensors + 1);
    TRY(p->nodes && p->stands_for && p->of && survey_live(&p->survey, nfetches, fetches));
    list_nodes(p, &g->root);
    p->light = largest_input(p);
    TRY(find_names(p, a));
    int kept = 0;
    for (int k = 0; k < p->nnodes && !p->late; k++) {
        const node *n = p->nodes[k];
        if (is_idle(p, n)) {
            p->stands_for[n->out[0]->id] = n->in[0];
            continue;
        }
        classify(p, n);
        p->nodes[kept++] = n;
    }
    p->nnodes = kept;
    if (p->late) return true;
    for (int i = 0; i < g->ntensors; i++) p->of[i].before = p->npasses;
    for (int i = 0; i < nfetches; i++) need_whole(p, fetches[i], p->npasses);
    for (int k = p->nnodes - 1; k >= 0; k--) schedule(p, p->nodes[k]);
    return true;
}

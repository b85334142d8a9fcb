/* Hints: the single change of a layout that helps most. */
#include "price/hints.h"

#include <assert.h>
#include <string.h>

#include "base/free_list.h"
#include "plan/passes.h"

/* The most layouts to try, and the most instructions to plan for them; dimensions of the largest
 * tensors come first. */
enum { MOST_TRIALS = 200, MOST_INSTRS = 100 * 1000 };

typedef struct trial {
    mtf_graph         *graph;
    int                nfetches;
    mtf_tensor *const *fetches;
    estimate_opts      opts;
    const bool        *live;
    layout             layout; /* rules of the current trial */
    int                most;   /* number of trials */
    hint              *best;
} trial;

typedef struct weighed_dim {
    const char *name;
    int64_t     largest; /* elements of the largest tensor that has it */
} weighed_dim;

static bool is_legal(const trial *t)
{
    for (int i = 0; i < t->graph->ntensors; i++) {
        const mtf_tensor *x = t->graph->all[i];
        placement         where;
        if (t->live[x->node->id] && !layout_place(&t->layout, &x->shape, "", NULL, &where))
            return false;
    }
    return true;
}

/* A layout that cannot be planned is neither a hint nor an error. */
static void try_layout(trial *t, const char *add, const char *remove)
{
    mtf_session  *s = t->graph->session;
    estimate_opts o = t->opts;
    double        seconds;
    int64_t       peak, instrs;
    if (t->best->tried >= t->most || !mtf_ok(s) || !is_legal(t)) return;
    o.layout = &t->layout;
    t->best->tried++;
    if (!estimate_largest(t->graph, t->nfetches, t->fetches, &o, &seconds, &peak, &instrs)) {
        if (s->fault.kind != ERR_MEMORY) fault_clear(&s->fault);
        return;
    }
    if (seconds >= t->best->seconds) return;
    hint *b = t->best;
    b->found = true, b->add = add, b->remove = remove, b->seconds = seconds, b->peak = peak;
}

/* Tries the layout without `out` (NULL: all rules stay), with `in` (NULL: none is added). */
static void try_change(trial *t, const layout_rule *out, const layout_rule *in)
{
    const layout *l = t->opts.layout;
    t->layout.nrules = 0;
    for (int k = 0; k < l->nrules; k++)
        if (&l->rules[k] != out) t->layout.rules[t->layout.nrules++] = l->rules[k];
    if (in) t->layout.rules[t->layout.nrules++] = *in;
    try_layout(t, in ? in->text : NULL, out ? out->text : NULL);
}

static bool write_rule(trial *t, layout_rule *r)
{
    textbuf text = {.arena = &t->graph->session->arena};
    text_add(&text, "%s:", r->dim);
    for (int k = 0; k < r->cut.n; k++)
        text_add(&text, "%s%s", k ? "+" : "", t->opts.mesh->name[r->cut.axis[k]]);
    r->text = text_done(&text);
    return r->text != NULL;
}

/* dim:axis, or, if the dimension is cut already, dim:its axes+axis. */
static bool try_adding(trial *t, const char *dim)
{
    const layout_rule *known = layout_find(t->opts.layout, dim);
    for (int a = 0; a < t->opts.mesh->naxes && t->best->tried < t->most; a++) {
        layout_rule rule = known ? *known : (layout_rule){.dim = dim};
        if (t->opts.mesh->size[a] == 1 || cut_axes(&rule.cut) >> a & 1) continue;
        rule.cut.axis[rule.cut.n++] = (uint8_t)a;
        TRY(write_rule(t, &rule));
        try_change(t, known, &rule);
    }
    return true;
}

/* Tries to move the axes of each rule to `dim`. */
static bool try_moving(trial *t, const char *dim)
{
    const layout *l = t->opts.layout;
    for (int r = 0; r < l->nrules && !layout_find(l, dim) && t->best->tried < t->most; r++) {
        layout_rule rule = {.dim = dim, .cut = l->rules[r].cut};
        TRY(write_rule(t, &rule));
        try_change(t, &l->rules[r], &rule);
    }
    return true;
}

/* Dimensions of live tensors, those of large tensors first. */
static weighed_dim *weigh_dims(const trial *t, arena *scratch, int *n)
{
    weighed_dim *list = NULL;
    int          room = 0;
    *n = 0;
    for (int i = 0; i < t->graph->ntensors; i++) {
        const mtf_tensor *x = t->graph->all[i];
        int64_t           size = shape_size(&x->shape);
        for (int d = 0; d < x->shape.ndims && t->live[x->node->id]; d++) {
            if (x->shape.dims[d].size < 2) continue;
            int k = 0;
            while (k < *n && strcmp(list[k].name, x->shape.dims[d].name) != 0) k++;
            if (k == *n) {
                if (!arena_push(scratch, list, *n, room)) return NULL;
                list[(*n)++] = (weighed_dim){.name = x->shape.dims[d].name};
            }
            if (size > list[k].largest) list[k].largest = size;
        }
    }
    for (int i = 1; i < *n; i++)
        for (int k = i; k > 0 && list[k].largest > list[k - 1].largest; k--) {
            weighed_dim other = list[k];
            list[k] = list[k - 1];
            list[k - 1] = other;
        }
    return list;
}

static bool try_all(trial *t, survey *s, arena *scratch)
{
    TRY(survey_make(s, t->nfetches, t->fetches));
    t->live = s->live;
    t->opts.survey = s;
    hint   *b = t->best;
    int64_t instrs;
    TRY(estimate_largest(t->graph, t->nfetches, t->fetches, &t->opts, &b->seconds_now, &b->peak_now,
                         &instrs));
    t->most = (int)(MOST_INSTRS / (instrs + 1)) < MOST_TRIALS ? (int)(MOST_INSTRS / (instrs + 1))
                                                              : MOST_TRIALS;
    /* Less than a hundredth is not worth a hint. */
    b->seconds = 0.99 * b->seconds_now;
    t->layout = (layout){.mesh = t->opts.mesh,
                         .nstate = t->opts.layout->nstate,
                         .state = t->opts.layout->state,
                         .rules = arena_array(scratch, layout_rule, t->opts.layout->nrules + 1)};
    TRY(t->layout.rules != NULL);
    int          n;
    weighed_dim *dims = weigh_dims(t, scratch, &n);
    TRY(dims || mtf_ok(t->graph->session));
    assert(dims || n == 0);
    for (int r = 0; r < t->opts.layout->nrules; r++) try_change(t, &t->opts.layout->rules[r], NULL);
    for (int d = 0; d < n; d++) TRY(try_adding(t, dims[d].name) && try_moving(t, dims[d].name));
    return mtf_ok(t->graph->session);
}

bool hint_find(mtf_graph *g, int nfetches, mtf_tensor *const *fetches, const estimate_opts *opts,
               hint *best)
{
    *best = (hint){0};
    arena scratch = arena_make(&g->session->allocator, &g->session->fault);
    trial t = {.graph = g, .nfetches = nfetches, .fetches = fetches, .opts = *opts, .best = best};
    free_list memory; /* of the programs that are planned */
    free_list_open(&memory, &g->session->allocator);
    t.opts.memory = &memory.as;
    survey s = {.graph = g, .scratch = &scratch};
    bool   ok = try_all(&t, &s, &scratch);
    free_list_close(&memory);
    arena_free(&scratch);
    return ok;
}

/* Counters: how much all processors compute and move, by name. */
#include "price/counters.h"

#include <stdlib.h>
#include <string.h>

#include "base/saturate.h"
#include "plan/passes.h"
#include "price/traffic.h"

bool counters_add(counters *c, const char *name, int64_t elements, int64_t bytes)
{
    int i = 0;
    while (i < c->count && strcmp(c->list[i].name, name) != 0) i++;
    if (i == c->count) {
        TRY(arena_push(c->arena, c->list, c->count, c->room));
        c->list[c->count] = (mtf_counter){.name = arena_text(c->arena, name)};
        TRY(c->list[c->count++].name != NULL);
    }
    c->list[i].elements = saturate_plus(c->list[i].elements, elements);
    c->list[i].bytes = saturate_plus(c->list[i].bytes, bytes);
    return true;
}

/* ---- the graph ---- */

typedef struct tally {
    counters      counters;
    const survey *survey;
    const mesh   *mesh;   /* NULL: one processor */
    const layout *layout; /* NULL: nothing is cut */
} tally;

/* How many processors along the axes outside of this set hold the same. */
static int64_t copies(const tally *t, unsigned axes)
{
    int64_t n = 1;
    for (int a = 0; t->mesh && a < t->mesh->naxes; a++)
        if (!(axes >> a & 1)) n *= t->mesh->size[a];
    return n;
}

static unsigned axes_of(const tally *t, const char *dim)
{
    const layout_rule *r = t->layout ? layout_find(t->layout, dim) : NULL;
    return r ? cut_axes(&r->cut) : 0;
}

static bool add_member(tally *t, const char *group, const char *member, int64_t elements,
                       int64_t bytes_each)
{
    textbuf name = {.arena = t->survey->scratch};
    text_add(&name, "%s/%s", group, member);
    const char *text = text_done(&name);
    return text && counters_add(&t->counters, text, elements, saturate_times(elements, bytes_each));
}

static bool count_output(tally *t, const mtf_tensor *x, int64_t executions)
{
    unsigned axes = 0;
    for (int d = 0; d < x->shape.ndims; d++) axes |= axes_of(t, x->shape.dims[d].name);
    int64_t     each = (int64_t)mtf_dtype_bytes(x->type);
    int64_t     unique = saturate_times(shape_size(&x->shape), executions);
    const char *name = x->node->op->name;
    return add_member(t, "output", name, saturate_times(unique, copies(t, axes)), each) &&
           add_member(t, "output_unique", name, unique, each);
}

/* A dimension that the op needs whole is not cut here.  If two dimensions are cut along one axis,
 * spreading makes one of them whole, and the parts of the other one add up to it; only repeated
 * work along further axes of the first is not counted. */
static bool count_product(tally *t, const node *n, int64_t executions)
{
    op_product p;
    unsigned   axes = 0;
    int64_t    unique = executions;
    n->op->product(n, &p);
    for (int d = 0; d < p.ndims; d++) {
        unique = saturate_times(unique, p.dims[d].size);
        unsigned cut = axes_of(t, p.dims[d].name);
        if (cut && n->op->split && n->op->split(n, p.dims[d].name) != SPLIT_WHOLE) axes |= cut;
    }
    size_t  group = strcspn(p.name, "/");
    textbuf name = {.arena = t->survey->scratch};
    text_add(&name, "%.*s_unique%s", (int)group, p.name, p.name + group);
    const char *text = text_done(&name);
    return text && counters_add(&t->counters, text, unique, 0) &&
           counters_add(&t->counters, p.name, saturate_times(unique, copies(t, axes)), 0);
}

/* Results of a loop that are not read are not kept. */
static bool is_computed(const tally *t, const mtf_tensor *x)
{
    return !x->hidden || t->survey->readers[t->survey->same[x->id]->id] > 0;
}

static bool count_block(tally *t, const block *b, int64_t executions)
{
    for (int i = 0; i < b->nnodes; i++) {
        const node *n = b->nodes[i];
        if (!t->survey->live[n->id] || n->op == &op_param) continue;
        for (int o = 0; o < n->nout; o++)
            if (is_computed(t, n->out[o])) TRY(count_output(t, n->out[o], executions));
        if (n->op->product) TRY(count_product(t, n, executions));
        int     at = op_attr_find(n->op, "trips");
        int64_t inside = at < 0 ? executions : saturate_times(executions, n->attrs[at].i);
        for (int k = 0; n->op->blocks && n->op->blocks[k]; k++)
            TRY(count_block(t, n->blocks[k], inside));
    }
    return true;
}

bool count_graph(program *p, const survey *s, const layout *l)
{
    tally t = {.counters = {.arena = &p->arena}, .survey = s, .layout = l};
    if (l) t.mesh = l->mesh;
    TRY(count_block(&t, &s->graph->root, 1));
    for (int v = 0; v < p->nvariables; v++) {
        const mtf_tensor *w = p->variables[v].tensor;
        TRY(add_member(&t, "variables", price_is_trained(w) ? "trainable" : "untrainable",
                       shape_size(&w->shape), (int64_t)mtf_dtype_bytes(w->type)));
    }
    return counters_keep(p, &t.counters);
}

/* ---- collectives ---- */

/* The names of Mesh TensorFlow where it has them, except for its allconcat, which is allgather
 * here. */
static const char *group_of(const char *kind)
{
    static const char *const words[][2] = {
        {"all_reduce", "allreduce"}, {"all_gather", "allgather"}, {"all_to_all", "alltoall"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i][0], kind) == 0) return words[i][1];
    return kind;
}

int64_t counters_collective(const instr *i, int64_t results, int64_t received)
{
    bool margins = strcmp(traffic_kind(i), "exchange") == 0;
    return margins ? received : results;
}

bool counters_add_collective(counters *c, const price *p, int k, int64_t elements)
{
    const price_line *line = &p->lines[k];
    const instr      *i = &p->program->instrs[k];
    /* A sum is attributed to the op that leaves it owed; an exchange to the op that needs the
     * parts. */
    const mtf_tensor *cause = i->kind == INSTR_EXCHANGE ? i->cause : line->tensor;
    elements = saturate_times(elements, line->executions);
    textbuf name = {.arena = c->arena};
    text_add(&name, "%s/[", group_of(line->collective));
    price_write_axes(p->mesh, line->axes, &name);
    text_add(&name, "]/%s", cause->node->op->name);
    const char *text = text_done(&name);
    return text && counters_add(c, text, elements,
                                saturate_times(elements, (int64_t)mtf_dtype_bytes(i->out[0].type)));
}

/* ---- lists ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const mtf_counter *)a)->name, ((const mtf_counter *)b)->name);
}

bool counters_keep(program *p, const counters *more)
{
    counters all = {.arena = &p->arena};
    for (int i = 0; i < p->ncounters; i++)
        TRY(counters_add(&all, p->counters[i].name, p->counters[i].elements, p->counters[i].bytes));
    for (int i = 0; i < more->count; i++)
        TRY(counters_add(&all, more->list[i].name, more->list[i].elements, more->list[i].bytes));
    if (all.count) qsort(all.list, (size_t)all.count, sizeof *all.list, by_name);
    p->counters = all.list;
    p->ncounters = all.count;
    return true;
}

int counters_tree(arena *a, int n, const mtf_counter *list, mtf_counter **tree)
{
    counters all = {.arena = a};
    for (int i = 0; i < n; i++)
        for (const char *end = list[i].name; *end; end += *end == '/') {
            end += strcspn(end, "/");
            textbuf prefix = {.arena = a};
            text_add(&prefix, "%.*s", (int)(end - list[i].name), list[i].name);
            const char *text = text_done(&prefix);
            if (!text || !counters_add(&all, text, list[i].elements, list[i].bytes)) return -1;
        }
    if (all.count) qsort(all.list, (size_t)all.count, sizeof *all.list, by_name);
    *tree = all.list;
    return all.count;
}

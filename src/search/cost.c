/* What a layout costs: the real program of the slowest processor. */
#include "search/cost.h"

#include <math.h>

#include "base/saturate.h"
#include "price/census.h"
#include "price/estimate.h"

worth worth_of(const cost *c, bool smallest, int64_t limit)
{
    double above = limit && c->peak > limit ? (double)(c->peak - limit) : 0;
    double peak = (double)c->peak;
    return (worth){above, smallest ? peak : c->seconds, smallest ? c->seconds : peak};
}

static bool differ(double a, double b)
{
    return fabs(a - b) > SAME_PRICE * b;
}

bool worth_less(worth a, worth b)
{
    if (differ(a.above, b.above)) return a.above < b.above;
    if (differ(a.value, b.value)) return a.value < b.value;
    return differ(a.other, b.other) && a.other < b.other;
}

static double weight_of(const subject *s, const mtf_tensor *x)
{
    return x ? s->weight[subject_source(x)->node->id] : 1;
}

/* A message that carries several small sums is sent once, however many layers were left out.  It is
 * known by being longer than the sum of the one tensor that it is attributed to. */
static bool is_packed(const instr *i, const mtf_tensor *x)
{
    return i->kind == INSTR_REDUCE && x && instr_elements(i) > shape_size(&x->shape);
}

static void tell_all(const price *p, const double *each, double *spare, cost_listener *tell,
                     void *context)
{
    price_spare(p, each, spare);
    for (int k = 0; k < p->program->ninstrs; k++) {
        const price_line *line = &p->lines[k];
        double            seconds = line->seconds * each[k];
        bool              beside = p->beside && p->beside->beside[k];
        tell(context, &p->program->instrs[k], line->tensor, seconds - spare[k],
             beside ? seconds : 0);
    }
}

static bool add_up(const subject *s, const price *p, arena *a, cost_listener *tell, void *context,
                   cost *c)
{
    const program *q = p->program;
    double        *each = arena_array(a, double, q->ninstrs + 1),
           *spare = arena_array(a, double, q->ninstrs + 1);
    TRY(each && spare);
    c->seconds = p->end_seconds;
    for (int k = 0; k < q->ninstrs; k++) {
        const price_line *line = &p->lines[k];
        bool              once = is_packed(&q->instrs[k], line->tensor);
        double            times = each[k] = once ? 1 : weight_of(s, line->tensor);
        double            seconds = line->seconds * times;
        c->seconds += seconds;
        if (line->collective) {
            c->wire += seconds;
            c->sent = saturate_plus(c->sent, saturate_from((double)line->sent_bytes * times));
        }
    }
    if (tell) tell_all(p, each, spare, tell, context);
    double hidden = price_hidden(p, each);
    c->seconds -= hidden;
    c->wire -= hidden;
    for (int v = 0; v < q->nvariables; v++)
        c->variables = saturate_plus(
            c->variables, saturate_from((double)q->buffers[q->variables[v].slice.buffer].bytes *
                                        weight_of(s, q->variables[v].tensor)));
    int me = mesh_number(p->mesh, &p->here);
    c->peak = c->variables + price_peak(q, p->rates.site, p->mesh, me) - q->cost.variable_bytes;
    return true;
}

/* Bytes that a step touches in the layers that were left out. */
static double bytes_of_copies(const subject *s, const program *q)
{
    double bytes = 0;
    for (int k = 0; k < q->ninstrs && s->copies; k++) {
        const mtf_tensor *x = q->instrs[k].cause;
        bytes += (double)instr_bytes(&q->instrs[k]) * (weight_of(s, x) - 1);
    }
    return bytes;
}

/* One processor's program. */
static bool cost_of_program(const subject *s, const layout *l, const price_rates *r,
                            const program *q, const mesh_point *here, arena *a, cost_listener *tell,
                            void *context, cost *c)
{
    price p = {
        .program = q, .mesh = l->mesh, .layout = l, .here = *here, .rates = *r, .brief = true};
    if (r->ncaches) p.beyond = bytes_of_copies(s, q);
    *c = (cost){.programs = 1};
    TRY(price_program(&p, a));
    return add_up(s, &p, a, tell, context, c);
}

/* Another processor, which may be slower or need more memory. */
static bool add_other(const subject *s, const layout *l, const price_rates *r, program *q,
                      const mesh_point *here, cost *c)
{
    cost    other;
    int     programs = c->programs + 1;
    int64_t peak = c->peak;
    TRY(cost_of_program(s, l, r, q, here, &q->arena, NULL, NULL, &other));
    if (other.seconds > c->seconds) *c = other;
    c->peak = other.peak > peak ? other.peak : peak;
    c->programs = programs;
    return true;
}

/* Already too slow: the exact time does not matter. */
static bool is_enough(const subject *s, const cost *c)
{
    return s->enough > 0 && c->seconds > s->enough;
}

/* Where parts are uneven, or some processors fetch more than others, the last one need not be the
 * slowest: prices one processor of each kind.  Along a cut length every processor may fetch a different
 * amount, which grows from one to the next: of more than MOST_KINDS, SOME_KINDS are priced, evenly
 * spaced. */
enum { MOST_KINDS = 12, SOME_KINDS = 4 };
static bool ask_others(census *kinds, const subject *s, const price_rates *r, cost *c)
{
    const layout *l = kinds->opts.layout;
    TRY(census_open(kinds));
    if (census_is_even(kinds)) return true;
    kinds->edges = ~0u; /* also what is received differs at the edges */
    TRY(census_take(kinds));
    int n = kinds->nkinds, apart = n > MOST_KINDS ? (n + SOME_KINDS - 1) / SOME_KINDS : 1;
    for (int k = n - 1; k >= 0 && !is_enough(s, c); k -= apart) {
        const kind *x = &kinds->kinds[k];
        int         last = kinds->processors - 1;
        if (x->last == last) continue;
        program *q = census_plan(kinds, x->first);
        bool     ok = q != NULL;
        /* The last processor of a kind has the largest shards of reductions. */
        for (int i = 0; ok && i < (x->last > x->first ? 2 : 1); i++) {
            mesh_point here = mesh_place(l->mesh, i ? x->last : x->first);
            ok = add_other(s, l, r, q, &here, c);
        }
        program_free(q);
        TRY(ok);
    }
    c->sampled = apart > 1;
    return true;
}

bool cost_of(const subject *s, const layout *l, const price_rates *r, cost_listener *tell,
             void *context, cost *c)
{
    plan_opts how = {.layout = l,
                     .here = mesh_place(l->mesh, mesh_size(l->mesh) - 1),
                     .draft = true,
                     .unplaced = s->quick && !r->ncaches, /* caches depend on the slab */
                     .survey = &s->survey,
                     .memory = s->memory};
    program  *q = plan_program(s->graph, s->nfetches, s->fetches, &how);
    *c = (cost){0};
    TRY(q != NULL);
    census kinds = {.graph = s->graph,
                    .nfetches = s->nfetches,
                    .fetches = s->fetches,
                    .mesh = l->mesh,
                    .opts = how,
                    .scratch = &q->arena,
                    .sample = q};
    bool   ok = cost_of_program(s, l, r, q, &how.here, &q->arena, tell, context, c) &&
              ask_others(&kinds, s, r, c);
    program_free(q);
    return ok;
}

bool cost_of_every_kind(const subject *whole, const layout *l, const price_rates *r,
                        bool peak_is_known, cost *c)
{
    estimate_opts o = {.mesh = l->mesh, .layout = l, .processor = -1, .rates = *r};
    if (!c->sampled) return true;
    estimate *e = estimate_graph(whole->graph, whole->nfetches, whole->fetches, &o);
    TRY(e != NULL);
    c->seconds = e->price.seconds;
    c->wire = e->price.wire_seconds;
    c->sent = e->price.sent_bytes;
    c->sampled = false;
    if (!peak_is_known) c->peak = e->memory.peak;
    estimate_free(e);
    return true;
}

bool cost_add_copies(const subject *reduced, const subject *fewer, const layout *l,
                     const price_rates *r, cost *c)
{
    cost less;
    TRY(cost_of(fewer, l, r, NULL, NULL, &less));
    int64_t slab = c->peak - c->variables, one = slab - (less.peak - less.variables);
    if (one > 0) slab += one * (reduced->copies - COPIES_KEPT);
    c->peak = c->variables + slab;
    return true;
}

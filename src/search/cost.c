/* What a layout costs: the real program of the processor with the largest parts. */
#include "search/cost.h"

#include <math.h>

#include "base/saturate.h"
#include "plan/plan.h"

worth worth_of(const cost *c, bool smallest, int64_t limit)
{
    double above = limit && c->peak > limit ? (double)(c->peak - limit) : 0;
    return (worth){above, smallest ? (double)c->peak : c->seconds};
}

bool worth_less(worth a, worth b)
{
    if (fabs(a.above - b.above) > SAME_PRICE * b.above) return a.above < b.above;
    return a.value < b.value * (1 - SAME_PRICE);
}

static double weight_of(const subject *s, const mtf_tensor *x)
{
    return x ? s->weight[x->node->id] : 1;
}

/* Small sums that are paid in one message are so once, however many copies owe one: of such a message
 * only the payer is known, and it is longer than the payer's own sum. */
static bool is_packed(const instr *i, const mtf_tensor *x)
{
    return i->kind == INSTR_REDUCE && x && instr_elements(i) > shape_size(&x->shape);
}

static void add_up(const subject *s, const price *p, cost_listener *tell, void *context, cost *c)
{
    const program *q = p->program;
    c->seconds = p->end_seconds;
    for (int k = 0; k < q->ninstrs; k++) {
        const price_line *line = &p->lines[k];
        bool              once = is_packed(&q->instrs[k], line->tensor);
        double            times = once ? 1 : weight_of(s, line->tensor);
        double            seconds = line->seconds * times;
        c->seconds += seconds;
        if (line->collective) {
            c->wire += seconds;
            c->sent = saturate_plus(c->sent, saturate_from((double)line->sent_bytes * times));
        }
        if (tell) tell(context, &q->instrs[k], line->tensor, seconds - line->spare * times);
    }
    for (int v = 0; v < q->nvariables; v++)
        c->variables = saturate_plus(
            c->variables, saturate_from((double)q->buffers[q->variables[v].slice.buffer].bytes *
                                        weight_of(s, q->variables[v].tensor)));
    int me = mesh_number(p->mesh, &p->here);
    c->peak = c->variables + price_peak(q, p->rates.site, p->mesh, me) - q->cost.variable_bytes;
}

/* Bytes that a step touches in the copies that were left out. */
static double bytes_of_copies(const subject *s, const program *q)
{
    double bytes = 0;
    for (int k = 0; k < q->ninstrs && s->copies; k++) {
        const mtf_tensor *x = q->instrs[k].cause;
        bytes += (double)instr_bytes(&q->instrs[k]) * (weight_of(s, x) - 1);
    }
    return bytes;
}

bool cost_of(const subject *s, const layout *l, const price_rates *r, cost_listener *tell,
             void *context, cost *c)
{
    plan_opts how = {.layout = l,
                     .here = mesh_place(l->mesh, mesh_size(l->mesh) - 1),
                     .draft = true,
                     .unplaced = s->quick && !r->ncaches, /* what is in caches goes by the slab */
                     .survey = &s->survey,
                     .memory = s->memory};
    program  *q = plan_program(s->graph, s->nfetches, s->fetches, &how);
    *c = (cost){0};
    TRY(q != NULL);
    price p = {
        .program = q, .mesh = l->mesh, .layout = l, .here = how.here, .rates = *r, .brief = true};
    if (r->ncaches) p.beyond = bytes_of_copies(s, q);
    bool ok = price_program(&p, &q->arena);
    if (ok) add_up(s, &p, tell, context, c);
    program_free(q);
    return ok;
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

/* Plans as text: a header, two layouts side by side. */
#include "cli/plan_text.h"

#include <string.h>

#include "base/units.h"
#include "cli/replicas.h"
#include "price/decline.h"

/* ---- collectives, summed ---- */

static bool same_sum(const collective_sum *s, const price_line *line, bool by_cause)
{
    return s->axes == line->axes && strcmp(s->kind, line->collective) == 0 &&
           (!by_cause || strcmp(s->cause, line->cause) == 0);
}

int collective_sums(estimate *e, bool by_cause, collective_sum **list)
{
    int n = 0, room = 0;
    *list = NULL;
    for (int k = 0; k < e->program->ninstrs; k++) {
        const price_line *line = &e->price.lines[k];
        if (!line->collective) continue;
        int i = 0;
        while (i < n && !same_sum(&(*list)[i], line, by_cause)) i++;
        if (i == n) {
            if (!arena_push(&e->arena, *list, n, room)) return -1;
            (*list)[n++] = (collective_sum){.kind = line->collective,
                                            .cause = line->cause,
                                            .axes = line->axes,
                                            .group = line->group};
        }
        collective_sum *s = &(*list)[i];
        s->count += line->executions;
        s->elements += line->sent_elements;
        s->bytes += line->sent_bytes;
        s->seconds += line->seconds;
    }
    return n;
}

/* ---- the header ---- */

void plan_write_mesh(const mesh *m, textbuf *t)
{
    for (int a = 0; a < m->naxes; a++) text_add(t, "%s%s:%d", a ? "," : "", m->name[a], m->size[a]);
    if (!m->naxes) text_add(t, "none");
}

void plan_write_layout(const layout *l, textbuf *t)
{
    for (int r = 0; r < l->nrules; r++) text_add(t, "%s%s", r ? "," : "", l->rules[r].text);
    if (!l->nrules) text_add(t, "none");
    for (int r = 0; r < l->nstate; r++) text_add(t, "%s%s", r ? "," : "; state ", l->state[r].text);
}

static void write_row(textbuf *t, const char *what, unit_text value)
{
    text_add(t, "%-16s %9s", what, value.s);
}

static void write_memory(const estimate *e, textbuf *t)
{
    const price_memory *m = &e->memory;
    write_row(t, "memory", unit_bytes(m->peak));
    text_add(t, "   at most, on processor %d", e->largest);
    if (m->at)
        text_add(t, "; most is alive at \"%s\" (%s)", mtf_name_of_tensor(m->at),
                 instr_name(m->doing));
    text_add(t, "\n");
    const struct {
        const char *name;
        int64_t     bytes;
        const char *says;
    } rows[] = {{"  parameters", m->parameters, "   variables that optimizers change"},
                {"  state", m->state, "   other variables"},
                {"  inputs", m->inputs, ""},
                {"  constants", m->constants, ""},
                {"  activations", m->activations, "   temporaries and fetches, in one slab"},
                {"  scratch", m->scratch, "   working space of kernels"},
                {"  wire buffers", m->wire, ""}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        write_row(t, rows[i].name, unit_bytes(rows[i].bytes));
        text_add(t, "%s\n", rows[i].says);
    }
    if (e->opts.undivided && e->opts.undivided < m->peak) {
        write_row(t, "  undivided", unit_bytes(e->opts.undivided));
        text_add(t,
                 "   as one micro-batch; more keep casts of weights beside the gradients' sums\n");
    }
    write_row(t, "  lower bound", unit_bytes(m->bound));
    text_add(t, "   with only what is alive at once; memory is %.2f x the lower bound\n",
             m->bound > 0 ? (double)m->peak / (double)m->bound : 1);
}

static void write_work(const estimate *e, textbuf *t)
{
    const price *p = &e->price;
    write_row(t, "flops", unit_count(p->flops));
    text_add(t, "   %s%s on all processors%s\n", e->approximate ? "about " : "",
             unit_count(e->flops).s, p->open_ended ? "; loops of unknown length count once" : "");
    write_row(t, "  duplicate", unit_percent(e->duplicate, (double)p->flops));
    bool first = true;
    for (int a = 0; a < p->mesh->naxes; a++) {
        if (e->duplicate_along[a] <= 0) continue;
        text_add(t, "%s %s", first ? "   along" : ", along", p->mesh->name[a]);
        text_add(t, " %s", unit_percent(e->duplicate_along[a], (double)p->flops).s);
        first = false;
    }
    text_add(t, "\n");
}

static void write_sent(estimate *e, textbuf *t)
{
    collective_sum *sums;
    int             n = collective_sums(e, false, &sums);
    write_row(t, "sent", unit_bytes(e->price.sent_bytes));
    text_add(t, "   %s%s by all processors", e->approximate ? "about " : "",
             unit_bytes(e->sent_bytes).s);
    if (e->price.out_messages)
        text_add(t, "; %s of it in messages",
                 unit_percent((double)e->price.out_messages, (double)e->price.sent_bytes).s);
    if (e->price.out_outside)
        text_add(t, ", %s to other hosts",
                 unit_percent((double)e->price.out_outside, (double)e->price.sent_bytes).s);
    text_add(t, "\n");
    for (int i = 0; i < n; i++) {
        char name[32] = "  ";
        strncat(name, sums[i].kind, sizeof name - 3);
        write_row(t, name, unit_bytes(sums[i].bytes));
        text_add(t, "   along ");
        price_write_axes(e->price.mesh, sums[i].axes, t);
        text_add(t, ", %lld time%s, %d processors each\n", (long long)sums[i].count,
                 sums[i].count == 1 ? "" : "s", sums[i].group);
    }
}

void plan_write_results_only(textbuf *t)
{
    text_add(t, "a step           " RESULTS_ONLY "\n");
}

void plan_write_header(estimate *e, const options *o, const char *whose, textbuf *t)
{
    const price       *p = &e->price;
    const price_rates *r = &p->rates;
    char               place[200];
    mesh_write_place(p->mesh, &p->here, place, sizeof place);
    text_add(t, "mesh             ");
    plan_write_mesh(p->mesh, t);
    text_add(t, "; %d processor%s", e->processors, e->processors == 1 ? "" : "s");
    if (r->site && r->site->ranks > 1) text_add(t, " in %d ranks", r->site->ranks);
    if (r->site && r->site->hosts > 1) text_add(t, " on %d hosts", r->site->hosts);
    if (e->batch.name) {
        text_add(t, "\nbatch            %lld example%s", (long long)e->batch.size,
                 e->batch.size == 1 ? "" : "s");
        replicas_write(o, e->batch.size, t);
        if (e->parts > 1)
            text_add(t, ", in %lld micro-batches one after the other", (long long)e->parts);
        if (e->parts > 1 && e->opts.unparted)
            text_add(
                t,
                "\n                 but the loop that computes \"%s\" takes all examples at once",
                mtf_name_of_tensor(e->opts.unparted));
    }
    text_add(t, "\nlayout           ");
    plan_write_layout(e->opts.layout, t);
    if (whose) text_add(t, "   %s", whose);
    for (int d = 0; d < e->opts.layout->ndeclined; d++) {
        text_add(t, "\n                 ");
        decline_write(&e->opts.layout->declined[d], t);
    }
    text_add(t, "\nmachine          ");
    if (r->gpu) text_add(t, "a GPU (%s): ", r->named);
    text_add(t, "flops=%g,memory=%g,wire=%g,latency=%g\n", r->flops, r->memory, r->wire,
             r->latency);
    if (e->processors > 1)
        text_add(t, "shown            processor %d (%s)%s\n", e->processor, place,
                 e->opts.processor >= 0 ? "" : ", the slowest; ties go to the first");
    text_add(t, "\n");
    write_memory(e, t);
    write_work(e, t);
    write_sent(e, t);
    write_row(t, "time", unit_seconds(p->seconds));
    text_add(t, "   a step, predicted; %s of it in %lld collective%s",
             unit_seconds(p->wire_seconds).s, (long long)p->collectives,
             p->collectives == 1 ? "" : "s");
    if (p->hidden_seconds > 0)
        text_add(t, ", and %s of them beside other work", unit_seconds(p->hidden_seconds).s);
    text_add(t, "\n");
}

/* ---- two layouts ---- */

static void write_pair(textbuf *t, const char *what, unit_text a, unit_text b, double from,
                       double to)
{
    text_add(t, "%-16s %22s %22s", what, a.s, b.s);
    if (from > 0)
        text_add(t, " %9.3g\n", to / from);
    else
        text_add(t, " %9s\n", to > 0 ? "" : "1");
}

static void write_heading(estimate *e, textbuf *t)
{
    textbuf text = {.arena = &e->arena};
    plan_write_layout(e->opts.layout, &text);
    const char *s = text_done(&text);
    int         n = s ? (int)strlen(s) : 0;
    if (n > 22)
        text_add(t, " ..%s", s + n - 20);
    else
        text_add(t, " %22s", s ? s : "");
}

void plan_write_diff(estimate *a, estimate *b, textbuf *t)
{
    const price        *p = &a->price, *q = &b->price;
    const price_memory *m = &a->memory, *n = &b->memory;
    text_add(t, "mesh ");
    plan_write_mesh(p->mesh, t);
    text_add(t, "; %d processor%s\n\n%-16s", a->processors, a->processors == 1 ? "" : "s", "");
    write_heading(a, t);
    write_heading(b, t);
    text_add(t, " %9s\n", "ratio");
#define BYTES(what, x, y)                                                                          \
    write_pair(t, what, unit_bytes(x), unit_bytes(y), (double)(x), (double)(y))
#define COUNT(what, x, y)                                                                          \
    write_pair(t, what, unit_count((int64_t)(x)), unit_count((int64_t)(y)), (double)(x),           \
               (double)(y))
    BYTES("memory", m->peak, n->peak);
    BYTES("  parameters", m->parameters, n->parameters);
    BYTES("  state", m->state, n->state);
    BYTES("  inputs", m->inputs, n->inputs);
    BYTES("  constants", m->constants, n->constants);
    BYTES("  activations", m->activations, n->activations);
    COUNT("flops", p->flops, q->flops);
    COUNT("  duplicate", a->duplicate, b->duplicate);
    COUNT("  on all", a->flops, b->flops);
    BYTES("sent", p->sent_bytes, q->sent_bytes);
    BYTES("  by all", a->sent_bytes, b->sent_bytes);
    COUNT("collectives", p->collectives, q->collectives);
#undef BYTES
#undef COUNT
    write_pair(t, "time", unit_seconds(p->seconds), unit_seconds(q->seconds), p->seconds,
               q->seconds);
    write_pair(t, "  on the wire", unit_seconds(p->wire_seconds), unit_seconds(q->wire_seconds),
               p->wire_seconds, q->wire_seconds);
}

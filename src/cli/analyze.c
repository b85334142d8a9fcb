/* The plan's promises beside what a run did. */
#include "cli/analyze.h"

#include <stdio.h>

#include "cli/choices.h"
#include "cli/plan_text.h"
#include "cli/units.h"
#include "machine/machine.h"
#include "plan/plan.h"

/* Per step, on all processors together; memory of the one that has most. */
typedef struct account {
    int64_t flops, collectives, bytes, memory;
} account;

typedef struct analysis {
    estimate *estimate;
    account   promised, found;
    int       seen; /* processors of this process */
    int64_t   steps;
    double   *seconds; /* by instruction of the processor shown, a step */
    double    total;   /* of those */
} analysis;

/* A loop that a test ends is promised for one turn; its turns are known now. */
static int64_t turns_of(const price_line *line, const mtf_measured *m, int k)
{
    return line->open_ended ? m->turns[k] : line->turns * m->steps;
}

/* What processor n was promised to do in the steps that it did. */
static bool promise(analysis *a, mtf_graph *g, int nfetches, mtf_tensor *const *fetches, int n,
                    const mtf_measured *m)
{
    estimate_opts o = a->estimate->opts;
    plan_opts     how = {.guard = o.guard, .layout = o.layout, .here = mesh_place(o.mesh, n)};
    program      *q = plan_program(g, nfetches, fetches, &how);
    TRY(q != NULL);
    price p = {
        .program = q, .mesh = o.mesh, .layout = o.layout, .here = how.here, .rates = o.rates};
    bool ok = price_program(&p, &q->arena) && q->ninstrs == m->instructions;
    for (int k = 0; ok && k < q->ninstrs; k++) {
        const price_line *line = &p.lines[k];
        int64_t           turns = turns_of(line, m, k), once = line->turns ? line->turns : 1;
        a->promised.flops += line->flops / once * turns;
        a->promised.bytes += line->received_bytes / once * turns;
        if (line->collective) a->promised.collectives += turns;
    }
    if (p.memory.peak > a->promised.memory) a->promised.memory = p.memory.peak;
    program_free(q);
    return ok || fail(&g->session->fault, ERR_INTERNAL,
                      "processor %d runs another program than the plan has", n);
}

/* Of a step that finds its memory where steps before left it, where there was one. */
static double seconds_of(const mtf_measured *m, int k)
{
    if (m->steps == 1) return m->seconds[k];
    return (m->seconds[k] - m->first_seconds[k]) / (double)(m->steps - 1);
}

static bool gather(analysis *a, mtf_graph *g, mtf_program *p, int nfetches,
                   mtf_tensor *const *fetches)
{
    for (int n = 0; n < a->estimate->processors; n++) {
        mtf_measured m = mtf_program_measured(p, n);
        if (!m.steps) continue;
        a->seen++;
        a->steps = m.steps;
        a->found.flops += m.flops;
        a->found.collectives += m.collectives;
        a->found.bytes += m.received_bytes;
        if (m.peak_bytes > a->found.memory) a->found.memory = m.peak_bytes;
        TRY(promise(a, g, nfetches, fetches, n, &m));
        if (n != a->estimate->processor || m.instructions != a->estimate->program->ninstrs)
            continue;
        for (int k = 0; k < m.instructions; k++) {
            a->seconds[k] = seconds_of(&m, k);
            a->total += a->seconds[k];
        }
    }
    return true;
}

/* ---- the verdict ---- */

static bool equal(mtf_session *s, const char *what, int64_t promised, int64_t found)
{
    if (promised == found) return true;
    return fail(&s->fault, ERR_INTERNAL, "the plan promised %lld %s, the run counted %lld",
                (long long)promised, what, (long long)found);
}

/* With all processors at hand, the sums over kinds of processors must be right, too. */
static bool agree(mtf_session *s, const analysis *a)
{
    const estimate *e = a->estimate;
    TRY(equal(s, "flops", a->promised.flops, a->found.flops));
    TRY(equal(s, "collectives", a->promised.collectives, a->found.collectives));
    TRY(equal(s, "bytes sent", a->promised.bytes, a->found.bytes));
    TRY(equal(s, "bytes of memory", a->promised.memory, a->found.memory));
    if (a->seen < e->processors || e->price.open_ended) return true;
    TRY(equal(s, "flops on all processors", e->flops * a->steps, a->found.flops));
    TRY(equal(s, "bytes sent by all processors", e->sent_bytes * a->steps, a->found.bytes));
    return equal(s, "bytes of memory at most", e->memory.peak, a->found.memory);
}

static void write_verdict(const analysis *a, textbuf *t)
{
    const struct {
        const char *what;
        int64_t     promised, found;
    } rows[] = {{"flops", a->promised.flops, a->found.flops},
                {"collectives", a->promised.collectives, a->found.collectives},
                {"bytes sent", a->promised.bytes, a->found.bytes},
                {"bytes of memory", a->promised.memory, a->found.memory}};
    text_add(t, "\n%-16s %20s %20s   %lld step%s, %d processor%s\n", "", "planned", "measured",
             (long long)a->steps, a->steps == 1 ? "" : "s", a->seen, a->seen == 1 ? "" : "s");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        text_add(t, "%-16s %20lld %20lld   %s\n", rows[i].what, (long long)rows[i].promised,
                 (long long)rows[i].found,
                 rows[i].promised == rows[i].found ? "equal" : "DIFFERENT");
    text_add(t, "%-16s %20s", "time of a step", unit_seconds(a->estimate->price.seconds).s);
    text_add(t, " %20s   on processor %d%s\n", a->total > 0 ? unit_seconds(a->total).s : "-",
             a->estimate->processor, a->steps > 1 ? ", after the first" : "");
}

static void add_json(cJSON *to, const analysis *a)
{
    cJSON *root = json_object(to, "analyze");
    json_int(root, "steps", a->steps);
    json_int(root, "processors", a->seen);
    for (int i = 0; i < 2; i++) {
        const account *x = i ? &a->found : &a->promised;
        cJSON         *item = json_object(root, i ? "measured" : "planned");
        json_int(item, "flops", x->flops);
        json_int(item, "collectives", x->collectives);
        json_int(item, "sent_bytes", x->bytes);
        json_int(item, "peak_bytes", x->memory);
        cJSON_AddNumberToObject(item, "seconds", i ? a->total : a->estimate->price.seconds);
    }
}

static bool show(analysis *a, const options *o, mtf_session *s, cJSON *to)
{
    if (to) {
        add_json(to, a);
    } else {
        textbuf t = {.arena = &a->estimate->arena};
        text_add(&t, "\n");
        plan_write_header(a->estimate, &t);
        text_add(&t, "\n");
        plan_write_table(a->estimate, option_given(o, "all"), a->total > 0 ? a->seconds : NULL, &t);
        write_verdict(a, &t);
        const char *text = text_done(&t);
        TRY(text != NULL);
        fputs(text, stdout);
    }
    return agree(s, a);
}

bool analyze_run(const options *o, mtf_graph *g, mtf_program *p, int nfetches,
                 mtf_tensor *const *fetches, cJSON *to)
{
    mtf_session  *s = g->session;
    choice        c;
    estimate_opts how = {.processor = -1, .guard = machine_guard(s)};
    TRY(choose_machine(o, s, &how.rates));
    TRY(choice_parse(s, s->opts.mesh, s->opts.layout, s->opts.state_layout, &c));
    how.mesh = &c.mesh;
    how.layout = &c.layout;
    analysis a = {.estimate = estimate_graph(g, nfetches, fetches, &how)};
    TRY(a.estimate != NULL);
    a.seconds = arena_array(&a.estimate->arena, double, a.estimate->program->ninstrs + 1);
    bool ok = a.seconds && gather(&a, g, p, nfetches, fetches) && show(&a, o, s, to);
    estimate_free(a.estimate);
    return ok;
}

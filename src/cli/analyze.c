/* Compares the plan with a measured run. */
#include "cli/analyze.h"

#include <stdio.h>

#include "base/printable.h"
#include "base/units.h"
#include "cli/choices.h"
#include "cli/plan_table.h"
#include "cli/plan_text.h"
#include "run/devices.h"
#include "plan/plan.h"
#include "run/audit.h"
#include "run/compiled.h"

typedef struct analysis {
    estimate *estimate;
    audit     audit;
    double   *seconds; /* by instruction of the processor shown, for one step */
    double    total;   /* of those */
} analysis;

/* Without the first step, which touches memory for the first time, where there are others. */
static double seconds_of(const mtf_measured *m, int k)
{
    if (m->steps == 1) return m->seconds[k];
    return (m->seconds[k] - m->first_seconds[k]) / (double)(m->steps - 1);
}

static void take_seconds(analysis *a, mtf_program *p)
{
    mtf_measured m = mtf_program_measured(p, a->estimate->processor);
    if (!m.steps || m.instructions != a->estimate->program->ninstrs) return;
    for (int k = 0; k < m.instructions; k++) {
        a->seconds[k] = seconds_of(&m, k);
        a->total += a->seconds[k];
    }
}

/* ---- comparison ---- */

static bool equal(mtf_session *s, const char *what, int64_t promised, int64_t found)
{
    if (promised == found) return true;
    return fail(&s->fault, ERR_INTERNAL, "the plan promised %lld %s, the run counted %lld",
                (long long)promised, what, (long long)found);
}

/* The sums over all processors must be equal, too. */
static bool agree(mtf_session *s, const analysis *a)
{
    const estimate *e = a->estimate;
    const audit    *x = &a->audit;
    TRY(audit_agrees(s, x));
    if (x->processors < e->processors || x->open_ended) return true;
    TRY(equal(s, "flops on all processors", e->flops * x->steps, x->measured.flops));
    TRY(equal(s, "bytes sent by all processors", e->sent_bytes * x->steps,
              x->measured.read + x->measured.received));
    return equal(s, "bytes of memory at most", e->memory.peak, x->measured.all);
}

static void write_verdict(const analysis *a, textbuf *t)
{
    const audit *x = &a->audit;
    audit_row    rows[AUDIT_ROWS];
    audit_rows(x, rows);
    text_add(t, "\n%-27s %20s %20s   %lld step%s, %d processor%s\n", "", "planned", "measured",
             (long long)x->steps, x->steps == 1 ? "" : "s", x->processors,
             x->processors == 1 ? "" : "s");
    for (int i = 0; i < AUDIT_ROWS; i++)
        text_add(t, "%-27s %20lld %20lld   %s\n", rows[i].what, (long long)rows[i].planned,
                 (long long)rows[i].measured,
                 rows[i].planned == rows[i].measured ? "equal" : "DIFFERENT");
    text_add(t, "%-27s %20s", "time of a step", unit_seconds(a->estimate->price.seconds).s);
    text_add(t, " %20s   on processor %d%s\n", a->total > 0 ? unit_seconds(a->total).s : "-",
             a->estimate->processor, x->steps > 1 ? ", after the first" : "");
}

static void add_json(cJSON *to, const analysis *a)
{
    cJSON    *root = json_object(to, "analyze");
    audit_row rows[AUDIT_ROWS];
    audit_rows(&a->audit, rows);
    json_int(root, "steps", a->audit.steps);
    json_int(root, "processors", a->audit.processors);
    for (int i = 0; i < 2; i++) {
        cJSON *item = json_object(root, i ? "measured" : "planned");
        for (int k = 0; k < AUDIT_ROWS; k++)
            json_int(item, rows[k].key, i ? rows[k].measured : rows[k].planned);
        cJSON_AddNumberToObject(item, "seconds", i ? a->total : a->estimate->price.seconds);
    }
}

static bool show(analysis *a, const options *o, mtf_session *s, cJSON *to)
{
    if (to) {
        add_json(to, a);
    } else if (mtf_is_first(s)) {
        textbuf t = {.arena = &a->estimate->arena};
        text_add(&t, "\n");
        plan_write_header(a->estimate, o, NULL, &t);
        text_add(&t, "\n");
        plan_write_table(a->estimate, option_given(o, "all"), a->total > 0 ? a->seconds : NULL, &t);
        write_verdict(a, &t);
        const char *text = text_done(&t);
        TRY(text != NULL);
        printable_put(stdout, text);
    }
    return agree(s, a);
}

bool analyze_run(const options *o, mtf_program *p, cJSON *to)
{
    mtf_session  *s = p->session;
    const store  *at = p->store;
    estimate_opts how = {.mesh = &at->mesh,
                         .layout = &at->layout,
                         .processor = at->ranks ? at->first : -1,
                         .guard = p->guard};
    TRY(choose_machine(o, s, &how.rates));
    how.rates.site = &at->site;
    analysis a = {.estimate = estimate_graph(p->planned.graph, p->planned.nfetches,
                                             p->planned.fetches, &how)};
    TRY(a.estimate != NULL);
    a.seconds = arena_array(&a.estimate->arena, double, a.estimate->program->ninstrs + 1);
    bool ok = a.seconds && audit_program(p, &a.audit);
    if (ok) take_seconds(&a, p);
    ok = ok && show(&a, o, s, to);
    estimate_free(a.estimate);
    return ok;
}

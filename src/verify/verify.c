/* Verifying: a mesh's programs compute what the graph says. */
#include "verify/verify.h"

#include <math.h>

#include "plan/passes.h"

typedef struct check {
    const verify_opts *opts;
    mtf_graph         *graph; /* which says what is right */
    lockstep_opts      how;   /* of the mesh's programs */
    mtf_tensor *const *fetches;
    const int64_t     *limits;
    verify_answer     *answer;
} check;

/* One trial: its own random numbers, memory and answer. */
typedef struct trial {
    const check  *check;
    int           number;
    reference     right;
    lockstep      lanes;
    verify_answer answer;
    bool          ok;
} trial;

static uint64_t key_of(const trial *t)
{
    return hash_pair(hash_pair(0x6d7466, t->check->opts->seed), (uint64_t)t->number);
}

/* ---- how sure it is ---- */

/* The largest degree of a result of this step. */
static double degree_of_results(const trial *t)
{
    const reference *r = &t->right;
    double           most = r->widest;
    for (int k = 0; k < t->check->how.nfetches; k++)
        most = fmax(most, r->values[t->check->fetches[k]->id].degree);
    for (int k = 0; k < r->graph->ntensors; k++)
        if (r->now[k]) most = fmax(most, r->values[k].degree);
    return most;
}

/* Two operands of hashes that differ as polynomials are equal with a chance of degree / prime, and
 * so are two results.  All pairs of them are counted. */
static double chance_of(double degree, double values)
{
    return fmin(0, log2(degree + 1) + 2 * log2(values + 2) - 1 - FIELD_BITS);
}

static void note_chance(trial *t)
{
    verify_answer *a = &t->answer;
    a->hashes = (double)t->right.hashes;
    for (int n = 0; n < t->lanes.nlanes; n++) a->hashes += (double)t->lanes.lanes[n].hashes;
    a->chance = chance_of(a->degree, a->hashes);
}

/* ---- trials ---- */

/* Gives both sides new numbers: all, or from the second step on those of floating variables. */
static bool give(trial *t, int step)
{
    const check *c = t->check;
    uint64_t     key = hash_pair(key_of(t), (uint64_t)step);
    return values_give(&t->right, key, c->limits, step > 0) &&
           values_fill(&t->lanes, c->opts->layout, &t->right, step > 0);
}

/* One step on both sides, at the same time where a thread is free. */
static void step_both(trial *t, bool *right, bool *met)
{
#pragma omp task
    *right = reference_step(&t->right);
    *met = lockstep_step(&t->lanes);
#pragma omp taskwait
}

/* One step on both sides, compared. */
static bool compare_step(trial *t)
{
    const check   *c = t->check;
    verify_answer *a = &t->answer;
    lockstep      *l = &t->lanes;
    bool           right = false, met = false;
    step_both(t, &right, &met);
    TRY(right);
    if (!met) {
        TRY(l->stuck != NULL);
        a->equal = false;
        a->stuck = l->stuck;
        return true;
    }
    a->degree = fmax(a->degree, degree_of_results(t));
    a->equal = !values_differ(l, &t->right, c->fetches, c->opts->layout, &a->first);
    difference earlier;
    bool       shows = l->lanes[0].trace && c->how.graph == c->graph;
    if (!a->equal && shows && values_trace(l, &t->right, &earlier)) a->first = earlier;
    return true;
}

/* A few steps.  Between them floating variables, which were found equal, are replaced by new random
 * numbers: each step's results are polynomials in what was drawn for it. */
static bool compare(trial *t)
{
    /* That steps follow each other is seen once; without variables the second is like the first. */
    bool once = t->number > 0 || (t->check->opts->brief && t->lanes.lanes[0].nvariables == 0);
    reference_begin(&t->right, key_of(t));
    TRY(lockstep_clear(&t->lanes, key_of(t)));
    for (int step = 0; step < (once ? 1 : VERIFY_STEPS) && t->answer.equal; step++)
        TRY(give(t, step) && compare_step(t));
    note_chance(t);
    t->answer.cut_short = t->right.cut_short;
    return true;
}

static void run_trial(trial *t, const lockstep *programs)
{
    t->ok = reference_open(&t->right, t->check->graph);
    if (t->ok) {
        t->ok = lockstep_copy(programs, &t->lanes) && compare(t);
#pragma omp critical
        if (t->answer.stuck)
            t->answer.stuck = arena_text(&programs->session->arena, t->answer.stuck);
        lockstep_close(&t->lanes);
    }
    reference_close(&t->right);
}

/* Runs `n` trials at the same time, on as many threads as the session has; sums up.  Threads without a
 * trial help the others with their lanes. */
static bool run_trials(check *c, const lockstep *programs, int first, int n)
{
    verify_answer *a = c->answer;
    int            threads = c->graph->session->opts.threads;
    trial         *trials = arena_array(&c->graph->session->arena, trial, n);
    bool           ok = trials != NULL;
    for (int k = 0; ok && k < n; k++)
        trials[k] = (trial){.check = c, .number = first + k, .answer = {.equal = true}};
    (void)threads;
#pragma omp parallel for schedule(static, 1) num_threads(threads) if (threads > 1)
    for (int k = 0; k < n; k++)
        if (ok) run_trial(&trials[k], programs);
    for (int k = 0; ok && k < n && a->equal; k++) {
        const verify_answer *b = &trials[k].answer;
        ok = trials[k].ok;
        a->equal = b->equal;
        a->first = b->first;
        a->stuck = b->stuck;
        a->trials++;
        a->chance += b->chance;
        a->hashes += b->hashes;
        a->degree = fmax(a->degree, b->degree);
        a->cut_short = a->cut_short || b->cut_short;
    }
    return ok;
}

/* Checks the programs after one pass, in at least `trials` trials, and in more if these are not
 * enough. */
static bool check_pass(check *c, plan_pass pass, int trials, bool trace)
{
    verify_answer *a = c->answer;
    lockstep       programs;
    c->how.last = pass;
    c->how.trace = trace;
    *a = (verify_answer){.equal = true, .pass = pass};
    bool ok = lockstep_open(&programs, &c->how);
    if (ok) ok = run_trials(c, &programs, 0, trials);
    while (ok && a->equal && !c->opts->brief && a->chance > -VERIFY_BITS &&
           a->trials < VERIFY_MOST_TRIALS)
        ok = run_trials(c, &programs, a->trials, 1);
    a->processors = programs.nlanes;
    lockstep_close(&programs);
    return ok;
}

/* What the programs that run compute differs: after which pass?  Usually after lowering, where every
 * tensor can be compared. */
static bool find_pass(check *c)
{
    verify_answer found = *c->answer;
    for (plan_pass pass = PASS_LOWERING; pass < PLAN_PASSES; pass++) {
        TRY(check_pass(c, pass, found.trials, pass == PASS_LOWERING));
        if (!c->answer->equal) return true;
    }
    *c->answer = found;
    return true;
}

/* The reference alone; lanes say for themselves what they need. */
static bool check_memory(const check *c)
{
    mtf_session *s = c->graph->session;
    double       need = reference_bytes(c->graph);
    return need <= (double)s->opts.memory ||
           fail(&s->fault, ERR_MEMORY,
                "verifying takes %.3g bytes for the graph's tensors, and there are %zu%s", need,
                s->opts.memory, c->opts->small ? "" : "; --shrink makes dimensions smaller");
}

static bool check_all(check *c)
{
    TRY(check_memory(c));
    TRY(check_pass(c, PASS_ALL, c->opts->brief ? 1 : VERIFY_TRIALS, false));
    return c->answer->equal || c->opts->brief || find_pass(c);
}

/* Names are made when they are first asked for, which only one thread may do. */
static void name_ports(const mtf_graph *g)
{
    for (int k = 0; k < g->ntensors; k++)
        if (g->all[k]->node->nin == 0) tensor_name(g->all[k]);
}

bool verify_graph(mtf_graph *g, int nfetches, mtf_tensor *const *fetches, const verify_opts *opts,
                  verify_answer *answer)
{
    mtf_session *s = g->session;
    arena        scratch = arena_make(&s->allocator, &s->fault);
    mtf_graph   *planned = opts->planned ? opts->planned : g;
    survey       around = {.graph = planned, .scratch = &scratch};
    check        c = {.opts = opts, .graph = g, .answer = answer, .fetches = fetches};
    *answer = (verify_answer){.equal = true};
    c.how = (lockstep_opts){.graph = planned,
                            .nfetches = nfetches,
                            .fetches = opts->planned ? opts->planned_fetches : fetches,
                            .layout = opts->layout,
                            .survey = &around};
    c.limits = values_limits(g, &scratch);
    name_ports(g);
    name_ports(planned);
    bool ok = c.limits && survey_make(&around, nfetches, c.how.fetches) && check_all(&c);
    arena_free(&scratch);
    return ok && mtf_ok(s);
}

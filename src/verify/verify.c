/* Verifying: a mesh's programs compute what the graph says. */
#include "verify/verify.h"

#include <math.h>

#include "plan/passes.h"
#include "verify/degree.h"

typedef struct check {
    mtf_graph         *graph;
    const verify_opts *opts;
    lockstep_opts      how;   /* of the mesh's programs */
    lockstep           whole; /* one processor's program, as lowered */
    const int64_t     *limits;
    verify_answer     *answer;
} check;

static uint64_t key_of(const check *c, int trial)
{
    return hash_pair(hash_pair(0x6d7466, c->opts->seed), (uint64_t)trial);
}

/* Gives the programs of all processors and the whole the same inputs and variables. */
static bool begin(check *c, lockstep *l, int trial)
{
    field    f = field_nth(trial % FIELD_PRIMES);
    uint64_t key = key_of(c, trial);
    return lockstep_clear(l, &f, key) && lockstep_clear(&c->whole, &f, key) &&
           values_fill(l, c->opts->layout, key, c->limits) &&
           values_fill(&c->whole, NULL, key, c->limits);
}

/* Runs a few steps and compares after each; the answer says what differs.  False after an error. */
static bool compare(check *c, lockstep *l, int trial)
{
    verify_answer *a = c->answer;
    /* Without variables a second step is like the first. */
    int steps = c->opts->brief && c->whole.lanes[0].program->nvariables == 0 ? 1 : VERIFY_STEPS;
    TRY(begin(c, l, trial));
    for (int s = 0; s < steps && a->equal; s++) {
        TRY(lockstep_step(&c->whole));
        if (!lockstep_step(l)) {
            TRY(l->stuck != NULL);
            a->equal = false;
            a->stuck = arena_text(&c->graph->arena, l->stuck);
            return a->stuck != NULL;
        }
        a->equal = !values_differ(l, &c->whole, c->opts->layout, &a->first);
        difference earlier;
        if (!a->equal && l->lanes[0].trace && values_trace(l, &c->whole, c->graph, &earlier))
            a->first = earlier;
    }
    return true;
}

/* Checks the programs after one pass, in `trials` trials. */
static bool check_pass(check *c, plan_pass pass, int trials)
{
    lockstep l;
    c->how.last = pass;
    c->how.trace = pass == PASS_LOWERING;
    bool ok = lockstep_open(&l, &c->how);
    for (int t = 0; ok && t < trials && c->answer->equal; t++) {
        ok = compare(c, &l, t);
        c->answer->trials = t + 1;
    }
    c->answer->processors = l.nlanes;
    c->answer->cut_short = c->answer->cut_short || c->whole.lanes[0].cut_short;
    c->answer->pass = pass;
    lockstep_close(&l);
    return ok;
}

/* How many trials are needed; notes what they prove together. */
static int trials_needed(verify_answer *a)
{
    double each = log2(a->degree + 1) - FIELD_BITS + 1;
    int    n = each < 0 ? (int)ceil(-(VERIFY_BITS + 1) / each) : FIELD_PRIMES;
    if (n < 2) n = 2; /* so that two primes are used */
    if (n > FIELD_PRIMES) n = FIELD_PRIMES;
    a->chance = fmin(0, each * n);
    return n;
}

static bool check_all(check *c)
{
    verify_answer *a = c->answer;
    a->degree = degree_of_program(c->whole.lanes[0].program, VERIFY_STEPS);
    TRY(a->degree >= 0);
    int trials = trials_needed(a);
    if (c->opts->brief) return check_pass(c, PASS_ALL, 1);
    for (plan_pass pass = PASS_LOWERING; pass < PLAN_PASSES && a->equal; pass++)
        TRY(check_pass(c, pass, 1));
    return !a->equal || check_pass(c, PASS_ALL, trials);
}

bool verify_graph(mtf_graph *g, int nfetches, mtf_tensor *const *fetches, const verify_opts *opts,
                  verify_answer *answer)
{
    arena  scratch = arena_make(&g->session->allocator, &g->session->fault);
    survey around = {.graph = g, .scratch = &scratch};
    check  c = {.graph = g, .opts = opts, .answer = answer};
    *answer = (verify_answer){.equal = true};
    lockstep_opts whole = {.graph = g,
                           .nfetches = nfetches,
                           .fetches = fetches,
                           .last = PASS_LOWERING,
                           .trace = true,
                           .survey = &around};
    c.how = whole;
    c.how.layout = opts->layout;
    c.limits = values_limits(g, &scratch);
    bool ok = c.limits && survey_make(&around, nfetches, fetches);
    if (ok) {
        ok = lockstep_open(&c.whole, &whole) && check_all(&c);
        lockstep_close(&c.whole);
    }
    arena_free(&scratch);
    return ok && mtf_ok(g->session);
}

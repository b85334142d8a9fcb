/* Calibrating: what this machine really does in a second. */
#include "run/calibrate.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

#include "run/compiled.h"

enum { ROUNDS = 5, MOST_STEPS = 300 };

/* One program, of which the instruction of one kind is timed. */
typedef struct trial {
    mtf_session *session;
    instr_kind   kind;
    char         text[400]; /* .mtf; y is fetched */
    double       steps;     /* in a round: the same on every rank */
    /* what was found: seconds of one turn, as the slowest processor took them and the quickest */
    double slowest, quickest;
} trial;

static int find_instr(const program *q, instr_kind kind)
{
    for (int k = 0; k < q->ninstrs; k++)
        if (q->instrs[k].kind == kind) return k;
    return -1;
}

static double seconds_so_far(const mtf_program *p, int number, int at)
{
    mtf_measured m = mtf_program_measured(p, number);
    return m.steps ? m.seconds[at] : 0;
}

/* The best round counts. */
static void time_rounds(trial *t, mtf_program *p)
{
    const store *s = p->store;
    int     at = find_instr(first_program(p), t->kind), steps = (int)fmin(t->steps, MOST_STEPS);
    double *before = arena_array(&p->session->arena, double, s->end - s->first);
    t->slowest = t->quickest = at < 0 ? 0 : DBL_MAX;
    if (!before) return;
    for (int round = -1; round < ROUNDS && at >= 0 && mtf_ok(p->session); round++) {
        double most = 0, least = DBL_MAX;
        for (int k = s->first; k < s->end; k++) before[k - s->first] = seconds_so_far(p, k, at);
        for (int i = 0; i < steps; i++) mtf_step(p);
        for (int k = s->first; k < s->end; k++) {
            double seconds = (seconds_so_far(p, k, at) - before[k - s->first]) / steps;
            most = fmax(most, seconds);
            least = fmin(least, seconds);
        }
        if (round < 0) continue; /* warm now */
        t->slowest = fmin(t->slowest, most);
        t->quickest = fmin(t->quickest, least);
    }
}

static bool run_trial(trial *t)
{
    mtf_session *s = t->session;
    mtf_graph   *g = mtf_parse(s, t->text, "calibrate");
    mtf_program *p = g ? mtf_compile(g, mtf_find(g, "y")) : NULL;
    if (p) time_rounds(t, p);
    mtf_program_free(p);
    return mtf_ok(s);
}

/* Every processor has a product of its own. */
static bool time_products(trial *t, int processors, price_rates *r)
{
    static const mtf_dtype types[] = {MTF_F32, MTF_BF16, MTF_F64};
    static const int       sides[] = {16, 64, 256, 768};
    t->kind = INSTR_CONTRACT;
    for (size_t k = 0; k < sizeof types / sizeof *types; k++)
        for (size_t i = 0; i < sizeof sides / sizeof *sides; i++) {
            const char *type = mtf_dtype_name(types[k]);
            int         n = sides[i];
            snprintf(t->text, sizeof t->text,
                     "a: %s[p=%d, m=%d, k=%d] = random_uniform\n"
                     "b: %s[p=%d, k=%d, n=%d] = random_uniform\ny: [p, m, n] = einsum(a, b)\n",
                     type, processors, n, n, type, processors, n, n);
            t->steps = 1 + 1e8 / (2.0 * n * n * n);
            TRY(run_trial(t));
            double flops = 2.0 * n * n * n / t->slowest;
            r->products[r->nproducts++] = (product_rate){types[k], i ? n : 0, flops};
        }
    return true;
}

/* Three operands stream by, too long for any cache; then a few elements, which only start. */
static bool time_passes(trial *t, int processors, price_rates *r)
{
    enum { LONG = 6 << 20 };
    static const int counts[] = {LONG, 8};
    double           seconds[2];
    t->kind = INSTR_MAP;
    for (int k = 0; k < 2; k++) {
        snprintf(t->text, sizeof t->text,
                 "a%d: f32[p=%d, n=%d] = variable(init=\"ones\")\n"
                 "b%d: f32[p=%d, n=%d] = variable(init=\"ones\")\ny = a%d + b%d\n",
                 k, processors, counts[k], k, processors, counts[k], k, k);
        t->steps = 1 + 1e6 / counts[k];
        TRY(run_trial(t));
        seconds[k] = t->slowest;
    }
    r->start = seconds[1];
    r->memory = 12.0 * LONG / fmax(seconds[0] - seconds[1], 1e-9);
    return true;
}

/* Elementwise work that stays in the cache: a few dozen flops an element. */
static bool time_flops(trial *t, int processors, price_rates *r)
{
    enum { COUNT = 1 << 18, STEPS = 16 };
    t->kind = INSTR_MAP;
    snprintf(t->text, sizeof t->text,
             "w: f32[p=%d, n=%d] = variable(init=\"ones\")\n"
             "b = w * w + w\nc = b * b + b\nd = c * c + c\ne = d * d + d\n"
             "f = e * e + e\ng = f * f + f\nh = g * g + g\ny = h * h + h\n",
             processors, COUNT);
    t->steps = 4;
    TRY(run_trial(t));
    r->flops = (double)STEPS * COUNT / t->slowest;
    return true;
}

/* A short sum over all processors and a long one. */
static bool time_sums(trial *t, int processors, price_rates *r)
{
    enum { LONG = 1 << 20 };
    static const int counts[] = {8, LONG};
    double           seconds[2];
    if (processors == 1) return true;
    t->kind = INSTR_REDUCE;
    for (int k = 0; k < 2; k++) {
        snprintf(t->text, sizeof t->text,
                 "s%d: f32[p=%d, n=%d] = variable(init=\"ones\")\ny = reduce_sum(s%d, over=(p))\n",
                 k, processors, counts[k], k);
        t->steps = 1 + 1e6 / counts[k];
        TRY(run_trial(t));
        seconds[k] = t->quickest;
    }
    double shard = (double)LONG / processors, bytes = 4 * (LONG + (processors - 2) * shard);
    r->latency = seconds[0];
    r->wire = bytes / fmax(seconds[1] - seconds[0], 1e-9);
    r->outer_wire = r->wire, r->outer_latency = r->latency;
    return true;
}

bool calibrate(mtf_session *s, price_rates *r)
{
    trial t = {.session = s};
    mesh  m;
    *r = PRICE_RATES;
    TRY(mesh_parse(s, s->opts.mesh, &m));
    int n = mesh_size(&m);
    TRY(time_products(&t, n, r) && time_flops(&t, n, r) && time_passes(&t, n, r) &&
        time_sums(&t, n, r));
    r->capacity = (double)store_memory_each(s);
    return true;
}

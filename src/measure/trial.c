/* A trial: measures once how fast this machine is. */
#include "measure/trial.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cores.h"
#include "price/traffic.h"
#include "run/compiled.h"
#include "measure/pauses.h"
#include "measure/timing.h"
#include "measure/trial_products.h"
#include "measure/trial_windows.h"

enum { MEETINGS = 8 };
enum { FEW = 8 }; /* elements of the shortest all-reduce */
#define PAUSE_SECONDS 0.3

/* ---- within a processor ---- */

/* Updates variables in place, one after the other: `n` determines how many bytes pass before the
 * first one is used again.  Optimizers do the same, and activations are reused after similar
 * distances. */
static bool time_updates(const trial *t, const price_rates *r, int n, cache_rate *c)
{
    enum { UPDATES = 4, UNALIKE = 16 }; /* equal lengths would be fused */
    enum { KEPT = 8, PASSED = 12 };     /* bytes per element: one variable is also written */
    textbuf text = {.arena = &t->session->arena};
    int     p = mesh_size(&t->mesh);
    double  seconds, elements = 0;
    for (int k = 0; k < UPDATES; k++) {
        int length = n + UNALIKE * k;
        text_add(&text, "u%d_%d: f32[p=%d, n%d=%d] = variable(init=\"ones\")\n", n, k, p, k,
                 length);
        text_add(&text, "v%d_%d: f32[p=%d, n%d=%d] = variable(init=\"ones\")\n", n, k, p, k,
                 length);
        text_add(&text, "w%d = assign(v%d_%d, v%d_%d * 0.5 + u%d_%d)\n", k, n, k, n, k, n, k);
        elements += length;
    }
    text_add(&text, "a: f32[p=%d, n=8] = variable(init=\"ones\")\ny = a + 1\n", p);
    const char *all = text_done(&text);
    TRY(all && timing_single(t, all, PASSED * elements / 10e9, &seconds));
    double started = UPDATES * r->start; /* a lower bound of the time */
    c->bytes = KEPT * elements;
    c->memory = PASSED * elements / fmax(seconds - started, fmax(seconds, started) / 4);
    return true;
}

static bool time_passes(const trial *t, price_rates *r)
{
    static const int lengths[] = {1 << 14, 1 << 16, 1 << 18};
    cache_rate       far;
    for (int k = 0; k < 3; k++) TRY(time_updates(t, r, lengths[k], &r->caches[r->ncaches++]));
    TRY(time_updates(t, r, 1 << 20, &far));
    r->memory = far.memory;
    return true;
}

enum { ELEMENTS = 512 * 512 };

/* Seconds of elementwise operations on data in the cache. */
static bool time_elements(const trial *t, const char *work, double *seconds)
{
    char text[300];
    snprintf(text, sizeof text, "w: f32[p=%d, m=512, n=%d] = variable(init=\"ones\")\n%s",
             mesh_size(&t->mesh), ELEMENTS / 512, work);
    return timing_single(t, text, 1e-3, seconds);
}

/* Chains of elementwise operations, and rows that are reduced and scaled, as norms do: most work is
 * between these two.  Also norms alone, without the time for their memory. */
static bool time_flops(const trial *t, price_rates *r)
{
    static const char many[] = "b = w * w + w\nc = b * b + b\nd = c * c + c\ne = d * d + d\n"
                               "f = e * e + e\ng = f * f + f\nh = g * g + g\ny = h * h + h\n",
                      norm[] = "b = w * 3\nq: [p, m] = reduce_sum(square(b))\ny = b * rsqrt(q)\n";
    enum { OF_CHAIN = 16, OF_NORM = 4 };
    double chains, norms, bytes = 8.0 * ELEMENTS;
    TRY(time_elements(t, many, &chains) && time_elements(t, norm, &norms));
    r->flops = ELEMENTS * sqrt(OF_CHAIN / chains * OF_NORM / norms);
    r->rows = ELEMENTS * OF_NORM / fmax(norms - bytes / rates_memory(r, bytes), norms / 4);
    return true;
}

/* ---- all-reduces ---- */

static void link_sum(textbuf *t, int k)
{
    text_add(t, "s%d: [n] = reduce_sum(x%d)\nx%d = v + s%d\n", k, k, k + 1, k);
}

/* Times an all-reduce of n elements; dimension `dim` is cut into `parts`. */
static bool time_sum(const trial *t, const char *dim, int parts, int n, double *seconds)
{
    chain c = {
        .head = {.arena = &t->session->arena}, .link = link_sum, .guess = 2e-5 + 8.0 * n / 2e9};
    text_add(&c.head, "v_%s_%d: f32[%s=%d, n=%d] = variable(init=\"ones\")\n", dim, n, dim, parts,
             n);
    text_add(&c.head, "v = identity(v_%s_%d)\nx0 = v\n", dim, n);
    return timing_collective(t, &c, seconds);
}

/* Products, each followed by a short sum, over all parts (an all-reduce) or within each part. */
static const char *text_of_meetings(const trial *t, const char *dim, int parts, bool meet)
{
    enum { SIDE = 192 };
    textbuf text = {.arena = &t->session->arena};
    text_add(&text, "m_%s: f32[%s=%d, m=%d, k=%d] = variable(init=\"normal(0, 0.04)\")\n", dim, dim,
             parts, SIDE, SIDE);
    text_add(&text, "b_%s: f32[%s=%d, k=%d, n=%d] = variable(init=\"normal(0, 0.04)\")\n", dim, dim,
             parts, SIDE, SIDE);
    text_add(&text, "x0 = identity(m_%s)\nb = identity(b_%s)\n", dim, dim);
    for (int k = 0; k < MEETINGS; k++) {
        text_add(&text, "y%d: [%s, m, n] = einsum(x%d, b)\n", k, dim, k);
        text_add(&text, "s%d: [%s%sn] = reduce_sum(y%d)\n", k, meet ? "" : dim, meet ? "" : ", ",
                 k);
        text_add(&text, "z%d = y%d + s%d\n", k, k, k);
        text_add(&text, "x%d = rename_dimension(z%d, from=n, to=k)\n", k + 1, k);
    }
    text_add(&text, "y = identity(x%d)\n", MEETINGS);
    return text_done(&text);
}

/* If processors share cores, they cannot arrive at a collective at the same time: this includes the
 * usual time that they wait for each other. */
static bool time_meeting(const trial *t, const char *dim, int parts, double *seconds)
{
    const char *texts[2] = {text_of_meetings(t, dim, parts, true),
                            text_of_meetings(t, dim, parts, false)};
    double      took[2], guess[2] = {MEETINGS * 5e-4, MEETINGS * 5e-4};
    TRY(texts[0] && texts[1] && timing_steps(t, 2, texts, guess, took));
    *seconds = (took[0] - took[1]) / MEETINGS;
    return true;
}

static bool time_latency(const trial *t, const char *dim, int parts, double *seconds)
{
    double meeting;
    TRY(time_sum(t, dim, parts, FEW, seconds));
    if (!t->crowded) return true;
    TRY(time_meeting(t, dim, parts, &meeting));
    *seconds = fmax(*seconds, meeting);
    return true;
}

/* The shortest all-reduce is all latency.  The time that longer ones take beyond it is proportional
 * to bytes, minus the time for loading and storing operands: between two all-reduces, an addition
 * accesses three times the bytes, and the all-reduce twice the bytes of the other processors. */
static bool time_wire(const trial *t, const price_rates *r, const char *dim, int parts,
                      axis_rate *w)
{
    static const int counts[] = {1 << 17, 1 << 19, 1 << 21};
    double           seconds, shortest, logs = 0;
    TRY(time_sum(t, dim, parts, FEW, &shortest));
    for (int k = 0; k < 3; k++) {
        double n = counts[k], bytes = 4 * (n + (parts - 2) * n / parts);
        TRY(time_sum(t, dim, parts, counts[k], &seconds));
        double memory = 8 * n / rates_memory(r, 20 * n);
        logs += log(bytes / fmax(seconds - shortest - memory, seconds / 4));
    }
    w->wire = exp(logs / 3);
    w->latency = shortest;
    return !t->crowded || time_latency(t, dim, parts, &w->latency);
}

/* ---- pauses ---- */

static int threads_here(const store *s)
{
    return (s->end - s->first) * s->threads;
}

static bool find_crowd(trial *t)
{
    store *s = store_of(t->session);
    TRY(s != NULL);
    t->crowded = threads_here(s) > (s->ranks ? ranks_cores(s->ranks) : cores_count());
    return true;
}

static bool measure_pauses(const trial *t, int threads, double *often, double *each)
{
    const struct timespec rest = {.tv_nsec = 50 * 1000 * 1000}; /* for own threads to sleep */
    nanosleep(&rest, NULL);
    return pauses_measure(threads, PAUSE_SECONDS, often, each) ||
           fail(&t->session->fault, ERR_MEMORY, "cannot start %d threads", threads);
}

/* Pauses delay processors that wait for each other; if these share cores, they wait for the cores
 * anyway. */
static bool has_pauses(const trial *t)
{
    return mesh_size(&t->mesh) > 1 && !t->crowded;
}

static bool time_pauses(const trial *t, price_rates *r)
{
    const store *s = store_of(t->session);
    if (!has_pauses(t)) return true;
    TRY(measure_pauses(t, threads_here(s), &r->pauses, &r->pause));
    r->pauses *= s->threads;
    return true;
}

/* Ranks that share cores would measure each other. */
bool trial_lost(const trial *t, const price_rates *r, double *share)
{
    const store *s = store_of(t->session);
    int          threads = threads_here(s), cores = cores_count();
    double       often = r->pauses / s->threads, each = r->pause;
    if (!has_pauses(t) && !(t->crowded && s->ranks))
        TRY(measure_pauses(t, threads < cores ? threads : cores, &often, &each));
    *share = often * each;
    return true;
}

/* ---- wires ---- */

double trial_message(const short_sum *larger, const short_sum *smaller)
{
    double more = larger->messages - smaller->messages;
    return more > 0 ? fmax(0, (larger->seconds - smaller->seconds) / more) : 0;
}

double trial_latency(const short_sum *sum, double message)
{
    return fmax(sum->seconds - message * (sum->messages - 1), sum->seconds / 4);
}

static short_sum short_sum_of(const trial *t, unsigned axes, double seconds)
{
    access     f32 = {.type = MTF_F32};
    instr      i = {.kind = INSTR_REDUCE, .nloops = 1, .size = {FEW}, .out = &f32};
    mesh_point first = {0};
    i.reduce = (reduce_args){FOLD_SUM, axes};
    return (short_sum){seconds,
                       (double)traffic_messages(&store_of(t->session)->site, &t->mesh, &i, &first)};
}

/* Derives the time of the first message and of each further one from all-reduces in groups of
 * different sizes: the whole mesh and the smallest group along an axis, or along a part of the only
 * axis. */
static void tell_messages(const trial *t, const short_sum *all, const short_sum *along,
                          price_rates *r)
{
    const short_sum *least = all;
    for (int a = 0; a < t->mesh.naxes; a++)
        if (along[a].messages > 0 && along[a].messages < least->messages) least = &along[a];
    r->message = r->outer_message = trial_message(all, least);
    r->latency = r->outer_latency = trial_latency(all, r->message);
    for (int k = 0; k < r->naxes; k++) {
        int a = mesh_axis(&t->mesh, r->axes[k].axis);
        r->axes[k].latency = trial_latency(&along[a], r->message);
    }
}

static bool time_axis(const trial *t, int a, price_rates *r, short_sum *along)
{
    const mesh *m = &t->mesh;
    axis_rate   w = {0};
    char        dim[MAX_RATE_NAME + 10];
    if (m->size[a] == 1 || strlen(m->name[a]) >= MAX_RATE_NAME) return true;
    snprintf(w.axis, sizeof w.axis, "%s", m->name[a]);
    snprintf(dim, sizeof dim, "along_%s", w.axis);
    TRY(t->divided ? time_latency(t, dim, m->size[a], &w.latency)
                   : time_wire(t, r, dim, m->size[a], &w));
    *along = short_sum_of(t, 1u << a, w.latency);
    if (!t->divided) r->axes[r->naxes++] = w;
    return true;
}

static bool time_wires(const trial *t, price_rates *r)
{
    const mesh *m = &t->mesh;
    axis_rate   all;
    int         n = mesh_size(m);
    short_sum   along[MAX_AXES] = {0};
    if (n == 1) return true;
    TRY(time_wire(t, r, "p", n, &all));
    r->wire = r->outer_wire = all.wire;
    for (int a = 0; a < m->naxes && m->naxes > 1; a++) TRY(time_axis(t, a, r, &along[a]));
    short_sum whole = short_sum_of(t, (1u << m->naxes) - 1, all.latency);
    tell_messages(t, &whole, along, r);
    return true;
}

/* ---- the whole trial ---- */

bool trial_begin(mtf_session *s, const mesh *m, bool divided, trial *t)
{
    *t = (trial){.session = s, .mesh = *m, .divided = divided};
    TRY(find_crowd(t));
    const ranks *r = store_of(s)->ranks;
    t->of_ranks = r ? arena_array(&s->arena, double, ranks_count(r)) : NULL;
    return !r || t->of_ranks;
}

bool trial_run(const trial *t, price_rates *r)
{
    *r = PRICE_RATES;
    r->described = true;
    r->can = t->session->can;
    TRY(trial_start(t, r) && time_passes(t, r) && time_flops(t, r));
    TRY(trial_products(t, r) && trial_windows(t, r) && trial_fewer(t, r));
    TRY(time_wires(t, r) && time_pauses(t, r));
    return true;
}

/* A trial: what this machine really does in a second, measured once. */
#include "run/trial.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cores.h"
#include "run/compiled.h"
#include "run/pauses.h"
#include "run/timing.h"

enum { MEETINGS = 8 };
#define PAUSE_SECONDS 0.3

/* ---- what stays with a processor ---- */

static void link_product(textbuf *t, int k)
{
    text_add(t, "y%d: [p, c, m, n] = einsum(x%d, b)\n", k, k);
    text_add(t, "x%d = rename_dimension(y%d, from=n, to=k)\n", k + 1, k);
}

/* Small products come in crowds, as those of attention heads do: then not all is in the cache. */
static int crowd_of(int n)
{
    enum { FLOPS = 1 << 24, MOST = 64 };
    double crowd = FLOPS / (2.0 * n * n * n);
    return n < 16 || crowd < 1 ? 1 : crowd > MOST ? MOST : (int)crowd;
}

/* Products, n by n by n; so many processors have theirs. */
static chain chain_of_products(const trial *t, int processors, mtf_dtype type, int n)
{
    const char *name = mtf_dtype_name(type);
    int         crowd = crowd_of(n);
    chain       c = {.head = {.arena = &t->session->arena},
                     .link = link_product,
                     .guess = 1e-6 + 2.0 * crowd * n * n * n / 20e9};
    for (int k = 0; k < 2; k++) {
        const char *what = k ? "b" : "x0";
        text_add(&c.head, "%s_%s_%d_%d: %s[p=%d, c=%d, %s=%d, %s=%d] = ", what, name, n, processors,
                 name, processors, crowd, k ? "k" : "m", n, k ? "n" : "k", n);
        text_add(&c.head, "variable(init=\"normal(0, 0.04)\")\n");
        text_add(&c.head, "%s = identity(%s_%s_%d_%d)\n", what, what, name, n, processors);
    }
    return c;
}

static bool time_product(const trial *t, mtf_dtype type, int n, double *seconds)
{
    chain c = chain_of_products(t, mesh_size(&t->mesh), type, n);
    TRY(timing_link(t, &c, seconds));
    *seconds /= crowd_of(n);
    return true;
}

/* A row holds from about half way to its side on.  What operands take to come and go is not in it. */
static bool time_products(const trial *t, price_rates *r)
{
    static const struct {
        mtf_dtype type;
        int       side;
    } rows[] = {{MTF_F32, 16},  {MTF_F32, 64},   {MTF_F32, 192}, {MTF_F32, 512},
                {MTF_BF16, 64}, {MTF_BF16, 384}, {MTF_F64, 64},  {MTF_F64, 384}};
    double seconds;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        double n = rows[k].side, crowd = crowd_of(rows[k].side);
        double bytes = 3 * n * n * (double)mtf_dtype_bytes(rows[k].type);
        double known = r->start / crowd + bytes / rates_memory(r, bytes * crowd);
        bool   first = k == 0 || rows[k].type != rows[k - 1].type;
        TRY(time_product(t, rows[k].type, rows[k].side, &seconds));
        double flops = 2 * n * n * n / fmax(seconds - known, seconds / 2);
        r->products[r->nproducts++] =
            (product_rate){rows[k].type, first ? 0 : floor(n / 1.5), flops};
    }
    return true;
}

/* So many processors, against all of them, at products as they are in steps. */
static bool time_few(const trial *t, int processors, double *speed)
{
    static const int sides[] = {128, 384};
    double           logs = 0;
    for (int k = 0; k < 2; k++) {
        chain  all = chain_of_products(t, mesh_size(&t->mesh), MTF_F32, sides[k]);
        chain  few = chain_of_products(t, processors, MTF_F32, sides[k]);
        double ratio;
        TRY(timing_ratio(t, &all, &few, &ratio));
        logs += log(ratio);
    }
    *speed = fmax(1, exp(logs / 2));
    return true;
}

/* Who is busy is spread evenly over them all, as parts of a short dimension are. */
static bool time_fewer(const trial *t, price_rates *r)
{
    int n = mesh_size(&t->mesh);
    TRY(time_few(t, 1, &r->alone));
    if (n % 4) return true;
    TRY(time_few(t, n / 2, &r->half) && time_few(t, n / 4 * 3, &r->quarter));
    return n == 4 || time_few(t, n / 4, &r->most);
}

/* ---- flat products ---- */

enum { SHORT = 32, BROAD = 512, LONG = 1024, FLATS = 4 };

/* Products of x and another matrix, of which each gives the next one's x. */
typedef struct flat {
    const char *few; /* of what there is little */
    const char *x, *other, *y;
    const char *from, *to; /* y's dimension that is cut down to x's */
} flat;

static const char *text_of_flats(const trial *t, const flat *f)
{
    textbuf text = {.arena = &t->session->arena};
    int     p = mesh_size(&t->mesh), size = strcmp(f->to, "short") == 0 ? SHORT : BROAD;
    text_add(&text, "%s: f32[p=%d, %s] = variable(init=\"normal(0, 0.04)\")\nx0 = identity(%s)\n",
             f->few, p, f->x, f->few);
    for (int k = 0; k < FLATS; k++) { /* each its own: what programs read was not just used */
        text_add(&text, "%s%d: f32[p=%d, %s] = variable(init=\"normal(0, 0.04)\")\n", f->few, k, p,
                 f->other);
        text_add(&text, "y%d: [p, %s] = einsum(x%d, %s%d)\n", k, f->y, k, f->few, k);
        text_add(&text, "part%d = slice(y%d, dim=%s, begin=0, size=%d)\n", k, k, f->from, size);
        text_add(&text, "x%d = rename_dimension(part%d, from=%s, to=%s)\n", k + 1, k, f->from,
                 f->to);
    }
    text_add(&text, "y = identity(x%d)\n", FLATS);
    return text_done(&text);
}

/* What products with one large side take beyond a cube of as many flops, and beyond what that side
 * takes to come from, or go to, where all of them are. */
static bool time_flat(const trial *t, price_rates *r)
{
    static const flat kinds[] = {
        {"columns", "broad=512, short=32", "long=1024, broad=512", "long, short", "long", "broad"},
        {"rows", "short=32, broad=512", "broad=512, long=1024", "short, long", "long", "broad"},
        {"terms", "long=1024, short=32", "short=32, broad=512", "long, broad", "broad", "short"}};
    double *rate[] = {&r->flat.left, &r->flat.right, &r->flat.result};
    double  volume = (double)SHORT * BROAD * LONG, side = cbrt(volume), large = 4.0 * BROAD * LONG;
    double  cube = 2 * volume / rates_product(r, MTF_F32, volume);
    for (int k = 0; k < 3; k++) {
        int         apart = k < 2 ? FLATS : 2; /* results take turns in two places */
        double      seconds, known = r->start + cube + large / rates_memory(r, apart * large);
        const char *text = text_of_flats(t, &kinds[k]);
        TRY(text && timing_single(t, text, FLATS * 1e-3, &seconds));
        seconds /= FLATS;
        *rate[k] = (large - 4 * side * side) / fmax(seconds - known, seconds / 16);
    }
    return true;
}

/* Variables that change in place, one after the other, so many bytes before the first comes again:
 * as optimizers do it, and as lately as activations are used. */
static bool time_updates(const trial *t, const price_rates *r, int n, cache_rate *c)
{
    enum { UPDATES = 4, UNALIKE = 16 }; /* of one length they would be one instruction */
    textbuf text = {.arena = &t->session->arena};
    int     p = mesh_size(&t->mesh);
    double  seconds;
    c->bytes = 0;
    for (int k = 0; k < UPDATES; k++) {
        int length = n + UNALIKE * k;
        text_add(&text, "u%d_%d: f32[p=%d, n%d=%d] = variable(init=\"ones\")\n", n, k, p, k,
                 length);
        text_add(&text, "v%d_%d: f32[p=%d, n%d=%d] = variable(init=\"ones\")\n", n, k, p, k,
                 length);
        text_add(&text, "w%d = assign(v%d_%d, v%d_%d * 0.5 + u%d_%d)\n", k, n, k, n, k, n, k);
        c->bytes += 12.0 * length;
    }
    text_add(&text, "a: f32[p=%d, n=8] = variable(init=\"ones\")\ny = a + 1\n", p);
    const char *all = text_done(&text);
    TRY(all && timing_single(t, all, c->bytes / 10e9, &seconds));
    double started = UPDATES * r->start; /* and no less, whatever the difference of two steps was */
    c->memory = c->bytes / fmax(seconds - started, fmax(seconds, started) / 4);
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

/* Seconds of elementwise work that stays in the cache. */
static bool time_elements(const trial *t, const char *work, double *seconds)
{
    char text[300];
    snprintf(text, sizeof text, "w: f32[p=%d, m=512, n=%d] = variable(init=\"ones\")\n%s",
             mesh_size(&t->mesh), ELEMENTS / 512, work);
    return timing_single(t, text, 1e-3, seconds);
}

/* Chains, and rows of which something is summed up and applied, as norms do it: most work is in
 * between.  Norms by themselves, too, beside what their memory takes. */
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

/* ---- sums ---- */

static void link_sum(textbuf *t, int k)
{
    text_add(t, "s%d: [n] = reduce_sum(x%d)\nx%d = v + s%d\n", k, k, k + 1, k);
}

/* Dimension `dim` is cut into `parts`. */
static bool time_sum(const trial *t, const char *dim, int parts, int n, double *seconds)
{
    chain c = {
        .head = {.arena = &t->session->arena}, .link = link_sum, .guess = 2e-5 + 8.0 * n / 2e9};
    text_add(&c.head, "v_%s_%d: f32[%s=%d, n=%d] = variable(init=\"ones\")\n", dim, n, dim, parts,
             n);
    text_add(&c.head, "v = identity(v_%s_%d)\nx0 = v\n", dim, n);
    return timing_collective(t, &c, seconds);
}

/* Products with a short sum behind each, over all parts or within one. */
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

/* Where processors share cores, those who have just worked cannot come at the same moment: what they
 * wait for each other counts, too, as it usually is. */
static bool time_meeting(const trial *t, const char *dim, int parts, double *seconds)
{
    const char *texts[2] = {text_of_meetings(t, dim, parts, true),
                            text_of_meetings(t, dim, parts, false)};
    double      took[2], guess[2] = {MEETINGS * 5e-4, MEETINGS * 5e-4};
    TRY(texts[0] && texts[1] && timing_steps(t, 2, texts, guess, took));
    *seconds = (took[0] - took[1]) / MEETINGS;
    return true;
}

/* The shortest sum is all latency; of longer ones what is beyond goes by bytes, but for what their
 * operands take to come and go: between two, an addition touches three times as much. */
static bool time_wire(const trial *t, const price_rates *r, const char *dim, int parts,
                      axis_rate *w)
{
    static const int counts[] = {1 << 17, 1 << 19, 1 << 21};
    double           seconds, logs = 0, meeting;
    TRY(time_sum(t, dim, parts, 8, &w->latency));
    for (int k = 0; k < 3; k++) {
        double n = counts[k], bytes = 4 * (n + (parts - 2) * n / parts);
        TRY(time_sum(t, dim, parts, counts[k], &seconds));
        double memory = 8 * n / rates_memory(r, 12 * n);
        logs += log(bytes / fmax(seconds - w->latency - memory, seconds / 4));
    }
    w->wire = exp(logs / 3);
    if (!t->crowded) return true;
    TRY(time_meeting(t, dim, parts, &meeting));
    w->latency = fmax(w->latency, meeting);
    return true;
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

static bool time_pauses(const trial *t, price_rates *r)
{
    const store          *s = store_of(t->session);
    const struct timespec rest = {.tv_nsec = 50 * 1000 * 1000}; /* until our own threads sleep */
    if (mesh_size(&t->mesh) == 1 || t->crowded) return true;
    nanosleep(&rest, NULL);
    if (!pauses_measure(threads_here(s), PAUSE_SECONDS, &r->pauses, &r->pause))
        return fail(&t->session->fault, ERR_MEMORY, "the system gives no %d threads",
                    threads_here(s));
    r->pauses *= s->threads;
    return true;
}

/* ---- all of it ---- */

static bool time_wires(const trial *t, price_rates *r)
{
    const mesh *m = &t->mesh;
    axis_rate   all;
    int         n = mesh_size(m);
    if (n == 1) return true;
    TRY(time_wire(t, r, "p", n, &all));
    r->wire = r->outer_wire = all.wire;
    r->latency = r->outer_latency = all.latency;
    for (int a = 0; a < m->naxes && m->naxes > 1; a++) {
        axis_rate *w = &r->axes[r->naxes];
        char       dim[MAX_RATE_NAME + 10];
        if (m->size[a] == 1 || strlen(m->name[a]) >= MAX_RATE_NAME) continue;
        snprintf(w->axis, sizeof w->axis, "%s", m->name[a]);
        snprintf(dim, sizeof dim, "along_%s", w->axis);
        TRY(time_wire(t, r, dim, m->size[a], w));
        r->naxes++;
    }
    return true;
}

bool trial_begin(mtf_session *s, const mesh *m, trial *t)
{
    *t = (trial){.session = s, .mesh = *m};
    TRY(find_crowd(t));
    const ranks *r = store_of(s)->ranks;
    t->of_ranks = r ? arena_array(&s->arena, double, ranks_count(r)) : NULL;
    return !r || t->of_ranks;
}

bool trial_run(const trial *t, price_rates *r)
{
    *r = PRICE_RATES;
    TRY(time_product(t, MTF_F32, 2, &r->start)); /* the tiniest one only starts */
    TRY(time_passes(t, r) && time_flops(t, r) && time_products(t, r) && time_flat(t, r));
    TRY(time_fewer(t, r) && time_wires(t, r) && time_pauses(t, r));
    return true;
}

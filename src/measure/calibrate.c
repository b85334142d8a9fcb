/* Calibrating: what this machine usually does in a second.
 *
 * Machines are shared, and other programs may slow one down for seconds at a time.
 * So each rate is measured in several trials, and the value at the better quartile
 * is used: better values are luck, and the worst ones are disturbed by other
 * programs.
 */
#include "measure/calibrate.h"

#include <math.h>
#include <stddef.h>

#include "base/sorted.h"
#include "run/compiled.h"
#include "measure/trial_gpu.h"

/* Quiet machines stay far below these limits; a second program that computes far exceeds one of
 * them. */
#define MOST_SPREAD 0.10
#define MOST_LOST 0.10

/* ---- choosing among trials ---- */

typedef enum wish { LOW, MIDDLE, HIGH } wish;

typedef struct trials {
    const price_rates *list;
    int                n;
} trials;

/* The value at the better quartile of n values; MIDDLE: the median. */
static double pick_of(int n, double *values, wish w)
{
    sort_numbers(values, n);
    return values[w == LOW ? n / 4 : w == HIGH ? n - 1 - n / 4 : n / 2];
}

/* The same for the number at offset `place` in every trial. */
static double pick(const trials *t, size_t place, wish w)
{
    double values[CALIBRATE_TRIALS];
    for (int k = 0; k < t->n; k++)
        values[k] = *(const double *)(const void *)((const char *)&t->list[k] + place);
    return pick_of(t->n, values, w);
}

static double lost_to_pauses(const price_rates *r)
{
    return r->pauses * r->pause;
}

/* Takes frequency and length of pauses from the same trial. */
static void pick_pauses(const trials *t, price_rates *r)
{
    double lost[CALIBRATE_TRIALS];
    for (int k = 0; k < t->n; k++) lost[k] = lost_to_pauses(&t->list[k]);
    double picked = pick_of(t->n, lost, LOW);
    for (int k = 0; k < t->n; k++)
        if (lost_to_pauses(&t->list[k]) == picked)
            r->pauses = t->list[k].pauses, r->pause = t->list[k].pause;
}

#define AT(field) offsetof(price_rates, field)

/* The offset of a rate, and which of its values is used. */
typedef struct place {
    size_t at;
    wish   wish;
} place;

enum { MOST_PLACES = 20 + MAX_PRODUCT_RATES + MAX_WINDOW_RATES + MAX_CACHE_RATES + 2 * MAX_AXES };

static int add_rows(place *list, int n, int rows, place first, size_t each)
{
    for (int k = 0; k < rows; k++) list[n++] = (place){first.at + (size_t)k * each, first.wish};
    return n;
}

/* All rates except pauses; `r` gives the number of rows. */
static int list_places(const price_rates *r, place *list)
{
    static const place numbers[] = {
        {AT(flops), HIGH},        {AT(memory), HIGH},         {AT(rows), HIGH},
        {AT(flat.left), HIGH},    {AT(flat.right), HIGH},     {AT(flat.result), HIGH},
        {AT(wire), HIGH},         {AT(outer_wire), HIGH},     {AT(latency), LOW},
        {AT(start), LOW},         {AT(message), MIDDLE},      {AT(alone), MIDDLE},
        {AT(half), MIDDLE},       {AT(quarter), MIDDLE},      {AT(most), MIDDLE},
        {AT(outer_latency), LOW}, {AT(outer_message), MIDDLE}};
    int n = 0;
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) list[n++] = numbers[k];
    n = add_rows(list, n, r->nproducts, (place){AT(products[0].flops), HIGH}, sizeof *r->products);
    n = add_rows(list, n, r->nwindows, (place){AT(windows[0].flops), HIGH}, sizeof *r->windows);
    n = add_rows(list, n, r->ncaches, (place){AT(caches[0].memory), HIGH}, sizeof *r->caches);
    n = add_rows(list, n, r->naxes, (place){AT(axes[0].wire), HIGH}, sizeof *r->axes);
    return add_rows(list, n, r->naxes, (place){AT(axes[0].latency), LOW}, sizeof *r->axes);
}

void calibrate_combine(int n, const price_rates *list, price_rates *r)
{
    const trials t = {list, n};
    place        places[MOST_PLACES];
    *r = list[0];
    for (int k = list_places(r, places) - 1; k >= 0; k--)
        *(double *)(void *)((char *)r + places[k].at) = pick(&t, places[k].at, places[k].wish);
    pick_pauses(&t, r);
}

/* ---- disturbance by other programs ---- */

disturbance calibrate_disturbance(int n, const price_rates *list, double *lost)
{
    const trials t = {list, n};
    place        places[MOST_PLACES];
    double       logs = 0;
    int          rates = 0;
    for (int k = list_places(list, places) - 1; k >= 0; k--) {
        double holds = pick(&t, places[k].at, places[k].wish);
        double middle = pick(&t, places[k].at, MIDDLE);
        if (places[k].wish == MIDDLE || holds <= 0 || middle <= 0) continue;
        logs += fabs(log(holds / middle));
        rates++;
    }
    return (disturbance){.spread = rates ? exp(logs / rates) - 1 : 0,
                         .lost = pick_of(n, lost, LOW)};
}

bool calibrate_is_disturbed(const disturbance *d)
{
    return d->spread > MOST_SPREAD || d->lost > MOST_LOST;
}

/* ---- calibrating ---- */

/* Dimension p is cut along all axes, and there is a dimension for each axis alone.  No program uses
 * them all. */
static const char *layout_for(mtf_session *s, const mesh *m)
{
    textbuf t = {.arena = &s->arena};
    for (int a = 0; a < m->naxes; a++) text_add(&t, "%s%s", a ? "+" : "p:", m->name[a]);
    text_add(&t, "?");
    for (int a = 0; a < m->naxes && m->naxes > 1; a++)
        text_add(&t, ",along_%s:%s?", m->name[a], m->name[a]);
    return text_done(&t);
}

/* The same processors as a mesh with two axes, the second as short as possible; NULL: impossible,
 * or not needed. */
static const char *divided_view(mtf_session *s, const mesh *m)
{
    textbuf t = {.arena = &s->arena};
    int     n = m->size[0], part = 2;
    while (part < n && n % part) part++;
    if (m->naxes > 1 || part >= n) return NULL;
    text_add(&t, "%s_0:%d,%s_1:%d", m->name[0], n / part, m->name[0], part);
    return text_done(&t);
}

static bool parse_mesh(mtf_session *s, mesh *m)
{
    TRY(mesh_parse(s, s->opts.mesh, m));
    if (m->naxes && !mesh_asks(m)) return true;
    return fail(&s->fault, ERR_USAGE,
                "mesh \"%s\" cannot be calibrated: it takes axes and their sizes, such as x:4 or "
                "rows:2,cols:2",
                s->opts.mesh);
}

bool calibrate_begin(mtf_session *s, trial *t)
{
    mesh m;
    TRY(parse_mesh(s, &m));
    const char *view = divided_view(s, &m);
    if (view) TRY(mesh_parse(s, s->opts.mesh = view, &m));
    s->opts.layout = layout_for(s, &m);
    return s->opts.layout && trial_begin(s, &m, view != NULL, t);
}

/* A GPU is measured once: each of its rates comes from several rounds. */
static bool calibrate_gpu(mtf_session *s, const calibrate_opts *o, price_rates *r, disturbance *d)
{
    trial t;
    mesh  m;
    *d = (disturbance){0};
    TRY(parse_mesh(s, &m));
    s->opts.layout = layout_for(s, &m);
    TRY(s->opts.layout && trial_begin(s, &m, false, &t));
    TRY(trial_gpu_run(&t, o ? o->tell : NULL, o ? o->context : NULL, r));
    if (r->gpu) r->gpu->multiprocessors = s->can.multiprocessors;
    r->capacity = (double)store_memory_each(s);
    return true;
}

long calibrate_busy(const char *name, long cores)
{
    return devices_abilities(name).collectives ? 1 : cores;
}

bool calibrate(mtf_session *s, const calibrate_opts *o, price_rates *r, disturbance *d)
{
    if (s->can.collectives) return calibrate_gpu(s, o, r, d);
    price_rates list[CALIBRATE_TRIALS];
    double      lost[CALIBRATE_TRIALS];
    trial       t;
    TRY(calibrate_begin(s, &t));
    for (int k = 0; k < CALIBRATE_TRIALS; k++) {
        if (o && o->tell) o->tell(o->context, k, CALIBRATE_TRIALS);
        TRY(trial_run(&t, &list[k]) && trial_lost(&t, &list[k], &lost[k]));
    }
    if (o && o->tell) o->tell(o->context, CALIBRATE_TRIALS, CALIBRATE_TRIALS);
    calibrate_combine(CALIBRATE_TRIALS, list, r);
    *d = calibrate_disturbance(CALIBRATE_TRIALS, list, lost);
    r->capacity = (double)store_memory_each(s);
    return true;
}

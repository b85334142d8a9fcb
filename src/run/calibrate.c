/* Calibrating: what this machine usually does in a second.
 *
 * Machines are shared, and for seconds at a time somebody else's work may make one
 * slow.  So each rate is measured in several trials, of which a quarter were better:
 * those are luck, and the worst somebody else's.
 */
#include "run/calibrate.h"

#include <stddef.h>

#include "base/sorted.h"
#include "run/compiled.h"

/* ---- the better ones ---- */

typedef enum wish { LOW, MIDDLE, HIGH } wish;

typedef struct trials {
    const price_rates *list;
    int                n;
} trials;

/* Of n, the one that a quarter are better than. */
static double pick_of(int n, double *values, wish w)
{
    sort_numbers(values, n);
    return values[w == LOW ? n / 4 : w == HIGH ? n - 1 - n / 4 : n / 2];
}

/* Of the numbers at this place in every trial. */
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

/* How often and how long belong together. */
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

void calibrate_combine(int n, const price_rates *list, price_rates *r)
{
    const trials t = {list, n};
    static const struct {
        size_t place;
        wish   wish;
    } numbers[] = {{AT(flops), HIGH},     {AT(memory), HIGH},     {AT(rows), HIGH},
                   {AT(flat.left), HIGH}, {AT(flat.right), HIGH}, {AT(flat.result), HIGH},
                   {AT(wire), HIGH},      {AT(outer_wire), HIGH}, {AT(latency), LOW},
                   {AT(start), LOW},      {AT(message), MIDDLE},  {AT(alone), MIDDLE},    {AT(half), MIDDLE},
                   {AT(quarter), MIDDLE}, {AT(most), MIDDLE},     {AT(outer_latency), LOW},
                   {AT(outer_message), MIDDLE}};
    *r = list[0];
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
        *(double *)(void *)((char *)r + numbers[k].place) =
            pick(&t, numbers[k].place, numbers[k].wish);
    for (int k = 0; k < r->nproducts; k++)
        r->products[k].flops =
            pick(&t, AT(products[0].flops) + (size_t)k * sizeof *r->products, HIGH);
    for (int k = 0; k < r->nwindows; k++)
        r->windows[k].flops =
            pick(&t, AT(windows[0].flops) + (size_t)k * sizeof *r->windows, HIGH);
    for (int k = 0; k < r->ncaches; k++)
        r->caches[k].memory = pick(&t, AT(caches[0].memory) + (size_t)k * sizeof *r->caches, HIGH);
    for (int k = 0; k < r->naxes; k++) {
        size_t there = (size_t)k * sizeof *r->axes;
        r->axes[k].wire = pick(&t, AT(axes[0].wire) + there, HIGH);
        r->axes[k].latency = pick(&t, AT(axes[0].latency) + there, LOW);
    }
    pick_pauses(&t, r);
}

/* ---- calibrating ---- */

/* p goes along all axes; a dimension of its own along each.  No program has them all. */
static const char *layout_for(mtf_session *s, const mesh *m)
{
    textbuf t = {.arena = &s->arena};
    for (int a = 0; a < m->naxes; a++) text_add(&t, "%s%s", a ? "+" : "p:", m->name[a]);
    text_add(&t, "?");
    for (int a = 0; a < m->naxes && m->naxes > 1; a++)
        text_add(&t, ",along_%s:%s?", m->name[a], m->name[a]);
    return text_done(&t);
}

/* The same processors along two axes, of which the second is as short as can be; NULL: there is no
 * such view, or no need for one. */
static const char *divided_view(mtf_session *s, const mesh *m)
{
    textbuf t = {.arena = &s->arena};
    int     n = m->size[0], part = 2;
    while (part < n && n % part) part++;
    if (m->naxes > 1 || part >= n) return NULL;
    text_add(&t, "%s_0:%d,%s_1:%d", m->name[0], n / part, m->name[0], part);
    return text_done(&t);
}

bool calibrate_begin(mtf_session *s, trial *t)
{
    mesh m;
    TRY(mesh_parse(s, s->opts.mesh, &m));
    if (m.naxes == 0 || mesh_asks(&m))
        return fail(
            &s->fault, ERR_USAGE,
            "mesh \"%s\" cannot be calibrated: it takes axes and their sizes, such as x:4 or "
            "rows:2,cols:2",
            s->opts.mesh);
    const char *view = divided_view(s, &m);
    if (view) TRY(mesh_parse(s, s->opts.mesh = view, &m));
    s->opts.layout = layout_for(s, &m);
    return s->opts.layout && trial_begin(s, &m, view != NULL, t);
}

bool calibrate(mtf_session *s, const calibrate_opts *o, price_rates *r)
{
    price_rates list[CALIBRATE_TRIALS];
    trial       t;
    TRY(calibrate_begin(s, &t));
    for (int k = 0; k < CALIBRATE_TRIALS; k++) {
        if (o && o->tell) o->tell(o->context, k, CALIBRATE_TRIALS);
        TRY(trial_run(&t, &list[k]));
    }
    if (o && o->tell) o->tell(o->context, CALIBRATE_TRIALS, CALIBRATE_TRIALS);
    calibrate_combine(CALIBRATE_TRIALS, list, r);
    r->capacity = (double)store_memory_each(s);
    return true;
}

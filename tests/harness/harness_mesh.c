/* Runs a case on meshes under their legal layouts and compares with one processor.
 *
 * A layout gives each dimension of the case no axis, one, or several.  It is
 * legal where no tensor has two dimensions on one axis: a relation of pairs,
 * so that trying all pairs on two processors finds all legal layouts.
 */
#include "harness_mesh.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "asked.h"
#include "graph/node.h"
#include "harness_exact.h"
#include "harness_number.h"
#include "run/audit.h"

static const char clash[] = "has two dimensions on axis";

void outcome_free(outcome *o)
{
    for (int i = 0; i < o->n; i++) free(o->values[i].data);
    o->n = 0;
}

/* ---- one run ---- */

/* Gradients of a weighted sum of the float results with respect to the float feeds. */
static int add_gradients(const test_case *c, mtf_graph *g, mtf_tensor **ys, int n)
{
    mtf_tensor *sum = NULL, *xs[MESH_VALUES], *dxs[MESH_VALUES];
    int         nx = 0;
    for (int i = 0; i < n; i++) {
        mtf_dtype type = mtf_dtype_of_tensor(ys[i]);
        if (!is_float(type)) continue;
        mtf_tensor *w = mtf_random_uniform(g, type, mtf_shape_of_tensor(ys[i]), 0.5, 1.5);
        mtf_tensor *term = mtf_cast(mtf_reduce_sum(mtf_multiply(ys[i], w), MTF_ALL), MTF_F64);
        sum = sum ? mtf_add(sum, term) : term;
    }
    for (int i = 0; i < c->nfeeds && nx < MESH_VALUES; i++) {
        mtf_tensor *x = mtf_find(g, c->feeds[i].name);
        if (x && is_float(mtf_dtype_of_tensor(x))) xs[nx++] = x;
    }
    if (!sum || !nx) return n;
    mtf_gradients(1, &sum, nx, xs, NULL, dxs);
    for (int i = 0; i < nx && n < MESH_VALUES; i++)
        if (dxs[i]) ys[n++] = dxs[i];
    return n;
}

/* "?": numbers that follow from the name alone, floats from -1 to 1, integers from 0 to 99. */
static void make_numbers(const char *name, mtf_dtype type, int64_t n, void *data)
{
    uint32_t state = 1;
    for (const char *p = name; *p; p++) state = state * 31 + (unsigned char)*p;
    for (int64_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        double x = (double)(state >> 8) / 0x1p23 - 1;
        if (type == MTF_F64) ((double *)data)[i] = x;
        if (type == MTF_F32) ((float *)data)[i] = (float)x;
        if (type == MTF_I32) ((int32_t *)data)[i] = (int32_t)(state >> 8) % 100;
    }
}

static bool feed_all(const test_case *c, mtf_graph *g, mtf_program *p)
{
    bool good = true;
    for (int i = 0; i < c->nfeeds && good; i++) {
        const case_values *v = &c->feeds[i];
        mtf_tensor        *x = mtf_find(g, v->name);
        mtf_dtype          type = mtf_dtype_of_tensor(x);
        int64_t            n = mtf_shape_size(mtf_shape_of_tensor(x));
        void              *data = calloc((size_t)n + 1, 8);
        bool               made = !strcmp(v->numbers, "?");
        if (data && made) make_numbers(v->name, type, n, data);
        good = data && (made || numbers_write(v->numbers, type, n, data)) && give(p, x, v, data);
        free(data);
    }
    return good;
}

static void keep(mtf_program *p, mtf_tensor *y, outcome *o)
{
    fetched *f = &o->values[o->n];
    f->type = mtf_dtype_of_tensor(y);
    f->n = mtf_shape_size(mtf_shape_of_tensor(y));
    f->data = calloc((size_t)f->n + 1, 8);
    snprintf(o->names[o->n], sizeof o->names[0], "%s", mtf_name_of_tensor(y));
    mtf_fetch(p, y, f->data);
    o->n++;
}

static int list_fetches(const test_case *c, mtf_graph *g, mtf_tensor **ys)
{
    int n = 0;
    for (; n < c->nexpected && n < MESH_VALUES / 2; n++) ys[n] = mtf_find(g, c->expected[n].name);
    return g && c->gradient > 0 ? add_gradients(c, g, ys, n) : n;
}

static bool run_steps(const test_case *c, const stage *where, int steps, outcome *o)
{
    *o = (outcome){0};
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.threads = 1,
                                                       .mesh = where->mesh,
                                                       .layout = where->layout,
                                                       .state_layout = where->state_layout,
                                                       .device = where->device,
                                                       .measure = !where->unmeasured});
    mtf_graph   *g = mtf_parse(s, c->text, c->path);
    mtf_tensor  *ys[MESH_VALUES];
    audit        a;
    int          n = list_fetches(c, g, ys);
    mtf_program *p = mtf_compile_n(g, n, ys);
    bool         good = p && steps && feed_all(c, g, p);
    for (int i = 0; i < steps && good; i++) good = mtf_step(p);
    if (!where->unmeasured) good = good && audit_program(p, &a) && audit_agrees(s, &a);
    for (int i = 0; i < n && good; i++) keep(p, ys[i], o);
    if (good && !where->unmeasured && !where->unproved) exact_agrees(g, n, ys, where, o->error);
    copy_error(s, "run", o->error);
    mtf_close(s);
    return !o->error[0];
}

bool run_on(const test_case *c, const stage *where, outcome *o)
{
    return run_steps(c, where, c->steps + where->more, o);
}

/* ---- dimensions ---- */

static void note_dims(mtf_graph *g, case_dims *d)
{
    for (int i = 0; i < g->dim_names.room; i++) {
        const char *name = g->dim_names.entries[i].name;
        if (name && !name_is_internal(name) && d->n < MESH_DIMS)
            snprintf(d->names[d->n++], sizeof d->names[0], "%s", name);
    }
}

static int dim_number(const case_dims *d, const char *name)
{
    int k = 0;
    while (k < d->n && strcmp(d->names[k], name) != 0) k++;
    return k < d->n ? k : -1;
}

static void note_together(mtf_graph *g, case_dims *d)
{
    for (int k = 0; k < g->ntensors; k++) {
        const mtf_shape *s = &g->all[k]->shape;
        for (int i = 0; i < s->ndims; i++)
            for (int j = 0; j < i; j++) {
                int a = dim_number(d, s->dims[i].name), b = dim_number(d, s->dims[j].name);
                if (a >= 0 && b >= 0) d->together[a][b] = d->together[b][a] = true;
            }
    }
}

bool case_dims_of(const test_case *c, case_dims *d)
{
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.threads = 1});
    mtf_graph   *g = mtf_parse(s, c->text, c->path);
    mtf_tensor  *ys[MESH_VALUES];
    *d = (case_dims){0};
    list_fetches(c, g, ys);
    if (g) note_dims(g, d), note_together(g, d);
    return mtf_close(s) == 0 && g;
}

/* ---- comparing ---- */

static bool has_f8(const mesh_trials *t)
{
    return strstr(t->c->text, "f8") != NULL;
}

/* Tensor cores keep about 13 bits of a sum of products of f8; an emulated GPU adds as the CPU does. */
static bool adds_roughly(const mesh_trials *t)
{
    return t->device && has_f8(t) && asked_real_gpu();
}

static double allowed(const mesh_trials *t, mtf_dtype type)
{
    switch (type) {
    case MTF_F32: return adds_roughly(t) ? 0x1p-11 : t->f32;
    case MTF_F64: return t->f64;
    case MTF_BF16: return 0x1p-7; /* rounded once, and that the other way: a unit, or two */
    case MTF_F16: return 0x1p-10;
    case MTF_F8E4M3: return 0x1p-3;
    case MTF_F8E5M2: return 0x1p-2;
    default: return 0;
    }
}

/* far: at least the largest difference, relative to the tensor's magnitude. */
static bool same_value(const fetched *a, const fetched *b, double tolerance, double *far,
                       char *error)
{
    double scale = 0.1;
    for (int64_t i = 0; i < a->n && is_float(a->type); i++) {
        double x = fabs(number_at(a->data, a->type, i));
        if (isfinite(x) && x > scale) scale = x;
    }
    for (int64_t i = 0; i < a->n; i++) {
        double x = number_at(a->data, a->type, i), y = number_at(b->data, b->type, i);
        if (x == y || (isnan(x) && isnan(y))) continue;
        if (fabs(x - y) <= tolerance * scale) {
            *far = fmax(*far, fabs(x - y) / scale);
            continue;
        }
        snprintf(error, ERROR_ROOM, "element %lld is %.9g, on one processor %.9g", (long long)i, y,
                 x);
        return false;
    }
    return true;
}

static bool same_outcome(mesh_trials *t, const outcome *o, char *error)
{
    for (int i = 0; i < t->one.n; i++) {
        char           why[ERROR_ROOM];
        const fetched *a = &t->one.values[i];
        double         far = 0;
        bool           same = same_value(a, &o->values[i], allowed(t, a->type), &far, why);
        farthest      *seen = has_f8(t) ? &t->f8_seen : &t->f32_seen;
        if (a->type == MTF_F32 && far > seen->by) {
            seen->by = far;
            snprintf(seen->in, sizeof seen->in, "%.40s of %.70s", t->one.names[i], t->c->path);
        }
        if (same) continue;
        snprintf(error, ERROR_ROOM, "%.60s: %.400s", t->one.names[i], why);
        return false;
    }
    return true;
}

static void try_stage(mesh_trials *t, const stage *where)
{
    outcome o;
    char    error[ERROR_ROOM] = "";
    bool    ran = run_on(t->c, where, &o);
    if (ran && same_outcome(t, &o, error))
        t->passed++;
    else {
        t->failed++;
        printf("%s: --mesh %s --layout %s --state-layout \"%s\": %s\n", t->c->path, where->mesh,
               where->layout, where->state_layout, ran ? error : o.error);
    }
    outcome_free(&o);
}

static void print_farthest(const char *what, const farthest *seen)
{
    if (seen->by > 0)
        printf("%s within %.1e of the largest element; farthest: %s\n", what, seen->by, seen->in);
}

/* tools/test_cuda.sh looks for these lines. */
void trials_print_farthest(const mesh_trials *t)
{
    print_farthest("f32", &t->f32_seen);
    print_farthest("f8 products", &t->f8_seen);
}

/* ---- which layouts are legal ---- */

static void try_pair(mesh_trials *t, int a, int b)
{
    char    layout[140];
    outcome o;
    snprintf(layout, sizeof layout, "%s:x,%s:x", t->dims.names[a], t->dims.names[b]);
    if (run_steps(t->c, &(stage){.mesh = "x:2", .layout = layout}, 0, &o)) return;
    t->apart[a][b] = t->apart[b][a] = true;
    t->illegal++;
    if (strstr(o.error, clash)) return;
    t->failed++;
    printf("%s: --mesh x:2 --layout %s: %s\n", t->c->path, layout, o.error);
}

bool trials_begin(mesh_trials *t)
{
    if (!run_on(t->c, &(stage){.more = t->more}, &t->one)) {
        t->failed++;
        printf("%s: one processor: %s\n", t->c->path, t->one.error);
        return false;
    }
    case_dims_of(t->c, &t->dims);
    if (t->must) { /* what is illegal has been tried without it */
        memcpy(t->apart, t->dims.together, sizeof t->apart);
        return true;
    }
    if (t->device) {
        stage alone = {.mesh = "",
                       .layout = "",
                       .state_layout = "",
                       .device = t->device,
                       .more = t->more,
                       .unmeasured = true};
        try_stage(t, &alone);
        alone.unmeasured = false;
        try_stage(t, &alone);
    } else if (!t->c->nan && !t->c->outside) {
        try_stage(t, &(stage){.mesh = "",
                              .layout = "",
                              .state_layout = "",
                              .device = "check"}); /* where nothing is fused */
    }
    memset(t->apart, 0, sizeof t->apart);
    for (int a = 0; a < t->dims.n; a++)
        for (int b = 0; b < a; b++) try_pair(t, a, b);
    return true;
}

void trials_end(mesh_trials *t)
{
    outcome_free(&t->one);
}

/* ---- all layouts of a mesh ---- */

typedef struct choices {
    mesh_trials *t;
    const char  *mesh;
    int          naxes;
    int          n; /* what a dimension can be given */
    char         texts[16][8];
    unsigned     axes[16];
    int          of[MESH_DIMS]; /* the layout in hand */
    long         count;
} choices;

/* Nothing, each axis, and each set of axes in one order; of two axes in both. */
static void list_choices(choices *c, int naxes)
{
    static const char *const texts[] = {"", "x", "y", "x+y", "y+x", "z", "y+z", "z+x", "z+y+x"};
    static const unsigned    axes[] = {0, 1, 2, 3, 3, 4, 6, 5, 7};
    for (int i = 0; i < 9; i++) {
        if (axes[i] >> naxes || (naxes > 2 && i == 4)) continue;
        snprintf(c->texts[c->n], sizeof c->texts[0], "%s", texts[i]);
        c->axes[c->n++] = axes[i];
    }
}

static bool fits(const choices *c, int dim, int choice, unsigned decided)
{
    for (int d = 0; d < c->t->dims.n; d++)
        if (decided >> d & 1 && c->t->apart[d][dim] && c->axes[c->of[d]] & c->axes[choice])
            return false;
    return true;
}

/* Every second layout is tried with state cut further: each dimension along some axis, in an order
 * that changes, of which each variable takes what is free.  The rules are firm: most would raise the
 * memory of cases as small as these. */
static void write_state(const choices *c, long number, char *text, size_t room)
{
    int n = c->t->dims.n;
    text[0] = 0;
    for (int k = 0; k < n && number % 2 && room > 140; k++) {
        int d = (int)((k * (number % 4 == 1 ? 1 : n - 1) + number / 4) % n);
        int used = snprintf(text, room, "%s:%c?! ", c->t->dims.names[d],
                            "xyz"[(d + number / 2) % c->naxes]);
        text += used, room -= (size_t)used;
    }
}

static void try_choice(choices *c, long number)
{
    char   layout[1200] = "", state[1200];
    size_t used = 0;
    for (int d = 0; d < c->t->dims.n; d++)
        if (c->of[d])
            used += (size_t)snprintf(layout + used, sizeof layout - used, "%s%s:%s",
                                     used ? "," : "", c->t->dims.names[d], c->texts[c->of[d]]);
    bool        checked = number % 8 == 3 && !c->t->c->nan && !c->t->c->outside && !c->t->device;
    const char *device = c->t->device ? c->t->device : checked ? "check" : "cpu";
    write_state(c, number, state, sizeof state);
    try_stage(c->t, &(stage){.mesh = c->mesh,
                             .layout = layout,
                             .state_layout = state,
                             .device = device,
                             .more = c->t->more,
                             .unmeasured = c->t->device && number % 4});
}

static bool is_must(const mesh_trials *t, int dim)
{
    return t->must && strcmp(t->dims.names[dim], t->must) == 0;
}

/* Counts the legal layouts from dimension d on, and tries them where `run`. */
static void walk_all(choices *c, int d, bool run)
{
    if (d == c->t->dims.n) {
        if (run) try_choice(c, c->count);
        c->count++;
        return;
    }
    for (int k = is_must(c->t, d); k < c->n && (run || c->count <= c->t->limit); k++) {
        if (!fits(c, d, k, (1u << d) - 1)) continue;
        c->of[d] = k;
        walk_all(c, d + 1, run);
    }
}

static unsigned draw(unsigned *state, int n)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % (unsigned)n;
}

/* Dimensions in random order, each with a random choice where that is legal. */
static void try_some(choices *c)
{
    unsigned state = 12345;
    int      n = c->t->dims.n;
    for (int k = 0; k < c->t->limit; k++) {
        unsigned decided = 0;
        memset(c->of, 0, sizeof c->of);
        for (int d = 0; d < n; d++)
            if (is_must(c->t, d)) decided = 1u << d, c->of[d] = 1 + (int)draw(&state, c->n - 1);
        for (int left = n - (decided != 0); left; left--) {
            int at = (int)draw(&state, left), d = 0;
            while (decided >> d & 1 || at-- > 0) d++;
            int choice = (int)draw(&state, c->n);
            if (fits(c, d, choice, decided)) c->of[d] = choice;
            decided |= 1u << d;
        }
        try_choice(c, k);
    }
}

void trials_on(mesh_trials *t, const char *mesh)
{
    choices c = {.t = t, .mesh = mesh};
    int     naxes = 1;
    for (const char *p = mesh; *p; p++) naxes += *p == ',';
    c.naxes = naxes;
    list_choices(&c, naxes);
    walk_all(&c, 0, false);
    if (c.count > t->limit) {
        try_some(&c);
        return;
    }
    c.count = 0;
    walk_all(&c, 0, true);
}

void trials_on_gpu(mesh_trials *t)
{
    static const char *const meshes[] = {"x:2", "x:2,y:2", "x:3", "x:4"};
    if (trials_begin(t))
        for (int i = 0; i < (asked_real_gpu() ? 4 : 2); i++) trials_on(t, meshes[i]);
    trials_end(t);
}

/* What the mixtures of experts of a training tell in each step. */
#include "model/experts_told.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/dtype.h"
#include "base/numbers.h"
#include "graph/node.h"
#include "run/compiled.h"

static const char *const words[EXPERTS_TOLD] = {"expert_load", "dropped", "entropy", "aux_loss"};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Is this the tensor's name in its scope, or that with the number that tells equal names apart? */
static bool is_called(const mtf_tensor *x, const char *word)
{
    if (x->node->home != &x->node->graph->root || !x->name) return false;
    const char *slash = strrchr(x->name, '/'), *at = slash ? slash + 1 : x->name;
    size_t      n = strlen(word);
    if (strncmp(at, word, n) != 0) return false;
    if (at[n] == '_' && is_digit(at[n + 1]))
        for (at++; is_digit(at[n]);) at++;
    return !at[n];
}

static size_t scope_length(const mtf_tensor *x)
{
    const char *slash = strrchr(x->name, '/');
    return slash ? (size_t)(slash - x->name) : 0;
}

/* The tensor that the layer of `load` calls so; the mixture's own comes before others. */
static mtf_tensor *told_beside(const mtf_graph *g, const mtf_tensor *load, const char *word)
{
    size_t n = scope_length(load);
    for (int i = 0; i < g->ntensors; i++) {
        mtf_tensor *x = g->all[i];
        if (is_called(x, word) && scope_length(x) == n && strncmp(x->name, load->name, n) == 0)
            return x;
    }
    return NULL;
}

static bool add_layer(mtf_graph *g, mtf_tensor *load, experts_told *all)
{
    arena             *a = &g->session->arena;
    int                k = all->n++;
    char              *name = arena_text(a, load->name);
    int64_t            experts = mtf_shape_size(load->shape);
    mtf_train_experts *now = &all->now[k], *sum = &all->sums[k];
    TRY(name != NULL);
    name[scope_length(load)] = 0;
    for (int i = 0; i < EXPERTS_TOLD; i++)
        all->tensors[k * EXPERTS_TOLD + i] = i ? told_beside(g, load, words[i]) : load;
    *now = *sum = (mtf_train_experts){.layer = name, .experts = experts};
    double *loads = arena_array(a, double, experts), *sums = arena_array(a, double, experts);
    now->load = loads, sum->load = sums;
    return loads && sums;
}

bool experts_find(mtf_graph *g, experts_told *all)
{
    arena  *a = &g->session->arena;
    int     n = 0;
    int64_t most = 1;
    for (int i = 0; i < g->ntensors; i++)
        if (is_called(g->all[i], words[EXPERTS_LOAD])) {
            int64_t size = mtf_shape_size(g->all[i]->shape);
            most = size > most ? size : most;
            n++;
        }
    *all = (experts_told){.now = arena_array(a, mtf_train_experts, n),
                          .sums = arena_array(a, mtf_train_experts, n),
                          .tensors = arena_array(a, mtf_tensor *, n * EXPERTS_TOLD),
                          .room = arena_array(a, double, most)};
    TRY(all->now && all->sums && all->tensors && all->room);
    for (int i = 0; i < g->ntensors; i++)
        if (is_called(g->all[i], words[EXPERTS_LOAD])) TRY(add_layer(g, g->all[i], all));
    return true;
}

int experts_fetches(const experts_told *all, mtf_tensor **fetches)
{
    int n = 0;
    for (int i = 0; i < all->n * EXPERTS_TOLD; i++)
        if (all->tensors[i]) fetches[n++] = all->tensors[i];
    return n;
}

/* ---- a step ---- */

static double scalar_of(mtf_program *p, mtf_tensor *x)
{
    return x ? mtf_fetch_scalar(p, x) : NAN;
}

static bool read_layer(experts_told *all, mtf_program *p, int k)
{
    mtf_tensor       **from = all->tensors + k * EXPERTS_TOLD;
    mtf_train_experts *now = &all->now[k], *sum = &all->sums[k];
    double            *loads = (double *)now->load, *sums = (double *)sum->load;
    TRY(mtf_fetch(p, from[EXPERTS_LOAD], all->room));
    for (int64_t i = 0; i < now->experts; i++) {
        loads[i] = dtype_load(from[EXPERTS_LOAD]->type, all->room, i);
        sums[i] += loads[i];
    }
    now->dropped = scalar_of(p, from[EXPERTS_DROPPED]), sum->dropped += now->dropped;
    now->entropy = scalar_of(p, from[EXPERTS_ENTROPY]), sum->entropy += now->entropy;
    now->loss = scalar_of(p, from[EXPERTS_LOSS]), sum->loss += now->loss;
    return mtf_ok(p->session);
}

/* The least and the largest load, as multiples of an even one. */
static void extremes(const mtf_train_experts *x, double steps, double *least, double *most)
{
    *least = INFINITY, *most = 0;
    for (int64_t i = 0; i < x->experts; i++) {
        double load = x->load[i] * (double)x->experts / steps;
        *least = fmin(*least, load), *most = fmax(*most, load);
    }
}

static bool write_events(const mtf_train_experts *x, events *e, int64_t step, bool each)
{
    double least, most;
    extremes(x, 1, &least, &most);
    const struct {
        const char *name;
        double      value;
    } rows[] = {{"load_least", least},
                {"load_largest", most},
                {words[EXPERTS_DROPPED], x->dropped},
                {words[EXPERTS_ENTROPY], x->entropy},
                {words[EXPERTS_LOSS], x->loss}};
    char tag[400];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(tag, sizeof tag, "experts/%.300s/%s", x->layer, rows[i].name);
        if (!isnan(rows[i].value)) TRY(events_scalar(e, step, tag, rows[i].value));
    }
    for (int64_t i = 0; each && i < x->experts; i++) {
        snprintf(tag, sizeof tag, "experts/%.300s/load/%03lld", x->layer, (long long)i);
        TRY(events_scalar(e, step, tag, x->load[i] * (double)x->experts));
    }
    return true;
}

bool experts_step(experts_told *all, mtf_program *p, events *e, int64_t step, bool each)
{
    all->steps++;
    for (int k = 0; k < all->n; k++) {
        TRY(read_layer(all, p, k));
        if (e) TRY(write_events(&all->now[k], e, step, each));
    }
    return true;
}

/* ---- all steps ---- */

static void write_number(textbuf *t, int width, double value, const char *unit)
{
    char text[40];
    if (isnan(value))
        snprintf(text, sizeof text, "-");
    else
        number_format(text, sizeof text, "%.4g%s", value, unit);
    text_add(t, " %*s", width, text);
}

void experts_write(const experts_told *all, textbuf *t)
{
    int    width = (int)strlen("experts");
    double steps = (double)all->steps, least, most;
    if (!all->n || !all->steps) return;
    for (int k = 0; k < all->n; k++)
        if ((int)strlen(all->now[k].layer) > width) width = (int)strlen(all->now[k].layer);
    text_add(t, "\n%-*s %10s %10s %10s %10s %10s\n", width, "experts", "least", "largest",
             "dropped", "entropy", "loss");
    for (int k = 0; k < all->n; k++) {
        const mtf_train_experts *x = &all->sums[k];
        extremes(x, steps, &least, &most);
        text_add(t, "%-*s", width, *x->layer ? x->layer : "-");
        write_number(t, 10, least, "");
        write_number(t, 10, most, "");
        write_number(t, 10, 100 * x->dropped / steps, " %");
        write_number(t, 10, x->entropy / steps, "");
        write_number(t, 10, x->loss / steps, "");
        text_add(t, "\n");
    }
    text_add(t, "loads of experts, as multiples of an even one; means of all steps\n");
}

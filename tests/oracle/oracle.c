/* The oracle: nodes in order of creation, each by its rule. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rules.h"

static const named_rule *const tables[] = {sum_rules,   extreme_rules, shape_rules,
                                           index_rules, window_rules,  control_rules,
                                           state_rules, random_rules,  attention_rules};

static rule *rule_of(const char *name)
{
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (const named_rule *r = tables[t]; r->op; r++)
            if (!strcmp(r->op, name)) return r->rule;
    return elementwise_rule(name);
}

bool oracle_knows(const char *name)
{
    return rule_of(name) != NULL;
}

/* ---- memory and errors ---- */

bool oracle_fail(oracle *o, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (!o->error[0]) vsnprintf(o->error, sizeof o->error, format, args);
    va_end(args);
    return false;
}

const char *oracle_error(const oracle *o)
{
    return o->error;
}

const char *oracle_complaint(const oracle *o)
{
    return o->complaint;
}

typedef struct piece {
    struct piece *next;
    number        at[];
} piece;

number *oracle_room(oracle *o, int64_t n)
{
    o->work += n;
    if (o->work > MOST_WORK) {
        oracle_fail(o, "too much work");
        return NULL;
    }
    piece *p = malloc(sizeof *p + sizeof(number) * (size_t)(n + 1));
    if (!p) {
        oracle_fail(o, "no memory");
        return NULL;
    }
    p->next = o->memory;
    o->memory = p;
    return p->at;
}

static void drop_memory(oracle *o)
{
    while (o->memory) {
        piece *p = o->memory;
        o->memory = p->next;
        free(p);
    }
}

oracle *oracle_new(mtf_graph *g, uint64_t seed)
{
    oracle *o = calloc(1, sizeof *o);
    size_t  n = (size_t)g->ntensors + 1;
    if (!o) abort();
    *o = (oracle){.graph = g,
                  .seed = seed,
                  .nudged = -1,
                  .values = calloc(n, sizeof *o->values),
                  .peaks = calloc(n, sizeof *o->peaks),
                  .given = calloc(n, sizeof *o->given),
                  .now = calloc(n, sizeof *o->now)};
    if (!o->values || !o->given || !o->now || !o->peaks) abort();
    return o;
}

void oracle_free(oracle *o)
{
    if (!o) return;
    for (int i = 0; i < o->graph->ntensors; i++) free(o->given[i]), free(o->now[i]);
    drop_memory(o);
    free(o->values);
    free(o->peaks);
    free(o->given);
    free(o->now);
    free(o);
}

void oracle_give(oracle *o, const mtf_tensor *x, const number *elements)
{
    size_t bytes = sizeof(number) * (size_t)mtf_shape_size(x->shape);
    free(o->given[x->id]);
    o->given[x->id] = malloc(bytes);
    if (!o->given[x->id]) abort();
    memcpy(o->given[x->id], elements, bytes);
}

void oracle_nudge(oracle *o, const mtf_tensor *x, const double *direction, double by)
{
    o->nudged = x->id;
    o->direction = direction;
    o->by = by;
}

const value *oracle_value(const oracle *o, const mtf_tensor *x)
{
    return o->values[x->id].at ? &o->values[x->id] : NULL;
}

double oracle_peak(const oracle *o, const mtf_tensor *x)
{
    return o->peaks[x->id];
}

/* ---- evaluating ---- */

/* Slopes are those of real numbers: where something was moved, short floats are not rounded, which
 * they are only where they are exact. */
static void nudge(oracle *o, const mtf_tensor *x, value *v)
{
    number *from = v->at;
    bool    rounds = number_summed_in(x->type) != x->type;
    if (o->nudged < 0 || !(rounds || x->id == o->nudged) || !(v->at = oracle_room(o, v->n))) return;
    for (int64_t i = 0; i < v->n; i++) {
        v->at[i] = from[i];
        if (x->id == o->nudged) {
            v->at[i].v += o->by * o->direction[i];
            v->at[i].mass += fabs(o->by * o->direction[i]);
            v->at[i].grain = NO_GRAIN;
        }
        if (rounds && v->at[i].slack == 0) v->at[i].slack = 1e-300;
    }
}

void oracle_bind(oracle *o, const mtf_tensor *x, const value *v)
{
    value *to = &o->values[x->id];
    *to = (value){x->type, x->shape, v->n, v->at};
    nudge(o, x, to);
    for (int64_t i = 0; to->at && i < v->n; i++) {
        number a = to->at[i];
        double size =
            !number_known(a) ? (double)INFINITY : fabs(is_real(x->type) ? a.v : (double)a.i);
        if (size > o->peaks[x->id]) o->peaks[x->id] = size;
    }
}

static bool evaluate(oracle *o, const node *n)
{
    const value *in[64];
    value        out[64];
    rule        *r = rule_of(n->op->name);
    if (!r) return oracle_fail(o, "the oracle has no rule for %s", n->op->name);
    if (n->nin > 64 || n->nout > 64) return oracle_fail(o, "%s has too many inputs", n->op->name);
    for (int i = 0; i < n->nin; i++) in[i] = &o->values[n->in[i]->id];
    for (int k = 0; k < n->nout; k++) {
        const mtf_tensor *y = n->out[k];
        out[k] = (value){y->type, y->shape, mtf_shape_size(y->shape), NULL};
        out[k].at = oracle_room(o, out[k].n);
        if (!out[k].at) return false;
    }
    r(o, n, in, out);
    if (o->error[0]) return false;
    for (int k = 0; k < n->nout; k++) oracle_bind(o, n->out[k], &out[k]);
    return !o->error[0];
}

bool oracle_block(oracle *o, const block *b)
{
    for (int i = 0; i < b->nnodes; i++)
        if (b->nodes[i]->op != &op_param && !evaluate(o, b->nodes[i])) return false;
    return true;
}

bool oracle_step(oracle *o)
{
    drop_memory(o);
    o->work = 0;
    for (int i = 0; i < o->graph->ntensors; i++) {
        o->values[i].at = NULL;
        o->peaks[i] = 0;
        free(o->now[i]);
        o->now[i] = NULL;
    }
    if (!oracle_block(o, &o->graph->root)) return false;
    for (int i = 0; i < o->graph->ntensors; i++)
        if (o->now[i]) {
            free(o->given[i]);
            o->given[i] = o->now[i];
            o->now[i] = NULL;
        }
    o->step++;
    return true;
}

/* ---- walking ---- */

int walk_find(const walk *w, const char *dim)
{
    for (int i = 0; i < w->n; i++)
        if (!strcmp(w->name[i], dim)) return i;
    return -1;
}

void walk_join(walk *w, const mtf_shape *s)
{
    for (int i = 0; i < s->ndims && w->n < MOST_WALK; i++) {
        if (walk_find(w, s->dims[i].name) >= 0) continue;
        w->name[w->n] = s->dims[i].name;
        w->size[w->n] = s->dims[i].size;
        w->at[w->n++] = 0;
        w->count *= s->dims[i].size;
    }
}

walk walk_over(const mtf_shape *s)
{
    walk w = {.n = 0, .count = 1};
    walk_join(&w, s);
    return w;
}

bool walk_next(walk *w)
{
    for (int i = w->n - 1; i >= 0; i--) {
        if (++w->at[i] < w->size[i]) return true;
        w->at[i] = 0;
    }
    return false;
}

int64_t stride_of(const mtf_shape *s, const char *dim)
{
    int64_t stride = 1;
    for (int i = s->ndims - 1; i >= 0; i--) {
        if (!strcmp(s->dims[i].name, dim)) return stride;
        stride *= s->dims[i].size;
    }
    return 0;
}

track track_in(const walk *w, const mtf_shape *s)
{
    track t;
    for (int i = 0; i < w->n; i++) t.step[i] = stride_of(s, w->name[i]);
    return t;
}

int64_t track_at(const walk *w, const track *t)
{
    int64_t at = 0;
    for (int i = 0; i < w->n; i++) at += w->at[i] * t->step[i];
    return at;
}

/* What the layers of a program cost, equal ones together. */
#include "price/layer_costs.h"

#include <ctype.h>
#include <math.h>

static void sum_up(const estimate *e, const phases *p, layer_cost *rows)
{
    for (int k = 0; k < e->program->ninstrs; k++) {
        const price_line *line = &e->price.lines[k];
        const mtf_tensor *x = line->tensor;
        layer_cost       *r = &rows[x ? p->layer[x->id] : 0];
        r->seconds[x ? p->phase[x->id] : PHASE_FORWARD] += line->seconds;
        r->flops += (double)line->flops;
        r->sent += (double)line->sent_bytes;
        if (line->collective) r->collectives += (double)line->executions;
    }
}

/* Equal but for the numbers in them, as block_003 and block_011? */
static bool same_but_numbers(const char *a, const char *b)
{
    for (;;) {
        if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
            while (isdigit((unsigned char)*a)) a++;
            while (isdigit((unsigned char)*b)) b++;
        }
        if (*a != *b) return false;
        if (!*a) return true;
        a++, b++;
    }
}

/* The first and the last of a stack differ a little in what is fused. */
static bool nearly(double each, double other)
{
    return fabs(each - other) <= 0.02 * fmax(each, other);
}

static bool same_layer(const layer_cost *a, const layer_cost *b)
{
    return same_but_numbers(a->name, b->name) && nearly(a->flops / a->count, b->flops) &&
           nearly(a->sent / a->count, b->sent);
}

static int join_equal(layer_cost *rows, int n)
{
    int kept = 0;
    for (int k = 0; k < n; k++) {
        int i = 0;
        while (i < kept && !same_layer(&rows[i], &rows[k])) i++;
        if (i == kept) {
            rows[kept++] = rows[k];
            continue;
        }
        layer_cost *to = &rows[i];
        to->count++;
        for (int p = 0; p < PHASES; p++) to->seconds[p] += rows[k].seconds[p];
        to->flops += rows[k].flops;
        to->sent += rows[k].sent;
        to->collectives += rows[k].collectives;
    }
    return kept;
}

int layer_costs(const estimate *e, const phases *p, arena *a, layer_cost **rows)
{
    *rows = arena_array(a, layer_cost, p->n + 1);
    if (!*rows) return -1;
    for (int k = 0; k < p->n; k++) (*rows)[k] = (layer_cost){.name = p->names[k], .count = 1};
    sum_up(e, p, *rows);
    return join_equal(*rows, p->n);
}

double layer_cost_seconds(const layer_cost *r)
{
    double sum = 0;
    for (int k = 0; k < PHASES; k++) sum += r->seconds[k];
    return sum;
}

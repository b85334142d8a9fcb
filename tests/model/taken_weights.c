/* The variables of a graph by name, for plain loops. */
#include "taken_weights.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t elements(const mtf_tensor *t)
{
    return mtf_shape_size(mtf_shape_of_tensor(t));
}

static void stop(const char *why, const char *name)
{
    fprintf(stderr, "%s: %s\n", name, why);
    abort();
}

void take_weights(mtf_graph *g, int members, taken *t)
{
    mtf_tensor *all[MOST_WEIGHTS];
    *t = (taken){.n = mtf_variables(g, all, MOST_WEIGHTS)};
    if (t->n < 1 || t->n > MOST_WEIGHTS) stop("too few variables, or too many", "the graph");
    for (int k = 0; k < t->n; k++) {
        weight *w = &t->all[k];
        snprintf(w->name, sizeof w->name, "%s", mtf_name_of_tensor(all[k]));
        w->variable = all[k];
        w->n = elements(all[k]) / members;
        w->x = malloc(sizeof *w->x * (size_t)elements(all[k]));
        if (mtf_dtype_of_tensor(all[k]) != MTF_F64) stop("its type is not f64", w->name);
        if (!mtf_variable_get(all[k], w->x)) stop("it has no values", w->name);
    }
}

void free_weights(taken *t)
{
    for (int k = 0; k < t->n; k++) free(t->all[k].x);
    t->n = 0;
}

const double *weight_of(const taken *t, const char *name)
{
    for (int k = 0; k < t->n; k++) {
        size_t all = strlen(t->all[k].name), end = strlen(name);
        if (all >= end && strcmp(t->all[k].name + all - end, name) == 0 &&
            (all == end || t->all[k].name[all - end - 1] == '/'))
            return t->all[k].x + t->member * t->all[k].n;
    }
    stop("there is no such variable", name);
    return NULL;
}

void stir_weights(taken *t, double scale)
{
    for (int k = 0; k < t->n; k++) {
        weight *w = &t->all[k];
        for (int64_t i = 0; i < elements(w->variable); i++)
            w->x[i] = scale * sin((double)(i * 37 + 11 * k) * 0.7 + 0.4);
        if (!mtf_variable_set(w->variable, w->x)) stop("it takes no values", w->name);
    }
}

/* What the layers of a program cost, equal ones together. */
#ifndef PRICE_LAYER_COSTS_H
#define PRICE_LAYER_COSTS_H

#include "price/estimate.h"
#include "price/phases.h"

/* A layer, or several equal ones. */
typedef struct layer_cost {
    const char *name; /* of the first; "": what is outside of layers */
    int         count;
    double      seconds[PHASES], flops, sent, collectives; /* of all */
} layer_cost;

/* How many rows; the first is what is outside of layers.  They live in the arena; -1: no memory. */
int layer_costs(const estimate *e, const phases *p, arena *a, layer_cost **rows);
/* Of all phases. */
double layer_cost_seconds(const layer_cost *r);

#endif

/* Values of inputs, and initial values of variables. */
#include "property_feed.h"

#include <stdlib.h>
#include <string.h>

#include "graph/node.h"
#include "property_case.h"

/* Floats are multiples of 1/8 up to 2, whose sums are exact; most integers are small, so that they
 * may be indices, some of them out of range. */
number fed_number(const char *name, int64_t i, mtf_dtype type)
{
    dice d = {0};
    for (const char *p = name; *p; p++) d.state = d.state * 31 + (unsigned char)*p;
    bool     large = dice_bits(&d) % 8 == 0;
    uint64_t bits;
    d.state += (uint64_t)i * 0x632be59bd9b4e019u;
    bits = dice_bits(&d);
    switch (type) {
    case MTF_I32:
    case MTF_I64:
        return large ? number_int((int64_t)bits, type) : number_int((int64_t)(bits % 9) - 1, type);
    case MTF_BOOL: return number_bool(bits & 1);
    default: return number_real((double)(bits % 33) / 8 - 2);
    }
}

static bool give_one(mtf_program *p, oracle *o, mtf_tensor *x, bool input)
{
    int64_t n = mtf_shape_size(x->shape);
    void   *data = calloc((size_t)n + 1, 8);
    number *elements = calloc((size_t)n + 1, sizeof *elements);
    bool    good = data && elements;
    for (int64_t k = 0; good && k < n; k++) {
        elements[k] = fed_number(x->name, k, x->type);
        number_store(x->type, data, k, elements[k].v, elements[k].i);
    }
    if (good && o) oracle_give(o, x, elements);
    if (good && p) good = input ? mtf_feed(p, x, data) : mtf_variable_set(x, data);
    free(data);
    free(elements);
    return good;
}

bool feed_all(mtf_graph *g, mtf_program *p, oracle *o)
{
    bool good = true;
    for (int i = 0; i < g->root.nnodes && good; i++) {
        const node *n = g->root.nodes[i];
        bool        input = !strcmp(n->op->name, "input");
        if (input || !strcmp(n->op->name, "variable")) good = give_one(p, o, n->out[0], input);
    }
    return good;
}

/* The positions around each position, of the same example. */
#include "model/transformer/neighbours.h"

#include "graph/node.h"

neighbours neighbours_of(const stack_call *c, const char *name, mtf_tensor *x, int64_t before)
{
    if (c->mode == CALL_DECODE) x = call_keep_last(c, name, before, x);
    return (neighbours){c, x, before};
}

/* Another example's positions are none of this one, and neither is padding. */
static mtf_tensor *of_own_example(const stack_call *c, mtf_tensor *x, int64_t ahead)
{
    if (!c->own || !x) return x;
    mtf_tensor *same = mtf_equal(c->own, mtf_shift(c->own, -ahead, c->length, false));
    return mtf_multiply(x, mtf_cast(same, x->type));
}

mtf_tensor *neighbour(const neighbours *n, int64_t ahead)
{
    const stack_call *c = n->call;
    if (!graph_of(n->x)) return NULL;
    if (c->mode == CALL_DECODE)
        return mtf_slice(n->x, c->length.name, n->before + ahead, c->length.size, 1);
    return ahead ? of_own_example(c, mtf_shift(n->x, -ahead, c->length, false), ahead) : n->x;
}

/* Rotary positions: pairs of a head's elements rotated by position. */
#include "model/transformer/rotary.h"

#include <math.h>

#include "base/memory.h"
#include "graph/node.h"

static mtf_tensor *frequencies(mtf_graph *g, mtf_dim half, double base)
{
    float *f = arena_array(&g->arena, float, (size_t)half.size);
    if (!f) return NULL;
    for (int64_t i = 0; i < half.size; i++) f[i] = (float)pow(base, -(double)i / (double)half.size);
    return mtf_constant_data(g, f, MTF_F32, mtf_shape(half));
}

mtf_tensor *rotate(const stack_call *c, mtf_tensor *x, mtf_dim kv, double base, int64_t size)
{
    if (!graph_of(x)) return NULL;
    if (size == 0) size = kv.size;
    mtf_dim     half = {kv.name, size / 2};
    mtf_tensor *position = c->position ? c->position : mtf_range(c->graph, c->length, MTF_I32);
    mtf_tensor *angle =
        mtf_multiply(mtf_cast(position, MTF_F32), frequencies(c->graph, half, base));
    mtf_tensor *cosine = mtf_cast(mtf_cos(angle), x->type),
               *sine = mtf_cast(mtf_sin(angle), x->type);
    mtf_tensor *a = mtf_slice(x, kv.name, 0, half.size, 1);
    mtf_tensor *b = mtf_slice(x, kv.name, half.size, half.size, 1);
    mtf_tensor *rotated[3] = {mtf_sub(mtf_multiply(a, cosine), mtf_multiply(b, sine)),
                              mtf_add(mtf_multiply(b, cosine), mtf_multiply(a, sine))};
    int         n = 2;
    if (size < kv.size) rotated[n++] = mtf_slice(x, kv.name, size, kv.size - size, 1);
    return mtf_concat(kv.name, n, rotated);
}

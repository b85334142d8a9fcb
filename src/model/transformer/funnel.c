/* Funnel Transformers: stacks whose later blocks have fewer positions.
 *
 * A window of positions becomes one, which belongs to the example of the window's first; others in it
 * have no part in the result, so that nothing leaks between examples of a row.
 */
#include "model/transformer/funnel.h"

#include "base/whole.h"
#include "graph/node.h"

/* ---- options ---- */

static bool check_blocks(fault *f, const mtf_stack_opts *o, const mtf_funnel_opts *u)
{
    int64_t all = 0;
    for (int64_t k = 0; k < u->blocks; k++) {
        if (u->layers[k] < 1 || u->repeats[k] < 1)
            return fail(f, ERR_VALUE,
                        "%s: block %lld of a funnel has %lld layers, each %lld times; both must be "
                        "1 or more",
                        o->name, (long long)k, (long long)u->layers[k], (long long)u->repeats[k]);
        if (u->layers[k] > MOST_BLOCKS || u->repeats[k] > MOST_BLOCKS)
            return fail(f, ERR_VALUE,
                        "%s: block %lld of a funnel has %lld layers, each %lld times; both may be "
                        "%d at most",
                        o->name, (long long)k, (long long)u->layers[k], (long long)u->repeats[k],
                        (int)MOST_BLOCKS);
        all += u->layers[k];
    }
    return all == o->blocks ||
           fail(f, ERR_VALUE,
                "%s: the blocks of a funnel have %lld layers together, and the stack %lld; both "
                "must be equal",
                o->name, (long long)all, (long long)o->blocks);
}

static bool copy_list(mtf_session *s, const int64_t **list, int64_t n)
{
    static const int64_t once = 1;
    int64_t             *own = arena_array(&s->arena, int64_t, n);
    for (int64_t k = 0; own && k < n; k++) own[k] = *list ? (*list)[k] : once;
    *list = own;
    return own != NULL;
}

bool funnel_complete(mtf_session *s, mtf_stack_opts *o)
{
    if (!o->funnel) return true;
    mtf_funnel_opts *u = arena_copy(&s->arena, o->funnel, sizeof *u);
    fault           *f = &s->fault;
    TRY(u != NULL);
    o->funnel = u;
    if (u->pooling == 0) u->pooling = 2;
    if (u->blocks < 1 || u->pooling < 1)
        return fail(f, ERR_VALUE,
                    "%s: a funnel of %lld blocks that pools %lld positions; both must be 1 or more",
                    o->name, (long long)u->blocks, (long long)u->pooling);
    if (u->blocks > o->blocks)
        return fail(f, ERR_VALUE, "%s: a funnel of %lld blocks in a stack of %lld; it has no more",
                    o->name, (long long)u->blocks, (long long)o->blocks);
    if (o->reversible || o->universal)
        return fail(f, ERR_VALUE, "%s: a stack is either reversible, or universal, or a funnel",
                    o->name);
    return copy_list(s, &u->layers, u->blocks) && copy_list(s, &u->repeats, u->blocks) &&
           check_blocks(f, o, u);
}

int64_t funnel_length(const stack *s, int64_t length)
{
    const mtf_funnel_opts *u = s->opts.funnel;
    for (int64_t k = 1; u && k < u->blocks; k++) length = ceil_div(length, u->pooling);
    return length;
}

/* ---- pooling ---- */

/* Every size-th position of x, from `first` on; zeros follow the last. */
static mtf_tensor *strided(const stack_call *c, mtf_tensor *x, int64_t first, int64_t size)
{
    int64_t length = c->length.size, n = ceil_div(length, size), missing = n * size - length;
    if (missing) x = mtf_pad(x, c->length.name, &(mtf_pad_opts){.after = missing});
    return mtf_slice(x, c->length.name, first, n, size);
}

/* x of the window's k-th positions where they are of its own example, else `otherwise`. */
static mtf_tensor *own_part(const stack_call *c, int64_t k, mtf_tensor *x, double otherwise)
{
    int64_t     size = c->stack->opts.funnel->pooling;
    mtf_tensor *part = strided(c, x, k, size);
    if (!graph_of(part)) return NULL;
    mtf_tensor *same = mtf_equal(strided(c, c->own, k, size), strided(c, c->own, 0, size));
    return mtf_where(same, part, mtf_constant(c->graph, otherwise, part->type, mtf_shape()));
}

static mtf_tensor *pooled_mean(const stack_call *c, int64_t size, mtf_tensor *x)
{
    mtf_tensor *one = mtf_cast(mtf_ones_like(c->own), MTF_F32), *sum = NULL, *count = NULL;
    for (int64_t k = 0; k < size; k++) {
        mtf_tensor *part = mtf_cast(own_part(c, k, x, 0), MTF_F32), *there = own_part(c, k, one, 0);
        sum = sum ? mtf_add(sum, part) : part;
        count = count ? mtf_add(count, there) : there;
    }
    mtf_tensor *least = mtf_constant(c->graph, 1, MTF_F32, mtf_shape());
    return mtf_cast(mtf_divide(sum, mtf_maximum(count, least)), c->type);
}

static mtf_tensor *pooled_extreme(const stack_call *c, int64_t size, bool most, mtf_tensor *x)
{
    mtf_tensor *y = NULL;
    for (int64_t k = 0; k < size; k++) {
        mtf_tensor *part = own_part(c, k, x, most ? -1e9 : 1e9);
        y = !y ? part : most ? mtf_maximum(y, part) : mtf_minimum(y, part);
    }
    return y;
}

static mtf_tensor *pool(stack_call *c, mtf_tensor *x)
{
    const mtf_funnel_opts *u = c->stack->opts.funnel;
    mtf_tensor            *y = u->kind == MTF_POOLING_MEAN
                                   ? pooled_mean(c, u->pooling, x)
                                   : pooled_extreme(c, u->pooling, u->kind == MTF_POOLING_MAX, x);
    c->segment = strided(c, c->segment, 0, u->pooling);
    c->own = strided(c, c->own, 0, u->pooling);
    if (c->spans) c->spans = strided(c, c->spans, 0, u->pooling);
    c->position = NULL;
    c->length.size = ceil_div(c->length.size, u->pooling);
    return call_mask_padding(c, y);
}

/* ---- blocks ---- */

mtf_tensor *funnel_apply(stack_call *c, mtf_tensor *x)
{
    const mtf_funnel_opts *u = c->stack->opts.funnel;
    int64_t                number = 0;
    for (int64_t b = 0; b < u->blocks; b++)
        for (int64_t own = 0; own < u->layers[b]; own++, number++)
            for (int64_t again = 0; again < u->repeats[b]; again++)
                for (int k = 0; k < c->stack->nlayers && x; k++) {
                    x = stack_layer(c, number, k, x);
                    if (b > 0 && own == 0 && again == 0 && k == 0 && x) x = pool(c, x);
                }
    return x;
}

/* Relative positions: buckets of distances, and biases by bucket. */
#include "model/transformer/relative.h"

#include <math.h>

#include "base/memory.h"
#include "graph/node.h"
#include "model/transformer/span_places.h"

bool relative_check(fault *f, const char *layer, mtf_relative kind, int64_t buckets,
                    int64_t max_distance)
{
    if (kind == MTF_RELATIVE_NONE) return true;
    if (buckets < 4 || max_distance <= buckets / 2)
        return fail(
            f, ERR_VALUE,
            "%s: %lld buckets of relative positions up to a distance of %lld; there must be "
            "4 buckets or more, and the distance larger than half of them",
            layer, (long long)buckets, (long long)max_distance);
    return true;
}

int64_t relative_bucket(int64_t relative, int64_t buckets, int64_t max_distance, bool bidirectional)
{
    int64_t first = 0, distance = -relative;
    if (bidirectional) {
        buckets /= 2;
        if (distance < 0) first = buckets, distance = -distance;
    } else if (distance < 0) {
        distance = 0;
    }
    int64_t exact = buckets / 2;
    if (distance < exact) return first + distance;
    /* The margin keeps rounding from putting a bucket's first distance into the previous bucket. */
    double share = log((double)distance / (double)exact) /
                   log((double)max_distance / (double)exact) * (double)(buckets - exact);
    int64_t bucket = exact + (int64_t)(share + 1e-9);
    return first + (bucket < buckets ? bucket : buckets - 1);
}

/* The bucket of each distance from -most to most; longer ones have the same buckets as these. */
static mtf_tensor *bucket_table(const stack_call *c, const relative_opts *o, int64_t most,
                                mtf_dim relative)
{
    int32_t *of = arena_array(&c->graph->arena, int32_t, (size_t)relative.size);
    /* Where memory may follow the query. */
    bool both = o->across || !c->stack->causal || c->model->opts.prefix;
    if (!of) return NULL;
    for (int64_t k = 0; k < relative.size; k++)
        of[k] = (int32_t)relative_bucket(k - most, o->buckets, o->max_distance, both);
    return mtf_constant_data(c->graph, of, MTF_I32, mtf_shape(relative));
}

/* The index of each pair of positions in that table. */
static mtf_tensor *distances(const stack_call *c, const relative_opts *o, mtf_dim memory,
                             int64_t most)
{
    mtf_tensor *query =
        c->mode == CALL_DECODE ? c->position : mtf_range(c->graph, c->length, MTF_I32);
    mtf_tensor *distance =
        o->across ? span_places_relative(c) : mtf_sub(mtf_range(c->graph, memory, MTF_I32), query);
    return mtf_add_scalar(mtf_clip(distance, (double)-most, (double)most), (double)most);
}

/* The index of each distance that occurs, the smallest first: last query, first of the memory. */
static mtf_tensor *all_distances(const stack_call *c, mtf_dim memory, int64_t most)
{
    mtf_dim     all = {RELATIVE_DISTANCE, c->length.size + memory.size - 1};
    mtf_tensor *at =
        mtf_add_scalar(mtf_range(c->graph, all, MTF_I32), 1.0 - (double)c->length.size);
    return mtf_add_scalar(mtf_clip(at, (double)-most, (double)most), (double)most);
}

bool relative_is_by_distance(const mtf_tensor *bias)
{
    return bias && shape_find(&bias->shape, RELATIVE_DISTANCE) >= 0;
}

mtf_tensor *relative_spread(const stack_call *c, mtf_tensor *bias, mtf_dim memory)
{
    if (!relative_is_by_distance(bias)) return bias;
    mtf_tensor *ahead =
        mtf_sub(mtf_range(c->graph, memory, MTF_I32), mtf_range(c->graph, c->length, MTF_I32));
    return mtf_gather(bias, mtf_add_scalar(ahead, (double)c->length.size - 1),
                      mtf_shape_dim(bias->shape, RELATIVE_DISTANCE));
}

static mtf_tensor *biases(stack_call *c, const relative_opts *o, mtf_tensor *by_bucket,
                          mtf_dim buckets, mtf_dim memory)
{
    int64_t most = o->max_distance > o->buckets ? o->max_distance : o->buckets;
    int64_t longest = c->length.size > memory.size ? c->length.size : memory.size;
    if (most > longest) most = longest; /* no two positions are further apart */
    mtf_dim     relative = {"relative", 2 * most + 1};
    mtf_tensor *table = mtf_gather(by_bucket, bucket_table(c, o, most, relative), buckets);
    bool by_place = c->mode != CALL_DECODE && o->kind != MTF_RELATIVE_CONTEXTUAL && !o->across;
    mtf_tensor *at = by_place ? all_distances(c, memory, most) : distances(c, o, memory, most);
    mtf_tensor *bias = mtf_gather(table, at, relative);
    return mtf_cast(bias, MTF_F32);
}

/* [.., heads.., buckets]: heads that queries have no dimension for are made of all others. */
static mtf_tensor *by_query(const stack_call *c, const relative_opts *o, mtf_tensor *q,
                            mtf_dim buckets)
{
    if (!graph_of(q)) return NULL;
    mtf_shape made = mtf_shape_minus(o->heads, q->shape), own = mtf_shape_minus(o->heads, made);
    return mtf_dense(q, mtf_shape_plus(made, mtf_shape(buckets)),
                     &(mtf_dense_opts){.name = "relative_attention_ak",
                                       .reduced = mtf_shape_minus(q->shape, call_shape(c, own)),
                                       .experts = mtf_shape_plus(c->model->ensemble, own),
                                       .no_bias = true,
                                       .context = &c->context});
}

/* A bias that all layers with these heads, in one kind of attention, share. */
typedef struct shared_bias {
    struct shared_bias *next;
    mtf_shape           heads;
    int64_t             window;
    bool                across;
    int64_t             length; /* of the memory, which a funnel changes */
    mtf_tensor         *table, *bias;
} shared_bias;

static const shared_bias *find_shared(const stack_call *c, const relative_opts *o)
{
    if (o->kind != MTF_RELATIVE_BIAS_SHARED) return NULL;
    for (const shared_bias *s = c->shared_biases; s; s = s->next)
        if (s->across == o->across && s->window == o->window && mtf_shape_equal(s->heads, o->heads))
            return s;
    return NULL;
}

static mtf_tensor *share(stack_call *c, const relative_opts *o, mtf_dim memory, mtf_tensor *table,
                         mtf_tensor *bias)
{
    shared_bias *s = arena_new(&c->graph->arena, shared_bias);
    if (!s) return NULL;
    *s = (shared_bias){c->shared_biases, o->heads, o->window, o->across, memory.size, table, bias};
    c->shared_biases = s;
    return bias;
}

mtf_tensor *relative_bias(stack_call *c, const relative_opts *o, mtf_tensor *q, mtf_dim memory)
{
    mtf_dim   buckets = {"buckets", o->buckets};
    mtf_shape shape =
        mtf_shape_plus(mtf_shape_plus(c->model->ensemble, o->heads), mtf_shape(buckets));
    const shared_bias *shared = find_shared(c, o);
    mtf_tensor        *table, *bias;
    switch (o->kind) {
    case MTF_RELATIVE_NONE: return NULL;
    case MTF_RELATIVE_CONTEXTUAL: return biases(c, o, by_query(c, o, q, buckets), buckets, memory);
    default:
        if (shared && shared->length == memory.size) return shared->bias;
        table = shared ? shared->table
                       : call_weight(c,
                                     o->across ? "enc_dec_relative_attention_bias"
                                               : "relative_attention_bias",
                                     shape, "glorot_uniform");
        bias = biases(c, o, table, buckets, memory);
        if (o->kind != MTF_RELATIVE_BIAS_SHARED) return bias;
        return share(c, o, memory, table, bias);
    }
}

/* Bilinear attention: queries and results have the model's dimension for each head, and keys and values are
 * the inputs themselves. */
#include <math.h>

#include "base/numbers.h"
#include "graph/node.h"
#include "model/transformer/attend.h"
#include "model/transformer/layer_kind.h"
#include "model/transformer/relative.h"

static mtf_dense_opts dense_opts(const stack_call *c, const char *name, mtf_shape reduced,
                                 const char *init)
{
    return (mtf_dense_opts){.name = name,
                            .reduced = reduced,
                            .experts = c->model->ensemble,
                            .no_bias = true,
                            .kernel_init = init,
                            .context = &c->context};
}

/* [.., heads.., d_model]; products of these with inputs are of the order of 1. */
static mtf_tensor *queries(const stack_call *c, const mtf_bilinear_layer *o, mtf_tensor *x)
{
    mtf_shape model = mtf_shape(c->model->d_model);
    double    scale = c->context.unit_scaling ? 1 : 1 / (double)c->model->d_model.size;
    char      init[KERNEL_INIT + 40], given[KERNEL_INIT];
    number_format(init, sizeof init, "variance_scaling(%.17g, fan_in, normal)", scale);
    const char    *own = call_kernel_init(c, false, given);
    mtf_dense_opts d = dense_opts(c, "q", model, own ? own : init);
    return mtf_dense(x, mtf_shape_plus(o->dims, model), &d);
}

static mtf_tensor *attended(stack_call *c, const mtf_bilinear_layer *o, const attend_opts *how,
                            mtf_tensor *q, mtf_tensor *memory)
{
    mtf_shape      model = mtf_shape(c->model->d_model);
    char           init[KERNEL_INIT];
    mtf_dense_opts d =
        dense_opts(c, "y", mtf_shape_plus(o->dims, model), call_kernel_init(c, true, init));
    mtf_tensor *u = attend(c, how, q, memory, memory);
    return u ? mtf_dense(u, model, &d) : NULL;
}

static attend_opts opts_of(const stack_call *c, const mtf_bilinear_layer *o, mtf_dim memory)
{
    mtf_dim d = c->model->d_model;
    return (attend_opts){.memory = memory,
                         .key = d,
                         .value = d,
                         .dropout = o->dropout,
                         .dropout_shared = mtf_shape(c->length)};
}

static mtf_dim own_memory(const stack_call *c)
{
    return c->mode == CALL_DECODE ? c->cache : (mtf_dim){"memory_length", c->length.size};
}

static mtf_tensor *bias_of(stack_call *c, const mtf_bilinear_layer *o, bool across, mtf_tensor *q)
{
    relative_opts how = {o->relative, o->buckets, o->max_distance, o->dims, 0, across};
    return relative_bias(c, &how, q, across ? c->memory : own_memory(c));
}

/* ---- the kinds ---- */

static mtf_tensor *apply_self(stack_call *c, const mtf_transformer_layer *l, mtf_tensor *x)
{
    const mtf_bilinear_layer *o = &l->bilinear;
    attend_opts               how = opts_of(c, o, own_memory(c));
    mtf_tensor               *q = queries(c, o, x), *memory = x;
    how.self = c->mode != CALL_DECODE;
    how.sees = (visibility){.causal = c->stack->causal};
    how.bias = bias_of(c, o, false, q);
    if (c->mode == CALL_DECODE) {
        how.sees.place = c->position;
        how.sees.read = c->priority;
        memory = call_keep(c, "cache_m", x);
    } else {
        how.sees.read = how.sees.write = c->priority;
        how.sees.query_segment = how.sees.memory_segment = c->own;
    }
    return attended(c, o, &how, q, memory);
}

static mtf_tensor *apply_enc_dec(stack_call *c, const mtf_transformer_layer *l, mtf_tensor *x)
{
    const mtf_bilinear_layer *o = &l->bilinear;
    attend_opts               how = opts_of(c, o, c->memory);
    mtf_tensor               *q = queries(c, o, x), *memory = c->encoded;
    if (c->mode == CALL_DECODE)
        memory = call_kept(c, "encoded_m", c->type, mtf_shape(c->model->d_model));
    if (c->segment && c->encoded_segment)
        how.sees = (visibility){.query_segment = c->segment, .memory_segment = c->encoded_segment};
    how.bias = bias_of(c, o, true, q);
    return attended(c, o, &how, q, memory);
}

static void keep_encoded(stack_call *c, const mtf_transformer_layer *l, mtf_tensor *encoded)
{
    (void)l;
    call_keep_encoded(c, "encoded_m", encoded);
}

static bool complete(mtf_session *s, mtf_transformer_layer *l)
{
    mtf_bilinear_layer *o = &l->bilinear;
    set_default(&o->heads, 12);
    set_default(&o->buckets, 32);
    set_default(&o->max_distance, 128);
    if (o->dims.ndims == 0) o->dims = mtf_shape((mtf_dim){"heads", o->heads});
    for (int k = 0; k < o->dims.ndims; k++) {
        if (o->dims.dims[k].size < 1)
            return fail(&s->fault, ERR_VALUE, "%s: %lld heads; there must be 1 or more", l->name,
                        (long long)o->dims.dims[k].size);
        o->dims.dims[k].name = arena_text(&s->arena, o->dims.dims[k].name);
        TRY(o->dims.dims[k].name != NULL);
    }
    return check_share(&s->fault, "the dropout of attention", o->dropout) &&
           relative_check(&s->fault, l->name, o->relative, o->buckets, o->max_distance);
}

static void share_self(stack_call *c, const mtf_transformer_layer *l)
{
    if (l->bilinear.relative == MTF_RELATIVE_BIAS_SHARED) bias_of(c, &l->bilinear, false, NULL);
}

static void share_enc_dec(stack_call *c, const mtf_transformer_layer *l)
{
    if (l->bilinear.relative == MTF_RELATIVE_BIAS_SHARED) bias_of(c, &l->bilinear, true, NULL);
}

static bool is_relative(const mtf_transformer_layer *l)
{
    return l->bilinear.relative != MTF_RELATIVE_NONE;
}

const layer_kind kind_bilinear_self = {.name = "GeneralBilinearSelfAttention",
                                       .complete = complete,
                                       .apply = apply_self,
                                       .share = share_self};
const layer_kind kind_bilinear_enc_dec = {.name = "GeneralBilinearEncDecAttention",
                                          .complete = complete,
                                          .apply = apply_enc_dec,
                                          .share = share_enc_dec,
                                          .keep = keep_encoded,
                                          .asks_places = is_relative};

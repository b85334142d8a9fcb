/* Models in a graph: encoder, decoder, inputs and losses. */
#include "graph/node.h"
#include "model/transformer/apply.h"
#include "model/transformer/span_places.h"
#include "model/transformer/token_loss.h"
#include "model/transformer/transparent.h"

/* ---- properties of sequences ---- */

static mtf_dim length_of(const mtf_tensor *ids)
{
    return ids->shape.dims[ids->shape.ndims - 1];
}

/* 1 where there is a token, 0 at padding. */
static mtf_tensor *token_segment(mtf_tensor *ids)
{
    mtf_tensor *zero = mtf_zeros_like(ids);
    return mtf_cast(mtf_not_equal(ids, zero), MTF_I32);
}

/* x shifted right by one, 0 where a sequence begins. */
static mtf_tensor *shifted(mtf_tensor *x, mtf_tensor *segment, int64_t by)
{
    if (!x) return NULL;
    mtf_tensor *y = mtf_shift(x, by, length_of(x), false);
    if (!segment) return y;
    mtf_tensor *same = mtf_equal(segment, mtf_shift(segment, by, length_of(segment), false));
    return mtf_where(same, y, mtf_zeros_like(y));
}

/* Segments that are told apart by subsegments as well. */
static mtf_tensor *finer(mtf_tensor *segment, mtf_tensor *part)
{
    if (!graph_of(segment) || !part) return segment;
    return mtf_add(mtf_scale(segment, (double)length_of(segment).size + 1), part);
}

mtf_tensor *mtf_transformer_autoregressive_inputs(mtf_tensor *targets, mtf_tensor *segment)
{
    return graph_of(targets) ? mtf_abs(shifted(targets, segment, 1)) : NULL;
}

/* x less what it is where the example of each position begins. */
static mtf_tensor *since_beginning(mtf_tensor *x, mtf_tensor *position)
{
    mtf_dim length = length_of(x), from = {"memory_length", length.size};
    if (!position) return x;
    mtf_tensor *begin = mtf_sub(mtf_range(graph_of(x), length, MTF_I32), position);
    return mtf_sub(x, mtf_gather(mtf_rename_dimension(x, length.name, from.name), begin, from));
}

/* Of inputs, end, targets, end, ...: where the example has an even number of ends before. */
static mtf_tensor *in_inputs(mtf_tensor *ids, mtf_tensor *position, int32_t end)
{
    mtf_graph  *g = graph_of(ids);
    mtf_tensor *last = mtf_constant(g, end, MTF_I32, mtf_shape());
    mtf_tensor *two = mtf_constant(g, 2, MTF_I32, mtf_shape());
    mtf_tensor *ends = mtf_cast(mtf_equal(mtf_abs(ids), last), MTF_I32);
    mtf_tensor *before = mtf_cumsum(ends, length_of(ids), true, false);
    if (!before) return NULL;
    before = since_beginning(before, position);
    return mtf_equal(mtf_mod(before, two), mtf_zeros_like(before));
}

/* Inputs and the position after them see each other; later positions see themselves and earlier ones. */
static mtf_tensor *prefix_priority(mtf_tensor *ids, mtf_tensor *inputs)
{
    mtf_graph  *g = graph_of(ids);
    mtf_dim     length = length_of(ids);
    mtf_tensor *place = mtf_broadcast(mtf_range(g, length, MTF_I32), ids->shape);
    mtf_tensor *next = mtf_shift(mtf_cast(inputs, MTF_I32), 1, length, false);
    mtf_tensor *first = mtf_logical_or(inputs, mtf_not_equal(next, mtf_zeros_like(next)));
    return mtf_where(first, mtf_zeros_like(place), place);
}

/* ---- stacks ---- */

static bool stack_begin(stack_call *c, const mtf_tensor *ids)
{
    fault *f = &c->model->session->fault;
    char   text[SHAPE_TEXT];
    if (ids->type != MTF_I32 || ids->shape.ndims < 1)
        return fail(f, ERR_SHAPE, "%s: tokens are i32 [batch.., length]; \"%s\" is %s %s",
                    c->stack->opts.name, tensor_name(ids), mtf_dtype_name(ids->type),
                    shape_text(&ids->shape, text));
    c->length = length_of(ids);
    c->batch =
        mtf_shape_plus(c->model->ensemble, mtf_shape_minus(ids->shape, mtf_shape(c->length)));
    c->graph = ids->node->graph;
    if (c->stack->opts.positions == MTF_POSITIONS_LEARNED && !c->position &&
        c->length.size > c->stack->opts.max_length)
        return fail(f, ERR_SHAPE,
                    "%s: \"%s\" has %lld positions, but the model learns %lld (max_length)",
                    c->stack->opts.name, tensor_name(ids), (long long)c->length.size,
                    (long long)c->stack->opts.max_length);
    return true;
}

mtf_tensor *stack_run(stack_call *c, mtf_dim vocab, mtf_tensor *ids)
{
    if (!ids || !graph_of(ids) || !stack_begin(c, ids)) return NULL;
    if (span_places_needed(c->model)) c->spans = span_places_count(c, ids);
    return stack_apply(c, embed_tokens(c, vocab, ids));
}

stack_call call_of(const mtf_transformer *m, const stack *s, call_mode mode, bool frozen)
{
    stack_call c = {.model = m, .stack = s, .mode = mode, .type = m->opts.activation};
    c.context = m->opts.context;
    c.context.inference = mode != CALL_TRAIN;
    c.context.frozen = c.context.frozen || frozen;
    return c;
}

/* Runs the encoder, and gives its output and segments to the decoder's call. */
bool encoder_run(const mtf_transformer *m, const mtf_transformer_batch *b, call_mode mode,
                 stack_call *decoder)
{
    mtf_tensor *ids = b->inputs;
    if (!ids)
        return fail(&m->session->fault, ERR_VALUE,
                    "an encoder-decoder needs inputs, besides targets");
    stack_call c = call_of(m, &m->encoder, mode == CALL_TRAIN ? CALL_TRAIN : CALL_EVALUATE,
                           decoder->context.frozen);
    c.segment = c.own = b->inputs_segment ? b->inputs_segment : token_segment(ids);
    c.position = b->inputs_position;
    mtf_graph *g = graph_of(ids);
    if (!g) return false;
    c.outside = g->scope;
    c.outputs = transparent_room(g, m);
    mtf_scope_push(g, m->encoder.opts.name);
    mtf_tensor *x = stack_run(&c, m->input_vocab, ids);
    mtf_scope_pop(g);
    TRY(x != NULL);
    decoder->memory = (mtf_dim){"memory_length", c.length.size};
    decoder->loss = c.loss;
    decoder->encoded_layers = c.outputs;
    decoder->encoded = mtf_rename_dimension(x, c.length.name, "memory_length");
    decoder->encoded_segment = mtf_rename_dimension(c.segment, c.length.name, "memory_length");
    if (c.spans)
        decoder->encoded_spans = mtf_rename_dimension(c.spans, c.length.name, "memory_length");
    return decoder->encoded && decoder->encoded_segment;
}

/* ---- whole models ---- */

/* The decoder's input, and its targets. */
typedef struct decoder_text {
    mtf_tensor *ids;
    loss_opts   loss;
} decoder_text;

static bool read_text(stack_call *c, const mtf_transformer_batch *b, decoder_text *t)
{
    const mtf_transformer_opts *o = &c->model->opts;
    mtf_tensor                 *targets = b->targets;
    fault                      *f = &c->model->session->fault;
    t->loss.targets = targets;
    if (o->bidirectional) {
        if (!b->inputs) return fail(f, ERR_VALUE, "a bidirectional model needs inputs");
        t->ids = b->inputs;
        c->segment = c->own = b->inputs_segment ? b->inputs_segment : token_segment(b->inputs);
        c->position = b->inputs_position;
        return mtf_ok(c->model->session);
    }
    if (!targets) return fail(f, ERR_VALUE, "a language model needs targets");
    c->segment = b->targets_segment;
    c->position = b->targets_position;
    if (!c->segment && (transformer_has_encoder(c->model) || b->targets_subsegment))
        c->segment = token_segment(targets);
    c->own = finer(c->segment, b->targets_subsegment);
    if (!c->segment) c->tokens = targets;
    mtf_tensor *ends = b->targets_segment || b->targets_subsegment ? c->own : NULL;
    /* Where segments are given they tell padding, and 0 may be a token, as in GPT-2. */
    if (b->targets_segment)
        t->loss.real = mtf_not_equal(b->targets_segment, mtf_zeros_like(b->targets_segment));
    if (o->no_shift) {
        t->ids = mtf_abs(targets);
        t->loss.targets = shifted(targets, c->own, -1);
        if (b->targets_segment) {
            mtf_tensor *next = mtf_shift(c->own, -1, length_of(c->own), false);
            t->loss.real = mtf_logical_and(t->loss.real, mtf_equal(c->own, next));
        }
    } else {
        t->ids = mtf_transformer_autoregressive_inputs(targets, ends);
    }
    if (o->prefix || o->loss_on_targets_only) {
        mtf_tensor *inputs = in_inputs(targets, b->targets_position, o->end);
        if (o->prefix) c->priority = prefix_priority(targets, inputs);
        if (o->loss_on_targets_only) t->loss.counts = mtf_logical_not(inputs);
    }
    return mtf_ok(c->model->session);
}

mtf_transformer_result mtf_transformer_apply(const mtf_transformer       *m,
                                             const mtf_transformer_batch *batch,
                                             const mtf_transformer_call  *how)
{
    mtf_transformer_call   h = how ? *how : (mtf_transformer_call){0};
    mtf_transformer_result none = {0};
    if (!m || !mtf_ok(m->session)) return none;
    call_mode    mode = h.training ? CALL_TRAIN : CALL_EVALUATE;
    stack_call   c = call_of(m, &m->decoder, mode, h.frozen);
    decoder_text t = {0};
    if (!read_text(&c, batch, &t)) return none;
    mtf_graph *g = graph_of(t.ids);
    if (!g) return none;
    const char *before = g->scope;
    if (m->opts.scope) mtf_scope_push(g, m->opts.scope);
    bool encoded = !transformer_has_encoder(m) || encoder_run(m, batch, mode, &c);
    c.outside = g->scope;
    mtf_scope_push(g, m->decoder.opts.name);
    mtf_tensor            *x = encoded ? stack_run(&c, transformer_reads(m), t.ids) : NULL;
    mtf_transformer_result r = token_loss(&c, x, &t.loss);
    r.auxiliary = c.loss;
    if (r.loss && c.loss) r.loss = mtf_add(r.loss, c.loss);
    g->scope = before;
    return r;
}

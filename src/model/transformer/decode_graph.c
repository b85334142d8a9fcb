/* The programs of a decoder. */
#include "model/transformer/decode_graph.h"

#include <string.h>

#include "graph/node.h"
#include "model/transformer/funnel.h"
#include "model/transformer/layer_kind.h"
#include "model/transformer/span_places.h"
#include "model/transformer/token_loss.h"
#include "model/transformer/universal.h"
#include "run/store.h"

static kept_rows rows_of(const decode_sizes *d, int64_t used)
{
    return (kept_rows){.all = {"batch", d->rows}, .parts = d->parts, .used = used};
}

/* A new graph, in the scope of the model's variables. */
static mtf_graph *graph_of_decoder(const mtf_transformer *m)
{
    mtf_graph *g = mtf_graph_new(m->session);
    if (g && m->opts.scope) mtf_scope_push(g, m->opts.scope);
    return g;
}

static stack_call begin_decoding(const decode_sizes *d, const stack *s, mtf_graph *g, int64_t rows)
{
    stack_call c = call_of(d->model, s, CALL_DECODE, true);
    c.graph = g;
    c.outside = g ? g->scope : "";
    c.cache_scope = d->scope;
    c.rows = rows_of(d, rows);
    c.row_copies = 1;
    c.cache = (mtf_dim){"memory_length", d->length};
    c.memory = (mtf_dim){"memory_length", funnel_length(&d->model->encoder, d->inputs)};
    return c;
}

/* [rows, ..], or without rows in a program for a single row. */
static mtf_shape over_rows(const stack_call *c, decode_kind kind, mtf_shape rest)
{
    mtf_dim rows = {c->rows.all.name, c->rows.used};
    return kind == DECODE_PROMPT_ROW ? rest : mtf_shape_plus(mtf_shape(rows), rest);
}

/* The cached segments of the encoder's output, for the layers that attend to it. */
static bool find_encoded(const decode_sizes *d, stack_call *c, decode_kind kind)
{
    if (d->inputs == 0) return true;
    mtf_scope_push(c->graph, "inputs");
    c->encoded_segment = call_kept(c, "segment", MTF_I32, mtf_shape());
    if (span_places_needed(d->model))
        c->encoded_spans = call_kept(c, "spans", MTF_I32, mtf_shape());
    mtf_scope_pop(c->graph);
    c->segment = mtf_ones(c->graph, MTF_I32, over_rows(c, kind, mtf_shape(c->length)));
    return c->encoded_segment && c->segment;
}

/* Removes the tokens that only pad the vocabulary, so that they are never chosen. */
static mtf_tensor *real_logits(const stack_call *c, mtf_tensor *x)
{
    const mtf_transformer *m = c->model;
    mtf_tensor            *l = ensemble_logits(c, logits_of(c, x));
    l = mtf_cast(l, MTF_F32);
    if (m->opts.output_vocab < m->output_vocab.size)
        l = mtf_slice(l, m->output_vocab.name, 0, m->opts.output_vocab, 1);
    return l ? mtf_reshape(l, mtf_shape_minus(l->shape, mtf_shape(c->length))) : NULL;
}

/* The barred tokens are as good as impossible. */
static mtf_tensor *without_barred(mtf_tensor *l, mtf_dim vocab, mtf_tensor *barred)
{
    mtf_graph  *g = l->node->graph;
    mtf_tensor *token = mtf_range(g, vocab, MTF_I32), *out = NULL;
    mtf_dim     one = mtf_shape_dim(barred->shape, "barred");
    for (int64_t k = 0; k < one.size && mtf_ok(g->session); k++) {
        mtf_tensor *this = mtf_slice(barred, one.name, k, 1, 1);
        this = mtf_reshape(this, mtf_shape_minus(barred->shape, mtf_shape(one)));
        mtf_tensor *same = mtf_equal(token, this);
        out = out ? mtf_logical_or(out, same) : same;
    }
    return mtf_where(out, mtf_constant(g, -1e9, MTF_F32, mtf_shape()), l);
}

/* The logits of the tokens that may be chosen. */
static mtf_tensor *open_logits(const stack_call *c, mtf_tensor *x, const decode_graph *to,
                               mtf_dim *vocab)
{
    mtf_tensor *l = real_logits(c, x);
    if (!l) return NULL;
    *vocab = mtf_shape_dim(l->shape, c->model->output_vocab.name);
    return to->barred ? without_barred(l, *vocab, to->barred) : l;
}

/* The most probable token, and its probability. */
static bool find_best(const stack_call *c, mtf_tensor *x, decode_graph *to)
{
    mtf_dim     vocab;
    mtf_tensor *l = open_logits(c, x, to, &vocab);
    TRY(l != NULL);
    to->token = mtf_argmax(l, vocab);
    mtf_tensor *most = mtf_reduce_max(l, mtf_shape(vocab));
    to->log_probability = mtf_sub(most, mtf_reduce_logsumexp(l, vocab, NULL));
    return to->log_probability != NULL;
}

/* Gumbel noise: -log e, where e is exponentially distributed.  A number follows from the row's stream,
 * the position and the token alone.  e = -log(1 - u) keeps its digits where it is small, which decides. */
static mtf_tensor *gumbel_noise(const decode_graph *to, const mtf_tensor *l, mtf_dim vocab)
{
    mtf_graph  *g = l->node->graph;
    mtf_tensor *key = mtf_random_bits(mtf_cast(to->first, MTF_I64), to->stream);
    mtf_tensor *token = mtf_broadcast(mtf_range(g, vocab, MTF_I64), l->shape);
    mtf_tensor *u = mtf_abs(mtf_cast(mtf_random_bits(token, key), MTF_F32));
    u = mtf_clip(mtf_scale(u, 0x1p-63), 0x1p-62, 1 - 0x1p-24);
    return mtf_negative(mtf_log(mtf_negative(mtf_log1p(mtf_negative(u)))));
}

enum { SHARPEST = 10000 }; /* 1 / temperature, for probabilities of top-p */

/* The largest of logits plus temperature times Gumbel noise is a sample of their softmax. */
static bool draw(const stack_call *c, mtf_tensor *x, decode_graph *to)
{
    mtf_dim     vocab;
    mtf_tensor *l = open_logits(c, x, to, &vocab);
    TRY(l != NULL);
    mtf_tensor *scores = mtf_add(l, mtf_multiply(gumbel_noise(to, l, vocab), to->temperature));
    if (to->top_k) {
        mtf_tensor *least = mtf_constant(c->graph, 1.0 / SHARPEST, MTF_F32, mtf_shape());
        mtf_tensor *sharp = mtf_multiply(l, mtf_reciprocal(mtf_maximum(to->temperature, least)));
        to->token = mtf_nucleus_argmax(scores, sharp, to->top_k, to->top_p, vocab);
    } else {
        to->token = mtf_argmax(scores, vocab);
    }
    to->logits = l;
    to->log_probability =
        mtf_sub(mtf_gather(l, to->token, vocab), mtf_reduce_logsumexp(l, vocab, NULL));
    return to->log_probability != NULL;
}

/* What is fed where a sequence begins. */
static void read_choices(const decode_sizes *d, decode_kind kind, decode_graph *to,
                         const stack_call *c)
{
    mtf_graph *g = c->graph;
    mtf_shape  rows = over_rows(c, kind, mtf_shape());
    bool       draws = kind == DECODE_STEP_DRAW,
         some = kind == DECODE_STEP_SOME || kind == DECODE_STEP_SHOWN;
    if (kind == DECODE_STEP_BARRED || some)
        to->barred = mtf_input(g, "barred", MTF_I32,
                               over_rows(c, kind, mtf_shape((mtf_dim){"barred", d->barred})));
    if (draws || some) {
        to->stream = mtf_input(g, "stream", MTF_I64, rows);
        to->temperature = mtf_input(g, "temperature", MTF_F32, rows);
    }
    if (!some) return;
    to->top_k = mtf_input(g, "top_k", MTF_I32, rows);
    to->top_p = mtf_input(g, "top_p", MTF_F32, rows);
}

static bool read_inputs(const decode_sizes *d, decode_kind kind, int64_t length, decode_graph *to,
                        stack_call *c)
{
    mtf_graph *g = c->graph;
    mtf_dim    next = {"length", length};
    c->length = next;
    to->length = length;
    to->ids = mtf_input(g, "ids", MTF_I32, over_rows(c, kind, mtf_shape(next)));
    to->first = mtf_input(g, "first", MTF_I32, over_rows(c, kind, mtf_shape()));
    c->first = to->first;
    c->position = mtf_add(to->first, mtf_range(g, next, MTF_I32));
    if (d->model->opts.prefix) {
        to->seen = mtf_input(g, "seen", MTF_I32, over_rows(c, kind, mtf_shape()));
        c->priority = mtf_maximum(c->position, mtf_add_scalar(to->seen, -1));
    }
    read_choices(d, kind, to, c);
    if (kind == DECODE_PROMPT_ROW) c->row = to->row = mtf_input(g, "row", MTF_I32, mtf_shape());
    c->past = &to->past;
    if (d->beams > 1 && kind == DECODE_STEP)
        c->parent = to->parent = mtf_input(g, "parent", MTF_I32, over_rows(c, kind, mtf_shape()));
    return mtf_ok(d->model->session);
}

bool decode_graph_make(const decode_sizes *d, decode_kind kind, int64_t rows, int64_t length,
                       decode_graph *to)
{
    const mtf_transformer *m = d->model;
    mtf_graph             *g = graph_of_decoder(m);
    stack_call             c = begin_decoding(d, &m->decoder, g, rows);
    mtf_tensor            *fetches[3];
    int                    n = 0;
    *to = (decode_graph){.rows = rows};
    TRY(g && read_inputs(d, kind, length, to, &c));
    mtf_zeros(g, MTF_I32, mtf_shape(c.rows.all)); /* which layouts may cut: one row lacks it */
    mtf_scope_push(g, m->decoder.opts.name);
    TRY(find_encoded(d, &c, kind));
    mtf_tensor *x = stack_run(&c, transformer_reads(m), to->ids);
    TRY(x != NULL);
    if (kind == DECODE_STEP) fetches[n++] = to->logits = real_logits(&c, x);
    if (kind != DECODE_STEP && kind != DECODE_PROMPT_ROW) {
        TRY(to->stream ? draw(&c, x, to) : find_best(&c, x, to));
        fetches[n++] = to->token;
        fetches[n++] = to->log_probability;
    }
    if (kind == DECODE_STEP_SHOWN)
        fetches[n++] = to->logits;
    else if (kind != DECODE_STEP)
        to->logits = NULL;
    mtf_scope_pop(g);
    to->program = mtf_compile_n(g, n, fetches);
    return to->program != NULL;
}

/* ---- the encoder ---- */

/* Stores, for each layer of the decoder in this scope, the keys and values of the encoder's output. */
static void keep_for_layers(stack_call *c, mtf_tensor *encoded)
{
    const stack *s = c->stack;
    for (int64_t b = 0; b < s->opts.blocks; b++)
        for (int k = 0; k < s->nlayers; k++) {
            const mtf_transformer_layer *l = &s->layers[k];
            const char                  *outside = stack_scope_push(c->graph, s, b, k);
            mtf_scope_push(c->graph, l->name);
            c->index = b * s->nlayers + k;
            if (layer_attends_to_encoder(l)) layer_kind_of(l->kind)->keep(c, l, encoded);
            c->graph->scope = outside;
        }
}

static void keep_for_groups(stack_call *c, mtf_tensor *encoded)
{
    const char *outside = c->graph->scope, *name;
    char        text[GROUP_TEXT];
    for (int64_t n = 0; (name = stack_group(c->stack, n, text)); n++) {
        if (*name) mtf_scope_push(c->graph, name);
        keep_for_layers(c, encoded);
        c->graph->scope = outside;
    }
}

bool encode_graph_make(const decode_sizes *d, int64_t length, encode_graph *to)
{
    const mtf_transformer *m = d->model;
    mtf_graph             *g = graph_of_decoder(m);
    mtf_dim part = {"length", length}, all = {"length", funnel_length(&m->encoder, d->inputs)};
    if (!g) return false;
    *to = (encode_graph){.length = length,
                         .ids = mtf_input(g, "ids", MTF_I32, mtf_shape(part)),
                         .segment = mtf_input(g, "segment", MTF_I32, mtf_shape(all)),
                         .row = mtf_input(g, "row", MTF_I32, mtf_shape())};
    stack_call c = begin_decoding(d, &m->decoder, g, d->rows), run = {.context = {.frozen = true}};
    TRY(encoder_run(m, &(mtf_transformer_batch){.inputs = to->ids}, CALL_EVALUATE, &run));
    c.first = mtf_constant(g, 0, MTF_I32, mtf_shape());
    c.encoded_layers = run.encoded_layers;
    c.row = to->row;
    c.row_copies = d->beams;
    c.length = (mtf_dim){part.name, run.memory.size};
    c.batch = m->ensemble;
    c.encoded_segment = mtf_rename_dimension(run.encoded_segment, "memory_length", "length");
    mtf_scope_push(g, m->decoder.opts.name);
    keep_for_groups(&c, mtf_rename_dimension(run.encoded, "memory_length", "length"));
    mtf_scope_push(g, "inputs");
    if (run.encoded_spans)
        call_keep_encoded(&c, "spans",
                          mtf_rename_dimension(run.encoded_spans, "memory_length", "length"));
    c.length = all;
    call_keep_encoded(&c, "segment", to->segment);
    mtf_scope_pop(g);
    mtf_scope_pop(g);
    to->program = mtf_compile_n(g, 0, NULL);
    return to->program != NULL;
}

/* ---- moving ---- */

/* Rules of the layout name dimensions of the model, most of which caches lack: they must be in the graph,
 * though nothing is computed of them. */
static bool mention_dims(const decode_sizes *d, const layout *l, mtf_graph *g)
{
    mtf_variable_opts o = {.type = MTF_I32, .init = "zeros", .untrainable = true};
    mtf_scope_push(g, d->scope);
    for (int k = 0; k < l->nrules; k++)
        mtf_zeros(g, MTF_I32, mtf_shape((mtf_dim){l->rules[k].dim, 1}));
    for (int k = 0; k < l->nstate; k++)
        mtf_variable(g, l->state[k].dim, mtf_shape((mtf_dim){l->state[k].dim, 1}), &o);
    mtf_scope_pop(g);
    return mtf_ok(g->session);
}

bool move_graph_make(const decode_sizes *d, move_graph *to)
{
    mtf_graph   *g = mtf_graph_new(d->model->session);
    const store *s = store_of(d->model->session);
    kept_rows    rows = rows_of(d, d->rows);
    mtf_shape    parts = mtf_shape((mtf_dim){rows.all.name, rows.parts});
    size_t       n = strlen(d->scope);
    TRY(g && s && mention_dims(d, &s->layout, g));
    *to = (move_graph){.from = mtf_input(g, "from", MTF_I32, parts),
                       .to = mtf_input(g, "to", MTF_I32, parts)};
    for (int k = 0; k < s->count; k++) {
        const store_entry *e = s->all[k];
        if (strncmp(e->name, d->scope, n) != 0 || e->name[n] != '/') continue;
        mtf_variable_opts o = {.type = e->type, .init = "zeros", .untrainable = true};
        mtf_tensor       *kept = mtf_variable(g, e->name, e->shape, &o);
        mtf_assign(kept, kept_rows_move(&rows, kept, to->from, to->to));
    }
    to->program = mtf_compile_n(g, 0, NULL);
    return to->program != NULL;
}

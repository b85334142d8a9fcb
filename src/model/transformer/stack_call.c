/* What the layers of a stack share: weights, padding, dropout. */
#include "model/transformer/stack_call.h"

#include <math.h>

#include "base/numbers.h"
#include "base/textbuf.h"
#include "nn/layer.h"

mtf_tensor *call_weight(const stack_call *c, const char *name, mtf_shape shape, const char *init)
{
    return layer_weight(c->graph, &c->context, name, c->type, shape, init);
}

double call_deviation(const stack_call *c, double otherwise, bool outwards)
{
    double all = c->model->opts.init_deviation;
    if (all == 0) return otherwise;
    return outwards ? all / sqrt((double)(c->stack->opts.blocks * c->stack->nlayers)) : all;
}

const char *call_kernel_init(const stack_call *c, bool outwards, char text[KERNEL_INIT])
{
    if (c->model->opts.init_deviation == 0) return NULL;
    number_format(text, KERNEL_INIT, "normal(0, %.17g)", call_deviation(c, 0, outwards));
    return text;
}

mtf_tensor *call_table(const stack_call *c, bool shared, const char *name, mtf_shape shape,
                       double deviation)
{
    const char *inside = c->graph->scope;
    char        init[KERNEL_INIT] = "zeros";
    if (deviation > 0)
        number_format(init, sizeof init, "normal(0, %.17g)", call_deviation(c, deviation, false));
    if (shared) {
        c->graph->scope = c->outside;
        mtf_scope_push(c->graph, "shared");
    }
    mtf_tensor *table = call_weight(c, name, mtf_shape_plus(c->model->ensemble, shape), init);
    c->graph->scope = inside;
    return table;
}

mtf_shape call_shape(const stack_call *c, mtf_shape rest)
{
    return mtf_shape_plus(mtf_shape_plus(c->batch, mtf_shape(c->length)), rest);
}

mtf_tensor *call_mask_padding(const stack_call *c, mtf_tensor *x)
{
    if (!c->segment) return x;
    return mtf_multiply(x, mtf_weights_nonzero(c->segment, c->type));
}

mtf_tensor *call_dropout(const stack_call *c, mtf_tensor *x, double rate)
{
    if (rate == 0 || c->context.inference || !x) return x;
    return mtf_dropout(x, rate, mtf_shape_minus(x->shape, mtf_shape(c->length)));
}

/* ---- decoding ---- */

/* A cache variable of the decoder: [rows, positions, rest..], with the ensemble first. */
static mtf_tensor *kept_variable(const stack_call *c, const char *pass, const char *name,
                                 mtf_dtype type, mtf_dim positions, mtf_shape rest)
{
    mtf_graph  *g = c->graph;
    const char *scope = g->scope;
    textbuf     full = {.arena = &g->arena};
    mtf_shape   shape = mtf_shape_plus(c->model->ensemble, mtf_shape(c->rows.all, positions));
    text_add(&full, "%s/%s%s%s", c->cache_scope, pass ? pass : "", scope, name);
    g->scope = ""; /* the name already contains the scope */
    mtf_tensor *kept =
        mtf_variable(g, text_done(&full), mtf_shape_plus(shape, rest),
                     &(mtf_variable_opts){.type = type, .init = "zeros", .untrainable = true});
    g->scope = scope;
    return kept;
}

static mtf_shape rest_of(const stack_call *c, const mtf_tensor *x)
{
    return mtf_shape_minus(x->shape, mtf_shape_plus(c->batch, mtf_shape(c->length)));
}

/* Replaces what is kept of one sequence; with beams its rows are equal. */
static void put_row(const stack_call *c, mtf_tensor *kept, mtf_tensor *own)
{
    mtf_tensor *all = kept;
    for (int64_t k = 0; k < c->row_copies; k++)
        all =
            mtf_update(all, own, k ? mtf_add_scalar(c->row, (double)k) : c->row, c->rows.all.name);
    mtf_assign(kept, all);
}

/* Replaces positions of the caches of one sequence by `more`. */
static mtf_tensor *keep_row(const stack_call *c, mtf_tensor *kept, mtf_tensor *more,
                            mtf_dim positions)
{
    mtf_tensor *own = mtf_gather(kept, c->row, c->rows.all);
    own = mtf_update(own, more, c->first, positions.name);
    put_row(c, kept, own);
    return own;
}

mtf_tensor *call_keep(const stack_call *c, const char *name, mtf_tensor *more)
{
    if (!graph_of(more)) return NULL;
    const kept_rows *rows = &c->rows;
    mtf_tensor      *kept = kept_variable(c, c->pass, name, more->type, c->cache, rest_of(c, more));
    more = mtf_rename_dimension(more, c->length.name, c->cache.name);
    if (c->row) return keep_row(c, kept, more, c->cache);
    if (c->parent) {
        mtf_dim     used = {rows->all.name, rows->used};
        mtf_tensor *own = mtf_gather(kept_rows_take(rows, kept), c->parent, used);
        own = mtf_update(own, more, c->first, c->cache.name);
        mtf_assign(kept, kept_rows_put(rows, kept, own));
        return own;
    }
    /* Only the new positions are written, in place: rows that are not in use have none. */
    more = kept_rows_spread(rows, more, 0);
    mtf_tensor *first = kept_rows_spread(rows, c->first, (double)c->cache.size);
    return kept_rows_take(rows, mtf_assign(kept, mtf_update(kept, more, first, c->cache.name)));
}

/* How many inputs of one sequence precede those of the next call: the others are padding. */
static mtf_tensor *past_of(const stack_call *c)
{
    const char *scope = c->graph->scope;
    if (!*c->past) {
        c->graph->scope = c->outside;
        *c->past = mtf_input(c->graph, "past", MTF_I32, mtf_shape());
        c->graph->scope = scope;
    }
    return *c->past;
}

/* What was kept of the rows of this call; zeros where a sequence had not begun. */
static mtf_tensor *last_kept(const stack_call *c, mtf_tensor *kept, mtf_dim last)
{
    mtf_dim     used = {c->rows.all.name, c->rows.used};
    mtf_tensor *own =
        c->row ? mtf_gather(kept, c->row, c->rows.all) : kept_rows_take(&c->rows, kept);
    if (c->parent) own = mtf_gather(own, c->parent, used);
    mtf_tensor *back = mtf_add_scalar(mtf_range(c->graph, last, MTF_I32), -(double)last.size);
    mtf_tensor *place = mtf_add(c->first, back);
    mtf_tensor *there = mtf_greater_equal(place, mtf_zeros_like(place));
    return own ? mtf_multiply(own, mtf_cast(there, own->type)) : NULL;
}

mtf_tensor *call_keep_last(const stack_call *c, const char *name, int64_t before, mtf_tensor *x)
{
    if (!graph_of(x) || before == 0) return x;
    mtf_dim     last = {"last_inputs", before};
    mtf_shape   rest = rest_of(c, x);
    mtf_tensor *kept = kept_variable(c, c->pass, name, x->type, last, rest);
    x = mtf_rename_dimension(mtf_broadcast(x, call_shape(c, rest)), c->length.name, last.name);
    mtf_tensor *own = last_kept(c, kept, last);
    mtf_tensor *both = mtf_concat(last.name, 2, (mtf_tensor *[]){own, x});
    if (!graph_of(both)) return NULL;
    mtf_dim all = {last.name, before + c->length.size};
    if (c->row) {
        mtf_tensor *at = mtf_add(mtf_range(c->graph, last, MTF_I32), past_of(c));
        put_row(c, kept, mtf_gather(both, at, all));
    } else {
        mtf_tensor *next = mtf_slice(both, last.name, c->length.size, before, 1);
        mtf_tensor *end = mtf_constant(c->graph, (double)c->cache.size, MTF_I32, mtf_shape());
        next = mtf_where(mtf_less(c->first, end), next, own); /* beyond: the row is not in use */
        mtf_assign(kept, kept_rows_put(&c->rows, kept, next));
    }
    return mtf_rename_dimension(both, last.name, c->length.name);
}

mtf_tensor *call_kept(const stack_call *c, const char *name, mtf_dtype type, mtf_shape rest)
{
    mtf_tensor *kept = kept_variable(c, NULL, name, type, c->memory, rest);
    return c->row ? mtf_gather(kept, c->row, c->rows.all) : kept_rows_take(&c->rows, kept);
}

void call_keep_encoded(const stack_call *c, const char *name, mtf_tensor *more)
{
    if (!graph_of(more)) return;
    mtf_shape   rest = rest_of(c, more);
    mtf_tensor *kept = kept_variable(c, NULL, name, more->type, c->memory, rest);
    more = mtf_broadcast(more, call_shape(c, rest)); /* tokens are those of all members */
    keep_row(c, kept, mtf_rename_dimension(more, c->length.name, c->memory.name), c->memory);
}

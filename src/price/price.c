/* Prices: what a program costs its processor. */
#include "price/price.h"

#include <math.h>
#include <string.h>

#include "base/saturate.h"
#include "price/links.h"
#include "price/reuse.h"
#include "price/traffic.h"
#include "program/map_form.h"
#include "program/stages.h"

/* ---- iterations ---- */

/* Nested loops multiply; a loop that a test ends counts one iteration, and is marked open_ended. */
static void count_executions(price *p)
{
    struct {
        int64_t executions;
        bool    open;
    } outer[MAX_NESTING], now = {1, false};
    int depth = 0;
    for (int k = 0; k < p->program->ninstrs; k++) {
        const instr *i = &p->program->instrs[k];
        if (i->kind == INSTR_AGAIN && depth > 0) {
            /* AGAIN runs once for each iteration. */
            p->lines[k].executions = now.executions;
            p->lines[k].open_ended = now.open;
            now.executions = outer[--depth].executions, now.open = outer[depth].open;
            continue;
        }
        p->lines[k].executions = now.executions;
        p->lines[k].open_ended = now.open;
        if (i->kind != INSTR_LOOP) continue;
        outer[depth].executions = now.executions, outer[depth].open = now.open;
        depth++;
        if (i->loop.trips >= 0)
            now.executions = saturate_times(now.executions, i->loop.trips);
        else
            now.open = p->open_ended = true;
    }
}

/* ---- causes ---- */

void price_write_axes(const mesh *m, unsigned axes, textbuf *t)
{
    bool first = true;
    for (int a = 0; a < m->naxes; a++)
        if (axes >> a & 1) text_add(t, "%s%s", first ? "" : "+", m->name[a]), first = false;
}

static bool has_dim(const mtf_shape *s, const char *dim)
{
    return shape_find(s, dim) >= 0;
}

/* Is `dim` reduced by the node that computes x?  Then its rule is the reason why x is owed. */
static bool is_reduced(const mtf_tensor *x, const char *dim)
{
    if (has_dim(&x->shape, dim)) return false;
    for (int i = 0; i < x->node->nin; i++)
        if (has_dim(&x->node->in[i]->shape, dim)) return true;
    return false;
}

static bool is_moved(const exchange_args *how, const char *dim)
{
    int d = shape_find(&how->shape, dim);
    return d >= 0 && traffic_moves(how, d);
}

/* The rules on the collective's axes; only those whose dimension is reduced or moved here, if there
 * are any: for a debt carried over from other nodes there are none. */
static const char *cause_of(const price *p, const instr *i, const price_line *line, arena *a)
{
    textbuf       t = {.arena = a};
    const layout *l = p->layout;
    /* Parts finer than the layout's are moved because of how state is stored. */
    for (int r = 0; l && r < l->nstate && i->kind == INSTR_EXCHANGE; r++)
        if (cut_axes(&l->state[r].cut) & line->axes && is_moved(i->exchange, l->state[r].dim))
            text_add(&t, "%s%s", t.used ? ", " : "state ", l->state[r].text);
    const char *only = NULL; /* a single rule: its own text, without a copy */
    for (int exact = 1; exact >= 0 && t.used == 0 && !only && l; exact--)
        for (int r = 0; r < l->nrules; r++) {
            const layout_rule *rule = &l->rules[r];
            if (!(cut_axes(&rule->cut) & line->axes)) continue;
            bool here = i->kind == INSTR_EXCHANGE ? is_moved(i->exchange, rule->dim)
                                                  : is_reduced(line->tensor, rule->dim);
            if (!here && exact) continue;
            if (only && t.used == 0) text_add(&t, "%s", only);
            if (only) text_add(&t, ", %s", rule->text);
            only = rule->text;
        }
    return only && t.used == 0 ? only : text_done(&t);
}

/* ---- lines ---- */

/* The result is contiguous along m or along n; the right operand is the one with the same
 * dimension. */
static product_sides bytes_of_sides(const instr *i, double executions)
{
    const int64_t *stride = i->out[0].stride + i->nloops - 3;
    bool           flipped = stride[1] < stride[0]; /* contiguous along n */
    product_sides  bytes = {.left = (double)instr_operand_bytes(i, flipped ? 1 : 2) * executions,
                            .right = (double)instr_operand_bytes(i, flipped ? 2 : 1) * executions,
                            .result = (double)instr_operand_bytes(i, 0) * executions};
    return bytes;
}

/* A product's loops end in m, n, k; with a vector, it only streams its operands. */
static bool is_with_vector(const instr *i)
{
    const int64_t *size = i->size + i->nloops - 3;
    return size[0] == 1 || size[1] == 1 || size[2] == 1;
}

static double product_seconds(const price *p, const instr *i, const price_line *line)
{
    const price_rates *r = &p->rates;
    bool               rounded = p->program->session->opts.tf32;
    double             on_gpu = r->gpu ? gpu_product_seconds(r->gpu, i, rounded) : 0;
    if (on_gpu > 0) return on_gpu * (double)line->executions;
    double volume = 1, products = (double)line->executions;
    for (int d = 0; d < i->nloops; d++)
        *(d < i->nloops - 3 ? &products : &volume) *= (double)i->size[d];
    if (is_with_vector(i)) return 2 * volume * products / rates_product(r, i->cause->type, volume);
    product_sides bytes = bytes_of_sides(i, (double)line->executions);
    return rates_product_seconds(r, i->cause->type, volume, products, &bytes);
}

/* Seconds to load and store its operands; in any program at least `least`. */
static double memory_seconds(const price *p, const reuse *x, const instr *i, const price_line *line,
                             double *least)
{
    const price_rates *r = &p->rates;
    double             seconds = 0, slower = 1;
    if (r->gpu) slower = r->memory / gpu_pass_memory(r->gpu, i, r->memory);
    *least = (double)line->bytes / r->memory * slower;
    if (r->ncaches == 0) return *least;
    *least = 0;
    for (int k = 0; k < i->nout + i->nin; k++) {
        double each = (double)instr_operand_bytes(i, k), bytes = each * (double)line->executions;
        seconds += bytes / rates_memory(r, reuse_of(x, i, k));
        *least += bytes / rates_best_memory(r, each);
    }
    *least *= slower;
    return seconds * slower;
}

/* Optimizers have kernels that are bound by memory. */
static bool updates(const program *p, const instr *i)
{
    for (int o = 0; i->kind == INSTR_MAP && o < i->nout; o++)
        if (p->buffers[i->out[o].buffer].kind == BUFFER_VARIABLE) return true;
    return false;
}

/* Attention is priced as products of blocks, in the compute type. */
static double attention_rate(const price_rates *r, const instr *i)
{
    enum { BLOCK_ROWS = 64, BLOCK_MEMORY = 240 };
    const attention_args *a = i->attention;
    double                rows = (double)instr_elements(i), memory = (double)a->memory;
    double                on_gpu = r->gpu ? gpu_attention_rate(r->gpu, i) : 0;
    if (on_gpu > 0) return on_gpu;
    if (r->nproducts == 0 || rows * memory == 0) return r->flops;
    return rates_product(r, dtype_compute(i->in[0].type),
                         fmin(rows, BLOCK_ROWS) * fmin(memory, BLOCK_MEMORY) * (double)a->key);
}

/* Multiplications of a tile, which lies in one group: no more where sizes are smaller. */
static double grouped_volume(const instr *i)
{
    enum { TILE_HIGH = 128, TILE_WIDE = 64 };
    const grouped_args *g = &i->grouped;
    const int64_t      *size = i->size + i->nloops - 3;
    double              each = (double)size[0] / (double)g->all_groups;
    double high = g->sums ? (double)size[2] : each, deep = g->sums ? each : (double)size[2];
    return fmin(fmax(high, 1), TILE_HIGH) * fmin((double)size[1], TILE_WIDE) * fmax(deep, 1);
}

/* The rows are shared evenly by all groups, also those of other processors. */
static double grouped_rate(const price_rates *r, const instr *i)
{
    double rate = r->flops;
    if (r->nproducts > 0 && !r->gpu)
        rate = rates_product(r, dtype_compute(i->in[0].type), grouped_volume(i));
    return rate * (double)i->grouped.all_groups / (double)i->grouped.groups;
}

double price_best_grouped(const price_rates *r, const instr *i)
{
    if (r->gpu) return r->flops;
    return rates_best_product(r, dtype_compute(i->in[0].type), grouped_volume(i));
}

static double window_rate_of(const price *p, const instr *i)
{
    const window_args *a = &i->window;
    mtf_dtype          type = a->library ? i->in[0].type : i->cause->type;
    window_rate        like = {.type = type,
                               .channels = rates_channels((double)a->chans, (double)a->outs),
                               .library = a->library,
                               .rounded = a->library && type == MTF_F32};
    return rates_window(&p->rates, &like);
}

static double flops_rate(const price *p, const instr *i)
{
    switch (i->kind) {
    case INSTR_ATTENTION:
    case INSTR_ATTENTION_GRAD: return attention_rate(&p->rates, i);
    case INSTR_WINDOW: return window_rate_of(p, i);
    case INSTR_GROUPED: return grouped_rate(&p->rates, i);
    default: return p->rates.flops;
    }
}

static void price_local(const price *p, const reuse *x, const instr *i, price_line *line)
{
    const price_rates *r = &p->rates;
    bool               by_shape = r->gpu && r->gpu->nproducts > 0;
    bool               product = i->kind == INSTR_CONTRACT && (r->nproducts > 0 || by_shape);
    bool               rows = r->rows > 0 && i->kind == INSTR_MAP && map_folds_rows(i);
    bool               adds = rows || (product && !r->gpu && r->ncaches > 0 && !is_with_vector(i));
    double             least, rate = rows ? r->rows : flops_rate(p, i);
    double             flops =
        product ? product_seconds(p, i, line) : instr_flops(i) * (double)line->executions / rate;
    if (!rows && updates(p->program, i)) flops = 0;
    double memory = memory_seconds(p, x, i, line, &least);
    double speed = r->alone > 1 ? rates_speed(r, price_share(p, i)) : 1;
    double work = adds ? flops + memory : fmax(flops, memory);
    line->seconds = r->start * (double)line->executions + work / speed;
    /* Recomputation saves memory for the whole program, so its time may depend on the rest. */
    line->spare =
        i->remade ? line->seconds : (work - (adds ? flops + least : fmax(flops, least))) / speed;
}

/* Seconds on the wire to move `bytes` bytes in all its executions. */
static double wire_seconds(const price *p, const instr *i, const price_line *line, double bytes)
{
    const price_rates *r = &p->rates;
    double             executions = (double)line->executions;
    links              l = links_of(r, p->mesh, line->axes);
    haul               h = {.bytes = executions > 0 ? bytes / executions : 0};
    if (stages_suit(i))
        h.way = traffic_is_flat(r->site, p->mesh, i, &p->here) ? HAUL_FLAT : HAUL_STAGED;
    if (l.nodes > 1 || l.inner.message > 0)
        h.messages = (double)traffic_messages(r->site, p->mesh, i, &p->here);
    return executions * links_seconds(&l, &h);
}

/* `work`: seconds since the collective before.  Without cache rates, the wire's rate includes the
 * time to load and store operands. */
static bool price_collective(price *p, const reuse *x, const instr *i, price_line *line,
                             double work, arena *a)
{
    int64_t each = saturate_times((int64_t)mtf_dtype_bytes(i->out[0].type), line->executions);
    line->axes = traffic_axes(i);
    line->group = traffic_group(p->mesh, line->axes);
    traffic t = traffic_of(p->rates.site, p->mesh, i, &p->here);
    int64_t sent = traffic_out(&t), received = traffic_in(&t);
    line->flops = saturate_times(t.flops, line->executions);
    line->sent_elements = saturate_times(sent, line->executions);
    line->received_elements = saturate_times(received, line->executions);
    line->sent_bytes = saturate_times(sent, each);
    line->received_bytes = saturate_times(received, each);
    line->out_messages = saturate_times(t.sent, each);
    line->in_messages = saturate_times(t.received, each);
    line->out_outside = saturate_times(t.sent_outside, each);
    line->in_outside = saturate_times(t.received_outside, each);
    /* A sum that is paid when a reader is lowered is still the sum of the tensor that owed it. */
    line->tensor = p->program->buffers[i->in[0].buffer].cause;
    if (!line->tensor) line->tensor = i->cause;
    line->cause = p->brief ? "" : cause_of(p, i, line, a);
    int64_t most =
        line->sent_bytes > line->received_bytes ? line->sent_bytes : line->received_bytes;
    double least = 0, memory = p->rates.ncaches ? memory_seconds(p, x, i, line, &least) : 0;
    line->spare =
        rates_wait(&p->rates, work, line->group) * (double)line->executions + memory - least;
    line->seconds = wire_seconds(p, i, line, (double)most) + least + line->spare;
    p->sent_bytes = saturate_plus(p->sent_bytes, line->sent_bytes);
    p->received_bytes = saturate_plus(p->received_bytes, line->received_bytes);
    p->out_messages = saturate_plus(p->out_messages, line->out_messages);
    p->in_messages = saturate_plus(p->in_messages, line->in_messages);
    p->out_outside = saturate_plus(p->out_outside, line->out_outside);
    p->in_outside = saturate_plus(p->in_outside, line->in_outside);
    p->wire_flops = saturate_plus(p->wire_flops, line->flops);
    p->collectives = saturate_plus(p->collectives, line->executions);
    p->wire_seconds += line->seconds;
    return line->cause != NULL;
}

static bool price_lines(price *p, arena *a)
{
    double work = 0;
    bool   caches = p->rates.ncaches > 0;
    reuse  x;
    if (caches) TRY(reuse_begin(&x, p->program, p->beyond, a));
    for (int k = 0; k < p->program->ninstrs; k++) {
        const instr *i = &p->program->instrs[k];
        price_line  *line = &p->lines[k];
        line->flops = saturate_times(i->flops, line->executions);
        line->bytes = saturate_times(instr_bytes(i), line->executions);
        line->tensor = i->cause;
        line->collective = traffic_kind(i);
        if (line->collective) {
            TRY(price_collective(p, &x, i, line, work, a));
            work = 0;
        } else {
            price_local(p, &x, i, line);
            if (line->executions) work += line->seconds / (double)line->executions;
        }
        if (caches) reuse_pass(&x, i);
        p->flops = saturate_plus(p->flops, line->flops);
        p->bytes = saturate_plus(p->bytes, line->bytes);
        p->seconds += line->seconds;
    }
    p->end_seconds = rates_wait(&p->rates, work, mesh_size(p->mesh));
    p->seconds += p->end_seconds;
    return price_beside(p, a);
}

/* ---- memory ---- */

bool price_is_trained(const mtf_tensor *w)
{
    int at = op_attr_find(w->node->op, "trainable");
    return at < 0 || w->node->attrs[at].b;
}

/* A place in the slab is used from the first use of its first buffer to the last use of the last
 * buffer that reuses it. */
static bool find_peak(price *p, arena *a)
{
    const program *q = p->program;
    int64_t       *change = arena_array(a, int64_t, q->ninstrs + 2), alive = 0, most = -1;
    int           *last = arena_array(a, int, q->nbuffers + 1);
    TRY(change && last);
    for (int b = 0; b < q->nbuffers; b++) {
        int first = b;
        while (q->buffers[first].shares != first) first = q->buffers[first].shares;
        if (last[first] < q->buffers[b].last) last[first] = q->buffers[b].last;
    }
    for (int b = 0; b < q->nbuffers; b++) {
        const buffer *x = &q->buffers[b];
        if (x->kind == BUFFER_VARIABLE || x->first < 0 || x->shares != b) continue;
        int64_t bytes = ((x->bytes ? x->bytes : 1) + 63) / 64 * 64;
        change[x->first] += bytes;
        change[(last[b] < q->ninstrs ? last[b] : q->ninstrs) + 1] -= bytes;
    }
    for (int k = 0; k < q->ninstrs; k++) {
        alive += change[k];
        if (alive <= most) continue;
        p->memory.alive = most = alive;
        p->memory.at = q->instrs[k].cause;
        p->memory.doing = q->instrs[k].kind;
    }
    return true;
}

static int64_t scratch_of(const program *p, const site *s, const mesh *m, int processor)
{
    return s && s->scratch_bytes ? s->scratch_bytes(p, site_threads(s, m, processor)) : 0;
}

static int64_t wire_of(const program *p, const site *s, const mesh *m, int processor)
{
    return s && s->wire_bytes ? s->wire_bytes(s, m, processor, p) : 0;
}

int64_t price_peak(const program *p, const site *s, const mesh *m, int processor)
{
    return p->cost.peak_bytes + scratch_of(p, s, m, processor) + wire_of(p, s, m, processor);
}

static bool price_memories(price *p, arena *a)
{
    const program *q = p->program;
    price_memory  *m = &p->memory;
    m->inputs = q->cost.input_bytes;
    m->constants = q->cost.constant_bytes;
    for (int v = 0; v < q->nvariables; v++) {
        int64_t bytes = q->buffers[q->variables[v].slice.buffer].bytes;
        if (price_is_trained(q->variables[v].tensor))
            m->parameters += bytes;
        else
            m->state += bytes;
    }
    m->activations = q->slab_bytes - m->inputs - m->constants;
    m->scratch = scratch_of(q, p->rates.site, p->mesh, mesh_number(p->mesh, &p->here));
    m->wire = wire_of(q, p->rates.site, p->mesh, mesh_number(p->mesh, &p->here));
    m->peak = q->cost.peak_bytes + m->scratch + m->wire;
    TRY(find_peak(p, a));
    m->bound = m->parameters + m->state + m->scratch + m->wire + m->alive;
    return true;
}

bool price_program(price *p, arena *a)
{
    p->lines = arena_array(a, price_line, p->program->ninstrs + 1);
    TRY(p->lines != NULL);
    count_executions(p);
    return price_lines(p, a) && (p->brief || price_memories(p, a));
}

/* What the parts of a program cost at least, whatever the layout. */
#include <math.h>

#include "ops/catalogue.h"
#include "search/sorting.h"

/* ---- products ---- */

/* A grouped product multiplies each row once, but is priced for an even share of the rows in each group: the time of
 * a processor with r of R rows, g of G groups and whole other sizes is at least r/R g/G of all, as if the groups were
 * one more factor.  An axis that cuts both rows and groups divides once, since then one of them is gathered: extents
 * count an axis once, too. */
static void add_groups(const node *n, op_product *what)
{
    if (n->op != &op_grouped_einsum) return;
    const mtf_shape *ends = &n->in[2]->shape;
    for (int d = 0; d < ends->ndims; d++)
        if (shape_find(&n->in[0]->shape, ends->dims[d].name) < 0)
            what->dims[what->ndims++] = ends->dims[d];
}

/* Ops without `product` do not count in the bound. */
static bool add_product(sorting *s, const node *n)
{
    parts     *p = s->p;
    extents   *kind = s->touched[n->id] ? &p->loose : &p->firm;
    op_product what = {0};
    if (n->op->product) n->op->product(n, &what);
    if (!what.ndims) return true;
    add_groups(n, &what);
    return extents_add(&p->products, p->space, p->arena, p->of_node[n->id], what.ndims, what.dims,
                       s->flops[n->id]) &&
           extents_add(kind, p->space, p->arena, -1, what.ndims, what.dims, s->flops[n->id]);
}

static bool add_stored(sorting *s, const node *n)
{
    if (!sorting_is_stored(n)) return true;
    const mtf_tensor *x = n->out[0];
    double            bytes = (double)shape_size(&x->shape) * (double)mtf_dtype_bytes(x->type);
    return extents_add(&s->p->stored, s->p->space, s->p->arena, -1, x->shape.ndims, x->shape.dims,
                       bytes * s->p->subject->weight[n->id]);
}

/* No layout makes a product faster than this: cutting does not make its m * n * k larger, nor give
 * a convolution more channels.  The order in which more than two operands are multiplied may depend
 * on the cuts. */
static double best_rate(const instr *i, const price_rates *r)
{
    double             volume = 1;
    const window_args *w = &i->window;
    if (i->kind == INSTR_WINDOW)
        return rates_best_window(
            r, &(window_rate){.type = i->cause->type,
                              .channels = rates_channels((double)w->chans, (double)w->outs)});
    if (i->kind == INSTR_GROUPED) return price_grouped_rate(r, i, true);
    for (int d = i->nloops - 3; d < i->nloops; d++) volume *= (double)i->size[d];
    return rates_best_product(r, i->cause->type, i->cause->node->nin > 2 ? INFINITY : volume);
}

void sorting_note_products(sorting *s, const program *q, const price_rates *r)
{
    const subject *what = s->p->subject;
    for (int k = 0; k < q->ninstrs; k++) {
        const instr *i = &q->instrs[k];
        if (i->kind != INSTR_CONTRACT && i->kind != INSTR_WINDOW && i->kind != INSTR_GROUPED)
            continue;
        const node *n = i->cause->node;
        s->flops[n->id] += instr_flops(i) * what->weight[n->id] * s->trips[n->id] / best_rate(i, r);
    }
}

/* ---- other local work ---- */

/* Of what an instruction takes on one processor each has a part at least, divided by the axes that cut
 * what it touches.  Parts need not be equal where what a query of attention sees depends on its position,
 * and other instructions may be fused otherwise: the margin covers what that may save. */
#define MARGIN 0.95

static uint64_t dims_touched(const sorting *s, const program *q, const instr *i)
{
    uint64_t set = sorting_dims(s->p->space, i->cause);
    for (int k = 0; k < i->nin + i->nout; k++) {
        const access     *x = k < i->nin ? &i->in[k] : &i->out[k - i->nin];
        const mtf_tensor *of = q->buffers[x->buffer].cause;
        if (of) set |= sorting_dims(s->p->space, of);
    }
    return set;
}

/* Maps, random numbers and attention; the planner may write sums and copies in other ways when they are cut. */
static bool is_divided(const sorting *s, const instr *i, const price_line *line,
                       const price_rates *r)
{
    bool attention = i->kind == INSTR_ATTENTION || i->kind == INSTR_ATTENTION_GRAD;
    if (!line->tensor || !i->cause) return false;
    if (attention && i->attention->min > -i->attention->memory)
        return false; /* parts see less of a window */
    if (line->executions != 1 && !s->p->subject->graph->divided)
        return false; /* a loop of the user's own */
    if (!attention && i->kind != INSTR_MAP && i->kind != INSTR_DRAW) return false;
    if (s->touched[subject_source(line->tensor)->node->id] && s->p->space->given->nstate)
        return false;
    return attention || r->ncaches == 0; /* smaller parts may fit a cache */
}

static bool add_divided(sorting *s, const program *uncut, const instr *i, const price_line *line,
                        const price_rates *r)
{
    parts      *p = s->p;
    mtf_dim     dims[MAX_SEARCHED];
    const node *n = subject_source(line->tensor)->node;
    uint64_t    touched = dims_touched(s, uncut, i);
    double      work = line->seconds - line->spare - r->start * (double)line->executions;
    int         ndims = 0;
    for (int d = 0; d < p->space->ndims; d++)
        if (touched >> d & 1)
            dims[ndims++] = (mtf_dim){p->space->dims[d].name, p->space->dims[d].size};
    if (ndims > 2 * MTF_SHAPE_ROOM || work <= 0) return true;
    return extents_add(&p->divided, p->space, p->arena, p->of_node[n->id], ndims, dims,
                       MARGIN * work * p->subject->weight[n->id]);
}

static bool add_local(sorting *s, const program *uncut, const price_rates *r)
{
    price q = {.program = uncut, .mesh = s->p->space->mesh, .rates = *r, .brief = true};
    TRY(price_program(&q, s->scratch));
    for (int k = 0; k < uncut->ninstrs; k++)
        if (is_divided(s, &uncut->instrs[k], &q.lines[k], r))
            TRY(add_divided(s, uncut, &uncut->instrs[k], &q.lines[k], r));
    return true;
}

/* ---- live ranges ---- */

/* A buffer that was computed before instruction t, and that a product or convolution reads after
 * it, is live at t under every layout.  The most are live where the gradients begin. */
typedef struct life {
    int    from, to; /* instructions; to < from: not counted */
    double bytes;
} life;

static void note_lives(const program *q, const subject *what, life *lives)
{
    for (int b = 0; b < q->nbuffers; b++) lives[b] = (life){.from = q->ninstrs, .to = -1};
    for (int k = 0; k < q->ninstrs; k++) {
        const instr *i = &q->instrs[k];
        bool         reads = i->kind == INSTR_CONTRACT || i->kind == INSTR_WINDOW;
        for (int o = 0; o < i->nout && (reads || i->kind == INSTR_MAP); o++)
            if (k < lives[i->out[o].buffer].from) lives[i->out[o].buffer].from = k;
        for (int n = 0; n < i->nin && reads; n++) lives[i->in[n].buffer].to = k;
    }
    for (int b = 0; b < q->nbuffers; b++) {
        const buffer *x = &q->buffers[b];
        bool          whole =
            x->kind == BUFFER_TEMPORARY && x->cause &&
            x->bytes == shape_size(&x->cause->shape) * (int64_t)mtf_dtype_bytes(x->cause->type);
        if (whole)
            lives[b].bytes = (double)x->bytes * what->weight[x->cause->node->id];
        else
            lives[b].to = -1;
    }
}

/* The instruction at which the most bytes are live. */
static int fullest(const program *q, const life *lives, double *change)
{
    double alive = 0, most = 0;
    int    at = -1;
    for (int b = 0; b < q->nbuffers; b++)
        if (lives[b].to > lives[b].from)
            change[lives[b].from] += lives[b].bytes, change[lives[b].to] -= lives[b].bytes;
    for (int k = 0; k < q->ninstrs; k++) {
        alive += change[k];
        if (alive > most) most = alive, at = k;
    }
    return at;
}

static bool add_living(sorting *s, const program *q)
{
    arena  *a = s->scratch;
    life   *lives = arena_array(a, life, q->nbuffers + 1);
    double *change = arena_array(a, double, q->ninstrs + 1);
    TRY(lives && change);
    for (int k = 0; k < q->ninstrs;
         k++) /* in a loop, what is read may come from the iteration before */
        if (q->instrs[k].kind == INSTR_TEST) return true;
    note_lives(q, s->p->subject, lives);
    int at = fullest(q, lives, change);
    for (int b = 0; b < q->nbuffers; b++) {
        if (lives[b].from > at || lives[b].to <= at) continue;
        const mtf_shape *shape = &q->buffers[b].cause->shape;
        TRY(extents_add(&s->p->alive, s->p->space, s->p->arena, -1, shape->ndims, shape->dims,
                        lives[b].bytes));
    }
    return true;
}

/* ---- all of it ---- */

static bool add_extents(sorting *s, const block *b)
{
    for (int k = 0; k < b->nnodes; k++) {
        const node *n = b->nodes[k];
        if (n->op == &op_loop) TRY(add_extents(s, n->blocks[0]));
        if (s->flops[n->id] > 0) TRY(add_product(s, n));
        if (s->survey->live[n->id]) TRY(add_stored(s, n));
    }
    return true;
}

bool sorting_add_least(sorting *s, const program *uncut, const price_rates *r)
{
    return add_living(s, uncut) && add_extents(s, &s->p->subject->graph->root) &&
           add_local(s, uncut, r);
}

/* Duplicates: work that all processors along an axis repeat.
 *
 * The program is compared with that of the next processor along each axis: an
 * instruction repeats the neighbour's work if it is the same, with the same
 * offsets, and everything it reads is the same.  Sources differ if the axis
 * cuts them; a reduction over the axis, or a gather along it, makes values the
 * same again.  A buffer counts as different once anything different was written
 * into it.
 */
#include "price/duplicates.h"

#include <string.h>

#include "price/traffic.h"

typedef struct pair {
    const program *mine, *other;
    const price   *price;
    int            axis;
    bool          *differs; /* by buffer */
} pair;

/* ---- the same instruction? ---- */

static bool same_steps(const map_args *a, const map_args *b)
{
    if (a->nsteps != b->nsteps || a->sums != b->sums) return false;
    for (int s = 0; s < a->nsteps; s++) {
        const scalar_step *x = &a->steps[s], *y = &b->steps[s];
        if (x->fn != y->fn || x->type != y->type || x->a != y->a || x->b != y->b || x->c != y->c)
            return false;
        if (x->value.whole != y->value.whole) return false; /* the bits of a float, too */
    }
    return true;
}

static bool same_window(const window_args *a, const window_args *b)
{
    for (int d = 0; d < a->nspatial; d++)
        if (a->in_size[d] != b->in_size[d] || a->out_size[d] != b->out_size[d] ||
            a->before[d] != b->before[d])
            return false;
    return a->chans == b->chans && a->outs == b->outs && a->groups == b->groups;
}

/* Details of an instruction that may differ between processors. */
static bool same_details(const instr *a, const instr *b)
{
    switch (a->kind) {
    case INSTR_MAP: return same_steps(&a->map, &b->map);
    case INSTR_CONTRACT:
        return a->contract.activation == b->contract.activation &&
               a->contract.add == b->contract.add && a->contract.total == b->contract.total;
    case INSTR_GROUPED:
        return a->grouped.first_row == b->grouped.first_row &&
               a->grouped.first_group == b->grouped.first_group &&
               a->grouped.groups == b->grouped.groups;
    case INSTR_GATHER:
    case INSTR_SCATTER: return a->gather.along == b->gather.along;
    case INSTR_SCAN: return a->scan.along == b->scan.along;
    case INSTR_ORDER: return a->order.along == b->order.along && a->order.k == b->order.k;
    case INSTR_NUCLEUS: return a->nucleus.along == b->nucleus.along;
    case INSTR_WINDOW: return same_window(&a->window, &b->window);
    case INSTR_ATTENTION:
    case INSTR_ATTENTION_GRAD:
        return a->attention->memory == b->attention->memory &&
               a->attention->first_query == b->attention->first_query &&
               a->attention->first_memory == b->attention->first_memory &&
               a->attention->first == b->attention->first;
    case INSTR_DRAW: return a->draw.first == b->draw.first && a->draw.part == b->draw.part;
    default: return true;
    }
}

static bool same_instr(const instr *a, const instr *b)
{
    if (a->kind != b->kind || a->cause != b->cause || a->nout != b->nout || a->nin != b->nin)
        return false;
    if (a->nloops != b->nloops ||
        memcmp(a->size, b->size, sizeof *a->size * (size_t)a->nloops) != 0)
        return false;
    for (int o = 0; o < a->nout; o++)
        if (!access_same(&a->out[o], &b->out[o], a->nloops)) return false;
    for (int o = 0; o < a->nin; o++)
        if (!access_same(&a->in[o], &b->in[o], a->nloops)) return false;
    return same_details(a, b);
}

/* ---- the same values? ---- */

static bool reads_other_values(const pair *q, const instr *i)
{
    for (int o = 0; o < i->nin; o++)
        if (q->differs[i->in[o].buffer]) return true;
    bool adds = i->kind == INSTR_ADD_INTO || i->kind == INSTR_SCATTER;
    return adds && q->differs[i->out[0].buffer];
}

/* Does the result of instruction k differ from the neighbour's? */
static bool gives_other_values(const pair *q, int k)
{
    const instr *a = &q->mine->instrs[k], *b = &q->other->instrs[k];
    unsigned     axis = 1u << q->axis;
    if (a->kind == INSTR_REDUCE && a->reduce.axes & axis) return false;
    if (a->kind == INSTR_REDUCE_SCATTER && traffic_spread(a) & axis) return true;
    if (a->kind == INSTR_EXCHANGE) {
        if (traffic_spread(a) & axis) return true;
        if (placement_axes(&a->exchange->from, a->exchange->shape.ndims) & axis) return false;
    }
    return !same_instr(a, b) || reads_other_values(q, a);
}

static void compare_ports(pair *q, const port *ports, int n)
{
    const price *p = q->price;
    for (int i = 0; i < n && p->layout; i++) {
        const mtf_shape *shape = &ports[i].tensor->shape;
        const placement *finer = ports[i].slice.finer;
        if (finer && placement_axes(finer, shape->ndims) >> q->axis & 1)
            q->differs[ports[i].slice.buffer] = true;
        for (int d = 0; d < shape->ndims; d++) {
            const layout_rule *r = layout_find(p->layout, shape->dims[d].name);
            if (r && cut_axes(&r->cut) >> q->axis & 1) q->differs[ports[i].slice.buffer] = true;
        }
    }
}

static void compare_sources(pair *q)
{
    compare_ports(q, q->mine->inputs, q->mine->ninputs);
    compare_ports(q, q->mine->variables, q->mine->nvariables);
    for (int b = 0; b < q->mine->nbuffers; b++) {
        const buffer *x = &q->mine->buffers[b], *y = &q->other->buffers[b];
        if (x->kind != BUFFER_CONSTANT) continue;
        q->differs[b] = y->kind != x->kind || x->bytes != y->bytes ||
                        memcmp(x->data, y->data, (size_t)x->bytes) != 0;
    }
}

/* Differences are only added, so repeating this until nothing changes also handles loops. */
static void spread_differences(pair *q)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (int k = 0; k < q->mine->ninstrs; k++) {
            const instr *i = &q->mine->instrs[k];
            bool         other = i->nout > 0 && gives_other_values(q, k);
            for (int o = 0; o < i->nout && other; o++) {
                changed |= !q->differs[i->out[o].buffer];
                q->differs[i->out[o].buffer] = true;
            }
        }
    }
}

static bool find_along(price *p, const program *other, int axis, arena *scratch)
{
    const program *mine = p->program;
    /* Programs with different instructions cannot be compared line by line; then nothing is
     * reported. */
    if (mine->ninstrs != other->ninstrs || mine->nbuffers != other->nbuffers) return true;
    pair q = {.mine = mine, .other = other, .price = p, .axis = axis};
    q.differs = arena_array(scratch, bool, mine->nbuffers + 1);
    TRY(q.differs != NULL);
    compare_sources(&q);
    spread_differences(&q);
    for (int k = 0; k < mine->ninstrs; k++)
        if (mine->instrs[k].nout && !p->lines[k].collective && !gives_other_values(&q, k))
            p->lines[k].duplicate |= 1u << axis;
    return true;
}

bool duplicates_find(price *p, const census *c)
{
    for (int a = 0; a < p->mesh->naxes; a++) {
        if (p->mesh->size[a] == 1) continue;
        mesh_point there = p->here;
        there.at[a] = (there.at[a] + 1) % p->mesh->size[a];
        program *other = census_plan(c, mesh_number(p->mesh, &there));
        TRY(other != NULL);
        bool ok = find_along(p, other, a, c->scratch);
        program_free(other);
        TRY(ok);
    }
    return true;
}

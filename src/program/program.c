/* Instructions on slices, one program per processor.
 *
 * A program is a flat list: loops are bracketed by LOOP and AGAIN.  Buffers
 * lie in one slab at offsets that plan/placement chose; variables belong to the
 * session and lie outside.
 */
#include "program/map_form.h"

#include <assert.h>
#include "program/program.h"

#include <stdio.h>
#include <string.h>

#include "base/saturate.h"
#include "program/attention_cost.h"
#include "program/epilogue.h"
#include "program/scalar.h"

static const struct {
    const char *name, *says;
} kinds[INSTR_KINDS] = {
#define INSTR(kind, name, says) [INSTR_##kind] = {name, says},
#include "program/instrs.h"
#undef INSTR
};

bool instr_is_collective(const instr *i)
{
    return i->kind == INSTR_REDUCE || i->kind == INSTR_REDUCE_SCATTER || i->kind == INSTR_EXCHANGE;
}

bool instr_is_control(const instr *i)
{
    return i->kind == INSTR_LOOP || i->kind == INSTR_TEST || i->kind == INSTR_AGAIN;
}

int instr_input_of(const instr *i, int b)
{
    for (int k = 0; k < i->nin; k++)
        if (i->in[k].buffer == b) return k;
    return -1;
}

bool instr_reads(const instr *i, int b)
{
    return instr_input_of(i, b) >= 0;
}

bool instr_writes(const instr *i, int b)
{
    for (int o = 0; o < i->nout; o++)
        if (i->out[o].buffer == b) return true;
    return false;
}

bool access_same(const access *a, const access *b, int nloops)
{
    return a->buffer == b->buffer && a->type == b->type && a->offset == b->offset &&
           memcmp(a->stride, b->stride, sizeof *a->stride * (size_t)nloops) == 0;
}

bool buffers_meet(const buffer *a, const buffer *b)
{
    bool placed = a->kind != BUFFER_VARIABLE && b->kind != BUFFER_VARIABLE && a->offset >= 0 &&
                  b->offset >= 0;
    return placed && a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
}

const char *instr_name(instr_kind kind)
{
    assert(kind < INSTR_KINDS);
    return kinds[kind].name;
}

program *program_new(mtf_session *s, const mtf_allocator *from)
{
    if (!from) from = &s->allocator;
    program *p = block_alloc(from, &s->fault, sizeof *p, true);
    if (!p) return NULL;
    p->session = s;
    p->arena = arena_make(from, &s->fault);
    return p;
}

void program_free(program *p)
{
    if (!p) return;
    arena_free(&p->arena);
    block_free(p->arena.from, p);
}

#ifndef NDEBUG /* only assertions ask */
/* Do loops open and close in order, each LOOP and AGAIN referring to the other? */
static bool program_is_nested(const program *p)
{
    int open[MAX_NESTING + 1], depth = 0;
    for (int k = 0; k < p->ninstrs; k++) {
        const instr *i = &p->instrs[k];
        if (!instr_is_control(i)) continue;
        if (i->loop.other < 0 || i->loop.other >= p->ninstrs) return false;
        if (i->kind == INSTR_LOOP && depth > MAX_NESTING) return false;
        if (i->kind == INSTR_LOOP) open[depth++] = k;
        if (i->kind == INSTR_AGAIN && (depth == 0 || open[--depth] != i->loop.other)) return false;
    }
    return depth == 0;
}
#endif

/* LOOP, TEST and AGAIN refer to each other by number. */
void program_remove(program *p, const bool *gone, int *now_at)
{
    int n = 0;
    for (int k = 0; k < p->ninstrs; k++) {
        now_at[k] = n;
        if (!gone[k]) p->instrs[n++] = p->instrs[k];
    }
    for (int k = 0; k < n; k++)
        if (instr_is_control(&p->instrs[k]))
            p->instrs[k].loop.other = now_at[p->instrs[k].loop.other];
    p->ninstrs = n;
    assert(program_is_nested(p)); /* a loop's ends stay or go together */
}

int64_t instr_elements(const instr *i)
{
    int64_t n = 1;
    for (int d = 0; d < i->nloops; d++) n = saturate_times(n, i->size[d]);
    return n;
}

/* ---- flops and bytes ---- */

static int64_t window_flops(const instr *i)
{
    const window_args *w = &i->window;
    int64_t            n = saturate_times(2 * w->groups, saturate_times(w->chans, w->outs));
    for (int d = 0; d < w->nspatial; d++)
        n = saturate_times(n, saturate_times(w->out_size[d], w->taps[d]));
    return saturate_times(n, instr_elements(i));
}

/* Folding n elements takes n - 1 operations. */
static int64_t fold_flops(const instr *i)
{
    int64_t folded = 1;
    bool    seeks = i->fold.kind == FOLD_ARGMAX || i->fold.kind == FOLD_ARGMIN;
    for (int d = i->fold.nkept; d < i->nloops; d++) folded = saturate_times(folded, i->size[d]);
    bool copies = folded == 1 && !seeks && i->in[0].type == i->out[0].type;
    return copies ? 0 : instr_elements(i);
}

static int64_t contract_flops(const instr *i)
{
    int64_t        flops = saturate_times(2, instr_elements(i));
    epilogue_parts parts;
    if (i->contract.add && instr_elements(i)) /* once for each result */
        flops = saturate_plus(flops, instr_elements(i) / i->size[i->nloops - 1]);
    if (!epilogue_is_any(i)) return flops;
    epilogue_split(i, &parts);
    for (int k = 1; k < parts.n; k++)
        flops = saturate_plus(flops, parts.part[k].kind == INSTR_MAP ? map_flops(&parts.part[k])
                                                                     : fold_flops(&parts.part[k]));
    return flops;
}

/* What a collective combines depends on the group: see price/traffic.h. */
static int64_t flops_of(const instr *i)
{
    int64_t n = instr_elements(i);
    switch (i->kind) {
    case INSTR_MAP: return map_flops(i);
    case INSTR_ADD_INTO: return n;
    case INSTR_FOLD: return fold_flops(i);
    case INSTR_CONTRACT: return contract_flops(i);
    case INSTR_GROUPED: return saturate_times(2, n);
    case INSTR_SCATTER: return i->gather.set ? 0 : n;
    case INSTR_SCAN: return saturate_times(n, i->scan.along);
    case INSTR_ORDER:
        return saturate_times(saturate_times(n, i->order.along), order_depth(i->order.k));
    case INSTR_NUCLEUS: return saturate_times(n, saturate_times(i->nucleus.along, NUCLEUS_FLOPS));
    case INSTR_WINDOW: return window_flops(i);
    case INSTR_ATTENTION:
    case INSTR_ATTENTION_GRAD: return attention_flops(i);
    case INSTR_ATTENTION_JOIN: return n;
    case INSTR_DRAW: return saturate_times(n, draw_flops(i->draw.kind));
    default: return 0;
    }
}

/* Only products have so many that they saturate. */
double instr_flops(const instr *i)
{
    if (i->flops < INT64_MAX) return (double)i->flops;
    double n = 2;
    for (int d = 0; d < i->nloops; d++) n *= (double)i->size[d];
    if (i->kind != INSTR_WINDOW) return n;
    for (int d = 0; d < i->window.nspatial; d++)
        n *= (double)i->window.out_size[d] * (double)i->window.taps[d];
    return n * (double)i->window.groups * (double)i->window.chans * (double)i->window.outs;
}

/* Distinct elements of an operand: a loop of stride 0 adds none.  Without iterations nothing is
 * read; but the result of a sum over nothing is still written. */
static int64_t touched(const instr *i, const access *a, bool read)
{
    int64_t n = 1;
    for (int d = 0; d < i->nloops; d++)
        if (a->stride[d] != 0 || (read && i->size[d] == 0)) n = saturate_times(n, i->size[d]);
    return n;
}

/* The dimension along which the kernel of a grouped product steps by itself in an operand, outputs
 * first. */
typedef struct stepped {
    int64_t size, stride;
} stepped;

static stepped grouped_along(const instr *i, int operand)
{
    const grouped_args *g = &i->grouped;
    if (operand == (g->sums ? 0 : 2)) return (stepped){g->groups, g->group_stride};
    if (operand == 3) return (stepped){g->first_group + g->groups, g->ends_stride};
    return (stepped){1, 0};
}

int64_t instr_operand_bytes(const instr *i, int k)
{
    const access *a = k < i->nout ? &i->out[k] : &i->in[k - i->nout];
    int64_t       n = touched(i, a, k >= i->nout);
    if (i->kind == INSTR_GROUPED) n = saturate_times(n, grouped_along(i, k).size);
    if (i->kind == INSTR_SCAN) n = saturate_times(n, i->scan.along);
    if (i->kind == INSTR_ORDER) n = saturate_times(n, k < i->nout ? i->order.k : i->order.along);
    if (i->kind == INSTR_NUCLEUS && (k == 1 || k == 2)) n = saturate_times(n, i->nucleus.along);
    if (i->kind == INSTR_ATTENTION || i->kind == INSTR_ATTENTION_GRAD)
        n = attention_operand_elements(i, k, n);
    if (i->kind == INSTR_WINDOW) {
        /* out, first, second are y x w, x y w, w x y for the three kinds. */
        static const char  order[3][4] = {"yxw", "xyw", "wxy"};
        const window_args *w = &i->window;
        char               which = order[w->kind][k];
        n = saturate_times(n, w->groups * (which == 'x' ? w->chans : w->outs));
        if (which == 'w') n = saturate_times(n, w->chans);
        for (int d = 0; d < w->nspatial; d++)
            n = saturate_times(n, which == 'x'   ? w->in_size[d]
                                  : which == 'y' ? w->out_size[d]
                                                 : w->taps[d]);
    }
    return saturate_times(n, (int64_t)mtf_dtype_bytes(a->type));
}

int64_t instr_bytes(const instr *i)
{
    int64_t bytes = 0;
    for (int k = 0; k < i->nout + i->nin; k++)
        bytes = saturate_plus(bytes, instr_operand_bytes(i, k));
    return bytes;
}

void program_price(program *p)
{
    mtf_cost c = {.instructions = p->ninstrs};
    int64_t  executions = 1, outer[MAX_NESTING];
    int      depth = 0;
    assert(program_is_nested(p));
    for (int k = 0; k < p->ninstrs; k++) {
        instr *i = &p->instrs[k];
        i->flops = flops_of(i);
        c.flops = saturate_plus(c.flops, saturate_times(executions, i->flops));
        c.bytes = saturate_plus(c.bytes, saturate_times(executions, instr_bytes(i)));
        if (i->kind == INSTR_LOOP) {
            outer[depth++] = executions;
            if (i->loop.trips >= 0) executions = saturate_times(executions, i->loop.trips);
        } else if (i->kind == INSTR_AGAIN && depth > 0) {
            executions = outer[--depth];
        }
    }
    for (int b = 0; b < p->nbuffers; b++) {
        if (p->buffers[b].kind == BUFFER_VARIABLE) c.variable_bytes += p->buffers[b].bytes;
        if (p->buffers[b].kind == BUFFER_INPUT) c.input_bytes += p->buffers[b].bytes;
        if (p->buffers[b].kind == BUFFER_CONSTANT) c.constant_bytes += p->buffers[b].bytes;
    }
    c.peak_bytes = c.variable_bytes + p->slab_bytes;
    p->cost = c;
}

/* ---- verifying ---- */

static bool bad(const program *p, int index, const char *pass, const char *what)
{
    return fail(&p->session->fault, ERR_INTERNAL, "after %s, instruction %d (%s for \"%s\"): %s",
                pass, index, instr_name(p->instrs[index].kind),
                mtf_name_of_tensor(p->instrs[index].cause), what);
}

/* The outermost elements that an operand accesses must lie inside its buffer. */
static bool inside(const program *p, const instr *i, const access *a, int64_t extra_low,
                   int64_t extra_high)
{
    int64_t low = a->offset + extra_low, high = a->offset + extra_high;
    for (int d = 0; d < i->nloops; d++) {
        int64_t reach = a->stride[d] * (i->size[d] - 1);
        if (reach < 0)
            low += reach;
        else
            high += reach;
    }
    return low >= 0 &&
           (high + 1) * (int64_t)mtf_dtype_bytes(a->type) <= p->buffers[a->buffer].bytes;
}

/* How far a kernel steps by itself beyond the loops. */
static int64_t own_reach(const instr *i, int operand)
{
    switch (i->kind) {
    case INSTR_GROUPED:
        return (grouped_along(i, operand).size - 1) * grouped_along(i, operand).stride;
    case INSTR_GATHER: return operand == 1 ? (i->gather.along - 1) * i->gather.along_stride : 0;
    case INSTR_SCATTER: return operand == 0 ? (i->gather.along - 1) * i->gather.along_stride : 0;
    case INSTR_SCAN:
        return (i->scan.along - 1) * (operand == 0 ? i->scan.out_stride : i->scan.in_stride);
    case INSTR_ORDER:
        return operand == 0   ? (i->order.k - 1) * i->order.value_stride
               : operand == 1 ? (i->order.k - 1) * i->order.index_stride
                              : (i->order.along - 1) * i->order.in_stride;
    case INSTR_NUCLEUS:
        return operand == 1   ? (i->nucleus.along - 1) * i->nucleus.score_stride
               : operand == 2 ? (i->nucleus.along - 1) * i->nucleus.logit_stride
                              : 0;
    case INSTR_ATTENTION:
    case INSTR_ATTENTION_GRAD: return attention_reach(i, operand);
    default: return 0;
    }
}

/* A table whose part on this processor is empty is never read: every index is out of range.  The
 * same holds for an empty memory. */
static bool is_untouched(const instr *i, int operand)
{
    if (i->kind == INSTR_ATTENTION || i->kind == INSTR_ATTENTION_GRAD)
        return i->attention->memory == 0 && attention_lies_along(i, operand);
    if (i->kind == INSTR_GATHER) return operand == 1 && i->gather.along == 0;
    return i->kind == INSTR_SCATTER && operand == 0 && i->gather.along == 0;
}

static bool verify_map(const program *p, const instr *i, int index, const char *pass)
{
    if (i->nin + i->map.nsteps > MAX_REGISTERS)
        return bad(p, index, pass, "more registers than there are");
    for (int s = 0; s < i->map.nsteps; s++) {
        const scalar_step *step = &i->map.steps[s];
        int                known = i->nin + s, arity = scalar_infos[step->fn].arity;
        if ((arity > 0 && step->a >= known) || (arity > 1 && step->b >= known) ||
            (arity > 2 && step->c >= known))
            return bad(p, index, pass, "a step reads a register that is not written yet");
        if (map_folds(step->fn) && (i->map.nrow < 1 || i->map.nrow > i->nloops))
            return bad(p, index, pass, "a step folds along no row");
        if (step->fn == FN_INDEX && (step->a < 0 || step->a >= i->nloops))
            return bad(p, index, pass, "a step counts along a loop that is not there");
    }
    for (int o = 0; o < i->nout; o++) {
        if (i->map.results[o] < 0 || i->map.results[o] >= i->nin + i->map.nsteps)
            return bad(p, index, pass, "an output stores a register that is not written");
        for (int d = 0; map_sums(i, o) && d < i->nloops; d++)
            if (i->size[d] > 1 && (i->out[o].stride[d] != 0) != (d >= i->nloops - i->map.nrow))
                return bad(p, index, pass, "a sum of columns is not along the rows");
    }
    return true;
}

static bool lies_as(const instr *i, const access *a, const access *b)
{
    bool same = a->type == b->type;
    for (int d = 0; d < i->nloops; d++)
        same = same && (i->size[d] == 1 || a->stride[d] == b->stride[d]);
    return same;
}

static bool verify_contract(const program *p, const instr *i, int index, const char *pass)
{
    const contract_args *c = &i->contract;
    const int            in[] = {c->add, c->bias, c->at}, out[] = {c->kept, c->total};
    int                  nin = 2, nout = 1;
    for (int k = 0; k < 3; k++) nin += in[k] > 0;
    for (int k = 0; k < 2; k++) nout += out[k] > 0;
    if (i->nloops < 3 || nin != i->nin || nout != i->nout)
        return bad(p, index, pass, "a product with operands that nothing reads or writes");
    for (int k = 0; k < 3; k++)
        if (in[k] && (in[k] < 2 || in[k] >= nin)) return bad(p, index, pass, "no such operand");
    for (int k = 0; k < 2; k++)
        if (out[k] >= nout) return bad(p, index, pass, "no such result");
    if ((c->add && !lies_as(i, &i->in[c->add], &i->out[0])) ||
        (c->at && !lies_as(i, &i->in[c->at], &i->out[0])) ||
        (c->kept && !lies_as(i, &i->out[c->kept], &i->out[0])))
        return bad(p, index, pass, "an operand of an epilogue lies otherwise than the result");
    return true;
}

bool program_verify(const program *p, const char *pass)
{
    if (!mtf_ok(p->session)) return false;
    int depth = 0;
    for (int k = 0; k < p->ninstrs; k++) {
        const instr *i = &p->instrs[k];
        bool         works = instr_elements(i) > 0;
        for (int d = 0; d < i->nloops; d++)
            if (i->size[d] < 0) return bad(p, k, pass, "a loop of negative length");
        for (int o = 0; o < i->nout + i->nin; o++) {
            const access *a = o < i->nout ? &i->out[o] : &i->in[o - i->nout];
            int64_t       reach = own_reach(i, o);
            if (a->buffer < 0 || a->buffer >= p->nbuffers)
                return bad(p, k, pass, "an operand in no buffer");
            bool elsewhere = i->kind == INSTR_EXCHANGE && o >= i->nout; /* others read it */
            if (works && !elsewhere && !is_untouched(i, o) &&
                !inside(p, i, a, reach < 0 ? reach : 0, reach > 0 ? reach : 0))
                return bad(p, k, pass, "an operand reaches beyond its buffer");
            if (o < i->nout && p->buffers[a->buffer].kind == BUFFER_CONSTANT)
                return bad(p, k, pass, "writes into a constant");
        }
        if (i->kind == INSTR_MAP) TRY(verify_map(p, i, k, pass));
        if (i->kind == INSTR_CONTRACT) TRY(verify_contract(p, i, k, pass));
        if (i->kind == INSTR_LOOP) depth++;
        if (i->kind == INSTR_AGAIN) depth--;
        if (depth > MAX_NESTING) return bad(p, k, pass, "loops nested too deep");
        if (i->kind == INSTR_LOOP && (i->loop.other <= k || i->loop.other >= p->ninstrs))
            return bad(p, k, pass, "a loop without an end");
        if (depth < 0) return bad(p, k, pass, "an end without a loop");
    }
    return depth == 0 || bad(p, p->ninstrs - 1, pass, "a loop is left open");
}

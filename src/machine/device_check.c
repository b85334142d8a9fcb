/* A device that catches mistakes: poison, guards, the first NaN.
 *
 * It runs another device's kernels.  Fresh buffers are filled with a pattern
 * that no kernel computes, so reads of unwritten memory are found; guard bytes
 * between buffers must not change; the first instruction that makes a NaN from
 * operands without one stops the run.
 *
 * The pattern is a NaN with certain bits, so inputs, variables, constants and
 * data from other processors may contain it too.  Once a NaN has come from one
 * of these, the pattern is no longer reported in this step.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/dtype.h"
#include "graph/node.h"
#include "machine/check_context.h"
#include "machine/check_guard.h"
#include "machine/check_positions.h"
#include "machine/device_check.h"

/* ---- looking at elements ---- */

typedef enum finding { CLEAN, HAS_INFINITY, HAS_NAN, HAS_POISON } finding;

static finding look_at(mtf_dtype type, const char *element)
{
    static const unsigned char all_ones[8] = {255, 255, 255, 255, 255, 255, 255, 255};
    if (!dtype_is_float(type)) return CLEAN;
    if (memcmp(element, all_ones, mtf_dtype_bytes(type)) == 0) return HAS_POISON;
    double x = dtype_load(type, element, 0);
    return isnan(x) ? HAS_NAN : isinf(x) ? HAS_INFINITY : CLEAN;
}

/* The worst finding among the elements of an operand that the instruction's loops reach. */
static finding look(device_context *c, const program *p, const instr *i, const access *a,
                    const run_state *r)
{
    if (!dtype_is_float(a->type) || p->buffers[a->buffer].bytes == 0) return CLEAN;
    int64_t     at[MAX_LOOPS] = {0}, bytes = (int64_t)mtf_dtype_bytes(a->type);
    finding     worst = CLEAN;
    const char *base = check_view_buffer(c, p, a->buffer, r);
    if (!base) return CLEAN;
    for (;;) {
        int64_t where = a->offset;
        for (int d = 0; d < i->nloops; d++) where += at[d] * a->stride[d];
        finding f = look_at(a->type, base + where * bytes);
        if (f > worst) worst = f;
        int d = i->nloops - 1;
        while (d >= 0 && (a->stride[d] == 0 || ++at[d] == i->size[d])) at[d--] = 0;
        if (d < 0) return worst;
    }
}

/* The worst finding among all elements of a buffer, interpreted as this type. */
static finding look_at_buffer(device_context *c, const program *p, int b, mtf_dtype type,
                              const run_state *r)
{
    finding     worst = CLEAN;
    int64_t     bytes = (int64_t)mtf_dtype_bytes(type);
    const char *base = dtype_is_float(type) ? check_view_buffer(c, p, b, r) : NULL;
    if (!base) return CLEAN;
    for (int64_t at = 0; at + bytes <= p->buffers[b].bytes; at += bytes) {
        finding f = look_at(type, base + at);
        if (f > worst) worst = f;
    }
    return worst;
}

/* Inputs and variables may hold an infinity or a NaN before the step begins. */
static void look_at_ports(device_context *c, int n, const port *ports, const program *p,
                          const run_state *r)
{
    for (int i = 0; i < n; i++) {
        finding f = look_at_buffer(c, p, ports[i].slice.buffer, ports[i].slice.type, r);
        if (f >= HAS_NAN) checking(c)->nan_given = true;
        if (f == HAS_INFINITY && !checking(c)->infinite) checking(c)->infinite = ports[i].tensor;
    }
}

/* Does the buffer's content come from the user or from another processor? */
static bool is_from_outside(const program *p, int b)
{
    buffer_kind kind = p->buffers[b].kind;
    if (kind != BUFFER_TEMPORARY && kind != BUFFER_FETCH) return true;
    for (int k = 0; k < p->ninstrs; k++)
        for (int o = 0; instr_is_collective(&p->instrs[k]) && o < p->instrs[k].nout; o++)
            if (p->instrs[k].out[o].buffer == b) return true;
    return false;
}

/* Do integer inputs hold positions that exist? */
static bool positions_exist(device_context *c, const program *p, const run_state *r)
{
    for (int i = 0; i < p->ninputs; i++) {
        const port *input = &p->inputs[i];
        if (!input->tensor->counts.name) continue;
        const char *data = check_view_buffer(c, p, input->slice.buffer, r);
        TRY(data && check_positions(input, data, &c->device->session->fault));
    }
    return true;
}

static bool check_begin(device_context *c, const program *p, run_state *r)
{
    for (int b = 0; b < p->nbuffers; b++) {
        const buffer *x = &p->buffers[b];
        if (x->kind == BUFFER_TEMPORARY && x->first >= 0 && x->shares == b)
            check_fill(c, r->base[b], POISON, (size_t)x->bytes);
    }
    checking(c)->infinite = NULL;
    checking(c)->nan_given = false;
    look_at_ports(c, p->ninputs, p->inputs, p, r);
    look_at_ports(c, p->nvariables, p->variables, p, r);
    /* Not when a training step is replayed, which only searches for the first NaN. */
    if (checking(c)->owned) TRY(positions_exist(c, p, r));
    return under(c)->begin(inside(c), p, r);
}

/* ---- running ---- */

/* Is this the instruction with which the live range of its o-th output begins? */
static bool is_born(const program *p, int index, int o)
{
    int           b = p->instrs[index].out[o].buffer;
    const buffer *x = &p->buffers[b];
    return x->first == index && x->shares == b && x->kind != BUFFER_VARIABLE;
}

static bool guards_hold(device_context *c, const program *p, int index, const run_state *r)
{
    const instr *i = &p->instrs[index];
    for (int o = 0; o < i->nout; o++) {
        const buffer *x = &p->buffers[i->out[o].buffer];
        if (!is_born(p, index, o)) continue;
        const unsigned char *end = (const unsigned char *)check_view(
            c, (const char *)r->base[i->out[o].buffer] + x->bytes, CHECK_GUARD);
        for (int k = 0; end && k < CHECK_GUARD; k++)
            if (end[k] != GUARD) return false;
    }
    return true;
}

static const char *who(const instr *i)
{
    return mtf_name_of_tensor(i->cause);
}

/* The worst finding of an operand; records that a NaN came from outside, whatever its bits are. */
static finding look_at_operand(device_context *c, const program *p, const instr *i, const access *a,
                               const run_state *r)
{
    check_context *x = checking(c);
    finding        f = look(c, p, i, a, r);
    if (f == HAS_NAN || (f == HAS_POISON && !x->nan_given && is_from_outside(p, a->buffer)))
        x->nan_given = true;
    return f == HAS_POISON && x->nan_given ? HAS_NAN : f;
}

/* Gathering kernels read beyond their loops: is there a NaN anywhere in their operands? */
static bool may_have_read_nan(device_context *c, const program *p, const instr *i,
                              const run_state *r)
{
    for (int k = 0; k < i->nin; k++) {
        int  b = i->in[k].buffer;
        bool overwritten = false;
        for (int o = 0; o < i->nout; o++)
            overwritten = overwritten || r->base[b] == r->base[i->out[o].buffer];
        if (overwritten) continue;
        finding f = look_at_buffer(c, p, b, i->in[k].type, r);
        if (f == HAS_NAN || (f == HAS_POISON && is_from_outside(p, b))) return true;
    }
    return false;
}

/* An infinity is no error, since masks contain it; but a NaN often results from one. */
static bool first_nan(device_context *c, const program *p, int index, const run_state *r)
{
    const mtf_tensor *infinite = checking(c)->infinite;
    const instr      *i = &p->instrs[index];
    char              place[PLACE_TEXT], before[PLACE_TEXT + 250] = "";
    if (infinite) {
        const char *kind = infinite->node->op->name;
        const char *known = strcmp(kind, "input") == 0      ? "the input "
                            : strcmp(kind, "variable") == 0 ? "the variable "
                                                            : "";
        snprintf(before, sizeof before, "; %s\"%.150s\"%s %s", known, mtf_name_of_tensor(infinite),
                 tensor_place(infinite, place),
                 *known ? "holds an infinity" : "had become infinite before");
    }
    return fail(&c->device->session->fault, ERR_VALUE,
                "instruction %d (%s) made the first NaN, in \"%s\"%s, in step %lld%s", index,
                instr_name(i->kind), who(i), tensor_place(i->cause, place), (long long)r->step + 1,
                before);
}

/* Checks what the instruction has written. */
static bool check_outputs(device_context *c, const program *p, int index, finding before,
                          const run_state *r)
{
    check_context *x = checking(c);
    const instr   *i = &p->instrs[index];
    for (int o = 0; o < i->nout && before < HAS_NAN; o++) {
        finding seen = look(c, p, i, &i->out[o], r);
        if (seen >= HAS_NAN && !may_have_read_nan(c, p, i, r)) return first_nan(c, p, index, r);
        if (seen >= HAS_NAN) x->nan_given = true;
        if (seen == HAS_INFINITY && before == CLEAN && i->nin && !x->infinite)
            x->infinite = i->cause;
    }
    return true;
}

/* Kernels may access more than their loops; checking within the loops is enough to find a NaN. */
static bool check_run(device_context *c, const program *p, int index, run_state *r)
{
    const instr *i = &p->instrs[index];
    fault       *f = &c->device->session->fault;
    for (int o = 0; o < i->nout; o++) {
        const buffer *x = &p->buffers[i->out[o].buffer];
        if (is_born(p, index, o)) {
            check_fill(c, r->base[i->out[o].buffer], POISON, (size_t)x->bytes);
            check_fill(c, (char *)r->base[i->out[o].buffer] + x->bytes, GUARD, CHECK_GUARD);
        }
    }
    finding before = CLEAN;
    for (int o = 0; o < i->nin; o++) {
        finding seen = look_at_operand(c, p, i, &i->in[o], r);
        if (seen > before) before = seen;
    }
    if (before == HAS_POISON)
        return fail(f, ERR_INTERNAL,
                    "instruction %d (%s for \"%s\") reads memory that nothing has written", index,
                    instr_name(i->kind), who(i));
    TRY(under(c)->run(inside(c), p, index, r));
    if (!guards_hold(c, p, index, r))
        return fail(f, ERR_INTERNAL, "instruction %d (%s for \"%s\") wrote beyond its buffer",
                    index, instr_name(i->kind), who(i));
    return check_outputs(c, p, index, before, r);
}

static bool check_end(device_context *c, const program *p, run_state *r)
{
    return under(c)->end(inside(c), p, r);
}

const mtf_tensor *device_check_infinite(const device_context *c)
{
    return ((const check_context *)c)->infinite;
}

bool device_is_checked(const mtf_session *s)
{
    return strncmp(s->opts.device, "check", 5) == 0;
}

device_context *device_check_over(device *check, device_context *inner)
{
    return check_wrap(check, inner, false);
}

device *device_check_open(mtf_session *s, device *inner)
{
    check_device *c = block_alloc(&s->allocator, &s->fault, sizeof *c, true);
    if (!c) return NULL;
    check_forward(c, inner);
    c->face.name = "check";
    c->face.says =
        "finds reads of unwritten memory, stray writes, the first NaN, labels that are not classes";
    c->face.begin = check_begin;
    c->face.run = check_run;
    c->face.end = check_end;
    device_complete(&c->face);
    return &c->face;
}

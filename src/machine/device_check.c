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
#include "machine/check_guard.h"
#include "machine/check_positions.h"
#include "machine/device.h"

enum { POISON = 0xff, GUARD = 0xa5 };

typedef struct check_device {
    device  face;
    device *inner;
} check_device;

static device *inner_of(device *d)
{
    return ((check_device *)d)->inner;
}

static void *check_alloc(device *d, size_t bytes)
{
    void *p = inner_of(d)->alloc(inner_of(d), bytes);
    return p ? memset(p, GUARD, bytes) : NULL;
}

static void check_release(device *d, void *memory, size_t bytes)
{
    if (memory) memset(memory, POISON, bytes);
    inner_of(d)->release(inner_of(d), memory, bytes);
}

static size_t check_taken(device *d, const void *memory)
{
    return inner_of(d)->taken(inner_of(d), memory);
}

static void check_write(device *d, void *to, const void *from, size_t bytes)
{
    inner_of(d)->write(inner_of(d), to, from, bytes);
}

static void check_read(device *d, void *to, const void *from, size_t bytes)
{
    inner_of(d)->read(inner_of(d), to, from, bytes);
}

static size_t check_scratch(device *d, const program *p, int threads)
{
    return inner_of(d)->scratch_bytes(inner_of(d), p, threads);
}

static void check_enter(device *d)
{
    if (inner_of(d)->enter) inner_of(d)->enter(inner_of(d));
}

static void check_leave(device *d)
{
    if (inner_of(d)->leave) inner_of(d)->leave(inner_of(d));
}

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
static finding look(const program *p, const instr *i, const access *a, const run_state *r)
{
    if (!dtype_is_float(a->type) || p->buffers[a->buffer].bytes == 0) return CLEAN;
    int64_t at[MAX_LOOPS] = {0}, bytes = (int64_t)mtf_dtype_bytes(a->type);
    finding worst = CLEAN;
    for (;;) {
        int64_t where = a->offset;
        for (int d = 0; d < i->nloops; d++) where += at[d] * a->stride[d];
        finding f = look_at(a->type, (const char *)r->base[a->buffer] + where * bytes);
        if (f > worst) worst = f;
        int d = i->nloops - 1;
        while (d >= 0 && (a->stride[d] == 0 || ++at[d] == i->size[d])) at[d--] = 0;
        if (d < 0) return worst;
    }
}

/* The worst finding among all elements of a buffer, interpreted as this type. */
static finding look_at_buffer(const program *p, int b, mtf_dtype type, const run_state *r)
{
    finding worst = CLEAN;
    int64_t bytes = (int64_t)mtf_dtype_bytes(type);
    if (!dtype_is_float(type)) return CLEAN;
    for (int64_t at = 0; at + bytes <= p->buffers[b].bytes; at += bytes) {
        finding f = look_at(type, (const char *)r->base[b] + at);
        if (f > worst) worst = f;
    }
    return worst;
}

/* Inputs and variables may hold an infinity or a NaN before the step begins. */
static void look_at_ports(int n, const port *ports, const program *p, run_state *r)
{
    for (int i = 0; i < n; i++) {
        finding f = look_at_buffer(p, ports[i].slice.buffer, ports[i].slice.type, r);
        if (f >= HAS_NAN) r->nan_given = true;
        if (f == HAS_INFINITY && !r->infinite) r->infinite = ports[i].tensor;
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

static bool check_begin(device *d, const program *p, run_state *r)
{
    for (int b = 0; b < p->nbuffers; b++) {
        const buffer *x = &p->buffers[b];
        if (x->kind == BUFFER_TEMPORARY && x->first >= 0 && x->shares == b)
            memset(r->base[b], POISON, (size_t)x->bytes);
    }
    r->infinite = NULL;
    r->nan_given = false;
    look_at_ports(p->ninputs, p->inputs, p, r);
    look_at_ports(p->nvariables, p->variables, p, r);
    /* Not when a training step is replayed to find its first NaN: positions are not the question
     * then. */
    if (strcmp(d->session->opts.device, "check") == 0)
        TRY(check_positions(p, r, &d->session->fault));
    return inner_of(d)->begin(inner_of(d), p, r);
}

/* ---- running ---- */

/* Is this the instruction with which the live range of its o-th output begins? */
static bool is_born(const program *p, int index, int o)
{
    int           b = p->instrs[index].out[o].buffer;
    const buffer *x = &p->buffers[b];
    return x->first == index && x->shares == b && x->kind != BUFFER_VARIABLE;
}

static bool guards_hold(const program *p, int index, const run_state *r)
{
    const instr *i = &p->instrs[index];
    for (int o = 0; o < i->nout; o++) {
        const buffer *x = &p->buffers[i->out[o].buffer];
        if (!is_born(p, index, o)) continue;
        const unsigned char *end = (const unsigned char *)r->base[i->out[o].buffer] + x->bytes;
        for (int k = 0; k < CHECK_GUARD; k++)
            if (end[k] != GUARD) return false;
    }
    return true;
}

static const char *who(const instr *i)
{
    return mtf_name_of_tensor(i->cause);
}

/* The worst finding of an operand; records that a NaN came from outside, whatever its bits are. */
static finding look_at_operand(const program *p, const instr *i, const access *a, run_state *r)
{
    finding f = look(p, i, a, r);
    if (f == HAS_NAN || (f == HAS_POISON && !r->nan_given && is_from_outside(p, a->buffer)))
        r->nan_given = true;
    return f == HAS_POISON && r->nan_given ? HAS_NAN : f;
}

/* Gathering kernels read beyond the instruction's loops: is there a NaN anywhere in their
 * operands? */
static bool may_have_read_nan(const program *p, const instr *i, const run_state *r)
{
    for (int k = 0; k < i->nin; k++) {
        int  b = i->in[k].buffer;
        bool overwritten = false;
        for (int o = 0; o < i->nout; o++)
            overwritten = overwritten || r->base[b] == r->base[i->out[o].buffer];
        if (overwritten) continue;
        finding f = look_at_buffer(p, b, i->in[k].type, r);
        if (f == HAS_NAN || (f == HAS_POISON && is_from_outside(p, b))) return true;
    }
    return false;
}

/* An infinity is no error, since masks contain it; but a NaN often results from one. */
static bool first_nan(fault *f, const program *p, int index, const run_state *r)
{
    const instr *i = &p->instrs[index];
    char         place[PLACE_TEXT], before[PLACE_TEXT + 250] = "";
    if (r->infinite) {
        const char *kind = r->infinite->node->op->name;
        const char *known = strcmp(kind, "input") == 0      ? "the input "
                            : strcmp(kind, "variable") == 0 ? "the variable "
                                                            : "";
        snprintf(before, sizeof before, "; %s\"%.150s\"%s %s", known,
                 mtf_name_of_tensor(r->infinite), tensor_place(r->infinite, place),
                 *known ? "holds an infinity" : "had become infinite before");
    }
    return fail(f, ERR_VALUE, "instruction %d (%s) made the first NaN, in \"%s\"%s, in step %lld%s",
                index, instr_name(i->kind), who(i), tensor_place(i->cause, place),
                (long long)r->step + 1, before);
}

/* Checks what the instruction has written. */
static bool check_outputs(fault *f, const program *p, int index, finding before, run_state *r)
{
    const instr *i = &p->instrs[index];
    for (int o = 0; o < i->nout && before < HAS_NAN; o++) {
        finding seen = look(p, i, &i->out[o], r);
        if (seen >= HAS_NAN && !may_have_read_nan(p, i, r)) return first_nan(f, p, index, r);
        if (seen >= HAS_NAN) r->nan_given = true;
        if (seen == HAS_INFINITY && before == CLEAN && i->nin && !r->infinite)
            r->infinite = i->cause;
    }
    return true;
}

/* For kernels that access memory beyond their loops, only the elements within the loops are
 * checked, which is enough to find a NaN. */
static bool check_run(device *d, const program *p, int index, run_state *r)
{
    const instr *i = &p->instrs[index];
    fault       *f = &d->session->fault;
    for (int o = 0; o < i->nout; o++) {
        const buffer *x = &p->buffers[i->out[o].buffer];
        if (is_born(p, index, o)) {
            memset(r->base[i->out[o].buffer], POISON, (size_t)x->bytes);
            memset((char *)r->base[i->out[o].buffer] + x->bytes, GUARD, CHECK_GUARD);
        }
    }
    finding before = CLEAN;
    for (int o = 0; o < i->nin; o++) {
        finding seen = look_at_operand(p, i, &i->in[o], r);
        if (seen > before) before = seen;
    }
    if (before == HAS_POISON)
        return fail(f, ERR_INTERNAL,
                    "instruction %d (%s for \"%s\") reads memory that nothing has written", index,
                    instr_name(i->kind), who(i));
    TRY(inner_of(d)->run(inner_of(d), p, index, r));
    if (!guards_hold(p, index, r))
        return fail(f, ERR_INTERNAL, "instruction %d (%s for \"%s\") wrote beyond its buffer",
                    index, instr_name(i->kind), who(i));
    return check_outputs(f, p, index, before, r);
}

static bool check_end(device *d, const program *p, run_state *r)
{
    return inner_of(d)->end(inner_of(d), p, r);
}

static void check_close(device *d)
{
    inner_of(d)->close(inner_of(d));
    block_free(&d->session->allocator, d);
}

device *device_check_open(mtf_session *s, device *inner)
{
    check_device *c = block_alloc(&s->allocator, &s->fault, sizeof *c, true);
    if (!c) return NULL;
    c->inner = inner;
    c->face = (device){.name = "check",
                       .says = "finds reads of unwritten memory, stray writes, the first NaN, labels that are not classes",
                       .alloc = check_alloc,
                       .release = check_release,
                       .taken = check_taken,
                       .write = check_write,
                       .read = check_read,
                       .enter = check_enter,
                       .leave = check_leave,
                       .begin = check_begin,
                       .run = check_run,
                       .end = check_end,
                       .scratch_bytes = check_scratch,
                       .close = check_close,
                       .session = s};
    return &c->face;
}

/* Maps of the exact device, strip by strip. */
#include <string.h>

#include "program/map_form.h"
#include "program/scalar.h"
#include "verify/exact.h"

/* Registers of up to AT_HAND cells lie on the stack, where they stay in caches from one lane to the next. */
enum { STRIP = 256, AT_HAND = 4096 };

/* Elements first .. first + count-1 of the loops, each register a row of `count` cells. */
typedef struct strip {
    const instr *instr;
    int64_t      first, count;
    cell        *registers;
} strip;

static cell *row_of(const strip *s, int reg)
{
    return s->registers + (int64_t)reg * s->count;
}

/* The first of the last loops which together go through an operand in equal steps; `run`: their iterations. */
static int even_from(const instr *i, const operand_view *v, int64_t *run)
{
    int d = i->nloops;
    *run = 1;
    while (d > 0 && (d == i->nloops || v->stride[d - 1] == v->stride[d] * i->size[d]))
        *run *= i->size[--d];
    return d;
}

/* Moves the strip between an operand and a register, in runs that are as long as can be. */
static void transfer(const strip *s, const operand_view *v, cell *reg, bool in)
{
    int64_t    row, run, stride = s->instr->nloops ? v->stride[s->instr->nloops - 1] : 0;
    int        outer = even_from(s->instr, v, &row);
    int64_t    begin = s->first % row;
    iterations t = iterations_at(s->instr, outer, s->first / row, v);
    for (int64_t k = 0; k < s->count; k += run, begin = 0, iterations_next(&t)) {
        cell *at = v->at + t.at[0] + begin * stride;
        run = row - begin < s->count - k ? row - begin : s->count - k;
        if (in)
            for (int64_t e = 0; e < run; e++) reg[k + e] = at[e * stride];
        else
            for (int64_t e = 0; e < run; e++) at[e * stride] = reg[k + e];
    }
}

/* Adds the strip to the sums of columns; the first row begins them. */
static void add_up(const exact *x, const strip *s, const operand_view *v, mtf_dtype type,
                   const cell *reg)
{
    iterations t = iterations_at(s->instr, s->instr->nloops, s->first, v);
    int64_t    row = map_row(s->instr);
    for (int64_t k = 0; k < s->count; k++, iterations_next(&t)) {
        cell *to = &v->at[t.at[0]];
        *to = s->first + k < row ? reg[k] : exact_combine(x, FOLD_SUM, type, *to, reg[k]);
    }
}

static void count_along(const exact *x, const strip *s, const scalar_step *step, cell *to)
{
    iterations t = iterations_at(s->instr, s->instr->nloops, s->first, NULL);
    int64_t    first = exact_is_real(step->type) ? (int64_t)step->value.real : step->value.whole;
    for (int64_t k = 0; k < s->count; k++, iterations_next(&t)) {
        int64_t at = t.index[step->a] + first;
        to[k] = exact_cast(x, step->type, MTF_I64, (uint64_t)at);
    }
}

/* The strip is one row. */
static void fold_row(const exact *x, const strip *s, const scalar_step *step, cell *to)
{
    const cell *from = row_of(s, step->a);
    fold_kind   kind = step->fn == FN_ROW_SUM   ? FOLD_SUM
                       : step->fn == FN_ROW_MAX ? FOLD_MAX
                                                : FOLD_MIN;
    cell        total = from[0];
    for (int64_t k = 1; k < s->count; k++)
        total = exact_combine(x, kind, step->type, total, from[k]);
    for (int64_t k = 0; k < s->count; k++) to[k] = total;
}

/* Neighbours are often divided by the same number. */
static void divide_row(const exact *x, int64_t n, const cell *a, const cell *b, cell *to)
{
    cell inverse = n ? exact_inverse(x, b[0]) : 0;
    for (int64_t k = 0; k < n; k++) {
        if (k && b[k] != b[k - 1]) inverse = exact_inverse(x, b[k]);
        to[k] = field_mul(a[k], inverse);
    }
}

static void run_function(const exact *x, int64_t n, const scalar_step *step, const cell *a,
                         const cell *b, cell *to)
{
    int fn = exact_is_real(step->type) ? (int)step->fn : SCALAR_FNS; /* integers one by one */
    switch (fn) {
    case FN_add:
        for (int64_t k = 0; k < n; k++) to[k] = field_add(a[k], b[k]);
        break;
    case FN_multiply:
        for (int64_t k = 0; k < n; k++) to[k] = field_mul(a[k], b[k]);
        break;
    case FN_divide: divide_row(x, n, a, b, to); break;
    default:
        for (int64_t k = 0; k < n; k++) to[k] = exact_scalar(x, step->fn, step->type, a[k], b[k]);
    }
}

static void run_step(const exact *x, const strip *s, const scalar_step *step, cell *to)
{
    const cell *a = row_of(s, step->a), *b = row_of(s, step->b), *c = row_of(s, step->c);
    cell        one;
    switch (step->fn) {
    case FN_IMMEDIATE:
        one = exact_constant(step->type, step->value);
        for (int64_t k = 0; k < s->count; k++) to[k] = one;
        break;
    case FN_INDEX: count_along(x, s, step, to); break;
    case FN_CAST:
        if (exact_is_real(step->type) && exact_is_real(step->from)) { /* changes nothing */
            memcpy(to, a, sizeof *to * (size_t)s->count);
            break;
        }
        for (int64_t k = 0; k < s->count; k++) to[k] = exact_cast(x, step->type, step->from, a[k]);
        break;
    case FN_SELECT:
        for (int64_t k = 0; k < s->count; k++) to[k] = a[k] ? b[k] : c[k];
        break;
    case FN_ROW_SUM:
    case FN_ROW_MAX:
    case FN_ROW_MIN: fold_row(x, s, step, to); break;
    default:
        if (scalar_infos[step->fn].arity < 2) b = a;
        run_function(x, s->count, step, a, b, to);
    }
}

/* A row that is folded is one strip.  A row is never divided: a result of one number per row may
 * overwrite an operand that every element of the row reads. */
static int64_t strip_length(const instr *i)
{
    int64_t row = map_row(i);
    return map_folds_rows(i) || row > STRIP ? row : STRIP / row * row;
}

bool exact_map(exact *x, const instr *i)
{
    int64_t elements = instr_elements(i), length = strip_length(i);
    int     registers = i->nin + i->map.nsteps;
    int64_t cells = registers * (length < elements ? length : elements);
    cell    at_hand[AT_HAND];
    strip   s = {.instr = i};
    s.registers = cells > AT_HAND ? exact_tile(x, (size_t)cells) : at_hand;
    TRY(s.registers != NULL);
    for (; s.first < elements; s.first += s.count) {
        s.count = elements - s.first < length ? elements - s.first : length;
        for (int k = 0; k < i->nin; k++) {
            operand_view in = view_of(x, i, &i->in[k]);
            transfer(&s, &in, row_of(&s, k), true);
        }
        for (int k = 0; k < i->map.nsteps; k++)
            run_step(x, &s, &i->map.steps[k], row_of(&s, i->nin + k));
        for (int k = 0; k < i->nout; k++) {
            operand_view out = view_of(x, i, &i->out[k]);
            cell        *from = row_of(&s, i->map.results[k]);
            if (map_sums(i, k))
                add_up(x, &s, &out, MTF_F32, from);
            else
                transfer(&s, &out, from, false);
        }
    }
    return true;
}

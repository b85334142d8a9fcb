/* How sure one trial is: degrees of a program's results. */
#include "verify/degree.h"

#include <math.h>

#include "base/dtype.h"
#include "program/epilogue.h"
#include "program/map_form.h"

/* A polynomial in the inputs and in the inverses that were taken: its degree, its degree in the
 * inverses alone, and the sum over the hashes that it depends on of their operands' degrees. */
typedef struct bound {
    double degree, inverses, risk;
} bound;

typedef struct degrees {
    const program *program;
    bound         *of;           /* by buffer */
    double         denominators; /* the sum of the degrees of all elements inverted so far */
} degrees;

static bound larger(bound a, bound b)
{
    return (bound){fmax(a.degree, b.degree), fmax(a.inverses, b.inverses), fmax(a.risk, b.risk)};
}

static bound product(bound a, bound b)
{
    return (bound){a.degree + b.degree, a.inverses + b.inverses, fmax(a.risk, b.risk)};
}

/* The degree in the inputs after multiplication by all denominators, to the power in which inverses
 * occur. */
static double degree_of(const degrees *d, bound a)
{
    return a.degree + a.inverses * d->denominators;
}

/* The result of a comparison or a hash is a new variable: it differs only where the operands do. */
static bound fresh(const degrees *d, bound a, double degree)
{
    return (bound){degree, 0, a.risk + degree_of(d, a) + 1};
}

static bound chosen(const degrees *d, bound a)
{
    return (bound){a.degree, a.inverses, a.risk + degree_of(d, a) + 1};
}

/* `elements` different elements are inverted. */
static bound inverse(degrees *d, bound a, double elements)
{
    d->denominators += elements * degree_of(d, a);
    return (bound){1, 1, a.risk};
}

/* ---- maps ---- */

static bound of_real(degrees *d, scalar_fn fn, double elements, bound a, bound b)
{
    switch ((int)fn) {
    case FN_negative: return a;
    case FN_square: return product(a, a);
    case FN_reciprocal: return inverse(d, a, elements);
    case FN_add:
    case FN_sub: return larger(a, b);
    case FN_multiply: return product(a, b);
    case FN_divide: return product(a, inverse(d, b, elements));
    case FN_minimum:
    case FN_maximum: return chosen(d, larger(a, b));
    default: return fresh(d, larger(a, b), 1);
    }
}

static bound of_step(degrees *d, const instr *i, const scalar_step *s, const bound *reg)
{
    int   at[3] = {0}, n = map_operands(s, at);
    bound none = {0}, a = n > 0 ? reg[at[0]] : none, b = n > 1 ? reg[at[1]] : none;
    switch ((int)s->fn) {
    case FN_IMMEDIATE:
    case FN_INDEX: return none;
    case FN_CAST: return dtype_is_float(s->type) ? a : fresh(d, a, 0);
    case FN_SELECT: return larger(larger(a, b), reg[at[2]]);
    case FN_ROW_SUM: return a;
    case FN_ROW_MAX:
    case FN_ROW_MIN: return chosen(d, a);
    default:
        return dtype_is_float(s->type) ? of_real(d, s->fn, (double)instr_elements(i), a, b)
                                       : larger(a, b);
    }
}

static void note(degrees *d, const access *out, bound what)
{
    d->of[out->buffer] = larger(d->of[out->buffer], what);
}

static void note_map(degrees *d, const instr *i)
{
    bound reg[MAX_REGISTERS];
    for (int k = 0; k < i->nin; k++) reg[k] = d->of[i->in[k].buffer];
    for (int k = 0; k < i->map.nsteps; k++) reg[i->nin + k] = of_step(d, i, &i->map.steps[k], reg);
    for (int k = 0; k < i->nout; k++) note(d, &i->out[k], reg[i->map.results[k]]);
}

/* ---- the others ---- */

static bound of_fold(const degrees *d, const instr *i, bound a)
{
    double n = 1;
    for (int k = i->fold.nkept; k < i->nloops; k++) n *= (double)i->size[k];
    switch (i->fold.kind) {
    case FOLD_SUM: return a;
    case FOLD_PROD: return (bound){n * a.degree, n * a.inverses, a.risk};
    case FOLD_MAX:
    case FOLD_MIN: return chosen(d, a);
    default: return fresh(d, a, 0);
    }
}

static bound of_input(const degrees *d, const instr *i, attention_operand which)
{
    int at = i->attention->at[which];
    return at < 0 ? (bound){0} : d->of[i->in[at].buffer];
}

/* Weights are hashes of scores, divided by their sum. */
static void note_attention(degrees *d, const instr *i)
{
    bound  q = of_input(d, i, ATTENTION_Q), k = of_input(d, i, ATTENTION_K);
    bound  v = of_input(d, i, ATTENTION_V), bias = of_input(d, i, ATTENTION_BIAS);
    bound  p = fresh(d, larger(product(q, k), bias), 1);
    double rows = (double)instr_elements(i);
    if (i->kind == INSTR_ATTENTION) {
        bound y = product(p, v);
        note(d, &i->out[0], i->attention->parts ? y : product(y, inverse(d, p, rows)));
        note(d, &i->out[1], p);
        return;
    }
    bound dy = of_input(d, i, ATTENTION_DY), delta = of_input(d, i, ATTENTION_DELTA);
    p = product(p, inverse(d, of_input(d, i, ATTENTION_LSE), rows));
    bound slope = product(p, larger(product(dy, v), delta));
    note(d, &i->out[0], product(slope, k));
    note(d, &i->out[1], product(slope, q));
    note(d, &i->out[2], product(p, dy));
    if (i->nout > 3) note(d, &i->out[3], slope);
}

static void note_instr(degrees *d, const instr *i);

static void note_contract(degrees *d, const instr *i, bound sum)
{
    epilogue_parts parts;
    if (!epilogue_is_any(i)) {
        if (i->contract.add) sum = larger(sum, d->of[i->in[i->contract.add].buffer]);
        note(d, &i->out[0], sum);
        return;
    }
    epilogue_split(i, &parts);
    for (int k = 0; k < parts.n; k++) note_instr(d, &parts.part[k]);
}

static void note_instr(degrees *d, const instr *i)
{
    bound a = i->nin > 0 ? d->of[i->in[0].buffer] : (bound){0};
    bound b = i->nin > 1 ? d->of[i->in[1].buffer] : (bound){0};
    switch (i->kind) {
    case INSTR_MAP: note_map(d, i); break;
    case INSTR_FOLD: note(d, &i->out[0], of_fold(d, i, a)); break;
    case INSTR_CONTRACT: note_contract(d, i, product(a, b)); break;
    case INSTR_WINDOW: note(d, &i->out[0], product(a, b)); break;
    case INSTR_ATTENTION:
    case INSTR_ATTENTION_GRAD: note_attention(d, i); break;
    case INSTR_ATTENTION_JOIN:
        note(d, &i->out[0], product(a, inverse(d, b, (double)instr_elements(i))));
        note(d, &i->out[1], b);
        break;
    case INSTR_ORDER:
        note(d, &i->out[0], chosen(d, a));
        note(d, &i->out[1], fresh(d, a, 0));
        break;
    case INSTR_DRAW: note(d, &i->out[0], (bound){1, 0, a.risk}); break;
    default: /* sums, copies, and elements at indices */
        if (i->nout > 0) note(d, &i->out[0], larger(a, (bound){0, 0, b.risk}));
    }
}

/* ---- the program ---- */

enum { COUNTED_TURNS = 256 };

/* Repeats loops as often as they run, up to COUNTED_TURNS: a degree that still grows is useless. */
static void walk(degrees *d)
{
    const program *p = d->program;
    int64_t        turns[MAX_NESTING];
    int            depth = 0;
    for (int k = 0; k < p->ninstrs; k++) {
        const instr *i = &p->instrs[k];
        if (i->kind == INSTR_LOOP && depth < MAX_NESTING) {
            turns[depth++] = 0;
        } else if (i->kind == INSTR_AGAIN && depth > 0) {
            int64_t trips = p->instrs[i->loop.other].loop.trips;
            if (++turns[depth - 1] < COUNTED_TURNS && (trips < 0 || turns[depth - 1] < trips))
                k = i->loop.other;
            else
                depth--;
        } else {
            note_instr(d, i);
        }
    }
}

double degree_of_program(const program *p, int steps)
{
    arena   scratch = arena_make(p->arena.from, p->arena.fault);
    degrees d = {.program = p, .of = arena_array(&scratch, bound, p->nbuffers + 1)};
    double  most = d.of ? 0 : -1;
    for (int b = 0; d.of && b < p->nbuffers; b++)
        if (p->buffers[b].kind == BUFFER_INPUT || p->buffers[b].kind == BUFFER_VARIABLE)
            d.of[b].degree = 1;
    for (int s = 0; d.of && s < steps; s++) walk(&d);
    for (int b = 0; d.of && b < p->nbuffers; b++)
        if (p->buffers[b].kind == BUFFER_FETCH || p->buffers[b].kind == BUFFER_VARIABLE)
            most = fmax(most, degree_of(&d, d.of[b]) + d.of[b].risk);
    arena_free(&scratch);
    return most;
}

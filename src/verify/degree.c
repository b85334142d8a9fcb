/* How sure one trial is: degrees of what a program computes. */
#include "verify/degree.h"

#include <math.h>

#include "base/dtype.h"
#include "program/map_form.h"

/* A quotient of polynomials: their degrees; and what the hashes that it depends on add up to. */
typedef struct bound {
    double above, below, risk;
} bound;

static bound larger(bound a, bound b)
{
    return (bound){fmax(a.above, b.above), fmax(a.below, b.below), fmax(a.risk, b.risk)};
}

static bound product(bound a, bound b)
{
    return (bound){a.above + b.above, a.below + b.below, fmax(a.risk, b.risk)};
}

static bound sum(bound a, bound b)
{
    return (bound){fmax(a.above + b.below, b.above + a.below), a.below + b.below,
                   fmax(a.risk, b.risk)};
}

/* n such numbers, each with a denominator of its own. */
static bound sum_of(bound a, double n)
{
    return (bound){a.above + (n - 1) * a.below, n * a.below, a.risk};
}

/* What is decided by comparing or hashing is new: a difference must have been seen there. */
static bound fresh(bound a, double degree)
{
    return (bound){degree, 0, a.risk + a.above + a.below + 1};
}

static bound chosen(bound a)
{
    return (bound){a.above, a.below, a.risk + a.above + a.below + 1};
}

/* ---- maps ---- */

static bound of_real(scalar_fn fn, bound a, bound b)
{
    switch ((int)fn) {
    case FN_negative: return a;
    case FN_square: return product(a, a);
    case FN_reciprocal: return (bound){a.below, a.above, a.risk};
    case FN_add:
    case FN_sub: return sum(a, b);
    case FN_multiply: return product(a, b);
    case FN_divide: return product(a, (bound){b.below, b.above, b.risk});
    case FN_minimum:
    case FN_maximum: return chosen(larger(a, b));
    default: return fresh(larger(a, b), 1);
    }
}

static bound of_step(const instr *i, const scalar_step *s, const bound *reg)
{
    int   at[3] = {0}, n = map_operands(s, at);
    bound none = {0}, a = n > 0 ? reg[at[0]] : none, b = n > 1 ? reg[at[1]] : none;
    switch ((int)s->fn) {
    case FN_IMMEDIATE:
    case FN_INDEX: return none;
    case FN_CAST: return dtype_is_float(s->type) ? a : fresh(a, 0);
    case FN_SELECT: return larger(larger(a, b), reg[at[2]]);
    case FN_ROW_SUM: return sum_of(a, (double)map_row(i));
    case FN_ROW_MAX:
    case FN_ROW_MIN: return chosen(a);
    default: return dtype_is_float(s->type) ? of_real(s->fn, a, b) : larger(a, b);
    }
}

static void note(const program *p, bound *of, const access *out, bound what)
{
    (void)p;
    of[out->buffer] = larger(of[out->buffer], what);
}

static void note_map(const program *p, const instr *i, bound *of)
{
    bound reg[MAX_REGISTERS];
    for (int k = 0; k < i->nin; k++) reg[k] = of[i->in[k].buffer];
    for (int k = 0; k < i->map.nsteps; k++)
        reg[i->nin + k] = of_step(i, &i->map.steps[k], reg);
    for (int k = 0; k < i->nout; k++) note(p, of, &i->out[k], reg[i->map.results[k]]);
}

/* ---- the others ---- */

static double count_of(const instr *i, int first)
{
    double n = 1;
    for (int d = first; d < i->nloops; d++) n *= (double)i->size[d];
    return n;
}

static bound of_fold(const instr *i, bound a)
{
    double n = count_of(i, i->fold.nkept);
    switch (i->fold.kind) {
    case FOLD_SUM: return sum_of(a, n);
    case FOLD_PROD: return (bound){n * a.above, n * a.below, a.risk};
    case FOLD_MAX:
    case FOLD_MIN: return chosen(a);
    default: return fresh(a, 0);
    }
}

static double window_terms(const instr *i)
{
    const window_args *w = &i->window;
    double             n = (double)(w->chans * w->outs);
    for (int d = 0; d < w->nspatial; d++) n *= (double)(w->taps[d] * w->out_size[d]);
    return n * (w->kind == WINDOW_FILTER ? count_of(i, 0) : 1);
}

static void note_instr(const program *p, const instr *i, bound *of)
{
    bound a = i->nin > 0 ? of[i->in[0].buffer] : (bound){0};
    bound b = i->nin > 1 ? of[i->in[1].buffer] : (bound){0};
    switch (i->kind) {
    case INSTR_MAP: note_map(p, i, of); break;
    case INSTR_FOLD: note(p, of, &i->out[0], of_fold(i, a)); break;
    case INSTR_ADD_INTO:
    case INSTR_SCATTER:
        note(p, of, &i->out[0], sum(of[i->out[0].buffer], sum_of(larger(a, (bound){0, 0, b.risk}),
                                                                  count_of(i, 0))));
        break;
    case INSTR_CONTRACT:
        note(p, of, &i->out[0], sum_of(product(a, b), count_of(i, i->nloops - 1)));
        break;
    case INSTR_WINDOW: note(p, of, &i->out[0], sum_of(product(a, b), window_terms(i))); break;
    case INSTR_SCAN: note(p, of, &i->out[0], sum_of(a, (double)i->scan.along)); break;
    case INSTR_ORDER:
        note(p, of, &i->out[0], chosen(a));
        note(p, of, &i->out[1], fresh(a, 0));
        break;
    case INSTR_DRAW: note(p, of, &i->out[0], (bound){1, 0, a.risk}); break;
    default:
        if (i->nout > 0) note(p, of, &i->out[0], larger(a, (bound){0, 0, b.risk}));
    }
}

/* ---- the program ---- */

enum { LOCAL_TURNS = 256, DEEPEST = 64 };

/* Loops as often as they turn, within reason: what still grows then is too large to be of use. */
static void walk(const program *p, bound *of)
{
    int64_t turns[DEEPEST];
    int     depth = 0;
    for (int k = 0; k < p->ninstrs; k++) {
        const instr *i = &p->instrs[k];
        if (i->kind == INSTR_LOOP && depth < DEEPEST) {
            turns[depth++] = 0;
        } else if (i->kind == INSTR_AGAIN && depth > 0) {
            int64_t trips = p->instrs[i->loop.other].loop.trips;
            if (++turns[depth - 1] < LOCAL_TURNS && (trips < 0 || turns[depth - 1] < trips))
                k = i->loop.other;
            else
                depth--;
        } else {
            note_instr(p, i, of);
        }
    }
}

double degree_of_program(const program *p, int steps)
{
    arena  scratch = arena_make(p->arena.from, p->arena.fault);
    bound *of = arena_array(&scratch, bound, p->nbuffers + 1), all = {0};
    double degree = -1;
    for (int b = 0; of && b < p->nbuffers; b++)
        if (p->buffers[b].kind == BUFFER_INPUT || p->buffers[b].kind == BUFFER_VARIABLE)
            of[b].above = 1;
    for (int s = 0; of && s < steps; s++) walk(p, of);
    for (int b = 0; of && b < p->nbuffers; b++)
        if (p->buffers[b].kind == BUFFER_FETCH || p->buffers[b].kind == BUFFER_VARIABLE ||
            p->buffers[b].kind == BUFFER_INPUT)
            all = larger(all, of[b]);
    if (of) degree = all.above + all.below + all.risk;
    arena_free(&scratch);
    return degree;
}

/* A map with folds along rows, in passes. */
#include "cuda/write/map_passes.h"

#include "base/dtype.h"
#include "program/scalar.h"

static int larger(int a, int b)
{
    return a > b ? a : b;
}

/* Constants and positions are made again wherever they are needed. */
static bool is_ready(const instr *i, int reg)
{
    if (reg < i->nin) return false;
    scalar_fn fn = i->map.steps[reg - i->nin].fn;
    return fn == FN_IMMEDIATE || fn == FN_INDEX;
}

int map_passes_fold(const instr *i, const map_passes *p, int step)
{
    return map_folds(i->map.steps[step].fn) ? p->depth[i->nin + step] - 1 : -1;
}

/* ---- sums of e^(x - m) ---- */

static const scalar_step *step_of(const instr *i, int reg)
{
    static const scalar_step none = {.fn = FN_IMMEDIATE};
    return reg < i->nin ? &none : &i->map.steps[reg - i->nin];
}

static const scalar_step *difference_of(const instr *i, int sum)
{
    return step_of(i, step_of(i, step_of(i, sum)->a)->a);
}

int map_passes_scaled(const instr *i, int sum)
{
    return difference_of(i, sum)->a;
}

int map_passes_limit(const instr *i, int sum)
{
    return difference_of(i, sum)->b;
}

/* The maximum of x that a register is, or is a limit of; 0: it is neither. */
static int top_of(const instr *i, const map_passes *p, int reg, int x)
{
    const scalar_step *s = step_of(i, reg);
    if (s->fn == FN_ROW_MAX) return s->a == x ? reg : 0;
    if (s->fn != FN_maximum && s->fn != FN_minimum) return 0;
    bool a = p->row[s->a] && p->depth[s->a] == 0, b = p->row[s->b] && p->depth[s->b] == 0;
    return a ? top_of(i, p, s->b, x) : b ? top_of(i, p, s->a, x) : 0;
}

static int find_top(const instr *i, const map_passes *p, int sum)
{
    const scalar_step *s = step_of(i, sum);
    /* Operands of other steps need not be registers. */
    if (s->fn != FN_ROW_SUM || s->type != MTF_F32 || step_of(i, s->a)->fn != FN_exp) return 0;
    const scalar_step *d = difference_of(i, sum);
    return d->fn != FN_sub || p->row[d->a] ? 0 : top_of(i, p, d->b, d->a);
}

/* What a step reads, element by element. */
static int reads_of(const instr *i, const map_passes *p, int step, int reg[3])
{
    if (!p->top[i->nin + step]) return map_operands(&i->map.steps[step], reg);
    reg[0] = map_passes_scaled(i, i->nin + step);
    return 1;
}

/* ---- passes ---- */

static void find_depths(const instr *i, map_passes *p, bool scaled)
{
    map_forms(i, p->row);
    for (int s = 0; s < i->map.nsteps; s++) {
        int reg[3], n = map_operands(&i->map.steps[s], reg), depth = 0, self = i->nin + s;
        for (int k = 0; k < n; k++) depth = larger(depth, p->depth[reg[k]]);
        bool folds = map_folds(i->map.steps[s].fn);
        if (scaled) p->top[self] = find_top(i, p, self);
        p->depth[self] = p->top[self] ? p->depth[p->top[self]] : depth + folds;
        if (folds) p->n = larger(p->n, p->depth[self]);
    }
}

/* Register `reg`, an element each, is needed in a pass. */
static void need(map_passes *p, int reg, int pass)
{
    if (p->row[reg]) return;
    if (pass < p->first[reg]) p->first[reg] = pass;
}

static void find_first(const instr *i, map_passes *p)
{
    int last = p->n - 1, registers = i->nin + i->map.nsteps;
    for (int k = 0; k < registers; k++) p->first[k] = p->n;
    for (int o = 0; o < i->nout; o++)
        if (p->each[o]) need(p, i->map.results[o], last);
    for (int s = i->map.nsteps - 1; s >= 0; s--) {
        int reg[3], n = reads_of(i, p, s, reg), fold = map_passes_fold(i, p, s);
        int pass = fold >= 0 ? fold : p->row[i->nin + s] ? p->n : p->first[i->nin + s];
        for (int k = 0; k < n; k++) need(p, reg[k], pass);
    }
}

static void keep(const instr *i, map_passes *p, int reg, int pass)
{
    if (!p->row[reg] && !is_ready(i, reg) && pass < p->n && pass > p->first[reg])
        p->kept[reg] = true;
}

static void find_kept(const instr *i, map_passes *p)
{
    for (int o = 0; o < i->nout; o++)
        if (p->each[o]) keep(i, p, i->map.results[o], p->n - 1);
    for (int s = 0; s < i->map.nsteps; s++) {
        int reg[3], n = reads_of(i, p, s, reg), fold = map_passes_fold(i, p, s);
        int pass = fold >= 0 ? fold : p->row[i->nin + s] ? p->n : p->first[i->nin + s];
        for (int k = 0; k < n; k++) keep(i, p, reg[k], pass);
    }
}

map_passes map_passes_of(const instr *i, bool scaled)
{
    map_passes p = {0};
    find_depths(i, &p, scaled);
    bool any = false;
    for (int o = 0; o < i->nout; o++) {
        p.each[o] = !map_is_row(i, &i->out[o]) || !p.row[i->map.results[o]];
        any = any || p.each[o];
    }
    if (any) p.n++;
    find_first(i, &p);
    find_kept(i, &p);
    return p;
}

void map_passes_wanted(const instr *i, const map_passes *p, int pass, bool keeps,
                       bool wanted[MAX_REGISTERS])
{
    int registers = i->nin + i->map.nsteps;
    for (int k = 0; k < registers; k++) wanted[k] = false;
    for (int o = 0; o < i->nout; o++)
        if (p->each[o] && pass == p->n - 1) wanted[i->map.results[o]] = true;
    for (int s = i->map.nsteps - 1; s >= 0; s--) {
        int  reg[3], n = reads_of(i, p, s, reg), self = i->nin + s;
        bool there = keeps && p->kept[self] && p->first[self] < pass;
        bool reads = map_folds(i->map.steps[s].fn) ? map_passes_fold(i, p, s) == pass
                                                   : wanted[self] && !p->row[self] && !there;
        for (int k = 0; k < n; k++) wanted[reg[k]] = wanted[reg[k]] || reads;
    }
    for (int k = 0; k < registers; k++)
        if (p->row[k] || (keeps && p->kept[k] && p->first[k] < pass)) wanted[k] = false;
}

static int words_of(const instr *i, int reg)
{
    const scalar_step *s = map_register_step(i, reg);
    mtf_dtype          type = dtype_compute(s ? s->type : i->in[reg].type);
    return s && scalar_infos[s->fn].gives_bool ? 1 : mtf_dtype_bytes(type) > 4 ? 2 : 1;
}

/* The last pass that needs a register. */
static int last_pass(const instr *i, const map_passes *p, int reg)
{
    int last = p->first[reg];
    for (int o = 0; o < i->nout; o++)
        if (p->each[o] && i->map.results[o] == reg) last = p->n - 1;
    for (int s = 0; s < i->map.nsteps; s++) {
        int of[3], n = reads_of(i, p, s, of), fold = map_passes_fold(i, p, s), self = i->nin + s;
        int pass = fold >= 0               ? fold
                   : p->row[self]          ? -1
                   : p->first[self] < p->n ? p->first[self]
                                           : -1;
        for (int k = 0; k < n; k++)
            if (of[k] == reg) last = larger(last, pass);
    }
    return last;
}

int map_passes_kept_words(const instr *i, const map_passes *p)
{
    int most = 0;
    for (int pass = 0; pass + 1 < p->n; pass++) {
        int words = 0;
        for (int k = 0; k < i->nin + i->map.nsteps; k++)
            if (p->kept[k] && p->first[k] <= pass && last_pass(i, p, k) > pass)
                words += words_of(i, k);
        most = larger(most, words);
    }
    return most;
}

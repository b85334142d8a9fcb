/* A map with folds along rows, in passes. */
#include "machine/cuda/map_passes.h"

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
    const scalar_step *s = &i->map.steps[step];
    return map_folds(s->fn) ? p->depth[s->a] : -1;
}

static void find_depths(const instr *i, map_passes *p)
{
    map_forms(i, p->row);
    for (int s = 0; s < i->map.nsteps; s++) {
        int reg[3], n = map_operands(&i->map.steps[s], reg), depth = 0;
        for (int k = 0; k < n; k++) depth = larger(depth, p->depth[reg[k]]);
        bool folds = map_folds(i->map.steps[s].fn);
        p->depth[i->nin + s] = depth + folds;
        if (folds) p->n = larger(p->n, depth + 1);
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
        int reg[3], n = map_operands(&i->map.steps[s], reg), fold = map_passes_fold(i, p, s);
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
        int reg[3], n = map_operands(&i->map.steps[s], reg), fold = map_passes_fold(i, p, s);
        int pass = fold >= 0 ? fold : p->row[i->nin + s] ? p->n : p->first[i->nin + s];
        for (int k = 0; k < n; k++) keep(i, p, reg[k], pass);
    }
}

map_passes map_passes_of(const instr *i)
{
    map_passes p = {0};
    find_depths(i, &p);
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
        int  reg[3], n = map_operands(&i->map.steps[s], reg), self = i->nin + s;
        bool there = keeps && p->kept[self] && p->first[self] < pass;
        bool reads = map_folds(i->map.steps[s].fn) ? map_passes_fold(i, p, s) == pass
                                                   : wanted[self] && !p->row[self] && !there;
        for (int k = 0; k < n; k++) wanted[reg[k]] = wanted[reg[k]] || reads;
    }
    for (int k = 0; k < registers; k++)
        if (p->row[k] || (keeps && p->kept[k] && p->first[k] < pass)) wanted[k] = false;
}

int map_passes_kept_words(const instr *i, const map_passes *p)
{
    int words = 0;
    for (int k = 0; k < i->nin + i->map.nsteps; k++) {
        if (!p->kept[k]) continue;
        const scalar_step *s = k < i->nin ? NULL : &i->map.steps[k - i->nin];
        mtf_dtype          type = dtype_compute(s ? s->type : i->in[k].type);
        words += s && scalar_infos[s->fn].gives_bool ? 1 : mtf_dtype_bytes(type) > 4 ? 2 : 1;
    }
    return words;
}

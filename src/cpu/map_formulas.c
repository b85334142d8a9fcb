/* Finds formulas among the steps of a map. */
#include "cpu/map_formulas.h"

#include "base/dtype.h"

enum { EACH = -1, ONE = -2, KEPT = -3, MOST_TOKENS = 28 };

static const int16_t tokens[FORMULAS][MOST_TOKENS] = {
#define FORMULA(name, nkept, value, ...) [FORMULA_##name] = {__VA_ARGS__},
#include "cpu/formulas.h"
};

typedef struct subject {
    const instr *instr;
    const bool  *fixed, *row;
    int16_t      readers[MAX_REGISTERS]; /* the number of steps that read it */
    int16_t      stores[MAX_REGISTERS];  /* the number of outputs that store it */
} subject;

/* The state of matching a formula. */
typedef struct match {
    const int16_t *next;
    formula_place  place;
    int            nsteps;
    int16_t        steps[MOST_TOKENS]; /* the root first */
} match;

static bool match_operand(const subject *s, int reg, bool one, match *m)
{
    if (s->fixed[reg] != one || (!one && s->row[reg])) return false;
    if (one)
        m->place.one[m->place.none++] = (int16_t)reg;
    else
        m->place.each[m->place.neach++] = (int16_t)reg;
    return true;
}

static bool match_tree(const subject *s, int reg, match *m)
{
    int  token = *m->next++, which = reg - s->instr->nin, operands[3];
    bool kept = token == KEPT;
    if (token == EACH || token == ONE) return match_operand(s, reg, token == ONE, m);
    if (which < 0 || (m->nsteps > 0 && (s->readers[reg] != 1 || (s->stores[reg] > 0) != kept)))
        return false;
    if (kept) {
        m->place.kept[m->place.nkept++] = (int16_t)reg;
        token = *m->next++;
    }
    const scalar_step *step = &s->instr->map.steps[which];
    if ((int)step->fn != token || dtype_compute(step->type) != MTF_F32) return false;
    m->steps[m->nsteps++] = (int16_t)which;
    int   n = map_operands(step, operands);
    match before = *m;
    bool  commutes = token == FN_add || token == FN_multiply;
    if (match_tree(s, operands[0], m) && (n == 1 || match_tree(s, operands[1], m))) return true;
    *m = before;
    return commutes && match_tree(s, operands[1], m) && match_tree(s, operands[0], m);
}

static void add_at(const subject *s, int root, formula_places *f)
{
    for (int name = 0; name < FORMULAS; name++) {
        if ((int)s->instr->map.steps[root].fn != tokens[name][0]) continue;
        match m = {.next = tokens[name], .place = {.name = (formula_name)name, .root = root}};
        if (!match_tree(s, s->instr->nin + root, &m)) continue;
        for (int k = 1; k < m.nsteps; k++) f->root[m.steps[k]] = (int16_t)root;
        f->at[f->n++] = m.place;
        return;
    }
}

formula_places formulas_of(const instr *i, const bool *fixed, const bool *row)
{
    formula_places f = {0};
    subject        s = {.instr = i, .fixed = fixed, .row = row};
    for (int step = 0; step < i->map.nsteps; step++) {
        int reg[3], n = map_operands(&i->map.steps[step], reg);
        f.root[step] = (int16_t)step;
        for (int k = 0; k < n; k++) s.readers[reg[k]]++;
    }
    for (int o = 0; o < i->nout; o++) s.stores[i->map.results[o]]++;
    for (int step = i->map.nsteps - 1; step >= 0 && f.n < MOST_FORMULAS; step--)
        if (!formula_takes(&f, step)) add_at(&s, step, &f);
    return f;
}

const formula_place *formula_at(const formula_places *f, int root)
{
    for (int k = 0; k < f->n; k++)
        if (f->at[k].root == root) return &f->at[k];
    return NULL;
}

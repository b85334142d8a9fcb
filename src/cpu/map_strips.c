/* The steps of a tile, strip by strip.
 *
 * A strip goes through all steps before the next one does, so that the results
 * that steps pass on stay in the L1 cache.
 */
#include "cpu/map_strips.h"

#include "cpu/map_joined.h"

/* A step prepared to run strip by strip: the addresses of its result and operands in the current
 * strip, their distance from element to element, and from row to row for values per row. */
typedef struct call {
    map_step    *step;
    map_step3   *step3;   /* or this */
    map_formula *formula; /* or this, with its constants and more operands */
    float        numbers[FORMULA_ONE];
    char        *at[ROLES];
    int64_t      by[ROLES], by_row[4];
    int          one;         /* the operand that is one value, or -1 */
    int          last;        /* the step whose result it computes */
    bool         joint_begun; /* it computes several steps: */
    map_joint    joint;
} call;

/* ---- preparing ---- */

/* Can the operand remain one value for all elements, or for all elements of a row? */
static bool stays_one(const tile *t, int reg)
{
    const map_registers *m = &t->m->registers;
    return m->fixed[reg] || (m->row[reg] && t->one_by_one);
}

static void set_operand(tile *t, call *c, int k, int reg, bool once, bool one)
{
    bool  by_row = one && !once && t->m->registers.row[reg] && !t->m->registers.fixed[reg];
    place in = once || by_row  ? tile_fetch(t, reg)
               : t->one_by_one ? tile_fetch_lines(t, reg)
                               : tile_fetch_spread(t, reg);
    c->at[k] = in.at;
    c->by[k] = one && !once ? 0 : in.by;
    c->by_row[k] = by_row ? in.by : in.to_line;
}

static void move_operand(call *c, int to, const call *from, int k)
{
    c->at[to] = from->at[k];
    c->by[to] = from->by[k];
    c->by_row[to] = from->by_row[k];
}

/* Makes a call of one step the beginning of a joint: the operand that is one value comes second. */
static bool begin_joint(call *c, const scalar_step *s)
{
    if (!joint_begin(s, &c->joint) || (c->one == 0 && s->fn == FN_sub)) return false;
    call alone = *c;
    if (s->fn == FN_square) move_operand(c, 2, &alone, 1);
    if (c->one == 0) {
        move_operand(c, 1, &alone, 2);
        move_operand(c, 2, &alone, 1);
    }
    c->joint.one_y = c->one >= 0;
    return c->joint_begun = true;
}

/* Lets `before` compute the step of `c` as well, if one loop can and no other step reads its
 * result. */
static bool join_call(const tile *t, call *before, const call *c)
{
    const mapping     *m = t->m;
    const scalar_step *s = &m->instr->map.steps[c->last];
    int                reg[3], result = m->instr->nin + before->last, n = map_operands(s, reg);
    call               both = *before;
    if (n > 2 || before->formula || c->formula || m->registers.last[result] != c->last)
        return false;
    if (!both.joint_begun && !begin_joint(&both, &m->instr->map.steps[before->last])) return false;
    int which = reg[0] == result ? 0 : 1, other = !which;
    if (n == 2 && reg[other] == result) return false;
    if (!joint_add(&both.joint, s, which, n == 2 && c->one == other)) return false;
    both.step3 = map_joined_of(&both.joint);
    both.last = c->last;
    move_operand(&both, 0, c, 0);
    if (n == 2)
        move_operand(&both, 3, c, 1 + other);
    else if (both.joint.second == SECOND_NONE)
        move_operand(&both, 3, &both, 2); /* not used */
    *before = both;
    return true;
}

static void set_place(call *c, int role, place p)
{
    c->at[role] = p.at;
    c->by[role] = p.by;
}

/* Unused roles point to the formula's value. */
static call prepare_formula(tile *t, const formula_place *f)
{
    call c = {.formula = map_formula_of(f->name), .last = f->root, .one = -1};
    for (int k = 0; k < ROLES; k++) set_place(&c, k, t->reg[t->m->instr->nin + f->root]);
    for (int k = 0; k < f->nkept; k++) set_place(&c, ROLE_KEPT + k, t->reg[f->kept[k]]);
    for (int k = 0; k < f->neach; k++) set_place(&c, ROLE_EACH + k, tile_fetch(t, f->each[k]));
    for (int k = 0; k < f->none; k++)
        c.numbers[k] = *(const float *)(void *)tile_fetch(t, f->one[k]).at;
    return c;
}

static call prepare_call(tile *t, int which)
{
    const scalar_step *s = &t->m->instr->map.steps[which];
    int                reg[3], result = t->m->instr->nin + which, n = map_operands(s, reg);
    bool               once = t->m->registers.row[result], two = n == 2;
    int                one = -1; /* the operand that is one value */
    call               c = {.at[0] = t->reg[result].at, .by[0] = t->reg[result].by, .last = which};
    if (two && stays_one(t, reg[1]) && (!once || t->m->registers.fixed[reg[1]])) one = 1;
    if (two && one < 0 && stays_one(t, reg[0]) && (!once || t->m->registers.fixed[reg[0]])) one = 0;
    for (int k = 0; k < n; k++) set_operand(t, &c, 1 + k, reg[k], once, k == one);
    switch (s->fn) {
    case FN_CAST: c.step = map_cast_of(s->type, s->from); break;
    case FN_SELECT: c.step3 = map_select_of(s->type); break;
    default:
        c.step = one >= 0 ? map_step_with_one(s->fn, s->type, one) : map_step_of(s->fn, s->type);
    }
    c.one = one;
    return c;
}

/* ---- running ---- */

static inline void run_call(call *c, int64_t n)
{
    if (c->formula)
        c->formula(n, c->at, c->numbers);
    else if (c->step3)
        c->step3(n, c->at[0], c->at[1], c->at[2], c->at[3]);
    else
        c->step(n, c->at[0], c->at[1], c->at[2]);
    for (int k = 0; k < ROLES; k++) c->at[k] += n * c->by[k];
}

/* Do its result, or operands with a value per element, exist for one strip only? */
static bool needs_strips(const call *c)
{
    bool one[ROLES] = {false, c->one == 0, c->one == 1 || !c->at[2], !c->at[3]};
    if (c->joint_begun) {
        one[1] = false;
        one[2] = c->joint.one_y;
        one[3] = c->joint.one_z || c->joint.second == SECOND_NONE;
    }
    for (int k = 0; k < (c->formula ? ROLES : 4); k++)
        if (!one[k] && c->by[k] == 0) return true;
    return false;
}

/* A single call passes nothing on to other calls, and needs no strips. */
static bool goes_through(const tile *t, int n, const call *calls)
{
    return n == 1 && t->nahead == 0 && !needs_strips(&calls[0]);
}

/* Runs all calls on one strip, then on the next, up to the end of `line`. */
static void run_line(tile *t, int n, call *calls, int64_t line)
{
    if (goes_through(t, n, calls)) {
        run_call(&calls[0], line);
        return;
    }
    for (int64_t at = 0; at < line; at += STRIP) {
        int64_t count = line - at < STRIP ? line - at : STRIP;
        tile_look_ahead(t, count);
        for (int s = 0; s < n; s++) run_call(&calls[s], count);
    }
}

/* Some processors write long runs of stores without reading the old cache lines, which takes half
 * the time, and stop doing so after a few stores elsewhere: hence the addresses are local
 * variables. */
static void run_rows(const call *c, int64_t rows, int64_t row)
{
    char      *out = c->at[0], *x = c->at[1], *y = c->at[2], *z = c->at[3];
    int64_t    on[4];
    map_step  *step = c->step;
    map_step3 *step3 = c->step3;
    for (int k = 0; k < 4; k++) on[k] = row * c->by[k] + c->by_row[k];
    int64_t on_out = on[0], on_x = on[1], on_y = on[2], on_z = on[3];
    for (int64_t r = 0; r < rows; r++, out += on_out, x += on_x, y += on_y, z += on_z)
        if (step3)
            step3(row, out, x, y, z);
        else
            step(row, out, x, y);
}

/* Prepares the calls for those of the steps that run once per row, or for the others; returns their
 * number. */
static int prepare_calls(tile *t, int first, int last, bool once, call *calls)
{
    const map_registers *m = &t->m->registers;
    const instr         *i = t->m->instr;
    int                  n = 0;
    for (int s = first; s < last; s++) {
        const formula_place *f = formula_at(&m->formulas, s);
        if (m->row[i->nin + s] != once || map_is_ready(i, s) || formula_takes(&m->formulas, s))
            continue;
        calls[n] = f ? prepare_formula(t, f) : prepare_call(t, s);
        if (n == 0 || !join_call(t, &calls[n - 1], &calls[n])) n++;
    }
    return n;
}

static bool goes_by_rows(int n, const call *calls)
{
    bool by_row = false;
    for (int s = 0; s < n; s++)
        for (int k = 1; k < 4; k++) by_row = by_row || calls[s].by_row[k];
    return by_row;
}

void strips_run(tile *t, int first, int last, bool once)
{
    const mapping *m = t->m;
    call           calls[MAX_REGISTERS];
    int            n = prepare_calls(t, first, last, once, calls);
    tile_report(t, first, last, once);
    bool by_row = goes_by_rows(n, calls), through = goes_through(t, n, calls);
    if (by_row && !through && m->row < ROW_WORTH_CALLS) {
        t->one_by_one = by_row = false;
        n = prepare_calls(t, first, last, once, calls);
    }
    if (n == 0) return; /* all steps belong to a formula whose root comes later */
    if (!by_row) {
        run_line(t, n, calls, once ? t->rows.left : t->walk.left);
        return;
    }
    if (through && !calls[0].formula) {
        run_rows(&calls[0], t->rows.left, m->row);
        return;
    }
    for (int64_t r = 0; r < t->rows.left; r++) {
        run_line(t, n, calls, m->row);
        for (int s = 0; s < n; s++)
            for (int k = 1; k < 4; k++) calls[s].at[k] += calls[s].by_row[k];
    }
}

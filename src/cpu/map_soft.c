/* Finds a softmax within a map, and runs it. */
#include "cpu/map_soft.h"

#include "cpu/apart.h"
#include "cpu/fold_steps.h"
#include "cpu/map_joined.h"
#include "cpu/map_tile.h"

enum {
    LEAST_ROW = 128, /* of shorter rows, many are computed together */
    MOST_READERS = 2,
    FAR_AHEAD = 2048 /* prefetch distance in elements */
};

/* ---- finding ---- */

/* The number of steps that read a register; `list` has at most MOST_READERS of them. */
static int readers_of(const instr *i, int reg, int list[MOST_READERS])
{
    int n = 0;
    for (int s = 0; s < i->map.nsteps; s++) {
        int  operands[3], count = map_operands(&i->map.steps[s], operands);
        bool reads = false;
        for (int k = 0; k < count; k++) reads = reads || operands[k] == reg;
        if (reads && n++ < MOST_READERS) list[n - 1] = s;
    }
    return n;
}

static bool is_stored(const instr *i, int reg)
{
    for (int o = 0; o < i->nout; o++)
        if (i->map.results[o] == reg) return true;
    return false;
}

/* The only step that reads the result of step s, if it is of this kind; -1: none. */
static int next_of(const instr *i, int s, scalar_fn fn)
{
    int list[MOST_READERS], reg = i->nin + s;
    if (s < 0 || is_stored(i, reg) || readers_of(i, reg, list) != 1) return -1;
    const scalar_step *next = &i->map.steps[list[0]];
    return next->fn == fn && dtype_compute(next->type) == MTF_F32 ? list[0] : -1;
}

/* The constant that step s combines with its other operand. */
static bool constant_of(const instr *i, int s, float *value)
{
    int reg[3];
    if (s < 0) return false;
    map_operands(&i->map.steps[s], reg);
    for (int k = 0; k < 2; k++) {
        int from = reg[k] - i->nin;
        if (from < 0 || i->map.steps[from].fn != FN_IMMEDIATE) continue;
        *value = (float)i->map.steps[from].value.real;
        return true;
    }
    return false;
}

/* Between the first and last step there are only constants and the softmax's own `steps`. */
static bool are_connected(const instr *i, const soft_place *p, int steps)
{
    for (int s = p->first; s <= p->last; s++) steps -= i->map.steps[s].fn != FN_IMMEDIATE;
    return steps == 0;
}

static bool find_from(const instr *i, int maximum, soft_place *p)
{
    enum { STEPS = 8 };
    int raised = next_of(i, maximum, FN_maximum), limited = next_of(i, raised, FN_minimum);
    int below = next_of(i, limited, FN_sub), e = next_of(i, below, FN_exp), readers[MOST_READERS];
    *p = (soft_place){.first = maximum, .x = i->map.steps[maximum].a, .e = i->nin + e};
    if (e < 0 || !constant_of(i, raised, &p->least) || !constant_of(i, limited, &p->most))
        return false;
    const scalar_step *difference = &i->map.steps[below];
    if (difference->a != p->x || difference->b != i->nin + limited) return false;
    if (is_stored(i, p->e) || readers_of(i, p->e, readers) != 2) return false;
    int sum = readers[0], inverse = next_of(i, sum, FN_reciprocal);
    p->last = next_of(i, inverse, FN_multiply);
    p->result = i->nin + p->last;
    return i->map.steps[sum].fn == FN_ROW_SUM && p->last == readers[1] &&
           are_connected(i, p, STEPS);
}

soft_place soft_of(const instr *i, const bool *fixed, const bool *row)
{
    soft_place p = {0};
    for (int s = 0; s < i->map.nsteps && !p.found && map_row(i) >= LEAST_ROW; s++) {
        const scalar_step *step = &i->map.steps[s];
        if (step->fn != FN_ROW_MAX || dtype_compute(step->type) != MTF_F32) continue;
        p.found = !fixed[step->a] && !row[step->a] && find_from(i, s, &p);
    }
    return p;
}

/* ---- running ---- */

static bool is_near(float x)
{
    return f32_magnitude(x) < f32_reach_exp();
}

typedef struct loops {
    const soft_tables *soft;
    const fold_steps  *sum;
    exp_below         *near;
    map_step3         *exp; /* the same without limits on the difference */
    map_step          *product;
} loops;

static loops find_loops(void)
{
    const map_joint difference = {.first = FIRST_SUB, .after = AFTER_EXP, .one_y = true};
    return (loops){soft_loops(), fold_steps_of(FOLD_SUM, MTF_F32), map_exp_below(),
                   map_joined_of(&difference), map_step_with_one(FN_multiply, MTF_F32, 1)};
}

/* `e` may overwrite x: then in pieces, each of which is copied first. */
static void exp_row(const loops *l, int64_t n, float *e, const float *x, float y, bool near,
                    const float *next, const float *results)
{
    float copy[APART_PIECE];
    if (!near) {
        l->exp(n, e, x, &y, &y);
    } else if (e != x) {
        l->near(n, e, x, &y, next, results);
    } else {
        for (int64_t at = 0; at < n; at += APART_PIECE) {
            int64_t count = n - at < APART_PIECE ? n - at : APART_PIECE;
            memcpy(copy, x + at, (size_t)count * sizeof *copy);
            l->near(count, e + at, copy, &y, next + at, results + at);
        }
    }
}

void soft_run(tile *t)
{
    const soft_place *p = &t->m->registers.soft;
    const loops       l = find_loops();
    int64_t           n = t->m->row;
    const float      *x = (const void *)tile_fetch_spread(t, p->x).at;
    float            *e = (void *)t->reg[p->e].at, *out = (void *)t->reg[p->result].at;
    /* A row's exponentials are not needed after the row: one buffer for all rows stays in the
     * cache. */
    for (int64_t r = 0; r < t->rows.left; r++, x += n, out += n) {
        float highest, lowest, sum;
        l.soft->range(n, x, &highest, &lowest);
        float y = highest > p->least ? highest : p->least;
        if (y > p->most) y = p->most;
        bool near = is_near(highest - y) && is_near(lowest - y);
        exp_row(&l, n, e, x, y, near, x + FAR_AHEAD, out);
        tile_fold_row(t, l.sum, sizeof sum, (const char *)e, &sum);
        float inverse = 1 / sum;
        l.product(n, out, e, &inverse);
    }
}

/* A softmax within a map, computed row by row. */
#include "cpu/soft_rows.h"

#include <string.h>

#include "cpu/apart.h"
#include "cpu/fold_steps.h"
#include "cpu/map_joined.h"
#include "cpu/soft_steps.h"

enum { FAR_AHEAD = 2048 }; /* prefetch distance in elements */

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

/* Inner loops of products with few columns, for one level. */
#include "cpu/slim_steps.h"

#include <math.h>

#include "cpu/lanes.h"
#include "cpu/level.h"

/* As many rows, one unit wide, as fit into registers. */
#if LANES == 16
#define EACH_VECTOR(STEP, R) STEP(R, 0)
#define EACH_ROW(STEP) STEP(0) STEP(1) STEP(2) STEP(3) STEP(4) STEP(5) STEP(6) STEP(7)
#define SOME_ROWS(STEP) STEP(0) STEP(1) STEP(2) STEP(3)
enum { HIGH = 8, SOME = 4 };
#elif LANES == 8
#define EACH_VECTOR(STEP, R) STEP(R, 0) STEP(R, 1)
#define EACH_ROW(STEP) STEP(0) STEP(1) STEP(2) STEP(3) STEP(4) STEP(5)
#define SOME_ROWS(STEP) STEP(0) STEP(1)
enum { HIGH = 6, SOME = 2 };
#else
#define EACH_VECTOR(STEP, R) STEP(R, 0) STEP(R, 1) STEP(R, 2) STEP(R, 3)
#define EACH_ROW(STEP) STEP(0) STEP(1)
#define SOME_ROWS(STEP) EACH_ROW(STEP)
enum { HIGH = 2, SOME = 2 };
#endif
#if defined(__FMA__)
#define FUSE_ONE(x, b, sum) fmaf(x, b, sum)
#else
#define FUSE_ONE(x, b, sum) ((x) * (b) + (sum))
#endif

enum { UNIT = 16 };

/* ---- the sum runs along rows ---- */

#define BEGIN(R, V) lanes sum##R##_##V = lanes_of(0);
#define COLUMN(R, V) lanes column##V = lanes_load(b + l * s->b_row + V * LANES);
#define ADD(R, V) sum##R##_##V = FUSE(x, column##V, sum##R##_##V);
#define END(R, V) lanes_store(all + R * UNIT + V * LANES, sum##R##_##V);
#define BEGIN_ROW(R) EACH_VECTOR(BEGIN, R)
#define ADD_ROW(R)                                                                                 \
    x = lanes_of(a[R * s->a_row + l * s->a_term]);                                                 \
    EACH_VECTOR(ADD, R)
#define END_ROW(R) EACH_VECTOR(END, R)
#define ONE_ROW(STEP) STEP(0)

/* Rows of sums: as many as fit into registers, fewer, or one. */
#define TILE(NAME, ROWS)                                                                           \
    static inline void NAME(const slim_along *s, const float *a, const float *b, float *all)       \
    {                                                                                              \
        lanes x;                                                                                   \
        ROWS(BEGIN_ROW)                                                                            \
        for (int64_t l = 0; l < s->terms; l++) {                                                   \
            EACH_VECTOR(COLUMN, 0)                                                                 \
            ROWS(ADD_ROW)                                                                          \
        }                                                                                          \
        ROWS(END_ROW)                                                                              \
    }
TILE(tile_high, EACH_ROW)
TILE(tile_some, SOME_ROWS)
TILE(tile_one, ONE_ROW)

static void put_row(const slim_along *s, const float *sums, float *c)
{
    if (s->c_col == 1 && s->cols == UNIT)
        for (int j = 0; j < UNIT; j += LANES) {
            lanes sum = lanes_load(sums + j);
            lanes_store(c + j, s->add ? lanes_load(c + j) + sum : sum);
        }
    else
        for (int j = 0; j < s->cols; j++) {
            float *to = c + j * s->c_col;
            *to = s->add ? *to + sums[j] : sums[j];
        }
}

static void add_along(const slim_along *s, const float *a, const float *b, float *c)
{
    int64_t high;
    for (int64_t i = 0; i < s->rows; i += high) {
        float   all[HIGH * UNIT];
        int64_t left = s->rows - i;
        high = left >= HIGH ? HIGH : left >= SOME ? SOME : 1;
        if (high == HIGH)
            tile_high(s, a + i * s->a_row, b, all);
        else if (high == SOME)
            tile_some(s, a + i * s->a_row, b, all);
        else
            tile_one(s, a + i * s->a_row, b, all);
        for (int64_t r = 0; r < high; r++) put_row(s, all + r * UNIT, c + (i + r) * s->c_row);
    }
}

/* ---- the sum runs across rows ---- */

#define FOUR(STEP) STEP(0) STEP(1) STEP(2) STEP(3)
#define EIGHT(STEP) FOUR(STEP) STEP(4) STEP(5) STEP(6) STEP(7)
#define LOAD(L)                                                                                    \
    lanes low##L = lanes_load(a + L * a_row + i), high##L = lanes_load(a + L * a_row + i + LANES); \
    __builtin_prefetch(a + (L + SLIM_AHEAD) * a_row + i);
#define ADD_PAIR(L)                                                                                \
    x = lanes_of(b[j][L]);                                                                         \
    s = FUSE(low##L, x, s);                                                                        \
    t = FUSE(high##L, x, t);
#define ADD_ONE(L) s = FUSE_ONE(a[L * a_row + i], b[j][L], s);

#define ACROSS(NAME, ROWS)                                                                         \
    static void NAME(int64_t length, int cols, const float *a, int64_t a_row, slim_factors b,      \
                     slim_sums sums)                                                               \
    {                                                                                              \
        int64_t i = 0;                                                                             \
        for (; i + 2 * LANES <= length; i += 2 * LANES) {                                          \
            ROWS(LOAD)                                                                             \
            for (int j = 0; j < cols; j++) {                                                       \
                lanes s = lanes_load(&sums[j][i]), t = lanes_load(&sums[j][i + LANES]), x;         \
                ROWS(ADD_PAIR)                                                                     \
                lanes_store(&sums[j][i], s);                                                       \
                lanes_store(&sums[j][i + LANES], t);                                               \
            }                                                                                      \
        }                                                                                          \
        for (; i < length; i++)                                                                    \
            for (int j = 0; j < cols; j++) {                                                       \
                float s = sums[j][i];                                                              \
                ROWS(ADD_ONE)                                                                      \
                sums[j][i] = s;                                                                    \
            }                                                                                      \
    }
ACROSS(add_across_one, ONE_ROW)
#if LANES == 16
ACROSS(add_across, EIGHT)
#else /* with 16 registers, as many rows as fit into them */
ACROSS(add_across_four, FOUR)
static void add_across(int64_t length, int cols, const float *a, int64_t a_row, slim_factors b,
                       slim_sums sums)
{
    slim_factors rest;
    for (int j = 0; j < cols; j++)
        for (int l = 0; l < 4; l++) rest[j][l] = b[j][4 + l];
    add_across_four(length, cols, a, a_row, b, sums);
    add_across_four(length, cols, a + 4 * a_row, a_row, rest, sums);
}
#endif

const slim_tables OF_LEVEL(slim_tables) = {UNIT, true, add_along, add_across, add_across_one};

/* The inner loop of products that sum few terms.
 *
 * A tile of the result stays in registers while its few terms are added, and is written once.
 */
#include "cpu/terms_steps.h"

#include "cpu/lanes.h"
#include "cpu/level.h"

enum { HIGH = 12, WIDE = 2 * LANES }; /* the largest tile */

/* Rows of c by two vectors of columns: 12, 8, 4, 2 or 1 of them. */
#define TILE(ROWS, EACH)                                                                           \
    static inline void tile_##ROWS(const terms *t, const float *a, const float *b, float *c)       \
    {                                                                                              \
        EACH(BEGIN)                                                                                \
        for (int64_t l = 0; l < t->terms; l++) {                                                   \
            lanes first = lanes_load(b + l * t->b_row),                                            \
                  second = lanes_load(b + l * t->b_row + LANES), x;                                \
            EACH(ADD)                                                                              \
        }                                                                                          \
        if (t->add) {                                                                              \
            EACH(PLUS)                                                                             \
        }                                                                                          \
        EACH(END)                                                                                  \
    }
#define FOUR(STEP) STEP(0) STEP(1) STEP(2) STEP(3)
#define EIGHT(STEP) FOUR(STEP) STEP(4) STEP(5) STEP(6) STEP(7)
#define TWELVE(STEP) EIGHT(STEP) STEP(8) STEP(9) STEP(10) STEP(11)
#define TWO(STEP) STEP(0) STEP(1)
#define ONE(STEP) STEP(0)
#define BEGIN(R) lanes left##R = lanes_of(0), right##R = left##R;
#define PLUS(R)                                                                                    \
    left##R += lanes_load(c + R * t->c_row);                                                       \
    right##R += lanes_load(c + R * t->c_row + LANES);
#define ADD(R)                                                                                     \
    x = lanes_of(a[R * t->a_row + l * t->a_term]);                                                 \
    left##R = FUSE(x, first, left##R);                                                             \
    right##R = FUSE(x, second, right##R);
#define END(R)                                                                                     \
    lanes_store(c + R * t->c_row, left##R);                                                        \
    lanes_store(c + R * t->c_row + LANES, right##R);
#if LANES == 16 /* as many sums as registers hold */
TILE(12, TWELVE)
TILE(8, EIGHT)
#endif
TILE(4, FOUR)
TILE(2, TWO)
TILE(1, ONE)

/* How many rows of those that are left are one tile. */
static inline int64_t tile_high(int64_t left)
{
    if (LANES == 16 && left >= 8) return left >= 12 ? 12 : 8;
    return left >= 4 ? 4 : left >= 2 ? 2 : 1;
}

static inline void tile_of(int64_t high, const terms *t, const float *a, const float *b, float *c)
{
    switch (high) {
#if LANES == 16
    case 12: tile_12(t, a, b, c); break;
    case 8: tile_8(t, a, b, c); break;
#endif
    case 4: tile_4(t, a, b, c); break;
    case 2: tile_2(t, a, b, c); break;
    default: tile_1(t, a, b, c); break;
    }
}

/* `high` rows of a tile at the right edge, which has `cols` columns. */
static void add_edge(const terms *t, int64_t high, int64_t cols, const float *a, const float *b,
                     float *c)
{
    float all[HIGH * WIDE];
    terms beside = *t;
    beside.c_row = WIDE;
    beside.add = false;
    tile_of(high, &beside, a, b, all);
    for (int64_t r = 0; r < high; r++)
        for (int64_t j = 0; j < cols; j++) {
            float *to = c + r * t->c_row + j;
            *to = t->add ? *to + all[r * WIDE + j] : all[r * WIDE + j];
        }
}

static void add_terms(const terms *t, const float *a, const float *b, float *c)
{
    int64_t whole = t->cols / WIDE * WIDE, high;
    for (int64_t i = 0; i < t->rows; i += high) {
        const float *from = a + i * t->a_row;
        float       *to = c + i * t->c_row;
        high = tile_high(t->rows - i);
        for (int64_t j = 0; j < whole; j += WIDE) tile_of(high, t, from, b + j, to + j);
        if (whole < t->cols) add_edge(t, high, t->cols - whole, from, b + whole, to + whole);
    }
}

const terms_tables OF_LEVEL(terms_tables) = {add_terms};

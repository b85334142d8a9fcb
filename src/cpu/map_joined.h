/* Steps of a map that one loop computes together.
 *
 * A step by itself reads and writes registers in the L1 cache, which takes
 * longer than a multiplication or an addition.  The most frequent neighbours
 * are therefore computed together, in f32:
 *
 *     after((x first y) second z)
 */
#ifndef CPU_MAP_JOINED_H
#define CPU_MAP_JOINED_H

#include "cpu/map_steps.h"

enum joined_first { FIRST_ADD, FIRST_SUB, FIRST_MULTIPLY, FIRSTS };
enum joined_second { /* with the first result t and z */
                     SECOND_NONE,
                     SECOND_ADD,      /* t + z */
                     SECOND_SUB,      /* t - z */
                     SECOND_FROM,     /* z - t */
                     SECOND_MULTIPLY, /* t * z */
                     SECOND_INTO,     /* z / t */
                     SECONDS
};
enum joined_after { AFTER_NONE, AFTER_RELU, AFTER_EXP /* only without a second */, AFTERS };

typedef struct map_joint {
    enum joined_first  first;
    enum joined_second second;
    enum joined_after  after;
    bool               one_y, one_z; /* one value for all elements */
} map_joint;

/* The joint that consists of step s alone; false if s cannot begin one. */
bool joint_begin(const scalar_step *s, map_joint *j);
/* Adds step s, whose operand `which` is the joint's result so far; false if no loop computes that,
 * and then the joint is unchanged. */
bool joint_add(map_joint *j, const scalar_step *s, int which, bool one_z);
/* The loop of a joint; NULL if it has one step. */
map_step3 *map_joined_of(const map_joint *j);

/* out = e^(x - y), where all x - y are within f32_reach_exp.  Meanwhile prefetches the n elements
 * at `next`, and as many at `results` for writing: line by line, since many prefetches at once
 * would delay the loop's own loads. */
typedef void exp_below(int64_t n, float *restrict out, const float *restrict x,
                       const float *restrict y, const float *next, const float *results);
exp_below   *map_exp_below(void);

typedef struct joined_tables {
    map_step3 *loop[FIRSTS][SECONDS][AFTERS][2][2]; /* by one_y, one_z */
    exp_below *below;
} joined_tables;

#endif

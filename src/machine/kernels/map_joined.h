/* Steps of a map that one loop does at once.
 *
 * A step by itself reads and writes registers in the first cache, which for a
 * product or a sum takes longer than the arithmetic.  The commonest neighbours
 * are therefore done together, in f32:
 *
 *     after((x first y) second z)
 */
#ifndef MACHINE_MAP_JOINED_H
#define MACHINE_MAP_JOINED_H

#include "machine/kernels/map_steps.h"

enum joined_first { FIRST_ADD, FIRST_SUB, FIRST_MULTIPLY, FIRSTS };
enum joined_second { /* of the first result t and z */
                     SECOND_NONE,
                     SECOND_ADD,      /* t + z */
                     SECOND_SUB,      /* t - z */
                     SECOND_FROM,     /* z - t */
                     SECOND_MULTIPLY, /* t * z */
                     SECOND_INTO,     /* z / t */
                     SECONDS
};
enum joined_after { AFTER_NONE, AFTER_RELU, AFTER_EXP /* without a second */, AFTERS };

typedef struct map_joint {
    enum joined_first  first;
    enum joined_second second;
    enum joined_after  after;
    bool               one_y, one_z; /* one number for all elements */
} map_joint;

/* What step s does alone, as the beginning of a joint; false where it is none. */
bool joint_begin(const scalar_step *s, map_joint *j);
/* Takes in step s, whose operand number `which` is the joint's result so far; false where no loop
 * does that, and the joint is as before. */
bool joint_add(map_joint *j, const scalar_step *s, int which, bool one_z);
/* The loop; NULL for a joint of one step. */
map_step3 *map_joined_of(const map_joint *j);

/* out = e^(x - y), where all of that is within f32_reach_exp.  Meanwhile memory is asked for the
 * n elements at `next`, and to be ready for as many at `results`: line by line, since many at once
 * would keep the loop's own waiting. */
typedef void exp_below(int64_t n, float *restrict out, const float *restrict x,
                       const float *restrict y, const float *next, const float *results);
exp_below   *map_exp_below(void);

typedef struct joined_tables {
    map_step3 *loop[FIRSTS][SECONDS][AFTERS][2][2]; /* by one_y, one_z */
    exp_below *below;
} joined_tables;

#endif

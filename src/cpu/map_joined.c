/* Which steps of a map can be computed together. */
#include "cpu/map_joined.h"

static bool in_f32(const scalar_step *s)
{
    return dtype_compute(s->type) == MTF_F32;
}

bool joint_begin(const scalar_step *s, map_joint *j)
{
    *j = (map_joint){.second = SECOND_NONE};
    switch (s->fn) {
    case FN_add: j->first = FIRST_ADD; break;
    case FN_sub: j->first = FIRST_SUB; break;
    case FN_multiply:
    case FN_square: j->first = FIRST_MULTIPLY; break;
    default: return false;
    }
    return in_f32(s);
}

static bool add_function(map_joint *j, scalar_fn fn)
{
    if (fn == FN_relu)
        j->after = AFTER_RELU;
    else if (fn == FN_exp && j->second == SECOND_NONE)
        j->after = AFTER_EXP;
    else
        return false;
    return true;
}

bool joint_add(map_joint *j, const scalar_step *s, int which, bool one_z)
{
    if (!in_f32(s) || j->after != AFTER_NONE) return false;
    if (add_function(j, s->fn)) return true;
    if (j->second != SECOND_NONE) return false;
    switch (s->fn) {
    case FN_add: j->second = SECOND_ADD; break;
    case FN_sub: j->second = which == 0 ? SECOND_SUB : SECOND_FROM; break;
    case FN_multiply: j->second = SECOND_MULTIPLY; break;
    case FN_divide:
        if (which == 0) return false;
        j->second = SECOND_INTO;
        break;
    default: return false;
    }
    j->one_z = one_z;
    return true;
}

/* What optimizers do to each weight, as loops.
 *
 * FORMULA(name, nkept, value, steps): `value` is an expression of the elements x,
 * y, z, t, u and the constants a to g, each named in the order in which `steps`
 * mentions them; `steps` is the same expression in prefix notation.  KEPT: the
 * result of the step that follows is also stored; the first such result is p, the
 * second q.  A formula precedes those that it contains.
 */
/* clang-format off */

/* Adam with decay and without: weight x or x decayed, mean y of gradients z, mean t of their squares */
FORMULA(adam_with_decay, 2, x * a - (p = y * b + z * c) * d / (sqrtf(q = t * e + u * u * f) + g),
        FN_sub, FN_multiply, EACH, ONE,
        FN_divide, FN_multiply, KEPT, FN_add, FN_multiply, EACH, ONE, FN_multiply, EACH, ONE, ONE,
        FN_add, FN_sqrt, KEPT, FN_add, FN_multiply, EACH, ONE, FN_multiply, FN_square, EACH, ONE, ONE)
FORMULA(adam, 2, x - (p = y * a + z * b) * c / (sqrtf(q = t * d + u * u * e) + f),
        FN_sub, EACH,
        FN_divide, FN_multiply, KEPT, FN_add, FN_multiply, EACH, ONE, FN_multiply, EACH, ONE, ONE,
        FN_add, FN_sqrt, KEPT, FN_add, FN_multiply, EACH, ONE, FN_multiply, FN_square, EACH, ONE, ONE)
/* the last part of Adam, where the means are kept or computed in another way */
FORMULA(adam_step_with_decay, 0, x * a - y * b / (sqrtf(z) + c),
        FN_sub, FN_multiply, EACH, ONE, FN_divide, FN_multiply, EACH, ONE, FN_add, FN_sqrt, EACH, ONE)
FORMULA(adam_step, 0, x - y * a / (sqrtf(z) + b),
        FN_sub, EACH, FN_divide, FN_multiply, EACH, ONE, FN_add, FN_sqrt, EACH, ONE)
/* means of squares in Adafactor and Adam */
FORMULA(mean_of_squares_above, 0, x * a + (y * y + b) * c,
        FN_add, FN_multiply, EACH, ONE, FN_multiply, FN_add, FN_square, EACH, ONE, ONE)
FORMULA(mean_of_squares, 0, x * a + y * y * b,
        FN_add, FN_multiply, EACH, ONE, FN_multiply, FN_square, EACH, ONE)
/* means of gradients or weights, in all optimizers */
FORMULA(mean, 0, x * a + y * b,
        FN_add, FN_multiply, EACH, ONE, FN_multiply, EACH, ONE)
/* clang-format on */
#undef FORMULA

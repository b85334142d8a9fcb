/* What optimizers do to each weight, as loops.
 *
 * FORMULA(name, value, steps): `value` in the elements x, y, z and the numbers
 * a, b, c, each named in the order in which `steps` has them; the same as steps,
 * each before its operands.  Larger formulas come before those they contain.
 */
/* clang-format off */

/* Adam with decay, and without */
FORMULA(decayed_by_root, x * a - y * b / (sqrt(z) + c),
        FN_sub, FN_multiply, EACH, ONE, FN_divide, FN_multiply, EACH, ONE, FN_add, FN_sqrt, EACH, ONE)
FORMULA(moved_by_root,   x - y * a / (sqrt(z) + b),
        FN_sub, EACH, FN_divide, FN_multiply, EACH, ONE, FN_add, FN_sqrt, EACH, ONE)
/* averages of squares: Adafactor, Adam */
FORMULA(average_square_above, x * a + (y * y + b) * c,
        FN_add, FN_multiply, EACH, ONE, FN_multiply, FN_add, FN_square, EACH, ONE, ONE)
FORMULA(average_square,  x * a + y * y * b,
        FN_add, FN_multiply, EACH, ONE, FN_multiply, FN_square, EACH, ONE)
/* averages: the mean of gradients in all of them, averages of weights */
FORMULA(average,         x * a + y * b,
        FN_add, FN_multiply, EACH, ONE, FN_multiply, EACH, ONE)
/* clang-format on */
#undef FORMULA

/* Single elements of the exact device. */
#include "program/scalar.h"
#include "program/scalar_text.h"
#include "verify/exact.h"

enum { WHOLE_BITS = 31, SMALL_RANGE = 16 };

/* ---- types ---- */

cell exact_wrap(mtf_dtype type, uint64_t value)
{
    if (type == MTF_I32) return (uint64_t)(int64_t)(int32_t)(uint32_t)value;
    return type == MTF_BOOL ? value != 0 : value;
}

cell exact_constant(mtf_dtype type, scalar value)
{
    return exact_is_real(type) ? field_of_double(value.real)
                               : exact_wrap(type, (uint64_t)value.whole);
}

/* Is it a whole number of small magnitude?  Other residues have no meaning as numbers. */
static bool is_whole(cell a, int64_t *value)
{
    signed_residue number = field_signed(a);
    *value = (int64_t)number;
    return number > -((int64_t)1 << WHOLE_BITS) && number < (int64_t)1 << WHOLE_BITS;
}

static cell hash_one(const exact *x, scalar_fn fn, cell a)
{
    ++*x->hashes;
    return hash_residue(hash_pair(x->key, (uint64_t)fn), a);
}

static cell hash_two(const exact *x, scalar_fn fn, cell a, cell b)
{
    uint64_t key = hash_pair(x->key, (uint64_t)fn);
    ++*x->hashes;
    residue first = hash_residue(key, a);
    return hash_residue(key ^ (uint64_t)first, field_add(first, b));
}

/* Programs that divide by equal numbers must do so with equal results; no pass cancels factors, so
 * nothing more is asked of an inverse. */
cell exact_inverse(const exact *x, cell a)
{
    int64_t whole;
    if (!is_whole(a, &whole)) return hash_one(x, FN_reciprocal, a);
    return whole < 0 ? field_sub(0, field_inverse((residue)-whole)) : field_inverse(a);
}

/* Small whole numbers do not change, so that positions survive; others become a small hash. */
cell exact_cast(const exact *x, mtf_dtype to, mtf_dtype from, cell a)
{
    bool    real = exact_is_real(from);
    int64_t whole = 0;
    if (exact_is_real(to)) return real ? a : field_of_int((int64_t)a);
    if (real && to != MTF_BOOL && !is_whole(a, &whole))
        return hash_one(x, FN_CAST, a) % SMALL_RANGE;
    return exact_wrap(to, !real ? (uint64_t)a : to == MTF_BOOL ? a != 0 : (uint64_t)whole);
}

int64_t exact_order(const exact *x, mtf_dtype type, cell a)
{
    int64_t whole;
    if (!exact_is_real(type)) return (int64_t)a;
    if (is_whole(a, &whole)) return whole;
    if (a == FIELD_PRIME / 2) return INT64_MAX;
    if (a == FIELD_PRIME / 2 + 1) return INT64_MIN;
    uint64_t h = hash_pair(hash_pair(x->key, (uint64_t)a), (uint64_t)(a >> 64));
    int64_t  far = (int64_t)(h >> 2 | (uint64_t)1 << WHOLE_BITS);
    return h & 1 ? far : -far;
}

/* Small, so that a share of a sum of them is seldom at its end. */
uint64_t exact_weight(const exact *x, cell logit)
{
    return 1 + (uint64_t)hash_one(x, FN_exp, logit) % 1000;
}

uint64_t exact_share(const exact *x, cell p, uint64_t all)
{
    return p == 0 || p == 1 ? all : 1 + (uint64_t)hash_one(x, FN_multiply, p) % all;
}

/* ---- arithmetic ---- */

cell exact_best(const exact *x, fold_kind kind, mtf_dtype type, cell a, cell b)
{
    int64_t first = exact_order(x, type, a), second = exact_order(x, type, b);
    return (kind == FOLD_MAX ? second > first : second < first) ? b : a;
}

cell exact_combine(const exact *x, fold_kind kind, mtf_dtype type, cell a, cell b)
{
    if (kind == FOLD_SUM) return exact_add(type, a, b);
    return kind == FOLD_PROD ? exact_mul(type, a, b) : exact_best(x, kind, type, a, b);
}

/* ---- the rows of scalars.h ---- */

/* Integers and bools as every device computes them. */
#define VALUE(name, value)                                                                         \
    case FN_##name:                                                                                \
        return (int64_t)(value);
#define REAL1(name, ...)
#define REAL2(name, ...)
#define TEST1(name, ...)
#define ANY1(name, value, ...) VALUE(name, value)
#define ANY2(name, value, ...) VALUE(name, value)
#define COMPARE(name, value, ...) VALUE(name, value)
#define LOGIC1(name, ...)
#define LOGIC2(name, ...)

static int64_t scalar_of_i32(scalar_fn fn, int32_t x, int32_t y)
{
    switch ((int)fn) {
#include "program/scalars.h"
    }
    return x;
}

static int64_t scalar_of_i64(scalar_fn fn, int64_t x, int64_t y)
{
    switch ((int)fn) {
#include "program/scalars.h"
    }
    return x;
}

#undef ANY1
#undef ANY2
#undef LOGIC1
#undef LOGIC2
#define ANY1(name, ...)
#define ANY2(name, ...)
#define LOGIC1(name, value, ...) VALUE(name, value)
#define LOGIC2(name, value, ...) VALUE(name, value)

static int64_t scalar_of_flag(scalar_fn fn, uint8_t x, uint8_t y)
{
    switch ((int)fn) {
#include "program/scalars.h"
    }
    return x;
}

/* Divides small whole numbers as such; else the quotient's floor is a hash. */
static cell floor_division(const exact *x, scalar_fn fn, cell a, cell b)
{
    int64_t whole_a, whole_b;
    if (is_whole(a, &whole_a) && is_whole(b, &whole_b) && whole_b)
        return field_of_int(scalar_of_i64(fn, whole_a, whole_b));
    return hash_two(x, fn, a, b);
}

/* Polynomials and choices between two operands are computed; all other functions, also those of one
 * operand that choose, are a hash of the operands: a hash shows every difference, a choice half
 * of them. */
static cell scalar_of_real(const exact *x, scalar_fn fn, cell a, cell b)
{
    int64_t whole;
    switch ((int)fn) {
    case FN_negative: return field_sub(0, a);
    case FN_square: return field_mul(a, a);
    case FN_add: return field_add(a, b);
    case FN_sub: return field_sub(a, b);
    case FN_reciprocal: return exact_inverse(x, a);
    case FN_divide: return field_mul(a, exact_inverse(x, b));
    case FN_multiply: return field_mul(a, b);
    case FN_minimum: return exact_best(x, FOLD_MIN, MTF_F64, a, b);
    case FN_maximum: return exact_best(x, FOLD_MAX, MTF_F64, a, b);
    case FN_isnan: return 0;
    case FN_exp: return a == 0 ? 1 : hash_one(x, fn, a); /* as at the maximum */
    case FN_equal: return a == b;
    case FN_not_equal: return a != b;
    case FN_less: return exact_order(x, MTF_F64, a) < exact_order(x, MTF_F64, b);
    case FN_less_equal: return exact_order(x, MTF_F64, a) <= exact_order(x, MTF_F64, b);
    case FN_greater: return exact_order(x, MTF_F64, a) > exact_order(x, MTF_F64, b);
    case FN_greater_equal: return exact_order(x, MTF_F64, a) >= exact_order(x, MTF_F64, b);
    case FN_floor:
    case FN_ceil:
    case FN_round: return is_whole(a, &whole) ? a : hash_one(x, fn, a);
    case FN_floordiv:
    case FN_mod: return floor_division(x, fn, a, b);
    default: return scalar_infos[fn].arity > 1 ? hash_two(x, fn, a, b) : hash_one(x, fn, a);
    }
}

cell exact_scalar(const exact *x, scalar_fn fn, mtf_dtype type, cell a, cell b)
{
    switch (type) {
    case MTF_I32: return (uint64_t)scalar_of_i32(fn, (int32_t)(int64_t)a, (int32_t)(int64_t)b);
    case MTF_I64: return (uint64_t)scalar_of_i64(fn, (int64_t)a, (int64_t)b);
    case MTF_BOOL: return (uint64_t)scalar_of_flag(fn, a != 0, b != 0);
    default: return scalar_of_real(x, fn, a, b);
    }
}

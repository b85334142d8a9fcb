/* Elementwise functions on single numbers, from their table.
 *
 * Each compute type has one switch over the rows that are legal in it; the text
 * of a value is compiled here as in the kernels, so constant folding and
 * running agree.
 */
#include "program/scalar.h"

#include "base/fault.h"
#include "program/scalar_f32.h"

const scalar_info scalar_infos[SCALAR_FNS] = {
    [FN_IMMEDIATE] = {"immediate", 0, 0, false}, [FN_INDEX] = {"index", 0, 1, false},
    [FN_CAST] = {"cast", 1, 1, false},           [FN_SELECT] = {"select", 3, 1, false},
    [FN_ROW_SUM] = {"row_sum", 1, 1, false},     [FN_ROW_MAX] = {"row_max", 1, 1, false},
    [FN_ROW_MIN] = {"row_min", 1, 1, false},
#define REAL1(name, value, dx, flops, says) [FN_##name] = {#name, 1, flops, false},
#define ANY1(name, value, dx, flops, says) [FN_##name] = {#name, 1, flops, false},
#define TEST1(name, value, dx, flops, says) [FN_##name] = {#name, 1, flops, true},
#define LOGIC1(name, value, dx, flops, says) [FN_##name] = {#name, 1, flops, true},
#define REAL2(name, value, dx, dy, flops, says) [FN_##name] = {#name, 2, flops, false},
#define ANY2(name, value, dx, dy, flops, says) [FN_##name] = {#name, 2, flops, false},
#define COMPARE(name, value, dx, dy, flops, says) [FN_##name] = {#name, 2, flops, true},
#define LOGIC2(name, value, dx, dy, flops, says) [FN_##name] = {#name, 2, flops, true},
#include "program/scalars.h"
#include "program/scalars_end.h"
};

#define REAL1(name, value, ...) REAL(name, value)
#define ANY1(name, value, ...) REAL(name, value)
#define TEST1(name, value, ...) WHOLE(name, value)
#define LOGIC1(name, value, ...)
#define REAL2(name, value, ...) REAL(name, value)
#define ANY2(name, value, ...) REAL(name, value)
#define BITS2(name, ...)
#define COMPARE(name, value, ...) WHOLE(name, value)
#define LOGIC2(name, value, ...)

static scalar eval_f64(scalar_fn fn, double x, double y)
{
    switch ((int)fn) {
#include "program/scalars.h"
    }
    return (scalar){.real = x};
}

#undef REAL1
#undef ANY1
#undef TEST1
#undef REAL2
#undef ANY2
#undef BITS2
#define REAL1(name, value, ...)
#define ANY1(name, value, ...) WHOLE(name, value)
#define TEST1(name, value, ...)
#define REAL2(name, value, ...)
#define ANY2(name, value, ...) WHOLE(name, value)

static scalar eval_i32(scalar_fn fn, int32_t x, int32_t y)
{
    switch ((int)fn) {
#include "program/scalars.h"
    }
    return (scalar){.whole = x};
}

static scalar eval_i64(scalar_fn fn, int64_t x, int64_t y)
{
    switch ((int)fn) {
#include "program/scalars.h"
    }
    return (scalar){.whole = x};
}

#undef ANY1
#undef ANY2
#undef LOGIC1
#undef LOGIC2
#define ANY1(name, value, ...)
#define ANY2(name, value, ...)
#define LOGIC1(name, value, ...) WHOLE(name, value)
#define LOGIC2(name, value, ...) WHOLE(name, value)

static scalar eval_bool(scalar_fn fn, uint8_t x, uint8_t y)
{
    switch ((int)fn) {
#include "program/scalars.h"
    }
    return (scalar){.whole = x};
}

/* Do the inner loops that will run use fused multiply-add?  Chosen as in
 * cpu/levels.c. */
static bool rounds_once(void)
{
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
    return true;
#elif defined(__x86_64__)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    return false;
#endif
}

static scalar eval_as_loops(scalar_fn fn, float x, float y)
{
    return rounds_once() ? eval_f32(fn, x, y) : scalar_eval_twice(fn, x, y);
}

scalar scalar_eval(scalar_fn fn, mtf_dtype type, scalar x, scalar y)
{
    switch (dtype_compute(type)) {
    case MTF_F64: return eval_f64(fn, x.real, y.real);
    case MTF_I32: return eval_i32(fn, (int32_t)x.whole, (int32_t)y.whole);
    case MTF_I64: return eval_i64(fn, x.whole, y.whole);
    case MTF_BOOL: return eval_bool(fn, (uint8_t)x.whole, (uint8_t)y.whole);
    default: return eval_as_loops(fn, (float)x.real, (float)y.real);
    }
}

/* Through f32, as kernels do for the short floats. */
scalar scalar_cast(mtf_dtype to, mtf_dtype from, scalar x)
{
    bool real = dtype_is_float(from);
    switch (to) {
    case MTF_I32:
        return (scalar){.whole = real ? scalar_saturated_i32(x.real) : scalar_wrapped_i32(x.whole)};
    case MTF_I64: return (scalar){.whole = real ? scalar_saturated_i64(x.real) : x.whole};
    case MTF_BOOL: return (scalar){.whole = !dtype_is_zero(from, x)};
    case MTF_F64: return (scalar){.real = real ? x.real : (double)x.whole};
    default: return dtype_scalar(to, real ? x.real : (double)(float)x.whole);
    }
}

/* ---- sums ---- */

/* The significant digits of a float as an odd integer: 12 is 3 * 4, so 3. */
static double odd_part(double x)
{
    int      exponent;
    uint64_t digits = (uint64_t)ldexp(frexp(fabs(x), &exponent), 53);
    while (digits && digits % 2 == 0) digits /= 2;
    return (double)digits;
}

/* Is the sum exact in any order?  Partial products and sums need no more bits than the product of
 * all odd parts, and their exponents are bounded by the sum of all magnitudes. */
static bool sum_of_floats(mtf_dtype type, int n, const scalar *x, int64_t count, double *sum)
{
    bool   wide = dtype_compute(type) == MTF_F64, negative = false;
    double digits = (double)count, doublings = log2((double)count + 1);
    *sum = (double)count;
    for (int i = 0; i < n; i++) {
        if (!isfinite(x[i].real)) return false;
        *sum *= x[i].real;
        negative = negative || signbit(x[i].real);
        if (x[i].real == 0) continue;
        digits *= odd_part(x[i].real);
        doublings += fabs(log2(fabs(x[i].real)));
    }
    if (*sum == 0 && negative) return false; /* the sign of 0 depends on the order of summation */
    return digits <= (wide ? 0x1p53 : 0x1p24) && doublings <= (wide ? 1000 : 120);
}

bool scalar_sum_of_products(mtf_dtype type, int n, const scalar *x, int64_t count, scalar *sum)
{
    uint64_t product = (uint64_t)count;
    double   real;
    if (dtype_is_float(type)) {
        TRY(sum_of_floats(type, n, x, count, &real));
        *sum = dtype_scalar(type, real);
        return true;
    }
    if (type == MTF_BOOL) product = count > 0;
    for (int i = 0; i < n; i++) product *= (uint64_t)x[i].whole;
    *sum = scalar_cast(type, MTF_I64, (scalar){.whole = (int64_t)product});
    return true;
}

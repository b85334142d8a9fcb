/* Elementwise functions on single numbers, from their table.
 *
 * Each compute type gets one switch over the rows that are legal in it; the
 * text of a value is compiled here as the kernels compile it, so constant
 * folding and running agree.
 */
#include "program/scalar.h"

#include "base/dtype.h"
#include "program/scalar_text.h"

const scalar_info scalar_infos[SCALAR_FNS] = {
    [FN_IMMEDIATE] = {"immediate", 0, 0, false},
    [FN_INDEX] = {"index", 0, 1, false},
    [FN_CAST] = {"cast", 1, 1, false},
    [FN_SELECT] = {"select", 3, 1, false},
    [FN_ROW_SUM] = {"row_sum", 1, 1, false},
    [FN_ROW_MAX] = {"row_max", 1, 1, false},
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
#undef REAL1
#undef ANY1
#undef TEST1
#undef LOGIC1
#undef REAL2
#undef ANY2
#undef COMPARE
#undef LOGIC2
};

/* What a row becomes in a switch: its value, or nothing where its class is illegal in the type. */
#define VALUE(name, value)                                                                         \
    case FN_##name:                                                                                \
        return (double)(value);

#define REAL1(name, value, ...) VALUE(name, value)
#define ANY1(name, value, ...) VALUE(name, value)
#define TEST1(name, value, ...) VALUE(name, value)
#define LOGIC1(name, value, ...)
#define REAL2(name, value, ...) VALUE(name, value)
#define ANY2(name, value, ...) VALUE(name, value)
#define COMPARE(name, value, ...) VALUE(name, value)
#define LOGIC2(name, value, ...)

static double eval_f32(scalar_fn fn, float x, float y)
{
    switch ((int)fn) {
#include "program/scalars.h"
    }
    return (double)x;
}

static double eval_f64(scalar_fn fn, double x, double y)
{
    switch ((int)fn) {
#include "program/scalars.h"
    }
    return x;
}

#undef REAL1
#undef TEST1
#undef REAL2
#define REAL1(name, value, ...)
#define TEST1(name, value, ...)
#define REAL2(name, value, ...)

static double eval_i32(scalar_fn fn, int32_t x, int32_t y)
{
    switch ((int)fn) {
#include "program/scalars.h"
    }
    return (double)x;
}

static double eval_i64(scalar_fn fn, int64_t x, int64_t y)
{
    switch ((int)fn) {
#include "program/scalars.h"
    }
    return (double)x;
}

#undef ANY1
#undef ANY2
#undef LOGIC1
#undef LOGIC2
#define ANY1(name, value, ...)
#define ANY2(name, value, ...)
#define LOGIC1(name, value, ...) VALUE(name, value)
#define LOGIC2(name, value, ...) VALUE(name, value)

static double eval_bool(scalar_fn fn, uint8_t x, uint8_t y)
{
    switch ((int)fn) {
#include "program/scalars.h"
    }
    return (double)x;
}

double scalar_eval(scalar_fn fn, mtf_dtype type, double x, double y)
{
    int64_t a, b;
    int32_t a32, b32;
    switch (dtype_compute(type)) {
    case MTF_F64: return eval_f64(fn, x, y);
    case MTF_I32:
        dtype_store(MTF_I32, &a32, 0, x);
        dtype_store(MTF_I32, &b32, 0, y);
        return eval_i32(fn, a32, b32);
    case MTF_I64:
        dtype_store(MTF_I64, &a, 0, x);
        dtype_store(MTF_I64, &b, 0, y);
        return eval_i64(fn, a, b);
    case MTF_BOOL: return eval_bool(fn, x != 0, y != 0);
    default: return eval_f32(fn, (float)x, (float)y);
    }
}

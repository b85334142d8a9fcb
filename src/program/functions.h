/* Transcendental functions of f32, for vectorised loops.
 *
 * The functions of libm would prevent vectorisation.  These have no calls, no branches,
 * and no conditional expressions that a compiler may turn into branches: values are
 * selected by masks on their bits.  So the remaining elements at the end of a loop get
 * the same bits as all others.  Errors, in units in the last place over all floats: exp,
 * log, log1p, sin, cos, rsqrt, pow, erf at most 2; gelu_grad at most 6; all others at most 4
 * (tests/machine/test_functions.c).  Special values are those of libm; silu and gelu have
 * their limit at minus infinity.  Where an error would be magnified, in the argument of an
 * exponential, a few steps are in double.  Polynomials are minimax fits.
 */
#ifndef PROGRAM_FUNCTIONS_H
#define PROGRAM_FUNCTIONS_H

#include <math.h>

#include "base/dtype.h"

#define MASK(condition) (0 - (uint32_t)(condition))
#define SIGN 0x80000000u

static inline float f32_pick(uint32_t mask, float yes, float no)
{
    return f32_of_bits((f32_bits(yes) & mask) | (f32_bits(no) & ~mask));
}

static inline float f32_with_sign_of(float x, float sign)
{
    return f32_of_bits((f32_bits(x) & ~SIGN) | (f32_bits(sign) & SIGN));
}

/* a * b + c, rounded once.  Inner loops compiled for chips without fused multiply-add define
 * ROUND_TWICE; then results may differ in the last bits. */
static inline float f32_fuse(float a, float b, float c)
{
#ifdef ROUND_TWICE
    return a * b + c;
#else
    return fmaf(a, b, c);
#endif
}

static inline double f64_fuse(double a, double b, double c)
{
#ifdef ROUND_TWICE
    return a * b + c;
#else
    return fma(a, b, c);
#endif
}

/* Polynomials of x, lowest coefficient first, with x2 = x * x: evaluated in pairs, which shortens
 * the chain of dependent operations. */
static inline float f32_cubic(float x, float x2, const float c[4])
{
    return f32_fuse(f32_fuse(c[3], x, c[2]), x2, f32_fuse(c[1], x, c[0]));
}

static inline float f32_septic(float x, float x2, const float c[8])
{
    return f32_fuse(f32_cubic(x, x2, c + 4), x2 * x2, f32_cubic(x, x2, c));
}

/* ---- exponentials: 2^n p, n an integer, p about 1 ---- */

/* Adding it leaves the integer part, plus twice the exponents' bias, in the low bits. */
#define SHIFT (0x1.8p23f + 254)

/* p * 2^n, n from -250 to 250, where n + SHIFT is given.  In two steps, for subnormals. */
static inline float f32_scale(float p, float shifted)
{
    uint32_t n = f32_bits(shifted), half = n >> 1;
    return p * f32_of_bits(half << 23) * f32_of_bits((n - half) << 23);
}

/* 2^n, n from -126 to 127, where n + SHIFT is given. */
static inline float f32_power_of_2(float shifted)
{
    return f32_of_bits((f32_bits(shifted) - 127) << 23);
}

/* As bits: a NaN is larger than all other numbers. */
static inline uint32_t f32_magnitude(float x)
{
    return f32_bits(x) & ~SIGN;
}

/* Functions whose name begins with scalar_near give the same bits as those without, but only for
 * magnitudes below f32_reach_NAME. */
static inline uint32_t f32_reach_exp(void)
{
    return f32_bits(87);
}

/* (high, low) = ln 2; high times an integer up to 512 is exact. */
#define LN2_HIGH 0x1.62e4p-1f
#define LN2_LOW 0x1.7f7d1cp-20f

/* x = n ln 2 + r, |r| <= ln(2)/2: returns r, and n + SHIFT. */
static inline float f32_ln2_rest(float x, float *shifted)
{
    *shifted = f32_fuse(x, 0x1.715476p0f, SHIFT);
    float whole = *shifted - SHIFT;
    return f32_fuse(-whole, LN2_LOW, f32_fuse(-whole, LN2_HIGH, x));
}

/* e^r - 1, |r| <= ln(2)/2 */
static inline float f32_expm1_near(float r)
{
    static const float c[] = {0x1.fffffep-2f, 0x1.5554b0p-3f, 0x1.55570cp-5f, 0x1.1227e4p-7f};
    float              r2 = r * r, p = f32_fuse(0x1.6b7feap-10f, r2 * r2, f32_cubic(r, r2, c));
    return f32_fuse(r2, p, r);
}

/* e^x = p 2^n for x in -110 .. 110: returns p, and n + SHIFT. */
static inline float f32_exp_parts(float x, float *shifted)
{
    return f32_expm1_near(f32_ln2_rest(x, shifted)) + 1;
}

/* 2^x in the same way, for x in -200 .. 200 */
static inline float f32_exp2_parts(double x, float *shifted)
{
    static const float c[] = {0x1.62e430p-1f, 0x1.ebfbdcp-3f,  0x1.c6af76p-5f,
                              0x1.3b2dd0p-7f, 0x1.5f0c34p-10f, 0x1.41802ep-13f};
    *shifted = (float)x + SHIFT;
    float r = (float)(x - (double)(*shifted - SHIFT)), r2 = r * r;
    float p = f32_fuse(f32_fuse(c[5], r, c[4]), r2 * r2, f32_cubic(r, r2, c));
    return f32_fuse(p, r, 1);
}

/* These return a NaN unchanged. */
static inline float f32_at_least(float low, float x)
{
    return f32_pick(MASK(x < low), low, x);
}

static inline float f32_at_most(float high, float x)
{
    return f32_pick(MASK(x > high), high, x);
}

/* From here on down e^x is 0, and is computed for another x instead: subnormal results take some
 * chips a hundred times as long. */
static inline uint32_t f32_exp_is_0(float x)
{
    return MASK(x < -104);
}

static inline float scalar_exp_f32(float x)
{
    uint32_t nothing = f32_exp_is_0(x);
    float    shifted, p = f32_exp_parts(f32_at_most(110, f32_pick(nothing, -1, x)), &shifted);
    return f32_pick(nothing, 0, f32_scale(p, shifted));
}

/* The scaling is exact, so that (e^r - 1) 2^n + 2^n is rounded like 1 + (e^r - 1). */
static inline float scalar_near_exp_f32(float x)
{
    float shifted, p = f32_expm1_near(f32_ln2_rest(x, &shifted)), power = f32_power_of_2(shifted);
    return f32_fuse(p, power, power);
}

/* The same if every x is either near or, because of a mask, so low that the result is 0. */
static inline float f32_unless_0(float x)
{
    return f32_pick(f32_exp_is_0(x), 0, x);
}

static inline float scalar_masked_exp_f32(float x)
{
    return f32_pick(f32_exp_is_0(x), 0, scalar_near_exp_f32(f32_unless_0(x)));
}

/* 2^n ((e^r - 1) + (1 - 2^-n)) */
static inline float scalar_expm1_f32(float x)
{
    float shifted,
        p = f32_expm1_near(f32_ln2_rest(f32_at_most(89, f32_at_least(-20, x)), &shifted));
    uint32_t n = f32_bits(f32_at_most(SHIFT + 64, shifted)) - f32_bits(SHIFT);
    float    inverse = f32_of_bits((127 - n) << 23);
    return f32_with_sign_of(f32_scale(p + (1 - inverse), shifted), x);
}

/* t / (t + 2), where t = e^(2|x|) - 1 = 2^n (e^r - 1) + (2^n - 1) */
static inline float scalar_tanh_f32(float x)
{
    float shifted, p = f32_expm1_near(f32_ln2_rest(f32_at_most(40, 2 * fabsf(x)), &shifted));
    float power = f32_power_of_2(shifted), t = f32_fuse(p, power, power - 1);
    return f32_with_sign_of(t / (t + 2), x);
}

static inline float scalar_sigmoid_f32(float x)
{
    float e = scalar_exp_f32(-fabsf(x));
    return f32_pick(MASK(x < 0), e, 1) / (1 + e);
}

static inline uint32_t f32_reach_sigmoid(void)
{
    return f32_reach_exp();
}

static inline float scalar_near_sigmoid_f32(float x)
{
    float e = scalar_near_exp_f32(-fabsf(x));
    return f32_pick(MASK(x < 0), e, 1) / (1 + e);
}

/* x / (1 + e^-v), where v has x's sign and e^-|v| = p 2^n */
static inline float f32_gate(float x, float p, float shifted)
{
    float below = f32_scale(p * f32_at_least(-200, x), shifted);
    return f32_pick(MASK(x < 0), below, x) / (1 + f32_scale(p, shifted));
}

/* The same if p 2^n and its product with x are normal numbers. */
static inline float f32_near_gate(float x, float p, float shifted)
{
    float power = f32_power_of_2(shifted);
    return f32_pick(MASK(x < 0), p * x * power, x) / (1 + p * power);
}

static inline float scalar_silu_f32(float x)
{
    float shifted, p = f32_exp_parts(f32_at_least(-110, -fabsf(x)), &shifted);
    return f32_gate(x, p, shifted);
}

static inline uint32_t f32_reach_silu(void)
{
    return f32_reach_exp();
}

static inline float scalar_near_silu_f32(float x)
{
    float shifted, p = f32_exp_parts(-fabsf(x), &shifted);
    return f32_near_gate(x, p, shifted);
}

/* v = 2 (a x + b x^3), with a = sqrt(2 / pi), b = 0.044715 a; the factors are those of v / ln 2.
 * From -12 on down the result is 0. */
static inline float f32_gelu_parts(float size, float *shifted)
{
    double a = (double)size;
    return f32_exp2_parts(-a * f64_fuse(0.10294323958002349, a * a, 2.3022081981443249), shifted);
}

static inline float scalar_gelu_f32(float x)
{
    float shifted, p = f32_gelu_parts(f32_at_most(12, fabsf(x)), &shifted);
    return f32_gate(x, p, shifted);
}

static inline uint32_t f32_reach_gelu(void)
{
    return f32_bits(9.5f);
}

static inline float scalar_near_gelu_f32(float x)
{
    float shifted, p = f32_gelu_parts(fabsf(x), &shifted);
    return f32_near_gate(x, p, shifted);
}

/* s (1 + x v' (1 - s)), where s = 1 / (1 + e^-v).  It crosses 0 near -0.75, where its error is that of
 * its terms: 2^-24 at most. */
static inline float scalar_gelu_grad_f32(float x)
{
    float    shifted, in = f32_at_most(12, f32_at_least(-12, x));
    float    p = f32_gelu_parts(fabsf(in), &shifted), e = f32_scale(p, shifted);
    uint32_t negative = MASK(in < 0);
    double   a = (double)in, other = (double)(f32_pick(negative, 1, e) / (1 + e));
    double   steep = a * f64_fuse(0.21406444881780076, a * a, 1.5957691216057308);
    float    factor = (float)f64_fuse(steep, other, 1);
    float    slope = f32_pick(negative, f32_scale(p * factor, shifted), factor) / (1 + e);
    return f32_pick(MASK(x != x), x,
                    slope); /* else its sign would depend on how a loop is compiled */
}

/* ---- the error function ---- */

#define LOG2_E 1.4426950408889634

/* erfc(a) e^(a a), 0 <= a <= 10.2; a small number beyond.  It magnifies errors of t threefold, so
 * the last steps of the polynomial are in double. */
static inline double f32_erfc_scaled(double a)
{
    static const float c[] = {0x1.93cbb8p-3f, 0x1.80616ap-3f,  0x1.3798ecp-3f, 0x1.25a828p-3f,
                              0x1.77dd4ep-4f, -0x1.0ffa3ep-5f, 0x1.7bc9f8p-3f, -0x1.48d940p-3f};
    double             t64 = 1 / (1 + 0.35 * a);
    float              t = (float)t64, t2 = t * t, t4 = t2 * t2;
    float              p = f32_fuse(0x1.3cfd96p-5f, t4 * t4, f32_septic(t, t2, c));
    return f64_fuse((double)p, t64, 0x1.947196p-3) * t64;
}

/* Below 1 a polynomial in x x, from 1 on 1 - erfc. */
static inline float scalar_erf_f32(float x)
{
    static const float c[] = {0x1.06eba8p-3f, -0x1.81273ep-2f,  0x1.ce2cecp-4f,  -0x1.b7f7dep-6f,
                              0x1.53fa98p-8f, -0x1.a39e22p-11f, 0x1.486826p-14f, 0};
    float              z = x * x, low = f32_fuse(f32_septic(z, z * z, c), x, x);

    float shifted, a = f32_at_most(10, fabsf(x));
    float e = f32_exp2_parts(-LOG2_E * ((double)a * (double)a), &shifted);
    float high = 1 - f32_scale((float)((double)e * f32_erfc_scaled((double)a)), shifted);
    return f32_with_sign_of(f32_pick(MASK(a < 1), low, high), x);
}

/* x erfc(-x / sqrt 2) / 2, which is x minus the same of -x; from -17 on down 0. */
static inline float scalar_gelu_exact_f32(float x)
{
    double in = (double)f32_at_most(17, f32_at_least(-17, x)), a = fabs(in) * 0.70710678118654752;
    float  shifted, e = f32_exp2_parts(-LOG2_E / 2 * (in * in), &shifted);
    float  below = (float)((double)e * f32_erfc_scaled(a) * (0.5 * in));
    below = f32_scale(below, shifted);
    return f32_pick(MASK(x > 0), x - below, below);
}

/* ---- logarithms: x = 2^k (1 + f), sqrt(1/2) <= 1 + f < sqrt(2) ---- */

#define SQRT_HALF_BITS 0x3f3504f3u

/* k 2^23, wrapped around, from the bits of a positive normal number */
static inline uint32_t f32_power(uint32_t bits)
{
    return (bits - SQRT_HALF_BITS) & 0xff800000u;
}

static inline float f32_whole_power(uint32_t power)
{
    return (float)((int32_t)((power + 0x40000000u) >> 23) - 128);
}

static inline float f32_log_sum(float k, float f)
{
    static const float c[] = {0x1.555554p-2f, -0x1.000228p-2f, 0x1.99a022p-3f, -0x1.54721ap-3f,
                              0x1.22d860p-3f, -0x1.0d852cp-3f, 0x1.056530p-3f, -0x1.38cb8ep-4f};
    float              f2 = f * f, p = f32_septic(f, f2, c);
    float              low = f32_fuse(-0.5f, f2, f32_fuse(k, LN2_LOW, f * f2 * p));
    return f32_fuse(k, LN2_HIGH, f + low);
}

/* The value for x in `usual`, else the logarithm's value at its pole and beyond. */
static inline float f32_log_ends(uint32_t usual, float value, float x, float pole)
{
    float end = f32_pick(MASK(x < pole), NAN, f32_pick(MASK(x == pole), -INFINITY, x));
    return f32_pick(usual, value, end);
}

static inline float scalar_log_f32(float x)
{
    uint32_t tiny = MASK(x < 0x1p-126f), bits = f32_bits(f32_pick(tiny, x * 0x1p23f, x));
    uint32_t power = f32_power(bits);
    float    k = f32_whole_power(power) - f32_pick(tiny, 23, 0);
    float    value = f32_log_sum(k, f32_of_bits(bits - power) - 1);
    return f32_log_ends(MASK(x > 0) & MASK(x < INFINITY), value, x, 0);
}

/* f = (1 + x) 2^-k - 1, rounded once where that matters; from 2^24 on, 1 + x equals x. */
static inline float scalar_log1p_f32(float x)
{
    uint32_t bits = f32_bits(1 + x), power = f32_power(bits);
    float    inverse = f32_of_bits(0x3f800000u - power);
    float    near = f32_fuse(x, inverse, inverse - 1), far = f32_of_bits(bits - power) - 1;
    float    value = f32_log_sum(f32_whole_power(power), f32_pick(MASK(x < 0x1p24f), near, far));
    value = f32_with_sign_of(value, x);
    return f32_log_ends(MASK(x > -1) & MASK(x < INFINITY), value, x, -1);
}

/* max(x, 0) + log(1 + e), e = e^-|x|; e is at most 1, without log1p's special cases. */
static inline float scalar_softplus_f32(float x)
{
    float    e = scalar_exp_f32(-fabsf(x));
    uint32_t power = f32_power(f32_bits(1 + e));
    float    inverse = f32_of_bits(0x3f800000u - power);
    float    f = f32_fuse(e, inverse, inverse - 1);
    return f32_pick(MASK(x < 0), 0, x) + f32_log_sum(f32_whole_power(power), f);
}

/* ---- sine and cosine ---- */

#define WAVE_REACH 0x1p20f /* the vectorised form applies up to here */

/* x = n pi/2 + r; sin x for ahead 0, cos x for 1.  The first part of pi/2 times n is exact. */
static inline float f32_wave(float x, uint32_t ahead)
{
    const double shift = 0x1.8p52;
    double       shifted = f64_fuse((double)x, 0.63661977236758134, shift), n = shifted - shift;
    double       rest = f64_fuse(-n, 0x1.921fb544p0, (double)x);
    float        r = (float)f64_fuse(-n, 0x1.0b4611a626331p-34, rest);
    uint64_t     bits;
    memcpy(&bits, &shifted, sizeof bits);
    uint32_t quarter = (uint32_t)bits + ahead;

    float z = r * r, s = -0x1.991eecp-13f, c = 0x1.99e1d6p-16f;
    s = f32_fuse(s, z, 0x1.1106ccp-7f);
    s = f32_fuse(s, z, -0x1.555544p-3f);
    s = f32_with_sign_of(f32_fuse(s, z * r, r), r);
    c = f32_fuse(c, z, -0x1.6c0c1cp-10f);
    c = f32_fuse(c, z, 0x1.55554ap-5f);
    c = f32_fuse(c, z * z, f32_fuse(-0.5f, z, 1));
    float wave = f32_pick(0 - (quarter & 1), c, s);
    return f32_of_bits(f32_bits(wave) ^ (quarter & 2) << 30);
}

static inline uint32_t f32_reach_sin(void)
{
    return f32_bits(WAVE_REACH);
}

static inline uint32_t f32_reach_cos(void)
{
    return f32_bits(WAVE_REACH);
}

static inline float scalar_near_sin_f32(float x)
{
    return f32_wave(x, 0);
}

static inline float scalar_near_cos_f32(float x)
{
    return f32_wave(x, 1);
}

static inline float scalar_sin_f32(float x)
{
    return f32_magnitude(x) >= f32_reach_sin() ? (float)sin((double)x) : scalar_near_sin_f32(x);
}

static inline float scalar_cos_f32(float x)
{
    return f32_magnitude(x) >= f32_reach_cos() ? (float)cos((double)x) : scalar_near_cos_f32(x);
}

/* ---- powers ---- */

/* log2 |x| in double, to 35 bits */
static inline double f32_log2(float x)
{
    float    a = fabsf(x);
    uint32_t tiny = MASK(a < 0x1p-126f), bits = f32_bits(f32_pick(tiny, a * 0x1p23f, a));
    uint32_t power = f32_power(bits);
    float    k = f32_whole_power(power) - f32_pick(tiny, 23, 0);
    k = f32_pick(MASK(a == 0), -INFINITY, f32_pick(MASK(a == INFINITY), INFINITY, k));
    double m = (double)f32_of_bits(bits - power), s = (m - 1) / (m + 1), z = s * s;
    double p = f64_fuse(0x1.5ce8dc6030728p-2, z, 0x1.a58d81dfa6f62p-2);
    p = f64_fuse(p, z * z, f64_fuse(0x1.27777ff63ada6p-1, z, 0x1.ec709d12beadep-1));
    p = f64_fuse(p, z, 0x1.71547652bedffp+1);
    return f64_fuse(p, s, (double)k);
}

/* Clamps x to -200 .. 200; a NaN is unchanged. */
static inline double f64_within_200(double x)
{
    const double most = 200;
    uint64_t     bits, end;
    memcpy(&bits, &x, sizeof bits);
    memcpy(&end, &most, sizeof end);
    uint64_t beyond = 0 - (uint64_t)(fabs(x) > most), sign = (uint64_t)1 << 63;
    bits = (bits & ~(beyond & ~sign)) | (end & beyond);
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline float scalar_pow_f32(float x, float y)
{
    double z = f64_within_200((double)y * f32_log2(x));
    float  shifted, p = f32_exp2_parts(z, &shifted), r = f32_scale(p, shifted);

    /* From 2^23 on all are integers, from 2^24 on even; below, adding 2^23 keeps only integers. */
    float    size = fabsf(y), up = size + 0x1p23f;
    uint32_t large = MASK(size >= 0x1p23f), whole = large | MASK(up - 0x1p23f == size);
    uint32_t odd = whole & MASK(size < 0x1p24f) & f32_bits(f32_pick(large, size, up)) & 1;
    r = f32_of_bits(f32_bits(r) | (odd << 31 & f32_bits(x)));
    r = f32_pick(MASK(x < 0) & MASK(x > -INFINITY) & ~whole, NAN, r);
    r = f32_pick(MASK(x != x), x, r);

    uint32_t one = MASK(y == 0) | MASK(x == 1) | (MASK(x == -1) & MASK(size == INFINITY));
    return f32_pick(one, 1, r);
}

#undef MASK
#undef SIGN
#undef SHIFT
#undef LN2_HIGH
#undef LN2_LOW
#undef LOG2_E
#undef SQRT_HALF_BITS
#undef WAVE_REACH

#endif

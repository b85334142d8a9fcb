/* Random numbers by position.
 *
 *     out[i..] = f(seed, op, step, iterations, g),  g = first + sum of weight * i
 *
 * A number depends on the stream and on the element's global index g, on
 * nothing else: not on strides, the order of loops, threads or cuts.
 * docs/random.md states every formula; this file is its implementation.
 */
#include <math.h>

#include "base/dtype.h"
#include "base/philox.h"
#include "cpu/walk.h"

/* a + (b - a) * u means two roundings; a fused multiply-add would change the last bit. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

/* A stream and the block drawn from it last. */
typedef struct source {
    philox_stream stream;
    bool          drawn;
    uint64_t      number;
    philox_block  block;  /* of a bool: of flags */
    bool          paired; /* the pair of normal numbers computed last: g / 2 */
    uint64_t      pair;
    double        radius, angle;
} source;

static inline uint32_t word_at(source *s, uint64_t number, unsigned word)
{
    if (!s->drawn || s->number != number) {
        s->block = philox_at(s->stream, number);
        s->number = number;
        s->drawn = true;
    }
    return s->block.word[word];
}

/* ---- numbers in [0, 1) -------------------------------------------------------------------- */

static inline double unit24(uint32_t word)
{
    return (word >> 8) * 0x1p-24;
}

static inline uint64_t long_at(source *s, uint64_t number, unsigned word)
{
    uint64_t high = word_at(s, number, word), low = word_at(s, number, word + 1);
    return high << 32 | low;
}

static inline double unit53(uint64_t bits)
{
    return (double)(bits >> 11) * 0x1p-53;
}

/* ---- distributions ------------------------------------------------------------------------ */

/* Two numbers in [0, 1) make a point of the plane (Box and Muller), whose coordinates are standard
 * normal numbers. */
static double normal_radius(double u0)
{
    return sqrt(-2.0 * log(1.0 - u0));
}

static double normal_angle(double u1)
{
    return 6.283185307179586 * u1;
}

/* Elements 2p and 2p + 1 are the two coordinates of a point, which is computed once for both. */
static double normal_of_pair(source *s, uint64_t g)
{
    if (!s->paired || s->pair != g / 2) {
        unsigned word = 2u * (unsigned)(g / 2 % 2);
        s->radius = normal_radius(unit24(word_at(s, g / 4, word)));
        s->angle = normal_angle(unit24(word_at(s, g / 4, word + 1)));
        s->pair = g / 2;
        s->paired = true;
    }
    return s->radius * (g % 2 ? sin(s->angle) : cos(s->angle));
}

/* z with Phi(z) = 1/2 + q, for |q| <= 0.48.  The initial value is accurate to 1e-7 (Giles,
 * Approximating the erfinv function, 2010); one step of Halley's method cubes the error. */
static double normal_quantile(double q)
{
    static const double c[9] = {2.81022636e-08,  3.43273939e-07, -3.5233877e-06,
                                -4.39150654e-06, 0.00021858087,  -0.00125372503,
                                -0.00417768164,  0.246640727,    1.50140941};
    double              w = -log((1.0 - 2.0 * q) * (1.0 + 2.0 * q)) - 2.5, sum = c[0];
    for (int k = 1; k < 9; k++) sum = c[k] + sum * w;
    double z = sum * 2.0 * q * 1.4142135623730951;
    double step = (0.5 * erf(z * 0.7071067811865476) - q) * 2.5066282746310002 * exp(0.5 * z * z);
    return z - step / (1.0 + 0.5 * z * step);
}

/* A standard normal number within two standard deviations, from the middle of u's interval. */
static double truncated_normal(double u, double half_interval)
{
    double z = normal_quantile(0.9544997361036416 * (u + half_interval - 0.5));
    return z < -2.0 ? -2.0 : z > 2.0 ? 2.0 : z;
}

/* ---- one element of each type ------------------------------------------------------------- */

/* f32, also for short floats, which are rounded from it. */
static float draw_f32(const draw_args *a, source *s, uint64_t g)
{
    if (a->kind == DRAW_NORMAL) return (float)(a->a + a->b * normal_of_pair(s, g));
    double u = unit24(word_at(s, g / 4, (unsigned)(g % 4)));
    if (a->kind == DRAW_TRUNCATED_NORMAL)
        return (float)(a->a + a->b * truncated_normal(u, 0x1p-25));
    float low = (float)a->a, high = (float)a->b, v = low + (high - low) * (float)u;
    return low < high && v >= high ? nextafterf(high, low) : v;
}

/* Rounding to a short float may reach the upper bound of a uniform draw: then returns the next
 * smaller number.  The bits of short floats increase away from zero. */
static uint16_t below_high(const draw_args *a, uint16_t bits, float rounded)
{
    float high = (float)a->b;
    if (a->kind != DRAW_UNIFORM || !((float)a->a < high) || rounded < high) return bits;
    if (rounded == 0.0f) return 0x8001u;
    return (uint16_t)(bits & 0x8000u ? bits + 1u : bits - 1u);
}

static double draw_f64(const draw_args *a, source *s, uint64_t g)
{
    if (a->kind == DRAW_NORMAL) {
        double u0 = unit53(long_at(s, g, 0)), u1 = unit53(long_at(s, g, 2));
        return a->a + a->b * (normal_radius(u0) * cos(normal_angle(u1)));
    }
    double u = unit53(long_at(s, g / 2, 2u * (unsigned)(g % 2)));
    if (a->kind == DRAW_TRUNCATED_NORMAL) return a->a + a->b * truncated_normal(u, 0x1p-54);
    double v = a->a + (a->b - a->a) * u;
    return a->a < a->b && v >= a->b ? nextafter(a->b, a->a) : v;
}

/* Integers: the lower bound and the number of values.  A range of all 64 bits needs one bit
 * more. */
__extension__ typedef __int128          wide;
__extension__ typedef unsigned __int128 unsigned_wide;

static wide whole(double v)
{
    return !(v > -0x1p63) ? -((wide)1 << 63) : v > 0x1p63 ? (wide)1 << 63 : (wide)v;
}

static uint32_t draw_i32(const draw_args *a, source *s, uint64_t g)
{
    wide     low = whole(a->a), range = whole(a->b) - low;
    uint64_t word = word_at(s, g / 4, (unsigned)(g % 4));
    if (range <= 0) return (uint32_t)low;
    return (uint32_t)low + (uint32_t)((unsigned_wide)word * (unsigned_wide)range >> 32);
}

static uint64_t draw_i64(const draw_args *a, source *s, uint64_t g)
{
    wide     low = whole(a->a), range = whole(a->b) - low;
    uint64_t bits = long_at(s, g / 2, 2u * (unsigned)(g % 2));
    if (range <= 0) return (uint64_t)low;
    return (uint64_t)low + (uint64_t)((unsigned_wide)bits * (unsigned_wide)range >> 64);
}

static bool draw_flag(const draw_args *a, source *s, uint64_t g)
{
    uint64_t number = g / PHILOX_FLAGS;
    if (!s->drawn || s->number != number) {
        s->block = philox_flags_at(s->stream, number);
        s->number = number;
        s->drawn = true;
    }
    return philox_flag(&s->block, g) < philox_flag_share(a->b);
}

static void draw_one(const draw_args *a, source *s, uint64_t g, mtf_dtype type, void *to,
                     int64_t at)
{
    uint16_t bits;
    switch (type) {
    case MTF_F32: ((float *)to)[at] = draw_f32(a, s, g); break;
    case MTF_BF16:
        bits = f32_to_bf16(draw_f32(a, s, g));
        ((uint16_t *)to)[at] = below_high(a, bits, bf16_to_f32(bits));
        break;
    case MTF_F16:
        bits = f32_to_f16(draw_f32(a, s, g));
        ((uint16_t *)to)[at] = below_high(a, bits, f16_to_f32(bits));
        break;
    case MTF_F64: ((double *)to)[at] = draw_f64(a, s, g); break;
    case MTF_I32: ((uint32_t *)to)[at] = draw_i32(a, s, g); break;
    case MTF_I64: ((uint64_t *)to)[at] = draw_i64(a, s, g); break;
    case MTF_BOOL: ((uint8_t *)to)[at] = draw_flag(a, s, g); break;
    case MTF_F8E4M3:
    case MTF_F8E5M2: break; /* no operation draws them */
    }
}

/* ---- the kernel --------------------------------------------------------------------------- */

/* What a step along a loop of the nest, counted from the innermost, adds to the global index. */
static int64_t weight_at(const draw_args *a, const nest *n, int from_inside)
{
    return from_inside < n->nloops ? a->weight[n->loop[n->nloops - 1 - from_inside]] : 0;
}

static void draw_block(const draw_args *a, source *s, const walk *w, const access *out, char *to)
{
    const nest *n = w->nest;
    int64_t     g = a->first, at = walk_offset(w, out);
    for (int k = 0; k < n->nloops; k++) g += w->index[k] * a->weight[n->loop[k]];
    for (int64_t y = 0; y < w->rows; y++)
        for (int64_t x = 0; x < w->count; x++)
            draw_one(a, s, (uint64_t)(g + y * weight_at(a, n, 1) + x * weight_at(a, n, 0)),
                     out->type, to, at + y * nest_stride(n, out, 1) + x * nest_stride(n, out, 0));
}

/* Includes the iteration numbers of the enclosing loops, two at a time, outermost first. */
static philox_stream stream_of(const instr *i, const run_state *r)
{
    philox_stream s = {r->seed, i->draw.key, r->step};
    uint32_t      iteration[2];
    int           iterations = i->nin - (i->draw.part != 0);
    for (int k = 0; k < iterations; k += 2) {
        for (int t = 0; t < 2; t++)
            iteration[t] = k + t < iterations ? *(const uint32_t *)operand(r, &i->in[k + t]) : 0;
        s = philox_iterations(s, iteration[0], iteration[1]);
    }
    return s;
}

/* How far the numbers of the part are from those of the first one. */
static int64_t part_offset(const instr *i, const run_state *r)
{
    if (!i->draw.part) return 0;
    return i->draw.part * *(const int32_t *)operand(r, &i->in[i->nin - 1]);
}

/* out[i..] = f(stream, first + sum of weight * i) */
void kernel_draw(const instr *i, const run_state *r)
{
    const access *out = &i->out[0];
    uint32_t      every = loops_between(0, i->nloops);
    const nest    n = nest_of(i, every, NULL, every); /* merged loops would mix weights */
    philox_stream stream = stream_of(i, r);
    draw_args     how = i->draw;
    how.first += part_offset(i, r);
    /* A random number costs as much as several elements of any other kernel. */
    int parts = work_parts(r, n.elements * 8, n.elements);
    PARALLEL(r, parts)
    for (int part = 0; part < parts; part++) {
        source  s = {.stream = stream};
        int64_t first = n.elements * part / parts, end = n.elements * (part + 1) / parts;
        for (walk w = walk_at(&n, first, end - first); w.left > 0; walk_on(&w))
            draw_block(&how, &s, &w, out, operand(r, out));
        report_flops(r, (end - first) * draw_flops(i->draw.kind));
    }
}

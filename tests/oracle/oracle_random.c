/* Definitions of random numbers, from docs/random.md. */
#include <stdio.h>
#include <string.h>

#include "base/philox.h"
#include "rules.h"

/* Who draws. */
typedef struct stream {
    uint64_t seed;
    uint32_t op, step;
} stream;

static philox_block block_at(const stream *s, uint64_t n)
{
    return philox((philox_block){{(uint32_t)n, (uint32_t)(n >> 32), s->op, s->step}},
                  (uint32_t)s->seed, (uint32_t)(s->seed >> 32));
}

/* The stream inside of loops: two iterations at a time make another one, the outermost first. */
static stream inside(stream s, int n, const value *const *iterations)
{
    for (int i = 0; i < n; i += 2) {
        uint32_t     outer = (uint32_t)iterations[i]->at[0].i;
        uint32_t     inner = i + 1 < n ? (uint32_t)iterations[i + 1]->at[0].i : 0;
        philox_block b = block_at(&s, (uint64_t)inner << 32 | outer);
        s = (stream){(uint64_t)b.word[1] << 32 | b.word[0], b.word[2], b.word[3]};
    }
    return s;
}

/* h, W, L, u, v of the page. */
static uint32_t flag_of(const stream *s, uint64_t g)
{
    uint64_t     n = g / 8;
    philox_block b =
        philox_rounds((philox_block){{(uint32_t)n, (uint32_t)(n >> 32), s->op, s->step}},
                      (uint32_t)s->seed, (uint32_t)(s->seed >> 32), 7);
    uint32_t word = b.word[g % 8 / 2];
    return (g % 2 ? word >> 16 : word) & 0x7fff;
}

static uint32_t word_of(const stream *s, uint64_t g)
{
    return block_at(s, g / 4).word[g % 4];
}

static uint64_t long_of(const stream *s, uint64_t g)
{
    philox_block b = block_at(s, g / 2);
    return (uint64_t)b.word[2 * (g % 2)] << 32 | b.word[2 * (g % 2) + 1];
}

static double unit(uint32_t w)
{
    return (w >> 8) * 0x1p-24;
}

static double unit_long(uint64_t l)
{
    return (double)(l >> 11) * 0x1p-53;
}

/* ---- uniform ---- */

static float uniform_f32(const stream *s, uint64_t g, double low, double high)
{
    volatile float a = (float)low, b = (float)high, width = b - a,
                   part = width * (float)unit(word_of(s, g));
    float r = a + part;
    return a < b && r >= b ? nextafterf(b, -INFINITY) : r;
}

static double uniform_f64(const stream *s, uint64_t g, double a, double b)
{
    volatile double width = b - a, part = width * unit_long(long_of(s, g));
    double          r = a + part;
    return a < b && r >= b ? nextafter(b, -(double)INFINITY) : r;
}

/* floor(bits * range / 2^64), in halves. */
static uint64_t scaled_long(uint64_t bits, uint64_t range)
{
    uint64_t low = (bits & 0xffffffffu) * (range & 0xffffffffu);
    uint64_t cross = (bits >> 32) * (range & 0xffffffffu) + (low >> 32);
    uint64_t other = (bits & 0xffffffffu) * (range >> 32) + (cross & 0xffffffffu);
    return (bits >> 32) * (range >> 32) + (cross >> 32) + (other >> 32);
}

static number uniform(const stream *s, uint64_t g, double a, double b, mtf_dtype type)
{
    uint64_t bits;
    switch (type) {
    case MTF_F64: return number_real(uniform_f64(s, g, a, b));
    case MTF_F32: return number_real((double)uniform_f32(s, g, a, b));
    case MTF_I32:
        return number_int((int64_t)a + (int64_t)((uint64_t)word_of(s, g) * (uint64_t)(b - a) >> 32),
                          type);
    case MTF_I64:
        bits = long_of(s, g);
        if (b - a < 0x1p64) bits = scaled_long(bits, (uint64_t)(b - a));
        return number_int((int64_t)((uint64_t)(int64_t)a + bits), type);
    case MTF_BOOL: return number_bool(flag_of(s, g) < floor(b * 32768 + 0.5));
    default: return number_made((double)uniform_f32(s, g, a, b), 0, false, type); /* below b */
    }
}

/* ---- normal ---- */

static double box_muller(double p, double q, bool sine)
{
    return sqrt(-2 * log(1 - p)) * (sine ? sin(2 * M_PI * q) : cos(2 * M_PI * q));
}

static number normal(const stream *s, uint64_t g, double a, double b, mtf_dtype type)
{
    double p, q;
    if (type == MTF_F64) {
        philox_block k = block_at(s, g);
        p = unit_long((uint64_t)k.word[0] << 32 | k.word[1]);
        q = unit_long((uint64_t)k.word[2] << 32 | k.word[3]);
        return number_made(a + b * box_muller(p, q, false), fabs(b) * 1e-14, false, type);
    }
    uint64_t even = g & ~(uint64_t)1;
    p = unit(word_of(s, even));
    q = unit(word_of(s, even + 1));
    return number_made(a + b * box_muller(p, q, g & 1), fabs(b) * 1e-14, false, type);
}

/* The number with Phi(z) = 1/2 + share * (p - 1/2), by halving. */
static double inside_two(double p)
{
    double want = 0.5 + 0.9544997361036416 * (p - 0.5), low = -2, high = 2;
    for (int i = 0; i < 80; i++) {
        double middle = (low + high) / 2;
        if (0.5 * erfc(-middle / sqrt(2)) < want)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static number truncated(const stream *s, uint64_t g, double a, double b, mtf_dtype type)
{
    double p = type == MTF_F64 ? unit_long(long_of(s, g)) + 0x1p-54 : unit(word_of(s, g)) + 0x1p-25;
    return number_made(a + b * inside_two(p), fabs(b) * 1e-11, false, type);
}

/* ---- the ops ---- */

static const char *part_of(const node *n)
{
    const char *dim = node_attr(n, "part_of")->text;
    return dim ? dim : "";
}

/* The index in the whole tensor of element k of a part of it. */
static uint64_t whole_index(const node *n, int64_t part, int64_t k)
{
    const mtf_shape *s = &n->out[0]->shape;
    int64_t          index = 0, of[MTF_SHAPE_ROOM];
    for (int d = s->ndims - 1; d >= 0; k /= s->dims[d--].size) of[d] = k % s->dims[d].size;
    for (int d = 0; d < s->ndims; d++) {
        if (strcmp(s->dims[d].name, part_of(n)))
            index = index * s->dims[d].size + of[d];
        else
            index = index * node_attr(n, "whole")->i + part + of[d] * node_attr(n, "parts")->i;
    }
    return (uint64_t)index;
}

static void rule_random(oracle *o, const node *n, const value *const *in, value *out)
{
    const char *name = n->op->name;
    bool        even = !strcmp(name, "random_uniform");
    double      a = node_attr(n, even ? "low" : "mean")->r,
           b = node_attr(n, even ? "high" : "stddev")->r;
    bool known = true;
    for (int i = 0; i < n->nargs; i++) known = known && number_known(in[i]->at[0]);
    int     iterations = n->nargs - (*part_of(n) != 0);
    int64_t part = iterations < n->nargs ? in[iterations]->at[0].i : 0;
    stream  s = inside((stream){o->seed, (uint32_t)node_attr(n, "key")->i, (uint32_t)o->step},
                       iterations, in);
    /* What stands in a loop is another number in each iteration of it.  Copies, which have no name yet, are
     * those of a gradient: they repeat what was drawn where the original stands. */
    if (n->out[0]->name && iterations != o->loops && !o->complaint[0])
        snprintf(o->complaint, sizeof o->complaint, "%s draws for %d iterations inside of %d loops",
                 tensor_name(n->out[0]), iterations, o->loops);
    for (int64_t g = 0; g < out->n; g++)
        out->at[g] = !known           ? number_unknown()
                     : even           ? uniform(&s, whole_index(n, part, g), a, b, out->type)
                     : name[0] == 'r' ? normal(&s, whole_index(n, part, g), a, b, out->type)
                                      : truncated(&s, whole_index(n, part, g), a, b, out->type);
}

const named_rule random_rules[] = {{"random_uniform", rule_random},
                                   {"random_normal", rule_random},
                                   {"truncated_normal", rule_random},
                                   {NULL, NULL}};

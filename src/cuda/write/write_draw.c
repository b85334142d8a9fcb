/* Random numbers by position, as kernels.
 *
 * The formulas are those of docs/random.md, step by step as the CPU computes them: uniform
 * numbers, integers and flags are the same bits.  Normal numbers use the GPU's log, sin,
 * cos, erf and exp of f64, whose last bit may differ.  Where global indices run along the
 * innermost loop a thread draws all numbers of one block of the generator.
 *
 * A model draws each of its variables with a key of its own: keys, bounds and the number
 * of elements are arguments, so that most variables share a kernel.
 */
#include <math.h>
#include <string.h>

#include "base/dtype.h"
#include "base/philox.h"
#include "cuda/write/kernel_text.h"
#include "cuda/write/prelude_assets.h"

static const kernel_patterns patterns = {asset_draw, &asset_draw_bytes};

/* ---- from words to numbers ---- */

/* Word number e of a block; its 64 bits number e. */
static const char word[] =
    "u32 word = e < 2 ? e == 0 ? b.word[0] : b.word[1] : e == 2 ? b.word[2] : b.word[3];";
static const char bits[] = "u64 bits = e == 0 ? (u64)b.word[0] << 32 | b.word[1] "
                           ": (u64)b.word[2] << 32 | b.word[3];";
static const char unit24[] = "$WORD f64 u = (word >> 8) * 0x1p-24;";
static const char unit53[] = "$BITS f64 u = (f64)(bits >> 11) * 0x1p-53;";

/* Two words make two normal numbers: 2 * (e / 2) is the first one's. */
static const char normal32[] = "f64 p = ((e < 2 ? b.word[0] : b.word[2]) >> 8) * 0x1p-24;\n"
                               "        f64 q = ((e < 2 ? b.word[1] : b.word[3]) >> 8) * 0x1p-24;\n"
                               "        f64 angle = 6.283185307179586 * q;\n"
                               "        f64 z = scalar::sqrt(-2.0 * scalar::log(1.0 - p)) * "
                               "(e % 2 ? scalar::sin(angle) : scalar::cos(angle));";
static const char normal64[] =
    "f64 p = (f64)(((u64)b.word[0] << 32 | b.word[1]) >> 11) * 0x1p-53;\n"
    "        f64 q = (f64)(((u64)b.word[2] << 32 | b.word[3]) >> 11) * 0x1p-53;\n"
    "        f64 z = scalar::sqrt(-2.0 * scalar::log(1.0 - p)) * "
    "scalar::cos(6.283185307179586 * q);";

static const char uniform32[] = "$UNIT f32 v = $LOW + ($HIGH - $LOW) * (f32)u; $BELOW";
static const char uniform64[] = "$UNIT f64 v = $LOW + ($HIGH - $LOW) * u; $BELOW";

/* Rounding to a short float may reach the upper bound: then the next smaller number. */
static const char below_short[] =
    "        if (widen(ys[k]) >= $HIGH)\n"
    "            ys[k].bits = widen(ys[k]) == 0.0f ? 0x8001u\n"
    "                         : (u16)(ys[k].bits & 0x8000u ? ys[k].bits + 1u : ys[k].bits - 1u);";

/* The high half of a product of 64 bits. */
static const char whole64[] =
    "$BITS\n"
    "        u64 range = $RANGE, low = (u64)(u32)bits * (u32)range;\n"
    "        u64 across = (bits >> 32) * (u32)range + (low >> 32);\n"
    "        u64 other = (u64)(u32)bits * (range >> 32) + (u32)across;\n"
    "        u64 high = (bits >> 32) * (range >> 32) + (across >> 32) + (other >> 32);\n"
    "        ys[k] = (i64)($LOW + $SHARE);";

/* ---- arguments ---- */

typedef struct draw_text {
    kernel_text  k;
    kernel_plan *plan;
} draw_text;

/* Sets a word to an argument, converted by a cast or a function. */
static void set_argument(draw_text *d, const char *name, const char *convert, uint64_t value)
{
    kernel_set(&d->k, name, "%s(number%d)", convert, kernel_number(d->plan, value));
}

static void set_f32(draw_text *d, const char *name, float v)
{
    uint32_t b;
    memcpy(&b, &v, sizeof b);
    set_argument(d, name, "f32_of_bits", b);
}

static void set_f64(draw_text *d, const char *name, double v)
{
    uint64_t b;
    memcpy(&b, &v, sizeof b);
    set_argument(d, name, "f64_of_bits", b);
}

/* ---- one element of each type ---- */

static void set_real(draw_text *d, const draw_args *a, mtf_dtype type)
{
    bool wide = type == MTF_F64, shortened = dtype_is_short(type);
    kernel_set_pattern(&d->k, "UNIT", wide ? unit53 : unit24);
    kernel_set_pattern(&d->k, "HALF", wide ? "0x1p-54" : "0x1p-25");
    if (a->kind != DRAW_UNIFORM) {
        set_f64(d, "LOW", a->a);
        set_f64(d, "HIGH", a->b);
        if (a->kind == DRAW_TRUNCATED_NORMAL)
            kernel_set_from(&d->k, "Z", &patterns, "truncated");
        else
            kernel_set_pattern(&d->k, "Z", wide ? normal64 : normal32);
        kernel_set_pattern(&d->k, "VALUE",
                           wide ? "$Z\n        store(&ys[k], $LOW + $HIGH * z);"
                                : "$Z\n        store(&ys[k], (f32)($LOW + $HIGH * z));");
        return;
    }
    float low = (float)a->a, high = (float)a->b;
    bool  bounded = wide ? a->a < a->b : low < high;
    if (wide) {
        set_f64(d, "LOW", a->a);
        set_f64(d, "HIGH", a->b);
        if (bounded) set_f64(d, "PREVIOUS", nextafter(a->b, a->a));
    } else {
        set_f32(d, "LOW", low);
        set_f32(d, "HIGH", high);
        if (bounded) set_f32(d, "PREVIOUS", nextafterf(high, low));
    }
    kernel_set_pattern(&d->k, "BELOW", bounded ? "if (v >= $HIGH) v = $PREVIOUS;" : "");
    kernel_set_pattern(&d->k, "NUMBER", wide ? uniform64 : uniform32);
    kernel_set_pattern(&d->k, "BELOWSHORT", shortened && bounded ? below_short : "");
    kernel_set_pattern(&d->k, "VALUE", "$NUMBER\n        store(&ys[k], v);\n$BELOWSHORT");
}

/* As the CPU does: whole numbers of at most 64 bits, and their difference. */
__extension__ typedef __int128 wide_whole;

static wide_whole whole(double v)
{
    return !(v > -0x1p63) ? -((wide_whole)1 << 63)
           : v > 0x1p63   ? (wide_whole)1 << 63
                          : (wide_whole)v;
}

static void set_whole(draw_text *d, const draw_args *a, mtf_dtype type)
{
    wide_whole low = whole(a->a), range = whole(a->b) - low;
    set_argument(d, "LOW", "", (uint64_t)low);
    if (range > 0) set_argument(d, "RANGE", "", (uint64_t)range);
    kernel_set_pattern(&d->k, "SHARE", range >> 64 ? "bits" : "high");
    if (range <= 0)
        kernel_set_pattern(&d->k, "VALUE", "ys[k] = ($T)$LOW;");
    else if (type == MTF_I64)
        kernel_set_pattern(&d->k, "VALUE", whole64);
    else
        kernel_set_pattern(&d->k, "VALUE",
                           "$WORD ys[k] = (i32)((u32)$LOW + "
                           "(u32)((u64)word * $RANGE >> 32));");
}

static void set_value(draw_text *d, const draw_args *a, mtf_dtype type)
{
    kernel_set_pattern(&d->k, "WORD", word);
    kernel_set_pattern(&d->k, "BITS", bits);
    if (type == MTF_I32 || type == MTF_I64) {
        set_whole(d, a, type);
    } else if (type == MTF_BOOL) {
        set_argument(d, "SHARE", "(u32)", philox_flag_share(a->b));
        kernel_set_pattern(&d->k, "VALUE", "ys[k] = philox_flag(b, e) < $SHARE;");
    } else {
        set_real(d, a, type);
    }
}

/* ---- the writer ---- */

/* Numbers that one block of the generator gives. */
static int numbers_of_block(const draw_args *a, mtf_dtype type)
{
    if (type == MTF_BOOL) return PHILOX_FLAGS;
    if (type != MTF_F64 && type != MTF_I64) return 4;
    return type == MTF_F64 && a->kind == DRAW_NORMAL ? 1 : 2;
}

/* Do blocks coincide with pieces of the innermost loop? */
static bool in_blocks(const nest *n, const draw_args *a, const access *weights, int per)
{
    bool whole_blocks = n->nloops > 0 && nest_inner(n) % per == 0 && a->first % per == 0 &&
                        a->part % per == 0 && nest_stride(n, weights, 0) == 1;
    for (int l = 0; l < n->nloops - 1; l++)
        whole_blocks = whole_blocks && weights->stride[n->loop[l]] % per == 0;
    return whole_blocks;
}

static const char *iterations_text(const instr *i, arena *a)
{
    textbuf t = {.arena = a};
    int     iterations = i->nin - (i->draw.part != 0);
    for (int k = 0; k < iterations; k += 2) {
        text_add(&t, "stream = philox_iterations(stream, (u32)in%d[0], ", k);
        text_add(&t, k + 1 < iterations ? "(u32)in%d[0]); " : "0); ", k + 1);
    }
    return text_done(&t);
}

bool write_draw(kernel_source *s, const instr *i, kernel_plan *plan)
{
    const draw_args *a = &i->draw;
    const access    *out = &i->out[0];
    access           weights = {.type = MTF_I64};
    instr            indexed = *i; /* loops are merged where global indices follow as well */
    memcpy(weights.stride, a->weight, sizeof weights.stride);
    indexed.nin = 1;
    indexed.in = &weights;
    nest n = nest_of(&indexed, loops_between(0, i->nloops), out, 0);
    if (n.elements == 0) return true;
    int       per = numbers_of_block(a, out->type);
    bool      blocks = in_blocks(&n, a, &weights, per) && nest_stride(&n, out, 0) == 1;
    int       v = blocks ? per : 1;
    draw_text d = {kernel_text_of(s, &indexed, 0), plan};
    d.k.i = i;
    kernel_set(&d.k, "T", "%s", kernel_type(out->type));
    kernel_set(&d.k, "BLOCK", "%s", out->type == MTF_BOOL ? "philox_flags_at" : "philox_at");
    kernel_set_number(&d.k, "V", v);
    kernel_set_number(&d.k, "PER", per);
    kernel_set_number(&d.k, "PACK", kernel_least(v, kernel_pack(&n, NULL, out)));
    set_argument(&d, "PIECES", "($U)", (uint64_t)(n.elements / v));
    set_argument(&d, "KEY", "(u32)", a->key);
    set_argument(&d, "FIRST", "", (uint64_t)a->first);
    kernel_set_pattern(&d.k, "ITERATIONS", iterations_text(i, s->arena));
    if (a->part)
        kernel_set(&d.k, "PARTFIRST", " + %lluull * (u64)in%d[0]", (unsigned long long)a->part,
                   i->nin - 1);
    else
        kernel_set(&d.k, "PARTFIRST", "%s", "");
    kernel_set_pattern(&d.k, "WHICH", blocks ? "k" : per > 1 ? "(int)(g % $PER)" : "0");
    kernel_set_loops(&d.k, "LOOPS", &n, 'l', "at", v);
    kernel_set_offset(&d.k, "WEIGHTS", &n, 'l', &weights);
    kernel_set_offset(&d.k, "OUT", &n, 'l', out);
    set_value(&d, a, out->type);
    kernel_say_from(&d.k, &patterns, "draw");
    return kernel_done(&d.k, plan, kernel_parts(n.elements / v, BLOCK_THREADS), BLOCK_THREADS, 0);
}

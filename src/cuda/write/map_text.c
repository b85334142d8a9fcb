/* What the kernels of maps share: registers, values and accesses as text. */
#include "cuda/write/map_text.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "base/dtype.h"
#include "base/numbers.h"
#include "base/saturate.h"
#include "program/scalar.h"

enum { LEAST_SLANTED = 64 }; /* elements of a row for which it is worth the tests */

/* ---- registers ---- */

static void write_real(char to[NAME_ROOM], mtf_dtype type, double v)
{
    bool        single = type == MTF_F32;
    const char *t = single ? "f32" : "f64";
    if (v != v) {
        snprintf(to, NAME_ROOM, "%s",
                 single ? "f32_of_bits(0x7fc00000u)" : "f64_of_bits(0x7ff8ull << 48)");
    } else if (isinf(v)) {
        snprintf(to, NAME_ROOM, "%s<%s>()", v > 0 ? "highest" : "lowest", t);
    } else {
        char digits[32];
        number_format(digits, sizeof digits, single ? "%.9g" : "%.17g", v);
        bool point = strpbrk(digits, ".e") != NULL, minus = digits[0] == '-';
        snprintf(to, NAME_ROOM, "%s%s%s%s%s", minus ? "(" : "", digits, point ? "" : ".0",
                 single ? "f" : "", minus ? ")" : "");
    }
}

static void write_constant(char to[NAME_ROOM], mtf_dtype type, scalar v)
{
    long long whole = (long long)v.whole;
    if (dtype_is_float(type))
        write_real(to, type, type == MTF_F32 ? (double)(float)v.real : v.real);
    else if (type == MTF_BOOL)
        snprintf(to, NAME_ROOM, "(u8)%d", whole != 0);
    else if (whole == INT64_MIN || (type == MTF_I32 && whole == INT32_MIN))
        snprintf(to, NAME_ROOM, "lowest<%s>()", kernel_type(type));
    else
        snprintf(to, NAME_ROOM, whole < 0 ? "(%lld%s)" : "%lld%s", whole,
                 type == MTF_I64 ? "LL" : "");
}

bool map_is_constant(const map_text *m, int reg)
{
    return reg >= m->i->nin && m->i->map.steps[reg - m->i->nin].fn == FN_IMMEDIATE;
}

map_text map_text_of(kernel_source *s, const instr *i)
{
    map_text m = {.i = i,
                  .t = kernel_textbuf(s),
                  .indent = 1,
                  .vector = 1,
                  .multiprocessors = s->multiprocessors,
                  .wide = index_needs_wide(i, 0),
                  .registers = i->nin + i->map.nsteps};
    for (int k = 0; k < m.registers; k++) {
        const scalar_step *step = map_register_step(i, k);
        bool               flag = step && scalar_infos[step->fn].gives_bool;
        m.type[k] = flag ? MTF_BOOL : dtype_compute(step ? step->type : i->in[k].type);
        snprintf(m.name[k], NAME_ROOM, "r%d", k);
        if (step && step->fn == FN_IMMEDIATE) write_constant(m.name[k], m.type[k], step->value);
    }
    return m;
}

void map_line(map_text *m, const char *format, ...)
{
    char    line[400];
    va_list args;
    va_start(args, format);
    number_vformat(line, sizeof line, format, args);
    va_end(args);
    text_add(&m->t, "%*s%s\n", line[0] == '#' ? 0 : 4 * m->indent, "", line);
}

/* ---- accesses ---- */

uint32_t map_indexed_loops(const instr *i)
{
    uint32_t loops = 0;
    for (int s = 0; s < i->map.nsteps; s++)
        if (i->map.steps[s].fn == FN_INDEX) loops |= 1u << i->map.steps[s].a;
    return loops;
}

static const access *operand_of(const instr *i, int k)
{
    return k < i->nout ? &i->out[k] : &i->in[k - i->nout];
}

int map_vector(const map_text *m, bool rest)
{
    int64_t inner = nest_inner(&m->nest);
    int     least = PACK_BYTES + 1;
    for (int k = 0; k < m->i->nout + m->i->nin; k++) {
        const access *a = operand_of(m->i, k);
        int           bytes = (int)mtf_dtype_bytes(a->type);
        if (nest_stride(&m->nest, a, 0) == 1 && bytes < least) least = bytes;
    }
    int vector = least > PACK_BYTES ? 1 : PACK_BYTES / least;
    if (vector > MOST_VECTOR) vector = MOST_VECTOR;
    bool leaves_rest = rest && m->nest.nloops == 1;
    while (vector > 1 && (leaves_rest ? inner < vector : inner % vector != 0)) vector /= 2;
    return vector;
}

/* Does the operand have an element each, side by side, and rows of its own? */
static bool is_slanted(const map_text *m, const access *a)
{
    return nest_stride(&m->nest, a, 0) == 1 && !nest_repeats(&m->rows, a);
}

/* Elements of an operand that can be moved at once: 1 where they do not lie side by side. */
static int map_pack(const map_text *m, const access *a)
{
    int most = PACK_BYTES / (int)mtf_dtype_bytes(a->type);
    int pack = m->vector < most ? m->vector : most;
    if (m->nest.nloops == 0 || nest_stride(&m->nest, a, 0) != 1) return 1;
    if (m->slanted) return is_slanted(m, a) ? pack : 1;
    while (pack > 1 && (a->offset % pack != 0 || !index_keeps_aligned(&m->nest, 1, a, pack) ||
                        !index_keeps_aligned(&m->rows, 0, a, pack)))
        pack /= 2;
    return pack;
}

bool map_slant(map_text *m)
{
    map_text      try = *m;
    const access *first = NULL;
    try.vector = map_vector(m, true);
    if (m->nest.nloops != 1 || m->nest.elements < LEAST_SLANTED || try.vector == 1) return false;
    bool alike = true, aligned = m->vector == try.vector;
    for (int k = 0; k < m->i->nout + m->i->nin; k++) {
        const access *a = operand_of(m->i, k);
        int           most = PACK_BYTES / (int)mtf_dtype_bytes(a->type);
        if (!is_slanted(m, a)) continue;
        if (!first) first = a;
        aligned = aligned && map_pack(&try, a) == (most < try.vector ? most : try.vector);
        alike = alike && (a->offset - first->offset) % try.vector == 0;
        for (int l = 0; l < m->rows.nloops; l++) {
            int loop = m->rows.loop[l];
            alike = alike && (a->stride[loop] - first->stride[loop]) % try.vector == 0;
            alike = alike && a->stride[loop] >= 0;
        }
    }
    if (aligned || !alike || !first) return false;
    m->vector = try.vector;
    m->slanted = true;
    return true;
}

void map_add_shift(map_text *m)
{
    const access *first = NULL;
    for (int k = 0; k < m->i->nout + m->i->nin && !first; k++)
        if (is_slanted(m, operand_of(m->i, k))) first = operand_of(m->i, k);
    assert(first != NULL);
    text_add(&m->t, "%*si32 shift = (i32)((", 4 * m->indent, "");
    map_add_offset(m, &m->rows, "m", first);
    text_add(&m->t, " + %lld) %% %d);\n", (long long)(first->offset % m->vector), m->vector);
}

void map_add_index(map_text *m, const nest *n, const char *prefix, const char *number, int vector)
{
    const char *type = index_type(m->wide);
    int64_t     below = 1;
    if (m->slanted && n == &m->nest) {
        map_line(m, "%s %s0 = (%s)%s * %d - shift;", type, prefix, type, number, vector);
        return;
    }
    for (int k = n->nloops - 1; k >= 0; k--) {
        text_add(&m->t, "%*s", 4 * m->indent, "");
        index_add_loop(&m->t, n, k, prefix, number, below, vector, m->wide);
        text_add(&m->t, "\n");
        below *= index_pieces(n, k, vector);
    }
}

void map_add_offset(map_text *m, const nest *n, const char *prefix, const access *a)
{
    if (!index_add_offset(&m->t, n, prefix, a)) text_add(&m->t, "0");
}

const char *map_computed(const access *a)
{
    return kernel_type(dtype_compute(a->type));
}

static void begin_line(map_text *m)
{
    text_add(&m->t, "%*s", 4 * m->indent, "");
}

/* at + (offset) + e * stride */
static void add_element(map_text *m, const access *a, const char *at)
{
    int64_t stride = nest_stride(&m->nest, a, 0);
    text_add(&m->t, "%s[", at);
    map_add_offset(m, &m->nest, "l", a);
    if (m->vector > 1 && stride != 0) {
        text_add(&m->t, " + e");
        if (stride != 1) text_add(&m->t, stride < 0 ? " * (%lld)" : " * %lld", (long long)stride);
    }
    text_add(&m->t, "]");
}

/* for each element of a piece, as far as it lies in the row */
static void add_each(map_text *m)
{
    if (m->vector > 1) text_add(&m->t, "UNROLL for (int e = 0; e < %d; e++) ", m->vector);
    if (m->slanted)
        text_add(&m->t, "if (l0 + e >= 0 && l0 + e < %lld) ", (long long)m->nest.elements);
}

static bool has_words(const map_text *m, const access *a)
{
    return dtype_is_short(a->type) && map_pack(m, a) > 1;
}

/* A type whose values are loaded several at once as they are; others are widened one by one. */
static bool is_loaded_whole(const map_text *m, const access *a)
{
    return map_pack(m, a) > 1 && !has_words(m, a);
}

void map_declare(map_text *m, const access *a, const char *name, int times)
{
    const char *type = is_loaded_whole(m, a) ? kernel_type(a->type) : map_computed(a);
    bool        words = has_words(m, a);
    text_add(&m->t, "%*s%s %s", 4 * m->indent, "", words ? "u32" : type, name);
    if (times > 1) text_add(&m->t, "[%d]", times);
    text_add(&m->t, "[%d];\n", words ? m->vector / 2 : m->vector);
}

void map_add_element(map_text *m, const access *a, const char *array)
{
    const char *e = m->vector > 1 ? "e" : "0";
    if (has_words(m, a))
        text_add(&m->t, "element_of<%s>(%s, %s)", kernel_type(a->type), array, e);
    else
        text_add(&m->t, is_loaded_whole(m, a) ? "widen(%s[%s])" : "%s[%s]", array, e);
}

void map_load(map_text *m, const access *a, const char *at, const char *array)
{
    int pack = map_pack(m, a);
    begin_line(m);
    if (pack > 1) {
        text_add(&m->t, "load_%s<%d>(%s, %s + (", has_words(m, a) ? "words" : "packs", pack, array,
                 at);
        map_add_offset(m, &m->nest, "l", a);
        text_add(&m->t, "));\n");
        return;
    }
    add_each(m);
    text_add(&m->t, "%s[%s] = widen(", array, m->vector > 1 ? "e" : "0");
    add_element(m, a, at);
    text_add(&m->t, ");\n");
}

void map_store(map_text *m, const access *a, const char *at, const char *array)
{
    int pack = map_pack(m, a);
    begin_line(m);
    if (pack > 1) {
        if (m->slanted)
            text_add(&m->t, "if (l0 >= 0 && l0 <= %lld) ", (long long)m->nest.elements - m->vector);
        text_add(&m->t, "store_packs<%d>(%s + (", pack, at);
        map_add_offset(m, &m->nest, "l", a);
        text_add(&m->t, "), %s);\n", array);
        if (!m->slanted) return;
        begin_line(m);
        text_add(&m->t, "else ");
    }
    add_each(m);
    text_add(&m->t, "store(&");
    add_element(m, a, at);
    text_add(&m->t, ", %s[%s]);\n", array, m->vector > 1 ? "e" : "0");
}

/* ---- values ---- */

/* The position along a loop of the instruction; those of size 1 are not in a nest. */
static void write_position(const map_text *m, int loop, char to[NAME_ROOM])
{
    snprintf(to, NAME_ROOM, "0");
    for (int k = 0; k < m->rows.nloops; k++)
        if (m->rows.loop[k] == loop) snprintf(to, NAME_ROOM, "m%d", k);
    for (int k = 0; k < m->nest.nloops; k++) {
        bool inner = k == m->nest.nloops - 1 && m->vector > 1;
        if (m->nest.loop[k] == loop) snprintf(to, NAME_ROOM, inner ? "(l%d + e)" : "l%d", k);
    }
}

/* Whole numbers are added before they become a float: they are rounded once in either way. */
static void add_index_value(map_text *m, const scalar_step *s, mtf_dtype type)
{
    const double most = INT32_MAX / 2;
    char         position[NAME_ROOM], shift[NAME_ROOM];
    bool         real = dtype_is_float(type);
    bool whole = !real || (s->value.real == floor(s->value.real) && fabs(s->value.real) < most);
    long long by = real ? (whole ? (long long)s->value.real : 0) : (long long)s->value.whole;
    write_position(m, s->a, position);
    if (!whole) {
        write_real(shift, MTF_F64, s->value.real);
        text_add(&m->t, "(%s)((f64)%s + %s)", kernel_type(type), position, shift);
    } else if (type == MTF_BOOL) {
        text_add(&m->t, "(u8)((i64)%s + %lldLL != 0)", position, by);
    } else if (by == 0) {
        text_add(&m->t, "(%s)%s", kernel_type(type), position);
    } else if (by == INT64_MIN) {
        text_add(&m->t, "(%s)((i64)%s + lowest<i64>())", kernel_type(type), position);
    } else {
        text_add(&m->t, "(%s)((i64)%s + %lldLL)", kernel_type(type), position, by);
    }
}

/* An input that was read from memory is rounded to its type already. */
static bool is_rounded(const map_text *m, const scalar_step *cast)
{
    return cast->a < m->i->nin && m->i->in[cast->a].type == cast->type;
}

void map_add_value(map_text *m, int step)
{
    const scalar_step *s = &m->i->map.steps[step];
    int                reg[3], n = map_operands(s, reg), to = m->i->nin + step;
    switch ((int)s->fn) {
    case FN_INDEX: add_index_value(m, s, m->type[to]); break;
    case FN_CAST:
        if (is_rounded(m, s))
            text_add(&m->t, "%s", m->name[reg[0]]);
        else
            text_add(&m->t, "cast_%s(%s)", kernel_type(s->type), m->name[reg[0]]);
        break;
    case FN_SELECT:
        text_add(&m->t, "%s ? %s : %s", m->name[reg[0]], m->name[reg[1]], m->name[reg[2]]);
        break;
    default:
        text_add(&m->t, "fn_%s(", scalar_infos[s->fn].name);
        for (int k = 0; k < n; k++) text_add(&m->t, "%s%s", k ? ", " : "", m->name[reg[k]]);
        text_add(&m->t, ")");
    }
}

bool map_goes_by_rows(const instr *i)
{
    bool rows = map_folds_rows(i) || i->map.sums;
    for (int o = 0; o < i->nout; o++) rows = rows || map_is_row(i, &i->out[o]);
    return rows;
}

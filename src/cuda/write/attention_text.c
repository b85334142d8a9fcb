/* What the kernels of attention share: an instruction as a struct of CUDA C. */
#include "cuda/write/attention_text.h"

#include <inttypes.h>

#include "base/dtype.h"
#include "base/numbers.h"
#include "base/philox.h"
#include "cuda/write/kernel_text.h"
#include "cuda/write/tile_sizes.h"

/* ---- loops ---- */

/* Does the memory have this loop?  In gradients, some operands may only repeat along it. */
static bool in_memory(const instr *i, int loop)
{
    static const attention_operand along[] = {ATTENTION_K, ATTENTION_V, ATTENTION_WRITE,
                                              ATTENTION_MEMORY_SEGMENT};
    bool                           grad = i->kind == INSTR_ATTENTION_GRAD;
    if (grad && (i->out[1].stride[loop] != 0 || i->out[2].stride[loop] != 0)) return true;
    for (size_t k = 0; k < sizeof along / sizeof *along; k++) {
        int at = i->attention->at[along[k]];
        if (at >= 0 && i->in[at].stride[loop] != 0) return true;
    }
    return false;
}

static void add_batch(attention_loops *l, const instr *i, int loop, bool together)
{
    l->batch[l->nbatch++] = loop;
    l->batches *= i->size[loop];
    if (together) l->together *= i->size[loop];
}

static void add_row(attention_loops *l, const instr *i, int loop)
{
    l->row[l->nrows++] = loop;
    l->rows *= i->size[loop];
}

attention_loops attention_loops_of(const instr *i, int sum)
{
    attention_loops all = {.batches = 1, .rows = 1, .together = 1};
    for (int pass = 0; pass < 2; pass++)
        for (int l = 0; l < i->nloops; l++) {
            bool adds = sum >= 0 && i->out[sum].stride[l] == 0;
            if (i->size[l] > 1 && in_memory(i, l) && adds == (pass == 1))
                add_batch(&all, i, l, adds);
        }
    for (int pass = 0; pass < 2; pass++)
        for (int l = 0; l < i->nloops; l++)
            if (i->size[l] > 1 && !in_memory(i, l) && (l == i->attention->query) == (pass == 1))
                add_row(&all, i, l);
    return all;
}

attention_loops attention_loops_by_query(const instr *i, int sum)
{
    attention_loops all = {.batches = 1, .rows = 1, .together = 1};
    int             query = i->attention->query;
    for (int pass = 0; pass < 2; pass++)
        for (int l = 0; l < i->nloops; l++) {
            bool adds = sum >= 0 && i->out[sum].stride[l] == 0;
            if (i->size[l] > 1 && l != query && adds == (pass == 1)) add_batch(&all, i, l, adds);
        }
    if (query >= 0 && i->size[query] > 1) add_row(&all, i, query);
    return all;
}

bool attention_is_by_distance(const instr *i)
{
    const attention_args *a = i->attention;
    return a->relative && a->query >= 0 && i->size[a->query] > 1;
}

bool attention_is_f64(const instr *i)
{
    return i->in[0].type == MTF_F64;
}

int attention_each(const instr *i, int64_t rows)
{
    return tile_each(attention_is_f64(i) ? TILE_ATTENTION_F64 : TILE_ATTENTION, rows);
}

int attention_most_each(const instr *i)
{
    return attention_each(i, INT64_MAX);
}

int64_t attention_pieces(int64_t n, int64_t each)
{
    return (n + each - 1) / each;
}

/* ---- small matrices ---- */

enum { MATRIX_PAD = 8, MOST_MATRIX = 128 };

/* Do all its lines begin at a multiple of `unit` elements? */
static bool is_aligned(const instr *i, const access *a, int64_t step, int unit)
{
    bool aligned = a->offset % unit == 0 && step % unit == 0;
    for (int l = 0; l < i->nloops; l++)
        aligned = aligned && (i->size[l] == 1 || a->stride[l] % unit == 0);
    return aligned;
}

static bool is_matrix_size(int64_t n)
{
    return n > 0 && n % 16 == 0 && n <= MOST_MATRIX;
}

bool attention_suits_matrices(const instr *i)
{
    static const attention_operand lines[] = {ATTENTION_Q, ATTENTION_K, ATTENTION_V, ATTENTION_DY};
    const attention_args          *a = i->attention;
    mtf_dtype                      type = i->in[a->at[ATTENTION_Q]].type;
    bool                           grad = i->kind == INSTR_ATTENTION_GRAD;
    if (!dtype_is_short(type)) return false;
    if (!is_matrix_size(a->key) || !is_matrix_size(a->value) || !(a->scale > 0)) return false;
    for (int k = 0; k < (grad ? 4 : 3); k++) {
        const access *x = &i->in[a->at[lines[k]]];
        if (x->type != type || !is_aligned(i, x, a->step[lines[k]], MATRIX_PAD)) return false;
    }
    for (int o = 0; o < (grad ? 3 : 1); o++)
        if (!is_aligned(i, &i->out[o], a->out_step[o], 2)) return false;
    return true;
}

bool attention_suits_slim(const instr *i)
{
    static const attention_operand lines[] = {ATTENTION_Q, ATTENTION_K, ATTENTION_V};
    enum { MOST_ROWS = 4, MOST_BYTES = 512, LEAST_MEMORY = 64 };
    const attention_args *a = i->attention;
    mtf_dtype             type = i->in[a->at[ATTENTION_Q]].type;
    int64_t               unit = PACK_BYTES / (int64_t)mtf_dtype_bytes(type), lanes = a->key / unit;
    if (type != MTF_F32 && type != MTF_BF16 && type != MTF_F16) return false;
    if (a->key != a->value || a->key % unit || (lanes & (lanes - 1)) ||
        lanes * PACK_BYTES > MOST_BYTES)
        return false;
    for (int k = 0; k < 3; k++) {
        const access *x = &i->in[a->at[lines[k]]];
        if (x->type != type || !is_aligned(i, x, a->step[lines[k]], (int)unit)) return false;
    }
    return attention_loops_of(i, -1).rows <= MOST_ROWS && a->memory >= LEAST_MEMORY &&
           a->dropout == 0;
}

/* A bias by distance is read tile by tile, whose rows are those of one batch. */
attention_form attention_matrix_form(const instr *i, int sum)
{
    attention_form f = {.rows = 1, .positions = 1};
    f.loops =
        attention_is_by_distance(i) ? attention_loops_by_query(i, sum) : attention_loops_of(i, sum);
    return f;
}

int attention_matrix_bytes(const instr *i, int keys, int values)
{
    int64_t elements =
        keys * (i->attention->key + MATRIX_PAD) + values * (i->attention->value + MATRIX_PAD);
    return (int)elements * 2;
}

/* ---- text ---- */

/* index % size * stride + index / size % ... */
static void add_offset(textbuf *t, const instr *i, int n, const int *loop, const int64_t *stride)
{
    int64_t below = 1;
    bool    any = false;
    for (int k = n - 1; k >= 0; k--) {
        int64_t size = i->size[loop[k]], by = stride[loop[k]];
        if (by != 0) {
            text_add(t, "%si", any ? " + " : "");
            if (below > 1) text_add(t, " / %" PRId64, below);
            if (k > 0) text_add(t, " %% %" PRId64, size);
            text_add(t, " * (%" PRId64 "LL)", by);
            any = true;
        }
        below *= size;
    }
    if (!any) text_add(t, "0");
}

static void add_operand(textbuf *t, const instr *i, const attention_loops *l, const char *name,
                        const int64_t *stride)
{
    text_add(t, "        static INLINE i64 %s_batch(i64 i) { return ", name);
    add_offset(t, i, l->nbatch, l->batch, stride);
    text_add(t, "; }\n        static INLINE i64 %s_row(i64 i) { return ", name);
    add_offset(t, i, l->nrows, l->row, stride);
    text_add(t, "; }\n");
}

static const char *const operand_names[ATTENTION_OPERANDS] = {
    [ATTENTION_Q] = "q",
    [ATTENTION_K] = "k",
    [ATTENTION_V] = "v",
    [ATTENTION_LSE] = "lse",
    [ATTENTION_DY] = "dy",
    [ATTENTION_DELTA] = "delta",
    [ATTENTION_BIAS] = "bias",
    [ATTENTION_READ] = "read",
    [ATTENTION_WRITE] = "write",
    [ATTENTION_QUERY_SEGMENT] = "query_segment",
    [ATTENTION_MEMORY_SEGMENT] = "memory_segment",
    [ATTENTION_Y] = "y",
};

/* Does every row begin with a block of flags? */
static bool pairs_are_aligned(const instr *i)
{
    const attention_args *a = i->attention;
    bool                  aligned = a->first % PHILOX_FLAGS == 0 && a->part % PHILOX_FLAGS == 0;
    for (int l = 0; l < i->nloops; l++)
        aligned = aligned && (i->size[l] == 1 || a->weight[l] % PHILOX_FLAGS == 0);
    return aligned;
}

static void add_number(textbuf *t, const char *name, int64_t value)
{
    text_add(t, "            %s = %" PRId64 "LL,\n", name, value);
}

/* Positions are 32 bits wide; limits beyond all differences are the same as none. */
static int64_t limit_of(int64_t limit)
{
    const int64_t none = (int64_t)1 << 40;
    return limit < -none ? -none : limit > none ? none : limit;
}

static void add_numbers(textbuf *t, const instr *i, const attention_form *f)
{
    const attention_args *a = i->attention;
    const int            *at = a->at;
    bool                  grad = i->kind == INSTR_ATTENTION_GRAD;
    int64_t               queries = a->query < 0 ? 1 : i->size[a->query];
    text_add(t, "        enum : i64 {\n");
    add_number(t, "BATCHES", f->loops.batches);
    add_number(t, "TOGETHER", f->loops.together);
    add_number(t, "ROWS", f->loops.rows);
    add_number(t, "QUERIES", queries);
    add_number(t, "MEMORY", a->memory);
    add_number(t, "CHUNKS", f->chunks ? f->chunks : 1);
    add_number(t, "CHUNK", f->chunks ? f->chunk : a->memory);
    add_number(t, "KEY", a->key);
    add_number(t, "VALUE", a->value);
    add_number(t, "FIRST_QUERY", a->first_query);
    add_number(t, "FIRST_MEMORY", a->first_memory);
    add_number(t, "MIN", limit_of(a->min));
    add_number(t, "MAX", limit_of(a->max));
    add_number(t, "K_STEP", a->step[ATTENTION_K]);
    add_number(t, "V_STEP", a->step[ATTENTION_V]);
    add_number(t, "BIAS_STEP", a->step[ATTENTION_BIAS]);
    add_number(t, "WRITE_STEP", a->step[ATTENTION_WRITE]);
    add_number(t, "MEMORY_SEGMENT_STEP", a->step[ATTENTION_MEMORY_SEGMENT]);
    add_number(t, "OUT1_STEP", grad ? a->out_step[1] : 0);
    add_number(t, "OUT2_STEP", grad ? a->out_step[2] : 0);
    add_number(t, "OUT3_STEP", grad && i->nout > 3 ? a->out_step[3] : 0);
    add_number(t, "PAIR_STEP", a->memory_weight);
    add_number(t, "EACH", f->each ? f->each : 1);
    add_number(t, "STRIP", f->strip ? f->strip : 1);
    text_add(t, "        };\n        enum {\n");
    add_number(t, "STAGES", f->stages ? f->stages : 1);
    add_number(t, "RELATIVE", attention_is_by_distance(i));
    add_number(t, "ROWS_EACH", f->rows);
    add_number(t, "POSITIONS_EACH", f->positions);
    add_number(t, "IS_GRAD", grad);
    add_number(t, "PARTS", a->parts);
    add_number(t, "HAS_BIAS", at[ATTENTION_BIAS] >= 0);
    add_number(t, "HAS_READ", at[ATTENTION_READ] >= 0);
    add_number(t, "HAS_WRITE", at[ATTENTION_WRITE] >= 0);
    add_number(t, "HAS_SEGMENTS", at[ATTENTION_QUERY_SEGMENT] >= 0);
    add_number(t, "HAS_DROPOUT", a->dropout > 0);
    add_number(t, "PAIRS_ALIGNED", pairs_are_aligned(i));
    add_number(t, "KEPT", philox_flag_share(1 - a->dropout));
    bool query = a->query >= 0 && grad && i->nout > 3 && i->out[3].stride[a->query] != 0;
    add_number(t, "BY_QUERY", query || queries == 1);
    add_number(t, "BY_POSITION", grad && i->nout > 3 && (a->out_step[3] != 0 || a->memory == 1));
    text_add(t, "        };\n");
}

static void add_real(textbuf *t, const char *type, const char *name, double value)
{
    char digits[40];
    number_format(digits, sizeof digits, "%.17g", value);
    text_add(t, "        static INLINE %s %s() { return (%s)%s; }\n", type, name, type, digits);
}

/* Layers that differ in their random numbers only share kernels: which they are is an argument. */
void attention_numbers(const instr *i, kernel_plan *plan)
{
    if (i->attention->dropout > 0) kernel_number(plan, i->attention->stream);
}

static void add_stream(textbuf *t, const instr *i)
{
    const attention_args *a = i->attention;
    text_add(t, "    p.stream = stream_of(words, (u32)number0);\n");
    int end = i->nin - (a->part != 0);
    text_add(t, "    p.first_pair = %lldll", (long long)a->first);
    if (a->part) text_add(t, " + %lldll * *in%d", (long long)a->part, end);
    text_add(t, ";\n");
    for (int k = a->first_iteration; k < end; k += 2) {
        text_add(t, "    p.stream = philox_iterations(p.stream, (u32)*in%d, ", k);
        text_add(t, k + 1 < end ? "(u32)*in%d);\n" : "0);\n", k + 1);
    }
}

void attention_text(textbuf *t, const instr *i, const attention_form *f)
{
    const attention_args *a = i->attention;
    const char           *wide = attention_is_f64(i) ? "f64" : "f32";
    text_add(t, "    struct problem {\n        typedef %s T;\n        typedef %s R;\n",
             kernel_type(i->in[0].type), wide);
    add_numbers(t, i, f);
    add_real(t, "R", "scale", a->scale);
    add_real(t, "R", "kept_factor", 1 / (1 - a->dropout));
    for (int r = 0; r < ATTENTION_OPERANDS; r++)
        if (a->at[r] >= 0) add_operand(t, i, &f->loops, operand_names[r], i->in[a->at[r]].stride);
    for (int o = 0; o < i->nout; o++) {
        char name[] = {'o', 'u', 't', (char)('0' + o), 0};
        add_operand(t, i, &f->loops, name, i->out[o].stride);
    }
    if (a->dropout > 0) add_operand(t, i, &f->loops, "pair", a->weight);
    for (int r = 0; r < ATTENTION_OPERANDS; r++)
        if (a->at[r] >= 0)
            text_add(t, "        const %s *%s;\n", kernel_type(i->in[a->at[r]].type),
                     operand_names[r]);
    text_add(t, "        philox_stream stream;\n        i64 first_pair;\n    } p;\n");
    for (int r = 0; r < ATTENTION_OPERANDS; r++)
        if (a->at[r] >= 0) text_add(t, "    p.%s = in%d;\n", operand_names[r], a->at[r]);
    if (a->dropout > 0) add_stream(t, i);
}

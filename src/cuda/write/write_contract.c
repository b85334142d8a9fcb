/* Kernels of products that the library does not make.
 *
 * Few columns (slim.h), integers and flags, odd strides, and many small products.  Large ones are computed in
 * tiles: a block keeps parts of both factors in shared memory.  Small ones have a thread
 * for each result, or a warp where the sums are long.
 */
#include "cuda/write/slim.h"

enum {
    SIDE = 16, /* a block has SIDE x SIDE threads */
    TILE_THREADS = SIDE * SIDE,
    TILE_TERMS = 16,      /* of a sum that are in shared memory at once */
    LONG_SUM = 64,        /* terms: a warp adds them up */
    MOST_BLOCKS = 1 << 20 /* more work is done by the same blocks, one after another */
};

typedef struct contract_text {
    textbuf      text;
    const instr *instr;
    int          m, n, k;     /* loops */
    const char  *sums, *term; /* a type; what adds a product x * y to a sum */
} contract_text;

/* ---- what all kernels share ---- */

/* Moves a, b and c along a loop, whose position is `rest` modulo its size. */
static void write_loop(contract_text *w, int loop)
{
    const instr *i = w->instr;
    int64_t      a = i->in[0].stride[loop], b = i->in[1].stride[loop], c = i->out[0].stride[loop];
    if (i->size[loop] == 1) return;
    text_add(&w->text, "        { i64 at = rest %% %lldLL; rest /= %lldLL;",
             (long long)i->size[loop], (long long)i->size[loop]);
    if (a) text_add(&w->text, " a += at * (%lldLL);", (long long)a);
    if (b) text_add(&w->text, " b += at * (%lldLL);", (long long)b);
    if (c) text_add(&w->text, " c += at * (%lldLL);", (long long)c);
    text_add(&w->text, " }\n");
}

static void write_pointers(contract_text *w)
{
    const instr *i = w->instr;
    text_add(&w->text,
             "        const %s *a = in0;\n        const %s *b = in1;\n        %s *c = out0;\n",
             kernel_type(i->in[0].type), kernel_type(i->in[1].type), kernel_type(i->out[0].type));
}

/* Stores a sum, to which the element of a matrix may be added that lies as the result does. */
static void write_store(contract_text *w, const char *at, const char *sum)
{
    int add = w->instr->contract.add;
    text_add(&w->text, "store(%s, %s", at, sum);
    if (add) text_add(&w->text, " + load(in%d + (%s - out0))", add, at);
    text_add(&w->text, ");\n");
}

static int64_t results_of(const instr *i)
{
    return instr_elements(i) / i->size[i->nloops - 1];
}

static bool add_kernel(kernel_source *s, kernel_plan *plan, contract_text *w, int64_t blocks)
{
    const char *body = text_done(&w->text);
    return body && kernel_add(s, plan, w->instr, body, blocks < MOST_BLOCKS ? blocks : MOST_BLOCKS,
                              TILE_THREADS, 0);
}

/* ---- a thread or a warp for each result ---- */

static bool write_small(kernel_source *s, kernel_plan *plan, contract_text *w, bool warps)
{
    const instr *i = w->instr;
    int64_t      results = results_of(i), terms = i->size[w->k];
    int          each = warps ? TILE_THREADS / 32 : TILE_THREADS; /* results of a block */
    text_add(
        &w->text,
        "    for (i64 result = BLOCK * %d + THREAD%s; result < %lldLL; result += BLOCKS * %d) {\n"
        "        i64 rest = result;\n",
        each, warps ? " / 32" : "", (long long)results, each);
    write_pointers(w);
    for (int loop = w->n; loop >= 0; loop--) write_loop(w, loop);
    text_add(&w->text,
             "        %s sum = 0;\n"
             "        for (i64 k = %s; k < %lldLL; k += %d) {\n"
             "            %s x = load(a + k * (%lldLL)), y = load(b + k * (%lldLL));\n"
             "            sum = %s;\n"
             "        }\n",
             w->sums, warps ? "LANE" : "0", (long long)terms, warps ? 32 : 1, w->sums,
             (long long)i->in[0].stride[w->k], (long long)i->in[1].stride[w->k], w->term);
    text_add(&w->text,
             warps ? "        sum = warp_sum(sum);\n        if (LANE == 0) " : "        ");
    write_store(w, "c", "sum");
    text_add(&w->text, "    }\n");
    return add_kernel(s, plan, w, (results + each - 1) / each);
}

/* ---- tiles ---- */

/* Fills a part of shared memory from one factor: `wide` rows or columns by TILE_TERMS terms.  Threads
 * go first along the loop with the shorter stride; what is beyond the factor is 0. */
static void write_fill(contract_text *w, const char *to, const char *from, const char *first,
                       int wide, int64_t size, int64_t stride, int64_t term_stride)
{
    int64_t along = stride < 0 ? -stride : stride, terms = w->instr->size[w->k];
    int64_t down = term_stride < 0 ? -term_stride : term_stride;
    text_add(&w->text,
             "            for (int e = THREAD; e < %d; e += %d) {\n"
             "                int i = e %s %d, k = e %s %d;\n"
             "                bool there = %s + i < %lldLL && begin + k < %lldLL;\n"
             "                %s[k][i] = there ? load(%s + (%s + i) * (%lldLL) + (begin + k) * "
             "(%lldLL)) : "
             "(%s)0;\n"
             "            }\n",
             wide * TILE_TERMS, TILE_THREADS, down < along ? "/" : "%",
             down < along ? TILE_TERMS : wide, down < along ? "%" : "/",
             down < along ? TILE_TERMS : wide, first, (long long)size, (long long)terms, to, from,
             first, (long long)stride, (long long)term_stride, w->sums);
}

/* Each thread has `each` x `each` results, SIDE apart. */
static void write_sums(contract_text *w, int each)
{
    text_add(
        &w->text,
        "            SYNC();\n"
        "            UNROLL for (int k = 0; k < %d; k++)\n"
        "                UNROLL for (int p = 0; p < %d; p++)\n"
        "                    UNROLL for (int q = 0; q < %d; q++) {\n"
        "                        %s x = left[k][row + p * %d], y = right[k][column + q * %d];\n"
        "                        %s &sum = sums[p][q];\n"
        "                        sum = %s;\n"
        "                    }\n"
        "            SYNC();\n",
        TILE_TERMS, each, each, w->sums, SIDE, SIDE, w->sums, w->term);
}

static void write_stores(contract_text *w, int each)
{
    const instr *i = w->instr;
    text_add(
        &w->text,
        "        UNROLL for (int p = 0; p < %d; p++)\n"
        "            UNROLL for (int q = 0; q < %d; q++) {\n"
        "                i64 m = first_row + row + p * %d, n = first_column + column + q * %d;\n"
        "                %s *at = c + m * (%lldLL) + n * (%lldLL);\n"
        "                if (m < %lldLL && n < %lldLL) ",
        each, each, SIDE, SIDE, kernel_type(i->out[0].type), (long long)i->out[0].stride[w->m],
        (long long)i->out[0].stride[w->n], (long long)i->size[w->m], (long long)i->size[w->n]);
    write_store(w, "at", "sums[p][q]");
    text_add(&w->text, "            }\n");
}

static bool write_tiles(kernel_source *s, kernel_plan *plan, contract_text *w, int each)
{
    const instr *i = w->instr;
    int          wide = SIDE * each;
    int64_t down = (i->size[w->m] + wide - 1) / wide, across = (i->size[w->n] + wide - 1) / wide;
    int64_t tiles = results_of(i) / i->size[w->m] / i->size[w->n] * down * across;
    text_add(&w->text,
             "    SHARED %s left[%d][%d], right[%d][%d];\n"
             "    int row = THREAD / %d, column = THREAD %% %d;\n"
             "    for (i64 tile = BLOCK; tile < %lldLL; tile += BLOCKS) {\n"
             "        i64 rest = tile, first_column = rest %% %lldLL * %d;\n"
             "        rest /= %lldLL;\n"
             "        i64 first_row = rest %% %lldLL * %d;\n"
             "        rest /= %lldLL;\n",
             w->sums, TILE_TERMS, wide + 1, TILE_TERMS, wide + 1, SIDE, SIDE, (long long)tiles,
             (long long)across, wide, (long long)across, (long long)down, wide, (long long)down);
    write_pointers(w);
    for (int loop = w->m - 1; loop >= 0; loop--) write_loop(w, loop);
    text_add(&w->text,
             "        %s sums[%d][%d] = {};\n"
             "        for (i64 begin = 0; begin < %lldLL; begin += %d) {\n",
             w->sums, each, each, (long long)i->size[w->k], TILE_TERMS);
    write_fill(w, "left", "a", "first_row", wide, i->size[w->m], i->in[0].stride[w->m],
               i->in[0].stride[w->k]);
    write_fill(w, "right", "b", "first_column", wide, i->size[w->n], i->in[1].stride[w->n],
               i->in[1].stride[w->k]);
    write_sums(w, each);
    text_add(&w->text, "        }\n");
    write_stores(w, each);
    text_add(&w->text, "    }\n");
    return add_kernel(s, plan, w, tiles);
}

/* ---- which of them ---- */

bool write_contract(kernel_source *s, const instr *i, kernel_plan *plan)
{
    mtf_dtype     sums = dtype_compute(i->in[0].type);
    contract_text w = {.text = {.arena = s->arena},
                       .instr = i,
                       .m = i->nloops - 3,
                       .n = i->nloops - 2,
                       .k = i->nloops - 1,
                       .sums = kernel_type(sums),
                       .term = dtype_is_float(sums) ? "fused(x, y, sum)" : "ADD(sum, MUL(x, y))"};
    if (slim_suits(i))
        return write_slim(s, i, &(slim_group){.n = 1, .members = {{.product = i}}}, plan);
    int64_t least = i->size[w.m] < i->size[w.n] ? i->size[w.m] : i->size[w.n];
    if (least < SIDE) return write_small(s, plan, &w, i->size[w.k] >= LONG_SUM);
    return write_tiles(s, plan, &w, least >= 3 * SIDE ? 4 : least > SIDE ? 2 : 1);
}

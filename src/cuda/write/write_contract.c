/* Kernels of products that the library does not make.
 *
 * Few columns (slim.h), integers and flags, odd strides, and many small products.  Large ones are computed in
 * tiles: a block keeps parts of both factors in shared memory.  Small ones have a thread
 * for each result, or a warp where the sums are long.
 */
#include <stdlib.h>

#include "cuda/write/kernel_text.h"
#include "cuda/write/prelude_assets.h"
#include "cuda/write/slim.h"
#include "cuda/write/tile_sizes.h"

enum {
    SIDE = 16,            /* a block has SIDE x SIDE threads */
    DEPTH = 16,           /* terms of a sum that are in shared memory at once */
    LONG_SUM = 64,        /* terms: a warp adds them up */
    MOST_BLOCKS = 1 << 20 /* more work is done by the same blocks, one after another */
};

static const kernel_patterns patterns = {asset_contract, &asset_contract_bytes};

/* The loops before the last three go over many products; then come m, n and k. */
static int64_t results_of(const instr *i)
{
    return instr_elements(i) / i->size[i->nloops - 1];
}

/* What both kernels share; `n`: the loops that `number` counts. */
static void set_words(kernel_text *k, const nest *n, const char *number)
{
    const instr  *i = k->i;
    int           terms = i->nloops - 1;
    mtf_dtype     sums = dtype_compute(i->in[0].type);
    const access *a = &i->in[0], *b = &i->in[1], *c = &i->out[0];
    kernel_set(k, "T", "%s", kernel_type(sums));
    kernel_set(k, "NEXT", "%s", dtype_is_float(sums) ? "fused(x, y, sum)" : "ADD(sum, MUL(x, y))");
    kernel_set_loops(k, "LOOPS", n, 'l', number, 1);
    kernel_set_offset(k, "A", n, 'l', a);
    kernel_set_offset(k, "B", n, 'l', b);
    kernel_set_offset(k, "C", n, 'l', c);
    kernel_set_number(k, "TERMS", i->size[terms]);
    kernel_set_number(k, "AK", a->stride[terms]);
    kernel_set_number(k, "BK", b->stride[terms]);
    /* A matrix may be added; its elements lie as those of the result do. */
    if (i->contract.add)
        kernel_set(k, "ADDED", " + load(in%d + (at - out0))", i->contract.add);
    else
        kernel_set(k, "ADDED", "%s", "");
}

static bool done(kernel_text *k, kernel_plan *plan, int64_t blocks)
{
    return kernel_done(k, plan, kernel_least(blocks, MOST_BLOCKS), BLOCK_THREADS, 0);
}

/* A thread or a warp for each result. */
static bool write_small(kernel_source *s, const instr *i, kernel_plan *plan)
{
    int         lanes = i->size[i->nloops - 1] >= LONG_SUM ? WARP_SIZE : 1;
    int         each = BLOCK_THREADS / lanes;
    int64_t     results = results_of(i);
    nest        n = nest_of(i, loops_between(0, i->nloops - 1), NULL, 0);
    kernel_text k = kernel_text_of(s, i, 0);
    set_words(&k, &n, "result");
    kernel_set_number(&k, "LANES", lanes);
    kernel_set_number(&k, "EACH", each);
    kernel_set_number(&k, "RESULTS", results);
    kernel_say_from(&k, &patterns, "small");
    return done(&k, plan, kernel_parts(results, each));
}

/* Where element e of a part of a factor lies: threads go first along the shorter stride. */
static void set_part(kernel_text *k, const char *at, const char *term, int64_t stride,
                     int64_t term_stride, int wide)
{
    bool terms_first = llabs(term_stride) < llabs(stride);
    kernel_set(k, at, terms_first ? "e / %d" : "e %% %d", terms_first ? DEPTH : wide);
    kernel_set(k, term, terms_first ? "e %% %d" : "e / %d", terms_first ? DEPTH : wide);
}

/* Each thread has `each` x `each` results. */
static bool write_tiles(kernel_source *s, const instr *i, kernel_plan *plan, int each)
{
    int           m = i->nloops - 3, n = m + 1, terms = m + 2, wide = SIDE * each;
    int64_t       down = kernel_parts(i->size[m], wide), across = kernel_parts(i->size[n], wide);
    int64_t       tiles = results_of(i) / i->size[m] / i->size[n] * down * across;
    const access *a = &i->in[0], *b = &i->in[1];
    nest          outer = nest_of(i, loops_between(0, m), NULL, 0);
    kernel_text   k = kernel_text_of(s, i, 0);
    set_words(&k, &outer, "outer");
    kernel_set_number(&k, "SIDE", SIDE);
    kernel_set_number(&k, "THREADS", BLOCK_THREADS);
    kernel_set_number(&k, "DEPTH", DEPTH);
    kernel_set_number(&k, "WIDE", wide);
    kernel_set_number(&k, "R", each);
    kernel_set_number(&k, "TILES", tiles);
    kernel_set_number(&k, "ACROSS", across);
    kernel_set_number(&k, "DOWN", down);
    kernel_set_number(&k, "M", i->size[m]);
    kernel_set_number(&k, "N", i->size[n]);
    kernel_set_number(&k, "AM", a->stride[m]);
    kernel_set_number(&k, "BN", b->stride[n]);
    kernel_set_number(&k, "CM", i->out[0].stride[m]);
    kernel_set_number(&k, "CN", i->out[0].stride[n]);
    set_part(&k, "LEFT", "LEFTTERM", a->stride[m], a->stride[terms], wide);
    set_part(&k, "RIGHT", "RIGHTTERM", b->stride[n], b->stride[terms], wide);
    kernel_say_from(&k, &patterns, "tiles");
    return done(&k, plan, tiles);
}

bool write_contract(kernel_source *s, const instr *i, kernel_plan *plan)
{
    if (slim_suits(i))
        return write_slim(s, i, &(slim_group){.n = 1, .members = {{.product = i}}}, plan);
    int64_t least = kernel_least(i->size[i->nloops - 3], i->size[i->nloops - 2]);
    int     each = tile_each(TILE_PRODUCT, least);
    return each == 0 ? write_small(s, i, plan) : write_tiles(s, i, plan, each);
}

/* Running sums as kernels.
 *
 * Where lines lie side by side each has a thread.  Where a line is contiguous a warp or a
 * block goes along it, tile by tile; a few long lines are cut into chunks, whose sums a
 * first kernel finds.  Sums are made in the compute type, in an order that follows from the
 * sizes.
 */
#include "base/dtype.h"
#include "cuda/write/kernel_text.h"
#include "cuda/write/prelude_assets.h"

static const kernel_patterns patterns = {asset_scan, &asset_scan_bytes};

enum {
    MANY_LINES = 4096,
    SHORT_LINE = 64,
    OF_A_WARP = 256, /* longer lines have a block */
    CHUNK = 4096,    /* the least number of elements in a chunk */
    MOST_CHUNKS = 64,
};

/* ---- a thread for each line ---- */

/* ---- a warp or a block for each line ---- */

static const char sum_chunk[] =
    "    $C sum = 0;\n"
    "    for ($I at = begin + THREAD; at < end; at += $G) sum = ADD(sum, load(from + at * "
    "$INSTEP));\n"
    "    sum = block_sum<$G>(sum);\n"
    "    if (THREAD == 0) (($C *)scratch)[row * $CHUNKS + chunk] = sum;\n";

static const char earlier[] =
    "for ($I c = 0; c < chunk; c++) carry = ADD(carry, ((const $C *)scratch)[row * $CHUNKS + c]);";

static bool scan_by_groups(kernel_text *k, kernel_plan *plan, int64_t lines)
{
    int64_t along = k->i->scan.along, g = along <= OF_A_WARP ? WARP_SIZE : BLOCK_THREADS,
            chunks = 1;
    int64_t blocks = kernel_parts(lines, BLOCK_THREADS / g);
    if (blocks < kernel_full(k->source) / 2 && along >= 2 * CHUNK)
        chunks =
            kernel_least(kernel_least(MOST_CHUNKS, along / CHUNK), kernel_full(k->source) / blocks);
    int64_t per = kernel_parts(along, chunks);
    chunks = kernel_parts(along, per);
    kernel_set_number(k, "G", g);
    kernel_set_number(k, "ROWS", BLOCK_THREADS / g);
    kernel_set_number(k, "CHUNKS", chunks);
    kernel_set_number(k, "PER", per);
    kernel_set_pattern(k, "RESULT",
                       k->i->scan.exclusive
                           ? "e == 0 ? before : ADD(before, sums[e > 0 ? e - 1 : 0])"
                           : "ADD(before, sums[e])");
    kernel_set_pattern(k, "WARPS", "");
    if (g > WARP_SIZE) kernel_set_from(k, "WARPS", &patterns, "join_warps");
    kernel_set_pattern(k, "EARLIER", chunks > 1 ? earlier : "");
    if (chunks > 1) {
        size_t bytes = mtf_dtype_bytes(dtype_compute(k->i->in[0].type));
        plan->scratch_bytes = lines * chunks * (int64_t)bytes;
        kernel_say_from(k, &patterns, "begin_line");
        kernel_say(k, sum_chunk);
        TRY(kernel_done(k, plan, lines * chunks, BLOCK_THREADS, 0));
    }
    kernel_say_from(k, &patterns, "begin_line");
    kernel_say_from(k, &patterns, "by_groups");
    return kernel_done(k, plan, blocks * chunks, BLOCK_THREADS, 0);
}

/* ---- the writer ---- */

bool write_scan(kernel_source *s, const instr *i, kernel_plan *plan)
{
    const scan_args *how = &i->scan;
    nest             n = nest_of(i, loops_between(0, i->nloops), &i->in[0], 0);
    int64_t          far =
        kernel_reach(how->along, how->in_stride) + kernel_reach(how->along, how->out_stride);
    int64_t back = how->reverse ? how->along - 1 : 0, sign = how->reverse ? -1 : 1;
    if (n.elements * how->along == 0) return true;
    kernel_text k = kernel_text_of(s, i, far + n.elements * how->along);
    kernel_set(&k, "T", "%s", kernel_type(i->in[0].type));
    kernel_set(&k, "C", "%s", kernel_type(dtype_compute(i->in[0].type)));
    kernel_set(&k, "O", "%s", kernel_type(i->out[0].type));
    kernel_set_number(&k, "LINES", n.elements);
    kernel_set_number(&k, "ALONG", how->along);
    kernel_set_number(&k, "INSTEP", how->in_stride * sign);
    kernel_set_number(&k, "OUTSTEP", how->out_stride * sign);
    kernel_set_number(&k, "INFIRST", back * how->in_stride);
    kernel_set_number(&k, "OUTFIRST", back * how->out_stride);
    kernel_set_loops(&k, "LOOPS", &n, 'l', "row", 1);
    kernel_set_offset(&k, "IN", &n, 'l', &i->in[0]);
    kernel_set_offset(&k, "OUT", &n, 'l', &i->out[0]);
    bool contiguous = how->in_stride == 1 || how->in_stride == -1;
    if (contiguous ? how->along > 8 : n.elements < MANY_LINES && how->along > SHORT_LINE)
        return scan_by_groups(&k, plan, n.elements);
    kernel_set_pattern(&k, "RESULT", how->exclusive ? "before" : "sum");
    kernel_say_from(&k, &patterns, "by_threads");
    return kernel_done(&k, plan, kernel_parts(n.elements, BLOCK_THREADS), BLOCK_THREADS, 0);
}

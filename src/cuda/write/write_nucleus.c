/* The best of the most probable, as kernels: a block for each row.
 *
 * As on the CPU: candidates, the best first, until few enough come before one.  Counts and
 * weights are whole numbers, so that no order of summation changes the result.
 */
#include "cuda/write/kernel_text.h"

enum { MOST_THREADS = 1024, ELEMENTS = 8 /* of a thread, at least */ };

static const char begin_row[] =
    "    $U row = ($U)BLOCK;\n"
    "    $LOOPS\n"
    "    const f32 *score = in0 + ($SCORE), *logit = in1 + ($LOGIT);\n"
    "    const i64 n = $ALONG, k = in2[$K];\n"
    "    const f32 p = in3[$P];\n"
    "    const bool few = k > 0 && k < n, part = p > 0 && p < 1;\n"
    "    auto place_of = [&](i64 j) {\n"
    "        f32 x = logit[j * $LOGITSTEP];\n"
    "        u32 bits = bits_of(x + 0.0f), key = x != x ? ~0u : bits >> 31 ? ~bits : bits | "
    "0x80000000u;\n"
    "        return (u64)key << 32 | (u32)~j;\n"
    "    };\n"
    "    f32 most = -fn_reciprocal(0.0f);\n"
    "    auto weight_of = [&](i64 j) {\n"
    "        f32 x = logit[j * $LOGITSTEP], e = x == most ? 1.0f : fn_exp(x - most);\n"
    "        return e > 0 ? (u64)(e * $UNIT) : 0ull;\n"
    "    };\n";

static const char tallies[] =
    "    auto count_before = [&](u64 place) {\n"
    "        u32 count = 0;\n"
    "        UNROLL_4 for (i64 j = THREAD; j < n; j += THREADS) count += place_of(j) > place;\n"
    "        return (i64)block_sum<$THREADS>((i32)count);\n"
    "    };\n"
    "    auto weight_before = [&](u64 place) {\n"
    "        u64 sum = 0;\n"
    "        UNROLL_4 for (i64 j = THREAD; j < n; j += THREADS)\n"
    "            if (place_of(j) > place) sum += weight_of(j);\n"
    "        return (u64)block_sum<$THREADS>((i64)sum);\n"
    "    };\n"
    /* The larger score, then the lower index. */
    "    auto best_before = [&](u64 place) {\n"
    "        f32 v = 0;\n"
    "        i32 best = 0x7fffffff;\n"
    "        UNROLL_4 for (i64 j = THREAD; j < n; j += THREADS)\n"
    "            if (place_of(j) > place && (best == 0x7fffffff || score[j * $SCORESTEP] > v))\n"
    "                v = score[j * $SCORESTEP], best = (i32)j;\n"
    "        f32 top = block_max<$THREADS>(best == 0x7fffffff || v != v ? lowest<f32>() : v);\n"
    "        best = block_min<$THREADS>(best != 0x7fffffff && (v == top || v != v) ? best : "
    "0x7fffffff);\n"
    "        return (i64)best;\n"
    "    };\n";

/* Three places are tried in each pass. */
static const char find_end[] =
    "    u64 end = 0;\n"
    "    if (few && part) {\n"
    "        u64 low = 0, high = ~0ull;\n"
    "        for (bool found = false; !found;) {\n"
    "            u64 quarter = (high - low) / 4 + ((high - low) % 4 != 0), at[3];\n"
    "            i32 count[3] = {0, 0, 0};\n"
    "            UNROLL for (int t = 0; t < 3; t++) at[t] = high - low > t * quarter + quarter ? "
    "low + t * quarter + quarter : high;\n"
    "            UNROLL_4 for (i64 j = THREAD; j < n; j += THREADS) {\n"
    "                u64 place = place_of(j);\n"
    "                UNROLL for (int t = 0; t < 3; t++) count[t] += place > at[t];\n"
    "            }\n"
    "            UNROLL for (int t = 0; t < 3; t++) count[t] = block_sum<$THREADS>(count[t]);\n"
    "            u64 from = low, to = high;\n"
    "            UNROLL for (int t = 0; t < 3; t++) {\n"
    "                if (count[t] == k) found = true, end = at[t];\n"
    "                if (count[t] > k && at[t] > from) from = at[t];\n"
    "                if (count[t] < k && at[t] < to) to = at[t];\n"
    "            }\n"
    "            low = from, high = to;\n"
    "        }\n"
    "    }\n";

static const char choose[] =
    "    i64 best = best_before(end);\n"
    "    u64 share = 0;\n"
    "    if (part) {\n"
    "        f32 own = most;\n"
    "        for (i64 j = THREAD; j < n; j += THREADS)\n"
    "            if (logit[j * $LOGITSTEP] > own) own = logit[j * $LOGITSTEP];\n"
    "        most = block_max<$THREADS>(own);\n"
    "        share = (u64)((f64)p * (f64)weight_before(end));\n"
    "        if (share == 0) share = 1;\n"
    "    }\n"
    "    for (bool out = few || part; out;) {\n"
    "        u64 place = place_of(best);\n"
    "        out = (few && count_before(place) >= k) || (part && weight_before(place) >= share);\n"
    "        if (out) best = best_before(place);\n"
    "    }\n"
    "    if (THREAD == 0) out0[$OUT] = (i32)best;\n";

bool write_nucleus(kernel_source *s, const instr *i, kernel_plan *plan)
{
    const nucleus_args *how = &i->nucleus;
    nest                n = nest_of(i, loops_between(0, i->nloops), NULL, 0);
    int64_t             far =
        kernel_reach(how->along, how->score_stride) + kernel_reach(how->along, how->logit_stride);
    int64_t threads = kernel_power(kernel_parts(how->along, ELEMENTS), MOST_THREADS);
    if (n.elements == 0) return true;
    if (threads < WARP_SIZE) threads = WARP_SIZE;
    kernel_text k = kernel_text_of(s, i, far + n.elements);
    kernel_set_number(&k, "THREADS", threads);
    kernel_set_number(&k, "ALONG", how->along);
    kernel_set_number(&k, "SCORESTEP", how->score_stride);
    kernel_set_number(&k, "LOGITSTEP", how->logit_stride);
    kernel_set(&k, "UNIT", "%s", how->along < 1 << 22 ? "0x1p40f" : "0x1p30f");
    kernel_set_loops(&k, "LOOPS", &n, 'l', "row", 1);
    kernel_set_offset(&k, "SCORE", &n, 'l', &i->in[0]);
    kernel_set_offset(&k, "LOGIT", &n, 'l', &i->in[1]);
    kernel_set_offset(&k, "K", &n, 'l', &i->in[2]);
    kernel_set_offset(&k, "P", &n, 'l', &i->in[3]);
    kernel_set_offset(&k, "OUT", &n, 'l', &i->out[0]);
    kernel_say(&k, begin_row);
    kernel_say(&k, tallies);
    kernel_say(&k, find_end);
    kernel_say(&k, choose);
    return kernel_done(&k, plan, n.elements, (int)threads, 0);
}

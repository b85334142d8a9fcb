/* Copies and sums into place as kernels.
 *
 * A thread moves a few packs of 16 bytes where both sides are contiguous along the same
 * loop.  Where they are contiguous along different loops, blocks move square tiles through
 * shared memory.  A sum into place in which several iterations meet in one element is a
 * fold; where they meet by overlapping strides, each element looks for its own terms.
 */
#include "cuda/write/write_move.h"

#include "cuda/write/fold_text.h"
#include "cuda/write/prelude_assets.h"

static const kernel_patterns patterns = {asset_move, &asset_move_bytes};

enum {
    SHORT_SIDE = 16, /* loops shorter than this are not worth a tile */
};

static const char *sum_of(const instr *i, arena *a)
{
    textbuf t = {.arena = a};
    text_add(&t, "narrow_%s(ADD(widen(y), widen(x)))", kernel_type(i->out[0].type));
    return text_done(&t);
}

static kernel_text begin_text(kernel_source *s, const instr *i, bool adds)
{
    kernel_text k = kernel_text_of(s, i, 0);
    kernel_set(&k, "T", "%s", kernel_type(i->out[0].type));
    kernel_set_pattern(&k, "VALUE", adds ? sum_of(i, s->arena) : "x");
    return k;
}

/* ---- along one loop ---- */

static const char load_packs[] = "load_packs<$INPACK>(xs[u], in0 + $IN);";
static const char load_each[] =
    "UNROLL for (int e = 0; e < $V; e++) xs[u][e] = in0[$IN + e * $INSTEP];";
static const char store_packs[] = "store_packs<$OUTPACK>(out0 + $OUT, xs[u]);";
static const char store_each[] =
    "UNROLL for (int e = 0; e < $V; e++) out0[$OUT + e * $OUTSTEP] = xs[u][e];";
static const char add_packs[] = "$T ys[$V];\n"
                                "        load_packs<$OUTPACK>(ys, out0 + $OUT);\n"
                                "        UNROLL for (int e = 0; e < $V; e++) {\n"
                                "            $T x = xs[u][e], y = ys[e];\n"
                                "            xs[u][e] = $VALUE;\n"
                                "        }\n"
                                "        ";
static const char add_each[] = "UNROLL for (int e = 0; e < $V; e++) {\n"
                               "            $T x = xs[u][e], y = out0[$OUT + e * $OUTSTEP];\n"
                               "            xs[u][e] = $VALUE;\n"
                               "        }\n"
                               "        ";

static bool copy_along(kernel_text *k, kernel_plan *plan, nest n, bool adds)
{
    const access *in = &k->i->in[0], *out = &k->i->out[0];
    const int     most = PACK_BYTES / (int)mtf_dtype_bytes(out->type);
    int64_t       left = n.nloops == 1 && n.elements >= most ? n.elements % most : 0;
    if (left > 0) n.size[0] -= left;
    int     in_pack = kernel_pack(&n, NULL, in), out_pack = kernel_pack(&n, NULL, out);
    int     v = in_pack > out_pack ? in_pack : out_pack;
    int64_t pieces = (n.elements - left) / v, together = 1;
    while (together < kernel_together(v, out->type) &&
           pieces >= together * 2 * BLOCK_THREADS * kernel_full(k->source))
        together *= 2;
    kernel_set_number(k, "V", v);
    kernel_set_number(k, "INPACK", in_pack);
    kernel_set_number(k, "OUTPACK", out_pack);
    kernel_set_number(k, "INSTEP", nest_stride(&n, in, 0));
    kernel_set_number(k, "OUTSTEP", nest_stride(&n, out, 0));
    kernel_set_number(k, "TOGETHER", together);
    kernel_set_number(k, "EACH", together * BLOCK_THREADS);
    kernel_set_number(k, "PIECES", pieces);
    kernel_set_number(k, "REST", left);
    kernel_set_number(k, "LAST", n.elements - left);
    kernel_set_loops(k, "LOOPS", &n, 'l', "at", v);
    kernel_set_offset(k, "IN", &n, 'l', in);
    kernel_set_offset(k, "OUT", &n, 'l', out);
    kernel_set_pattern(k, "LOAD", in_pack > 1 ? load_packs : load_each);
    kernel_set_pattern(k, "STORE", out_pack > 1 ? store_packs : store_each);
    kernel_set_pattern(k, "ADD", !adds ? "" : out_pack > 1 ? add_packs : add_each);
    kernel_set_pattern(k, "OLD", adds ? "out0[$OUT]" : "x");
    if (left > 0) kernel_say_from(k, &patterns, "copy_rest");
    kernel_say_from(k, &patterns, "copy_pieces");
    return kernel_done(k, plan, kernel_parts(pieces, together * BLOCK_THREADS), BLOCK_THREADS, 0);
}

/* ---- through tiles ---- */

/* The loop along which the input is contiguous, if it is not the innermost one. */
static int across_loop(const nest *n, const access *out, const access *in)
{
    int last = n->nloops - 1;
    if (last < 1 || nest_stride(n, in, 0) == 1 || n->size[last] < SHORT_SIDE) return -1;
    if (nest_stride(n, out, 0) != 1 || nest_stride(n, in, 0) == 0) return -1;
    for (int k = 0; k < last; k++)
        if (in->stride[n->loop[k]] == 1 && n->size[k] >= SHORT_SIDE) return k;
    return -1;
}

static bool copy_squares(kernel_text *k, kernel_plan *plan, const nest *n, int across, bool adds)
{
    const access *in = &k->i->in[0], *out = &k->i->out[0];
    int           last = n->nloops - 1, side = mtf_dtype_bytes(out->type) < 4 ? 64 : 32;
    int64_t       rows = n->size[across], columns = n->size[last];
    nest          others = {.elements = n->elements / rows / columns};
    for (int l = 0; l < last; l++) {
        if (l == across) continue;
        others.size[others.nloops] = n->size[l];
        others.loop[others.nloops++] = n->loop[l];
    }
    int64_t rtiles = kernel_parts(rows, side), ctiles = kernel_parts(columns, side);
    kernel_set_number(k, "SIDE", side);
    kernel_set_number(k, "HIGH", BLOCK_THREADS / side);
    kernel_set_number(k, "ROWS", rows);
    kernel_set_number(k, "COLUMNS", columns);
    kernel_set_number(k, "RTILES", rtiles);
    kernel_set_number(k, "CTILES", ctiles);
    kernel_set_number(k, "INC", nest_stride(n, in, 0));
    kernel_set_number(k, "OUTC", nest_stride(n, out, 0));
    kernel_set_number(k, "OUTR", out->stride[n->loop[across]]);
    kernel_set_loops(k, "LOOPS", &others, 'l', "b", 1);
    kernel_set_offset(k, "IN", &others, 'l', in);
    kernel_set_offset(k, "OUT", &others, 'l', out);
    kernel_set_pattern(k, "OLD", adds ? "*to" : "x");
    kernel_say_from(k, &patterns, "copy_tiles");
    return kernel_done(k, plan, rtiles * ctiles * others.elements, BLOCK_THREADS, 0);
}

bool write_copy(kernel_source *s, const instr *i, kernel_plan *plan, bool adds)
{
    nest n = nest_of(i, loops_between(0, i->nloops), &i->out[0], 0);
    if (n.elements == 0) return true;
    kernel_text k = begin_text(s, i, adds);
    int         across = across_loop(&n, &i->out[0], &i->in[0]);
    if (across >= 0) return copy_squares(&k, plan, &n, across, adds);
    return copy_along(&k, plan, n, adds);
}

bool write_move(kernel_source *s, const instr *i, kernel_plan *plan)
{
    return write_copy(s, i, plan, false);
}

/* ---- sums into place ---- */

/* The lowest offset of the output along some loops. */
static int64_t lowest_offset(const instr *i, uint32_t loops)
{
    int64_t low = 0;
    for (int l = 0; l < i->nloops; l++)
        if ((loops >> l & 1) && i->out[0].stride[l] < 0)
            low += i->out[0].stride[l] * (i->size[l] - 1);
    return low;
}

static int64_t reach_of_output(const instr *i)
{
    int64_t reach = 1;
    for (int l = 0; l < i->nloops; l++) reach += kernel_reach(i->size[l] - 1, i->out[0].stride[l]);
    return reach;
}

static const char *find_text(const instr *i, uint32_t apart, arena *a)
{
    textbuf  t = {.arena = a};
    uint32_t seen = 0;
    for (;;) {
        int     next = -1;
        int64_t most = 0;
        for (int l = 0; l < i->nloops; l++) {
            int64_t stride = i->out[0].stride[l] < 0 ? -i->out[0].stride[l] : i->out[0].stride[l];
            if ((apart >> l & 1) && !(seen >> l & 1) && i->size[l] > 1 && stride > most) {
                most = stride;
                next = l;
            }
        }
        if (next < 0) return text_done(&t);
        seen |= 1u << next;
        long long size = (long long)i->size[next], step = (long long)i->in[0].stride[next];
        bool      back = i->out[0].stride[next] < 0;
        text_add(&t, "        i64 j%d = rest / %lldLL;\n        if (j%d >= %lldLL) continue;\n",
                 next, (long long)most, next, size);
        text_add(&t, "        rest -= j%d * %lldLL;\n        from += ", next, (long long)most);
        if (back)
            text_add(&t, "(%lldLL - j%d) * (%lldLL);\n", size - 1, next, step);
        else
            text_add(&t, "j%d * (%lldLL);\n", next, step);
    }
}

static bool add_where_overlapping(kernel_source *s, const instr *i, kernel_plan *plan,
                                  uint32_t apart, const nest *meeting)
{
    kernel_text k = kernel_text_of(s, i, meeting->elements);
    int64_t     reach = reach_of_output(i);
    fold_set_words(&k, FOLD_SUM, false);
    kernel_set_number(&k, "SPAN", reach);
    kernel_set_number(&k, "LOW", lowest_offset(i, ~(uint32_t)0));
    kernel_set_number(&k, "APARTLOW", lowest_offset(i, apart));
    kernel_set_number(&k, "MEETING", meeting->elements);
    kernel_set_loops(&k, "LOOPS", meeting, 'l', "k", 1);
    kernel_set_offset(&k, "IN", meeting, 'l', &i->in[0]);
    kernel_set_offset(&k, "OUT", meeting, 'l', &i->out[0]);
    kernel_set_pattern(&k, "FIND", find_text(i, apart, s->arena));
    kernel_say_from(&k, &patterns, "add_overlapping");
    return kernel_done(&k, plan, kernel_parts(reach, BLOCK_THREADS), BLOCK_THREADS, 0);
}

bool write_add_into(kernel_source *s, const instr *i, kernel_plan *plan)
{
    uint32_t apart = nest_apart(i), other = loops_between(0, i->nloops) & ~apart;
    nest     meeting = nest_of(i, other, NULL, 0);
    if (instr_elements(i) == 0) return true;
    if (meeting.elements == 1) return write_copy(s, i, plan, true);
    if (nest_repeats(&meeting, &i->out[0]))
        return write_fold_of(s, i, plan, (fold_text){FOLD_SUM, apart, other, true});
    return add_where_overlapping(s, i, plan, apart, &meeting);
}

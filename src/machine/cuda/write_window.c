/* Convolution and its two gradients as kernels.
 *
 *     y[b.., o.., g*outs+n] = sum over taps t.., c of
 *         x[b.., o*step + t*dilation - before.., g*chans+c] * w[t.., c, g*outs+n]
 *
 * A thread computes one element of the result, neighbours along the channels, and sums in
 * the compute type.  The gradient of a filter is summed over so many positions that they
 * are cut into chunks, whose sums a second kernel adds.
 */
#include "base/dtype.h"
#include "machine/cuda/write_fold.h"

enum { SOME_TERMS = 64 }; /* a chunk of a filter's gradient has no fewer */

typedef struct windowing {
    kernel_text        k;
    const instr       *i;
    const window_args *a;
    nest               batch;
    const access      *x, *w, *y;
} windowing;

#define FOR_EACH_DIM(c, d) for (int d = 0; d < (c)->a->nspatial; d++)

static const char *offset_text(windowing *c, char letter, const int64_t *stride)
{
    textbuf t = {.arena = c->k.source->arena};
    text_add(&t, "0");
    FOR_EACH_DIM(c, d) text_add(&t, " + %c%d * (%lld)", letter, d, (long long)stride[d]);
    return text_done(&t);
}

/* Declares letter0, letter1, ... and what is left of `rest`, from the last dimension on. */
static const char *split_text(windowing *c, char letter, const int64_t *size)
{
    textbuf t = {.arena = c->k.source->arena};
    for (int d = c->a->nspatial - 1; d >= 0; d--)
        text_add(&t, "$I %c%d = ($I)(rest %% %lldu); rest /= %lldu; ", letter, d,
                 (long long)size[d], (long long)size[d]);
    return text_done(&t);
}

/* for loops over taps, and the position of the other side under each; $BODY inside. */
static const char *taps_text(windowing *c)
{
    const window_args *a = c->a;
    textbuf            t = {.arena = c->k.source->arena};
    FOR_EACH_DIM(c, d)
    {
        long long taps = (long long)a->taps[d], step = (long long)a->step[d];
        long long dilation = (long long)a->dilation[d], before = (long long)a->before[d];
        text_add(&t, "    for ($I t%d = 0; t%d < %lld; t%d++) {\n", d, d, taps, d);
        if (a->kind == WINDOW_INPUT) {
            text_add(&t, "    $I s%d = i%d + (%lld) - t%d * %lld, o%d = s%d / %lld;\n", d, d, before,
                     d, dilation, d, d, step);
            text_add(&t, "    if (s%d < 0 || s%d %% %lld != 0 || o%d >= %lld) continue;\n", d, d, step,
                     d, (long long)a->out_size[d]);
        } else {
            text_add(&t, "    $I i%d = o%d * %lld + t%d * %lld - (%lld);\n", d, d, step, d, dilation,
                     before);
            text_add(&t, "    if (i%d < 0 || i%d >= %lld) continue;\n", d, d,
                     (long long)a->in_size[d]);
        }
    }
    text_add(&t, "$BODY");
    FOR_EACH_DIM(c, d) text_add(&t, "    }\n");
    return text_done(&t);
}

/* ---- y, and the gradient of x ---- */

static const char result[] =
    "    $U rest = ($U)BLOCK * 256 + THREAD;\n"
    "    if (rest >= $UNITS) return;\n"
    "    $I lane = ($I)(rest % $LANES);\n"
    "    rest /= $LANES;\n"
    "    $PLACE\n"
    "    $LOOPS\n"
    "    $I group = lane / $EACH, one = lane % $EACH;\n"
    "    (void)one;\n"
    "    $C sum = 0;\n"
    "$TAPS"
    "    store(out0 + ($OUTBATCH + $OUTPLACE + lane * $OUTLANE), sum);\n";

static const char forward_body[] =
    "    const $T *x = in0 + ($INBATCH + $INPLACE + group * $CHANS * $XCHAN);\n"
    "    const $T *w = in1 + ($WPLACE + lane * $WOUT);\n"
    "    for ($I c = 0; c < $CHANS; c++) {\n"
    "        $C p = load(x + c * $XCHAN), q = load(w + c * $WCHAN);\n"
    "        $TERM\n"
    "    }\n";

static const char input_body[] =
    "    const $T *y = in0 + ($INBATCH + $INPLACE + group * $OUTS * $YOUT);\n"
    "    const $T *w = in1 + ($WPLACE + one * $WCHAN + group * $OUTS * $WOUT);\n"
    "    for ($I n = 0; n < $OUTS; n++) {\n"
    "        $C p = load(y + n * $YOUT), q = load(w + n * $WOUT);\n"
    "        $TERM\n"
    "    }\n";

static bool write_result(windowing *c, kernel_plan *plan)
{
    const window_args *a = c->a;
    kernel_text       *k = &c->k;
    bool               input = a->kind == WINDOW_INPUT;
    int64_t            each = input ? a->chans : a->outs, units = c->batch.elements * a->groups * each;
    FOR_EACH_DIM(c, d) units *= input ? a->in_size[d] : a->out_size[d];
    if (units == 0) return true;
    kernel_set_number(k, "UNITS", units);
    kernel_set_number(k, "LANES", a->groups * each);
    kernel_set_number(k, "EACH", each);
    kernel_set_number(k, "OUTLANE", input ? a->x_chan : a->y_out);
    kernel_set_pattern(k, "PLACE", input ? split_text(c, 'i', a->in_size)
                                         : split_text(c, 'o', a->out_size));
    kernel_set_loops(k, "LOOPS", &c->batch, 'l', "rest", 1);
    kernel_set_offset(k, "OUTBATCH", &c->batch, 'l', input ? c->x : c->y);
    kernel_set_offset(k, "INBATCH", &c->batch, 'l', input ? c->y : c->x);
    kernel_set_pattern(k, "OUTPLACE", input ? offset_text(c, 'i', a->x_spatial)
                                            : offset_text(c, 'o', a->y_spatial));
    kernel_set_pattern(k, "INPLACE", input ? offset_text(c, 'o', a->y_spatial)
                                           : offset_text(c, 'i', a->x_spatial));
    kernel_set_pattern(k, "BODY", input ? input_body : forward_body);
    kernel_set_pattern(k, "TAPS", taps_text(c));
    kernel_say(k, result);
    return kernel_done(k, plan, kernel_parts(units, BLOCK_THREADS), BLOCK_THREADS, 0);
}

/* ---- the gradient of w ---- */

/* Taps, channel, group and output of element number `row` of the filter, outputs innermost. */
static const char filter_element[] =
    "$U rest = row; $I lane = ($I)(rest % $LANES); rest /= $LANES; "
    "$I chan = ($I)(rest % $CHANS); rest /= $CHANS; $PLACE";

static const char filter[] =
    "    $U chunk = ($U)BLOCK % $CHUNKS, row = ($U)BLOCK / $CHUNKS * 256 + THREAD;\n"
    "    if (row >= $KEPT) return;\n"
    "    $OUTLOOPS\n"
    "    $I group = lane / $OUTS;\n"
    "    $U end = (chunk + 1) * $PER < $TERMS ? (chunk + 1) * $PER : $TERMS;\n"
    "    $C sum = 0;\n"
    "    for ($U term = chunk * $PER; term < end; term++) {\n"
    "        $U rest = term;\n"
    "        $TERMPLACE\n"
    "        $LOOPS\n"
    "$INSIDE"
    "        $C p = load(in0 + ($INBATCH + $INPLACE + (group * $CHANS + chan) * $XCHAN));\n"
    "        $C q = load(in1 + ($OUTBATCH + $OUTPLACE + lane * $YOUT));\n"
    "        $TERM\n"
    "    }\n"
    "    $KEEP\n";

static const char *inside_text(windowing *c)
{
    const window_args *a = c->a;
    textbuf            t = {.arena = c->k.source->arena};
    FOR_EACH_DIM(c, d)
    {
        text_add(&t, "        $I i%d = o%d * %lld + t%d * %lld - (%lld);\n", d, d,
                 (long long)a->step[d], d, (long long)a->dilation[d], (long long)a->before[d]);
        text_add(&t, "        if (i%d < 0 || i%d >= %lld) continue;\n", d, d,
                 (long long)a->in_size[d]);
    }
    return text_done(&t);
}

static bool write_filter(windowing *c, kernel_plan *plan)
{
    const window_args *a = c->a;
    kernel_text       *k = &c->k;
    int64_t            kept = a->groups * a->outs * a->chans, terms = c->batch.elements;
    FOR_EACH_DIM(c, d)
    {
        kept *= a->taps[d];
        terms *= a->out_size[d];
    }
    if (kept == 0) return true;
    int64_t blocks = kernel_parts(kept, BLOCK_THREADS);
    int64_t chunks = kernel_least(2 * FULL_CARD / blocks, terms / SOME_TERMS);
    if (chunks < 1) chunks = 1;
    int64_t per = terms > 0 ? kernel_parts(terms, chunks) : 1;
    chunks = terms > 0 ? kernel_parts(terms, per) : 1;
    kernel_set_number(k, "LANES", a->groups * a->outs);
    kernel_set_number(k, "KEPT", kept);
    kernel_set_number(k, "TERMS", terms);
    kernel_set_number(k, "PER", per);
    kernel_set_number(k, "CHUNKS", chunks);
    kernel_set_pattern(k, "PLACE", split_text(c, 't', a->taps));
    kernel_set_pattern(k, "TERMPLACE", split_text(c, 'o', a->out_size));
    kernel_set_loops(k, "LOOPS", &c->batch, 'l', "rest", 1);
    kernel_set_offset(k, "INBATCH", &c->batch, 'l', c->x);
    kernel_set_offset(k, "OUTBATCH", &c->batch, 'l', c->y);
    kernel_set_pattern(k, "INPLACE", offset_text(c, 'i', a->x_spatial));
    kernel_set_pattern(k, "OUTPLACE", offset_text(c, 'o', a->y_spatial));
    kernel_set_pattern(k, "INSIDE", inside_text(c));
    kernel_set_pattern(k, "OUTLOOPS", filter_element);
    kernel_set_pattern(k, "OUT", "($WPLACE + chan * $WCHAN + lane * $WOUT)");
    kernel_set_pattern(k, "KEEP", chunks > 1 ? "(($C *)scratch)[chunk * $KEPT + row] = sum;"
                                             : "store(out0 + $OUT, sum);");
    kernel_say(k, filter);
    TRY(kernel_done(k, plan, blocks * chunks, BLOCK_THREADS, 0));
    if (chunks == 1) return true;
    plan->scratch_bytes = fold_parts_bytes(k, FOLD_SUM, chunks, kept);
    return fold_join_parts(k, plan, chunks, kept);
}

/* ---- the writer ---- */

static int64_t reach(const windowing *c)
{
    const window_args *a = c->a;
    double             all = (double)a->groups * (double)(a->chans + a->outs);
    FOR_EACH_DIM(c, d) all *= (double)(a->in_size[d] + a->out_size[d] + a->taps[d]);
    all *= (double)(c->batch.elements + 1);
    return all < (double)INT64_MAX / 2 ? (int64_t)all : INT64_MAX / 2;
}

bool write_window(kernel_source *s, const instr *i, kernel_plan *plan)
{
    const window_args *a = &i->window;
    bool               forward = a->kind == WINDOW_FORWARD, input = a->kind == WINDOW_INPUT;
    windowing          c = {.i = i,
                            .a = a,
                            .batch = nest_of(i, loops_between(0, i->nloops), NULL, 0),
                            .x = input ? &i->out[0] : &i->in[0],
                            .w = forward || input ? &i->in[1] : &i->out[0],
                            .y = forward ? &i->out[0] : input ? &i->in[0] : &i->in[1]};
    c.k = kernel_text_of(s, i, reach(&c));
    fold_set_words(&c.k, FOLD_SUM, false);
    bool real = dtype_is_float(i->out[0].type);
    kernel_set_pattern(&c.k, "TERM", real ? "sum = fused(p, q, sum);" : "sum = ADD(sum, MUL(p, q));");
    kernel_set_number(&c.k, "CHANS", a->chans);
    kernel_set_number(&c.k, "OUTS", a->outs);
    kernel_set_number(&c.k, "XCHAN", a->x_chan);
    kernel_set_number(&c.k, "YOUT", a->y_out);
    kernel_set_number(&c.k, "WCHAN", a->w_chan);
    kernel_set_number(&c.k, "WOUT", a->w_out);
    kernel_set_pattern(&c.k, "WPLACE", offset_text(&c, 't', a->w_tap));
    if (a->kind == WINDOW_FILTER) return write_filter(&c, plan);
    return write_result(&c, plan);
}

/* Convolution and its two gradients as kernels.
 *
 *     y[b.., o.., g*outs+n] = sum over taps t.., c of
 *         x[b.., o*step + t*dilation - before.., g*chans+c] * w[t.., c, g*outs+n]
 *
 * A thread computes a few neighbours of the result in one channel, the next thread those of
 * the next channel; sums are made in the compute type.  The gradient of a filter is summed over so many positions that they
 * are cut into chunks, whose sums a second kernel adds.
 */
#include "base/dtype.h"
#include "cuda/write/fold_text.h"
#include "cuda/write/prelude_assets.h"

static const kernel_patterns patterns = {asset_window, &asset_window_bytes};

enum { SOME_TERMS = 64 }; /* a chunk of a filter's gradient has no fewer */

typedef struct windowing {
    kernel_text        k;
    const instr       *i;
    const window_args *a;
    nest               batch;
    const access      *x, *w, *y;
} windowing;

#define FOR_EACH_DIM(c, d) for (int d = 0; d < (c)->a->nspatial; d++)

/* Offsets along the first `dims` spatial dimensions. */
static const char *offset_text(windowing *c, char letter, int dims, const int64_t *stride)
{
    textbuf t = {.arena = c->k.source->arena};
    text_add(&t, "0");
    for (int d = 0; d < dims; d++)
        text_add(&t, " + %c%d * (%lld)", letter, d, (long long)stride[d]);
    return text_done(&t);
}

/* Declares letter0, letter1, ... and what is left of `rest`, from the last dimension on, which is
 * gone through in steps of `places`. */
static const char *split_text(windowing *c, char letter, const int64_t *size, int64_t places)
{
    textbuf t = {.arena = c->k.source->arena};
    for (int d = c->a->nspatial - 1; d >= 0; d--) {
        long long each = d == c->a->nspatial - 1 ? (long long)places : 1;
        long long pieces = (long long)kernel_parts(size[d], each);
        text_add(&t, "$I %c%d = ($I)(rest %% %lldu) * %lld; rest /= %lldu; ", letter, d, pieces,
                 each, pieces);
    }
    return text_done(&t);
}

/* ---- y, and the gradient of x ---- */

/* A thread computes $P neighbours along the last spatial dimension, so that a filter's element is
 * read once for all of them, from packs of $V channels (of outputs, in the gradient). */
enum { PLACES = 4, CHANNELS = 4 };

/* for loops over taps, and the position of the other side under each.  $BODY is inside; it finds the
 * offsets at[u] of the neighbours, where on[u]. */
static const char *taps_text(windowing *c)
{
    const window_args *a = c->a;
    bool               input = a->kind == WINDOW_INPUT;
    textbuf            t = {.arena = c->k.source->arena};
    FOR_EACH_DIM(c, d)
    {
        long long step = (long long)a->step[d],
                  size = (long long)(input ? a->out_size[d] : a->in_size[d]);
        long long dilation = (long long)a->dilation[d], before = (long long)a->before[d];
        bool      last = d == a->nspatial - 1;
        char      from = input ? 'i' : 'o', to = input ? 'o' : 'i';
        text_add(&t, "    for ($I t%d = 0; t%d < %lld; t%d++) {\n", d, d, (long long)a->taps[d], d);
        if (last) text_add(&t, "    UNROLL for (int u = 0; u < $P; u++) {\n");
        text_add(&t, "    $I p%d = %c%d%s;\n", d, from, d, last ? " + u" : "");
        if (input)
            text_add(&t, "    $I s%d = p%d + (%lld) - t%d * %lld, o%d = s%d / %lld;\n", d, d,
                     before, d, dilation, d, d, step);
        else
            text_add(&t, "    $I i%d = p%d * %lld + t%d * %lld - (%lld), s%d = i%d;\n", d, d, step,
                     d, dilation, before, d, d);
        text_add(&t, "    bool on%d = s%d >= 0 && %c%d < %lld", d, d, to, d, size);
        if (input && step > 1) text_add(&t, " && s%d %% %lld == 0", d, step);
        if (!last) {
            text_add(&t, ";\n    if (!on%d) continue;\n", d);
            continue;
        }
        int64_t stride = input ? a->y_spatial[d] : a->x_spatial[d];
        text_add(&t, " && p%d < %lld;\n    on[u] = on%d;\n    at[u] = %c%d * (%lld);\n    }\n", d,
                 (long long)(input ? a->in_size[d] : a->out_size[d]), d, to, d, (long long)stride);
    }
    text_add(&t, "$BODY");
    FOR_EACH_DIM(c, d) text_add(&t, "    }\n");
    return text_done(&t);
}

/* Can $V channels of the source be read at once? */
static bool reads_packs(const windowing *c, const access *from, const int64_t *spatial,
                        int64_t channel, int64_t n)
{
    bool packs = channel == 1 && n % CHANNELS == 0 && from->offset % CHANNELS == 0 &&
                 mtf_dtype_bytes(from->type) * CHANNELS <= PACK_BYTES;
    FOR_EACH_DIM(c, d) packs = packs && spatial[d] % CHANNELS == 0;
    for (int l = 0; l < c->i->nloops; l++) packs = packs && from->stride[l] % CHANNELS == 0;
    return packs;
}

/* What is multiplied: x or y, and the filter; the sum goes over channels or outputs of a group. */
static void set_terms(windowing *c, bool input)
{
    const window_args *a = c->a;
    kernel_text       *k = &c->k;
    int64_t            n = input ? a->outs : a->chans, step = input ? a->y_out : a->x_chan;
    int64_t            w_step = input ? a->w_out : a->w_chan;
    bool packs = reads_packs(c, input ? c->y : c->x, input ? a->y_spatial : a->x_spatial, step, n);
    bool w_packs = packs && reads_packs(c, c->w, a->w_tap, w_step, n) && a->w_chan % CHANNELS == 0;
    kernel_set_number(k, "V", packs ? CHANNELS : 1);
    kernel_set_number(k, "TERMS", n);
    kernel_set_number(k, "STEP", step);
    kernel_set_number(k, "WSTEP", w_step);
    kernel_set_pattern(k, "WFIRST",
                       input ? "lane % $EACH * $WCHAN + group * $OUTS * $WOUT" : "lane * $WOUT");
    kernel_set_pattern(k, "LOADW",
                       w_packs
                           ? "load_packs<$V>(qs, w + r);"
                           : "UNROLL for (int e = 0; e < $V; e++) qs[e] = w[(r + e) * $WSTEP];");
    kernel_set_from(k, "BODY", &patterns, "add_terms");
}

static bool write_result(windowing *c, kernel_plan *plan)
{
    const window_args *a = c->a;
    kernel_text       *k = &c->k;
    bool               input = a->kind == WINDOW_INPUT;
    const int64_t     *size = input ? a->in_size : a->out_size;
    const int64_t     *spatial = input ? a->x_spatial : a->y_spatial;
    int                last = a->nspatial - 1;
    int64_t            places = last >= 0 ? kernel_power(size[last], PLACES) : 1;
    int64_t each = input ? a->chans : a->outs, units = c->batch.elements * a->groups * each;
    FOR_EACH_DIM(c, d) units *= kernel_parts(size[d], d == last ? places : 1);
    if (units == 0) return true;
    set_terms(c, input);
    kernel_set_number(k, "P", places);
    kernel_set_number(k, "UNITS", units);
    kernel_set_number(k, "LANES", a->groups * each);
    kernel_set_number(k, "EACH", each);
    kernel_set_number(k, "OUTLANE", input ? a->x_chan : a->y_out);
    kernel_set_number(k, "OUTLAST", last >= 0 ? spatial[last] : 0);
    kernel_set_pattern(k, "ALWAYS", last < 0 ? "true" : "");
    kernel_set_pattern(k, "FITS", "true");
    if (last >= 0)
        kernel_set(k, "FITS", "%c%d + u < %lld", input ? 'i' : 'o', last, (long long)size[last]);
    kernel_set_pattern(k, "PLACE", split_text(c, input ? 'i' : 'o', size, places));
    kernel_set_loops(k, "LOOPS", &c->batch, 'l', "rest", 1);
    kernel_set_offset(k, "OUTBATCH", &c->batch, 'l', input ? c->x : c->y);
    kernel_set_offset(k, "INBATCH", &c->batch, 'l', input ? c->y : c->x);
    kernel_set_pattern(k, "OUTPLACE", offset_text(c, input ? 'i' : 'o', a->nspatial, spatial));
    kernel_set_pattern(k, "INPLACE",
                       input ? offset_text(c, 'o', last, a->y_spatial)
                             : offset_text(c, 'i', last, a->x_spatial));
    kernel_set_pattern(k, "TAPS", taps_text(c));
    kernel_say_from(k, &patterns, "result");
    return kernel_done(k, plan, kernel_parts(units, BLOCK_THREADS), BLOCK_THREADS, 0);
}

/* ---- the gradient of w ---- */

/* Taps, channel, group and output of element number `row` of the filter, outputs innermost. */
static const char filter_element[] =
    "$U rest = row; $I lane = ($I)(rest % $LANES); rest /= $LANES; "
    "$I chan = ($I)(rest % $CHANS); rest /= $CHANS; $PLACE";

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
    int     v = a->chans % CHANNELS == 0 ? CHANNELS : 1;
    bool    packs = v > 1 && reads_packs(c, c->x, a->x_spatial, a->x_chan, a->chans);
    int64_t blocks = kernel_parts(kept / v, BLOCK_THREADS);
    int64_t chunks = kernel_least(2 * kernel_full(k->source) / blocks, terms / SOME_TERMS);
    if (chunks < 1) chunks = 1;
    int64_t per = terms > 0 ? kernel_parts(terms, chunks) : 1;
    chunks = terms > 0 ? kernel_parts(terms, per) : 1;
    kernel_set_number(k, "LANES", a->groups * a->outs);
    kernel_set_number(k, "V", v);
    kernel_set_number(k, "UNITS", kept / v);
    kernel_set_number(k, "KEPT", kept);
    kernel_set_number(k, "TERMS", terms);
    kernel_set_pattern(k, "LOADX",
                       packs ? "load_packs<$V>(ps, x);"
                             : "UNROLL for (int e = 0; e < $V; e++) ps[e] = x[e * $XCHAN];");
    kernel_set_number(k, "PER", per);
    kernel_set_number(k, "CHUNKS", chunks);
    kernel_set_pattern(k, "PLACE", split_text(c, 't', a->taps, 1));
    kernel_set_pattern(k, "TERMPLACE", split_text(c, 'o', a->out_size, 1));
    kernel_set_loops(k, "LOOPS", &c->batch, 'l', "rest", 1);
    kernel_set_offset(k, "INBATCH", &c->batch, 'l', c->x);
    kernel_set_offset(k, "OUTBATCH", &c->batch, 'l', c->y);
    kernel_set_pattern(k, "INPLACE", offset_text(c, 'i', a->nspatial, a->x_spatial));
    kernel_set_pattern(k, "OUTPLACE", offset_text(c, 'o', a->nspatial, a->y_spatial));
    kernel_set_pattern(k, "INSIDE", inside_text(c));
    kernel_set_pattern(k, "OUTLOOPS", filter_element);
    kernel_set_pattern(k, "OUT", "($WPLACE + chan * $WCHAN + lane * $WOUT)");
    kernel_set_pattern(k, "KEEP",
                       chunks > 1 ? "(($C *)scratch)[chunk * $KEPT + row + e * $LANES] = sums[e];"
                                  : "store(out0 + $OUT + e * $WCHAN, sums[e]);");
    kernel_say_from(k, &patterns, "filter");
    TRY(kernel_done(k, plan, blocks * chunks, BLOCK_THREADS, 0));
    if (chunks == 1) return true;
    plan->scratch_bytes = fold_parts_bytes(k, FOLD_SUM, chunks, kept);
    return fold_join_parts(k, plan, chunks, kept);
}

/* ---- the writer ---- */

/* Numbers of results and of terms, and how far each operand reaches beside the batch. */
static int64_t most_of(const windowing *c)
{
    const window_args *a = c->a;
    int64_t            inputs = c->batch.elements, outputs = c->batch.elements;
    int64_t            x = kernel_reach(a->groups * a->chans, a->x_chan);
    int64_t            y = kernel_reach(a->groups * a->outs, a->y_out);
    int64_t w = kernel_reach(a->chans, a->w_chan) + kernel_reach(a->groups * a->outs, a->w_out);
    FOR_EACH_DIM(c, d)
    {
        inputs = saturate_times(inputs, a->in_size[d]);
        outputs = saturate_times(outputs, a->out_size[d]);
        x = saturate_plus(x, kernel_reach(a->in_size[d], a->x_spatial[d]));
        y = saturate_plus(y, kernel_reach(a->out_size[d], a->y_spatial[d]));
        w = saturate_plus(w, kernel_reach(a->taps[d], a->w_tap[d]));
    }
    inputs = saturate_times(inputs, a->groups * a->chans);
    outputs = saturate_times(outputs, a->groups * a->outs);
    int64_t most = inputs > outputs ? inputs : outputs;
    most = x > most ? x : most;
    most = y > most ? y : most;
    return w > most ? w : most;
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
                            .y = forward ? &i->out[0]
                                 : input ? &i->in[0]
                                         : &i->in[1]};
    c.k = kernel_text_of(s, i, most_of(&c));
    fold_set_words(&c.k, FOLD_SUM, false);
    bool real = dtype_is_float(i->out[0].type);
    kernel_set_pattern(&c.k, "TERM",
                       real ? "sum = fused(p, q, sum);" : "sum = ADD(sum, MUL(p, q));");
    kernel_set_number(&c.k, "CHANS", a->chans);
    kernel_set_number(&c.k, "OUTS", a->outs);
    kernel_set_number(&c.k, "XCHAN", a->x_chan);
    kernel_set_number(&c.k, "YOUT", a->y_out);
    kernel_set_number(&c.k, "WCHAN", a->w_chan);
    kernel_set_number(&c.k, "WOUT", a->w_out);
    kernel_set_pattern(&c.k, "WPLACE", offset_text(&c, 't', a->nspatial, a->w_tap));
    if (a->kind == WINDOW_FILTER) return write_filter(&c, plan);
    return write_result(&c, plan);
}

/* Examples made of texts, as an objective needs them. */
#include "data/text/examples.h"

#include <string.h>

#include "data/text/spans.h"

/* Streams of random numbers. */
enum { OF_NOISE, OF_KEPT, OF_PREFIX };

/* ---- stretches ---- */

/* Windows are consecutive in each run, and the last of a run may be shorter. */
static stretch window_of(const text_examples *e, int64_t k)
{
    const token_text *t = &e->text[TARGETS];
    int               low = 0, high = t->nruns - 1;
    while (low < high) {
        int middle = (low + high + 1) / 2;
        if (t->runs[middle].first_window <= k)
            low = middle;
        else
            high = middle - 1;
    }
    const token_run *run = &t->runs[low];
    int64_t          begin = (k - run->first_window) * e->longest, rest = run->count - begin;
    return (stretch){run->first + begin, rest < e->longest ? rest : e->longest};
}

/* The stretch of its text that an example is made of. */
static stretch example_stretch(const text_examples *e, int64_t k, int side)
{
    if (e->stretches[TARGETS]) return e->stretches[side] ? e->stretches[side][k] : (stretch){0};
    return side == TARGETS ? window_of(e, k) : (stretch){0};
}

static span_counts counts_of(const text_examples *e, int64_t tokens)
{
    return spans_count(tokens, e->opts.noise, e->opts.mean_span);
}

/* Where a text of n tokens is cut into prefix and rest. */
static int64_t prefix_of(const text_examples *e, int64_t k, int64_t n, int64_t epoch)
{
    text_random random = text_random_of(e->opts.seed, epoch, e->first + k, OF_PREFIX);
    return n < 2 ? 0 : 1 + text_random_below(&random, n - 1);
}

int64_t example_tokens(const text_examples *e, int64_t k, int side)
{
    stretch own = example_stretch(e, k, side), text = example_stretch(e, k, TARGETS);
    switch (e->opts.objective) {
    case MTF_TEXT_DELIMITED: return example_stretch(e, k, INPUTS).length + own.length + 2;
    case MTF_TEXT_PREFIX_DELIMITED: return text.length + 2;
    case MTF_TEXT_SPANS: {
        span_counts c = counts_of(e, text.length);
        return (side == INPUTS ? c.kept : c.noise) + c.spans + 1;
    }
    case MTF_TEXT_PREFIX: return text.length + 1; /* at most, on either side */
    default: return own.length;
    }
}

/* ---- offering ---- */

/* Ids of a file of tokens are checked here, when they are first read. */
static bool check_ids(const text_examples *e, const token_text *t, stretch s, fault *why)
{
    const token_run *run = token_text_run(t, s.at);
    int64_t          size = mtf_vocabulary_size(e->vocabulary), first = s.at - run->first;
    if (!run->path) return true;
    for (int64_t i = first; i < first + s.length; i++) {
        int64_t id = token_run_id(t, run, i);
        if (id >= size)
            return fail(
                why, ERR_FILE,
                "\"%s\", element %lld: %lld is not an id of the vocabulary \"%s\", which has %lld",
                run->path, (long long)i, (long long)id, e->vocabulary->spec, (long long)size);
    }
    return true;
}

static bool offer_stretch(const text_examples *e, int side, stretch s, wanted *w, fault *why)
{
    const token_text *t = &e->text[side];
    if (s.length == 0) return true;
    TRY(check_ids(e, t, s, why));
    offer(w, t->type, token_text_ids(t, s), s.length);
    return true;
}

static void offer_id(wanted *w, int32_t id)
{
    offer(w, MTF_I32, &id, 1);
}

static void offer_end(const text_examples *e, wanted *w)
{
    offer_id(w, mtf_vocabulary_end(e->vocabulary));
}

/* The text as it is; it ends with the end id unless it was cut. */
static bool offer_plain(const text_examples *e, int side, stretch s, wanted *w, fault *why)
{
    int32_t end = mtf_vocabulary_end(side == INPUTS ? e->opts.inputs_vocabulary : e->vocabulary);
    bool    ensured =
        e->opts.ensure_end && s.length && token_text_id(&e->text[side], s.at + s.length - 1) != end;
    if (ensured) s.length--;
    TRY(offer_stretch(e, side, s, w, why));
    if (ensured) offer_id(w, end);
    return true;
}

/* Kept pieces and spans of noise alternate; one side has the kept ones, the other the noise, and
 * each has a sentinel in place of the rest. */
static bool offer_spans(const text_examples *e, int64_t k, int side, wanted *w, fault *why)
{
    stretch     text = example_stretch(e, k, TARGETS);
    span_counts c = counts_of(e, text.length);
    uint64_t    seed = e->opts.seed;
    int64_t     number = e->first + k;
    span_cutter kept = {text_random_of(seed, w->epoch, number, OF_KEPT), c.kept, c.spans};
    span_cutter noise = {text_random_of(seed, w->epoch, number, OF_NOISE), c.noise, c.spans};
    int64_t     at = text.at;
    for (int64_t i = 0; i < c.spans; i++) {
        stretch before = {at, span_cutter_next(&kept)};
        stretch span = {before.at + before.length, span_cutter_next(&noise)};
        int32_t sentinel = mtf_vocabulary_sentinel(e->vocabulary, i);
        if (side == INPUTS) TRY(offer_stretch(e, TARGETS, before, w, why));
        offer_id(w, sentinel);
        if (side == TARGETS) TRY(offer_stretch(e, TARGETS, span, w, why));
        at = span.at + span.length;
    }
    offer_end(e, w);
    return true;
}

static bool offer_prefix(const text_examples *e, int64_t k, int side, wanted *w, fault *why)
{
    stretch text = example_stretch(e, k, TARGETS);
    int64_t prefix = prefix_of(e, k, text.length, w->epoch);
    stretch first = {text.at, prefix}, rest = {text.at + prefix, text.length - prefix};
    bool    both = e->opts.objective == MTF_TEXT_PREFIX_DELIMITED;
    if (both || side == INPUTS) {
        TRY(offer_stretch(e, TARGETS, first, w, why));
        offer_end(e, w);
    }
    if (both || side == TARGETS) {
        TRY(offer_stretch(e, TARGETS, rest, w, why));
        offer_end(e, w);
    }
    return true;
}

static bool offer_delimited(const text_examples *e, int64_t k, wanted *w, fault *why)
{
    for (int side = INPUTS; side < SIDES; side++) {
        TRY(offer_stretch(e, side, example_stretch(e, k, side), w, why));
        offer_end(e, w);
    }
    return true;
}

bool example_offer(const text_examples *e, int64_t k, int side, wanted *w, fault *why)
{
    switch (e->opts.objective) {
    case MTF_TEXT_SPANS: return offer_spans(e, k, side, w, why);
    case MTF_TEXT_PREFIX:
    case MTF_TEXT_PREFIX_DELIMITED: return offer_prefix(e, k, side, w, why);
    case MTF_TEXT_DELIMITED: return offer_delimited(e, k, w, why);
    default: return offer_plain(e, side, example_stretch(e, k, side), w, why);
    }
}

/* Divides text into examples, and packs examples into rows. */
#include <string.h>

#include "base/whole.h"
#include "data/text/examples.h"
#include "data/text/spans.h"

/* ---- options ---- */

static bool spans_fit(const text_examples *e, int64_t tokens)
{
    span_counts c = spans_count(tokens, e->opts.noise, e->opts.mean_span);
    return c.kept + c.spans + 1 <= e->length[INPUTS] && c.noise + c.spans + 1 <= e->length[TARGETS];
}

/* The longest text that, corrupted, fits into a row. */
static bool check_spans(mtf_session *s, text_examples *e)
{
    const mtf_text_opts *o = &e->opts;
    if (!(o->noise > 0 && o->noise < 1) || !(o->mean_span >= 1))
        return fail(&s->fault, ERR_USAGE,
                    "noise is %g and mean_span %g; the one should be between 0 and 1, the other "
                    "at least 1",
                    o->noise, o->mean_span);
    if (!spans_fit(e, 2))
        return fail(
            &s->fault, ERR_USAGE,
            "rows of %lld inputs and %lld targets cannot hold a corrupted text of two tokens",
            (long long)e->length[INPUTS], (long long)e->length[TARGETS]);
    for (e->longest = 2; spans_fit(e, e->longest + 1);) e->longest++;
    int64_t spans = spans_count(e->longest, o->noise, o->mean_span).spans;
    if (mtf_vocabulary_sentinel(e->vocabulary, spans - 1) < 0)
        return fail(&s->fault, ERR_USAGE,
                    "texts of %lld tokens have %lld corrupted spans, but the vocabulary \"%s\" has "
                    "%lld extra ids for them; it should end in :extra=%lld, or more",
                    (long long)e->longest, (long long)spans, e->vocabulary->spec,
                    (long long)e->vocabulary->extra, (long long)spans);
    return true;
}

static bool check_lengths(mtf_session *s, const mtf_text_opts *o, int64_t least)
{
    if (o->length < least || o->length > INT32_MAX || o->inputs_length < 0 ||
        (o->inputs_length && o->inputs_length < least) || o->inputs_length > INT32_MAX)
        return fail(&s->fault, ERR_USAGE,
                    "the length of a row of text is %lld, that of inputs %lld; they should be at "
                    "least %lld, and %d at most",
                    (long long)o->length, (long long)o->inputs_length, (long long)least, INT32_MAX);
    return true;
}

/* Fails for options that an objective does not allow. */
static bool check_uses(mtf_session *s, const text_examples *e)
{
    const mtf_text_opts *o = &e->opts;
    const char          *wrong = NULL;
    if (o->inputs_vocabulary && o->objective != MTF_TEXT_PAIRS)
        wrong = "only the inputs of pairs can have a vocabulary of their own";
    else if (e->two_texts && o->joined)
        wrong = "pairs of texts cannot be joined";
    else if (e->two_texts && o->overlong == MTF_OVERLONG_SPLIT)
        wrong = "pairs of texts can be cut, not split";
    else if (o->objective == MTF_TEXT_PREFIX && o->pack)
        wrong = "the lengths of prefixes differ from epoch to epoch, so they cannot be packed; "
                "in one sequence with the rest they can";
    else if (o->joined && o->pack)
        wrong = "joined texts fill their rows, so there is nothing to pack";
    else if (o->ensure_end && (o->joined || o->overlong == MTF_OVERLONG_SPLIT))
        wrong = "ends applies to texts that are cut, not to joined or split ones";
    return !wrong || fail(&s->fault, ERR_USAGE, "%s", wrong);
}

bool examples_check(mtf_session *s, text_examples *e)
{
    mtf_text_opts *o = &e->opts;
    if ((unsigned)o->objective > MTF_TEXT_PREFIX_DELIMITED)
        return fail(&s->fault, ERR_USAGE, "there is no objective %d", (int)o->objective);
    bool delimited = o->objective == MTF_TEXT_DELIMITED;
    bool prefix = o->objective == MTF_TEXT_PREFIX, both = o->objective == MTF_TEXT_PREFIX_DELIMITED;
    e->two_texts = delimited || o->objective == MTF_TEXT_PAIRS;
    e->has_inputs = o->objective == MTF_TEXT_PAIRS || o->objective == MTF_TEXT_SPANS || prefix;
    TRY(check_lengths(s, o, delimited || both ? 3 : prefix ? 2 : 1));
    TRY(check_uses(s, e));
    if (!o->inputs_length) o->inputs_length = delimited ? o->length / 2 : o->length;
    if (!o->inputs_vocabulary) o->inputs_vocabulary = e->vocabulary;
    e->length[INPUTS] = o->inputs_length;
    e->length[TARGETS] = o->length;
    if (o->noise == 0) o->noise = 0.15;
    if (o->mean_span == 0) o->mean_span = 3;
    e->longest = o->length;
    if (both) e->longest = o->length - 2;
    if (prefix && o->inputs_length < o->length) e->longest = o->inputs_length;
    return o->objective != MTF_TEXT_SPANS || check_spans(s, e);
}

/* ---- examples ---- */

/* Windows of each run; where spans are corrupted, a last window of one token is left out. */
static void plan_windows(text_examples *e)
{
    token_text *t = &e->text[TARGETS];
    int64_t     least = e->opts.objective == MTF_TEXT_SPANS ? 2 : 1;
    for (int i = 0; i < t->nruns; i++) {
        token_run *run = &t->runs[i];
        int64_t    rest = run->count % e->longest;
        run->first_window = e->count;
        e->count += run->count / e->longest + (rest >= least);
    }
}

/* Cut or split: stretches of at most `longest`. */
static int64_t pieces_of(const text_examples *e, stretch text, stretch *to)
{
    int64_t least = e->opts.objective == MTF_TEXT_SPANS ? 2 : 1, n = 0;
    for (int64_t at = 0; text.length - at >= least; at += e->longest) {
        int64_t rest = text.length - at;
        if (to) to[n] = (stretch){text.at + at, rest < e->longest ? rest : e->longest};
        n++;
        if (e->opts.overlong == MTF_OVERLONG_CUT) break;
    }
    return n;
}

static bool new_stretches(mtf_session *s, text_examples *e, int side)
{
    size_t bytes = (size_t)(e->count + 1) * sizeof(stretch);
    return (e->stretches[side] = block_alloc(&s->allocator, &s->fault, bytes, false)) != NULL;
}

static bool plan_texts(mtf_session *s, text_examples *e)
{
    const token_text *t = &e->text[TARGETS];
    for (int64_t i = 0; i < t->count; i++) e->count += pieces_of(e, t->texts[i], NULL);
    TRY(new_stretches(s, e, TARGETS));
    int64_t n = 0;
    for (int64_t i = 0; i < t->count; i++)
        n += pieces_of(e, t->texts[i], e->stretches[TARGETS] + n);
    return true;
}

/* In a pair in one sequence, inputs may take the room that targets leave, and at least their
 * own. */
static void cut_pair(const text_examples *e, int64_t *inputs, int64_t *targets)
{
    if (e->opts.objective == MTF_TEXT_DELIMITED) {
        int64_t room = e->length[TARGETS] - 2, share = min_of(e->length[INPUTS], room + 1) - 1;
        int64_t left = room - *targets;
        *inputs = min_of(*inputs, left > share ? left : share);
        *targets = min_of(*targets, room - *inputs);
    } else {
        *inputs = min_of(*inputs, e->length[INPUTS]);
        *targets = min_of(*targets, e->length[TARGETS]);
    }
}

static bool plan_pairs(mtf_session *s, text_examples *e)
{
    e->count = e->text[TARGETS].count;
    TRY(new_stretches(s, e, INPUTS) && new_stretches(s, e, TARGETS));
    for (int64_t i = 0; i < e->count; i++) {
        stretch inputs = e->text[INPUTS].texts[i], targets = e->text[TARGETS].texts[i];
        cut_pair(e, &inputs.length, &targets.length);
        e->stretches[INPUTS][i] = inputs;
        e->stretches[TARGETS][i] = targets;
    }
    return true;
}

/* ---- examples whose texts come later ---- */

bool examples_plan_later(mtf_session *s, text_examples *e, int64_t count)
{
    e->count = e->nrows = count;
    TRY(new_stretches(s, e, TARGETS) && (!e->two_texts || new_stretches(s, e, INPUTS)));
    for (int64_t k = 0; k < count; k++) e->stretches[TARGETS][k].length = -1;
    return true;
}

bool example_is_made(const text_examples *e, int64_t k)
{
    return e->stretches[TARGETS][k].length >= 0;
}

bool example_made(text_examples *e, int64_t k)
{
    stretch of[SIDES] = {{0}, {0}};
    for (int side = e->two_texts ? INPUTS : TARGETS; side < SIDES; side++)
        TRY(token_text_take(&e->text[side], &of[side]));
    if (e->two_texts)
        cut_pair(e, &of[INPUTS].length, &of[TARGETS].length);
    else
        pieces_of(e, of[TARGETS], &of[TARGETS]);
    if (e->two_texts) e->stretches[INPUTS][k] = of[INPUTS];
    e->stretches[TARGETS][k] = of[TARGETS];
    return true;
}

/* ---- rows ---- */

/* Fills rows with examples in order, as many as fit on every side; returns the number of rows. */
static int64_t pack_rows(const text_examples *e, int64_t *rows)
{
    int64_t used[SIDES] = {0}, nrows = 0;
    for (int64_t k = 0; k < e->count; k++) {
        bool fits = k > 0;
        for (int side = e->has_inputs ? INPUTS : TARGETS; side < SIDES; side++)
            fits = fits && used[side] + example_tokens(e, k, side) <= e->length[side];
        if (!fits) {
            if (rows) rows[nrows] = k;
            nrows++;
            memset(used, 0, sizeof used);
        }
        for (int side = 0; side < SIDES; side++) used[side] += example_tokens(e, k, side);
    }
    if (rows) rows[nrows] = e->count;
    return nrows;
}

bool examples_plan(mtf_session *s, text_examples *e)
{
    if (e->two_texts)
        TRY(plan_pairs(s, e));
    else if (e->opts.joined)
        plan_windows(e);
    else
        TRY(plan_texts(s, e));
    e->nrows = e->count;
    if (!e->opts.pack || !e->count) return true;
    e->nrows = pack_rows(e, NULL);
    size_t bytes = (size_t)(e->nrows + 1) * sizeof *e->rows;
    TRY((e->rows = block_alloc(&s->allocator, &s->fault, bytes, false)) != NULL);
    pack_rows(e, e->rows);
    return true;
}

void examples_free(mtf_session *s, text_examples *e)
{
    for (int side = 0; side < SIDES; side++) {
        token_text_free(&e->text[side]);
        block_free(&s->allocator, e->stretches[side]);
    }
    block_free(&s->allocator, e->rows);
}

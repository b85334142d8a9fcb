/* Tests beam search on logits that are written down, against all sequences. */
#include <math.h>
#include <string.h>

#include "model/transformer/beam.h"

/* last */
#include "ground.h"

enum { VOCAB = 4, MOST = 6 };

static const int32_t stop[] = {1, -1};

/* The next token's logits follow from the last token. */
static const float after[VOCAB][VOCAB] = {
    {0, -1, 1, 0.5f}, {0, 0, 0, 0}, {-1, 0.8f, 0.1f, 0.6f}, {0.2f, 0.9f, -0.5f, 0.3f}};

typedef struct found {
    int64_t           steps;
    int               n;
    const hypothesis *list;
} found;

static found search(beam_search *b, const beam_opts *o)
{
    int32_t last[8] = {0}, parent[8], token[8];
    float   logits[8 * VOCAB];
    found   f = {0};
    beam_begin(b, o);
    while (!beam_done(b)) {
        for (int k = 0; k < o->beams; k++)
            memcpy(logits + k * VOCAB, after[last[k]], sizeof after[0]);
        beam_advance(b, logits, parent, token);
        memcpy(last, token, sizeof *last * (size_t)o->beams);
        f.steps++;
    }
    f.n = beam_results(b, &f.list);
    return f;
}

static void check(const hypothesis *h, int64_t n, const int32_t *ids, double score)
{
    assert_int_equal(h->length, n);
    assert_memory_equal(h->ids, ids, sizeof *ids * (size_t)n);
    assert_true(fabs(h->score - score) < 1e-6);
}

static void test_known_answers(void **state)
{
    mtf_session *s = mtf_open_with(&(mtf_session_opts){0});
    (void)state;
    beam_opts    o = {.beams = 2, .vocab = VOCAB, .max_tokens = 4, .alpha = 0.6, .stop = stop};
    beam_search *b =
        beam_new(s, &(beam_opts){.beams = 3, .vocab = VOCAB, .max_tokens = 5, .stop = stop});
    assert_non_null(b);
    found f = search(b, &o);
    assert_int_equal(f.steps, 3);
    assert_int_equal(f.n, 2);
    check(&f.list[0], 2, (int32_t[]){2, 1}, -1.508861);
    check(&f.list[1], 2, (int32_t[]){3, 1}, -1.892592);
    o.alpha = 0;
    f = search(b, &o);
    check(&f.list[0], 2, (int32_t[]){2, 1}, -1.655074);
    check(&f.list[1], 2, (int32_t[]){3, 1}, -2.075989);
    o = (beam_opts){.beams = 3, .vocab = VOCAB, .max_tokens = 5, .alpha = 1, .stop = stop};
    f = search(b, &o);
    assert_int_equal(f.steps, 4);
    check(&f.list[0], 2, (int32_t[]){2, 1}, -1.418635);
    check(&f.list[1], 2, (int32_t[]){3, 1}, -1.779419);
    check(&f.list[2], 3, (int32_t[]){2, 3, 1}, -2.013372);
    assert_int_equal(mtf_close(s), 0);
}

/* One sequence has ended when the tokens are used up: live ones are the other results. */
static void test_fewer_ended_than_beams(void **state)
{
    mtf_session *s = mtf_open_with(&(mtf_session_opts){0});
    (void)state;
    beam_opts    o = {.beams = 3, .vocab = VOCAB, .max_tokens = 1, .stop = stop};
    beam_search *b = beam_new(s, &o);
    found        f = search(b, &o);
    assert_int_equal(f.n, 3);
    check(&f.list[0], 1, (int32_t[]){1}, -2.746567);
    check(&f.list[1], 1, (int32_t[]){2}, -0.746567);
    check(&f.list[2], 1, (int32_t[]){3}, -1.246567);
    assert_int_equal(mtf_close(s), 0);
}

/* ---- against all sequences ---- */

typedef struct exhaustive {
    double  alpha, score;
    int64_t most;
    int32_t ids[MOST], best[MOST];
    int64_t length;
} exhaustive;

static void visit(exhaustive *e, int64_t at, double log_probability)
{
    const float *l = after[at ? e->ids[at - 1] : 0];
    double       sum = 0;
    for (int i = 0; i < VOCAB; i++) sum += exp(l[i]);
    for (int32_t i = 0; i < VOCAB; i++) {
        double now = log_probability + l[i] - log(sum);
        e->ids[at] = i;
        double score = now / pow((5 + (double)at + 1) / 6, e->alpha);
        if (i == 1 && score > e->score) {
            e->score = score;
            e->length = at + 1;
            memcpy(e->best, e->ids, sizeof e->ids);
        }
        if (i != 1 && at + 1 < e->most) visit(e, at + 1, now);
    }
}

/* So many beams that nothing is given up: the search must find the best of all. */
static void test_against_all_sequences(void **state)
{
    enum { BEAMS = 8 };
    (void)state;
    for (int k = 0; k < 5; k++) {
        mtf_session *s = mtf_open_with(&(mtf_session_opts){0});
        exhaustive   e = {.alpha = 0.4 * k, .score = -INFINITY, .most = 3 + k % 3};
        beam_opts    o = {BEAMS, VOCAB, e.most, e.alpha, stop};
        beam_search *b = beam_new(s, &o);
        visit(&e, 0, 0);
        found f = search(b, &o);
        check(&f.list[0], e.length, e.best, e.score);
        assert_int_equal(mtf_close(s), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_known_answers),
                                       cmocka_unit_test(test_fewer_ended_than_beams),
                                       cmocka_unit_test(test_against_all_sequences)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

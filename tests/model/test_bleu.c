/* Tests BLEU against the words and scores of sacrebleu. */
#include "model/bleu.h"

#include "ground.h"

#include <math.h>

#include "model/bleu_values.h"

enum { PAIRS = sizeof pairs / sizeof *pairs, GROUPS = sizeof groups / sizeof *groups };

static void test_words(void **state)
{
    mtf_session *s = mtf_open_with(&(mtf_session_opts){0});
    (void)state;
    for (int k = 0; k < PAIRS; k++) {
        char *got = bleu_words(s, pairs[k].text);
        assert_string_equal(got, pairs[k].words);
        block_free(&s->allocator, got);
    }
    mtf_close(s);
}

static void test_scores(void **state)
{
    mtf_session *s = mtf_open_with(&(mtf_session_opts){0});
    (void)state;
    for (int k = 0; k < GROUPS; k++) {
        bleu_counts counts = {.words = 0};
        bleu        got;
        for (int i = 0; i < groups[k].n; i++)
            assert_true(bleu_add(s, pairs[groups[k].pairs[i]].text,
                                 pairs[groups[k].pairs[i]].reference, &counts));
        bleu_of(&counts, &got);
        assert_int_equal(got.words, groups[k].words);
        assert_int_equal(got.reference_words, groups[k].reference_words);
        assert_true(fabs(got.score - groups[k].score) <= 1e-9);
        assert_true(fabs(got.brevity - groups[k].brevity) <= 1e-12);
        for (int n = 0; n < BLEU_ORDER; n++)
            assert_true(fabs(got.precision[n] - groups[k].precision[n]) <= 1e-9);
    }
    mtf_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_words), cmocka_unit_test(test_scores)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

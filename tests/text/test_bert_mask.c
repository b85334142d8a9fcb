/* Tests which words of a row are masked for BERT's pre-training. */
#include "data/text/bert_rows.h"

#include "../data/scratch.h"

enum { SPECIALS = 5, MASK = 4 };
static const char word_list[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\nc\nd\ne\nf\ng\nh\ni\nj\n"
                                "k\nl\nm\nn\no\np\nq\nr\ns\nt\nu\nv\nw\nx\ny\nz\n";

/* Over many epochs: eight of ten hidden, and all words equally often. */
static void masks(void **state)
{
    (void)state;
    enum { EPOCHS = 3000, N = 12 };
    static bert_masked m;
    mtf_session       *s = mtf_open_with(NULL);
    char               spec[200];
    snprintf(spec, sizeof spec, "wordpiece:%s", write_text("vocab.txt", word_list));
    bert_rows r = {.session = s,
                   .vocabulary = mtf_vocabulary_open(s, spec),
                   .length = 20,
                   .predictions = 5,
                   .share = 0.25,
                   .seed = 3};
    int32_t   a[N / 2], b[N / 2], label[BERT_ROW_LABELS] = {0};
    for (int i = 0; i < N / 2; i++) a[i] = SPECIALS + i, b[i] = SPECIALS + N / 2 + i;
    assert_true(bert_rows_begin(&r) && bert_rows_add(&r, a, N / 2, b, N / 2, label));
    int of_place[20] = {0}, hidden = 0, same = 0, all = 0;
    for (int64_t e = 0; e < EPOCHS; e++) {
        bert_mask_row(&r, 0, e, &m);
        assert_int_equal(m.count, 3);
        for (int i = 0; i < m.count; i++, all++) {
            of_place[m.positions[i]]++;
            hidden += m.ids[m.positions[i]] == MASK;
            same += m.ids[m.positions[i]] == m.words[i];
            assert_int_equal(m.words[i], r.ids.ids[m.positions[i]]);
        }
    }
    assert_true(abs(hidden - all * 8 / 10) < all / 40 && abs(same - all / 10) < all / 40);
    for (int i = 0; i < N + 3; i++) {
        bool special = i == 0 || i == N / 2 + 1 || i == N + 2;
        assert_true(special ? of_place[i] == 0 : abs(of_place[i] - all / N) < all / N / 5);
    }
    close_well(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(masks)};
    return cmocka_run_group_tests_name("masked words", tests, scratch_make, scratch_drop);
}

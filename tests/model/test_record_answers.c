/* Tests answers among records: rows whose texts are not known, only the ids of their words. */
#include "base/crc32c.h"
#include "mtf_bert.h"

#include "../data/scratch.h"

enum { LENGTH = 10, ROWS = 2, ROOM = 1000 };

/* [CLS] q [SEP] w w w w [SEP] and padding; the answer. */
typedef struct sample {
    unsigned char ids[LENGTH], mask[LENGTH], segment[LENGTH], first, last;
} sample;

static const sample samples[ROWS] = {{.ids = {2, 9, 3, 5, 6, 7, 8, 3},
                                      .mask = {1, 1, 1, 1, 1, 1, 1, 1},
                                      .segment = {0, 0, 0, 1, 1, 1, 1, 1},
                                      .first = 4,
                                      .last = 5},
                                     {.ids = {2, 9, 3, 5, 5, 5, 5, 3},
                                      .mask = {1, 1, 1, 1, 1, 1, 1, 1},
                                      .segment = {0, 0, 0, 1, 1, 1, 1, 1}}};

/* ---- files ---- */

/* A part of a message: its number in what it is part of, and its bytes. */
static size_t put_part(char *to, int number, const void *bytes, size_t n)
{
    size_t head = 1;
    to[0] = (char)(number << 3 | 2);
    for (size_t left = n; head == 1 || left; left >>= 7)
        to[head++] = (char)((left & 127) | (left > 127 ? 128 : 0));
    memcpy(to + head, bytes, n);
    return head + n;
}

/* An entry of the map of features: a list of small numbers. */
static size_t put_feature(char *to, const char *name, const unsigned char *values, size_t n)
{
    char   list[100], feature[110], entry[200];
    size_t size = put_part(list, 1, values, n);
    size = put_part(feature, 3, list, size);
    size_t used = put_part(entry, 1, name, strlen(name));
    used += put_part(entry + used, 2, feature, size);
    return put_part(to, 1, entry, used);
}

static size_t put_record(char *to, const sample *x)
{
    char          features[ROOM], message[ROOM];
    size_t        n = put_feature(features, "input_ids", x->ids, LENGTH);
    crc32c_tables t;
    crc32c_fill(&t);
    n += put_feature(features + n, "input_mask", x->mask, LENGTH);
    n += put_feature(features + n, "segment_ids", x->segment, LENGTH);
    n += put_feature(features + n, "start_positions", &x->first, 1);
    n += put_feature(features + n, "end_positions", &x->last, 1);
    n = put_part(message, 1, features, n);
    uint64_t size = n;
    memcpy(to, &size, 8);
    uint32_t head = crc32c_masked(crc32c(&t, to, 8)), foot = crc32c_masked(crc32c(&t, message, n));
    memcpy(to + 8, &head, 4);
    memcpy(to + 12, message, n);
    memcpy(to + 12 + n, &foot, 4);
    return n + 16;
}

static const char *write_samples(void)
{
    char   file[ROWS * ROOM];
    size_t used = 0;
    for (int k = 0; k < ROWS; k++) used += put_record(file + used, &samples[k]);
    return write_plain("r.tfrecord", file, used);
}

/* ---- answers ---- */

static mtf_bert_answers *open_answers(mtf_session *s, bool with_words)
{
    char spec[300];
    snprintf(spec, sizeof spec, "wordpiece:%s",
             write_text("v", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nred\ncat\n##s\nthe\nq\n"));
    mtf_dataset *d = mtf_bert_data_open(s, &(mtf_bert_data_opts){.task = MTF_BERT_SPAN,
                                                                 .files = write_samples(),
                                                                 .length = LENGTH,
                                                                 .query = 2,
                                                                 .texts = true});
    assert_string_equal(mtf_error(s), "");
    return mtf_bert_answers_new(
        d,
        &(mtf_bert_answers_opts){.vocabulary = with_words ? mtf_vocabulary_open(s, spec) : NULL});
}

/* The likeliest places are outside of the second text, which none may be. */
static void add_rows(mtf_bert_answers *a)
{
    float first[ROWS][LENGTH] = {{9, 9, 9, 0, 3, 0, 0, 9, 9, 9}, {0, 0, 0, 1, 2, 3, 4}};
    float last[ROWS][LENGTH] = {{9, 9, 9, 0, 0, 3, 2, 9, 9, 9}, {0, 0, 0, 4, 3, 2, 1}};
    for (int k = 0; k < ROWS; k++)
        assert_true(mtf_bert_answers_add(a, k, LENGTH, first[k], last[k]));
}

static void answers(void **state)
{
    static const char *const texts[2][3] = {{"6 7", "6 7 8", "5"}, {"cats", "cats the", "red"}};
    (void)state;
    for (int words = 0; words < 2; words++) {
        mtf_session      *s = mtf_open_with(NULL);
        mtf_bert_answers *a = open_answers(s, words);
        mtf_bert_answered got;
        mtf_bert_scores   scores;
        assert_int_equal(mtf_bert_answers_questions(a), ROWS);
        add_rows(a);
        assert_true(mtf_bert_answers_of(a, 0, &got));
        assert_string_equal(got.text, texts[words][0]);
        assert_string_equal(got.best[1].text, texts[words][1]);
        assert_near(got.best[1].score, 5, 0);
        /* A text that stands at several places is one answer, that of the best of them. */
        assert_true(mtf_bert_answers_of(a, 1, &got));
        assert_string_equal(got.text, texts[words][2]);
        assert_int_equal(got.count, 4);
        /* The second has none, and gets one. */
        assert_true(mtf_bert_answers_score(a, &scores));
        assert_near(scores.exact, 0.5, 0);
        assert_near(scores.f1, 0.5, 0);
        close_well(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(answers)};
    return cmocka_run_group_tests_name("answers of records", tests, scratch_make, scratch_drop);
}

/* Tests rows for BERT: pairs of sentences, classes, answers, records. */
#include "mtf_bert.h"

#include "text_rows.h"

enum { SPECIALS = 5, PAD = 0, UNKNOWN, BEGIN, END, MASK, WORDS = 200 };

/* [PAD] [UNK] [CLS] [SEP] [MASK], then w0, w1, ...: word k is id k + 5. */
static const char *word_file(void)
{
    static char text[4000];
    size_t      used = (size_t)sprintf(text, "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n");
    for (int k = 0; k < WORDS; k++) used += (size_t)sprintf(text + used, "w%d\n", k);
    return write_text("vocab.txt", text);
}

static mtf_vocabulary *words_of(mtf_session *s)
{
    char spec[300];
    snprintf(spec, sizeof spec, "wordpiece:%s", word_file());
    return mtf_vocabulary_open(s, spec);
}

static mtf_dataset *open_rows(mtf_session *s, mtf_bert_data_opts o)
{
    o.vocabulary = words_of(s);
    mtf_dataset *d = mtf_bert_data_open(s, &o);
    assert_string_equal(mtf_error(s), "");
    assert_non_null(d);
    return d;
}

/* ---- pairs of sentences ---- */

enum { LENGTH = 24, PREDICTIONS = 4 };

/* Two documents of sentences of three to five words; every word occurs once, so that texts that are read one
 * after the other have consecutive ids. */
static const char *two_documents(void)
{
    char   text[4000];
    size_t used = 0;
    for (int k = 0, sentence = 0; k < WORDS; sentence++) {
        for (int n = 3 + sentence % 3; n > 0 && k < WORDS; n--, k++) {
            if (k == WORDS / 2) used += (size_t)sprintf(text + used, "\n\n");
            used += (size_t)sprintf(text + used, "w%d ", k);
        }
        used += (size_t)sprintf(text + used, "\n");
    }
    return write_text("two.txt", text);
}

/* A row as it was before words were masked. */
typedef struct whole_row {
    int32_t ids[LENGTH], segment[LENGTH];
    int64_t words, masked, follows;
} whole_row;

static whole_row read_whole(mtf_dataset *d, int64_t k)
{
    whole_row      r = {0};
    const int32_t *real = row_of(d, "input_mask", k, LENGTH);
    const int32_t *positions = row_of(d, "masked_lm_positions", k, PREDICTIONS);
    const int32_t *words = row_of(d, "masked_lm_ids", k, PREDICTIONS);
    const int32_t *weights = row_of(d, "masked_lm_weights", k, PREDICTIONS);
    memcpy(r.ids, row_of(d, "input_ids", k, LENGTH), sizeof r.ids);
    memcpy(r.segment, row_of(d, "segment_ids", k, LENGTH), sizeof r.segment);
    while (r.words < LENGTH && real[r.words]) r.words++;
    for (int64_t i = r.words; i < LENGTH; i++) assert_true(!real[i] && r.ids[i] == PAD);
    for (int i = 0; i < PREDICTIONS; i++) {
        if (i > 0) assert_true(weights[i] <= weights[i - 1]);
        if (!weights[i]) continue;
        assert_true(positions[i] > 0 && positions[i] < r.words);
        assert_true(i == 0 || positions[i] > positions[i - 1]);
        assert_true(words[i] >= SPECIALS);
        r.ids[positions[i]] = words[i];
        r.masked++;
    }
    r.follows = !*row_of(d, "next_sentence_labels", k, 1);
    return r;
}

/* [CLS], consecutive words, [SEP], consecutive words, [SEP]; returns the two words at the seam. */
static void check_pair(const whole_row *r, int32_t seam[2])
{
    int64_t at = 1;
    assert_int_equal(r->ids[0], BEGIN);
    for (int segment = 0; segment < 2; segment++) {
        if (segment) seam[1] = r->ids[at];
        assert_true(r->ids[at] >= SPECIALS);
        for (; r->ids[at + 1] != END; at++) assert_int_equal(r->ids[at + 1], r->ids[at] + 1);
        if (!segment) seam[0] = r->ids[at];
        at += 2;
    }
    assert_int_equal(at, r->words);
    for (int64_t i = 0, ends = 0; i < r->words; i++) {
        assert_int_equal(r->segment[i], ends > 0);
        ends += r->ids[i] == END;
    }
}

static void sentences(void **state)
{
    (void)state;
    mtf_session *s = mtf_open_with(NULL);
    mtf_dataset *d =
        open_rows(s, (mtf_bert_data_opts){
                         .files = two_documents(), .length = LENGTH, .predictions = PREDICTIONS});
    int64_t n = mtf_dataset_size(d), following = 0, half = SPECIALS + WORDS / 2;
    assert_true(n >= WORDS / LENGTH);
    for (int64_t k = 0; k < n; k++) {
        whole_row r = read_whole(d, k);
        int32_t   seam[2];
        check_pair(&r, seam);
        int64_t words = r.words - 3, hidden = (int64_t)nearbyint((double)words * 0.15);
        assert_int_equal(r.masked, hidden < 1 ? 1 : hidden > PREDICTIONS ? PREDICTIONS : hidden);
        /* What follows may have been cut at its beginning. */
        if (r.follows)
            assert_true(seam[1] > seam[0] && (seam[0] < half) == (seam[1] < half));
        else
            assert_true((seam[0] < half) != (seam[1] < half));
        following += r.follows;
    }
    assert_true(following > 0 && following < n);
    close_well(s);
}

/* ---- classes ---- */

static void row_is(mtf_dataset *d, const char *field, int64_t row, int64_t n, const int32_t *want)
{
    const int32_t *got = row_of(d, field, row, n);
    for (int64_t i = 0; i < n; i++)
        if (got[i] != want[i])
            fail_msg("%s of row %d, place %d: %d instead of %d", field, (int)row, (int)i,
                     (int)got[i], (int)want[i]);
}

static void classes(void **state)
{
    (void)state;
    mtf_session *s = mtf_open_with(NULL);
    const char  *text = "id\tlabel\tone\ttwo\n7\tno\tw0 w1\tw2\n8\tyes\tw3 w4 w5 w6\tw7 w8 W9\n";
    mtf_bert_data_opts o = {.task = MTF_BERT_CLASSIFY,
                            .files = write_text("pairs.tsv", text),
                            .columns = "one,two,label",
                            .labels = "yes,maybe,no",
                            .length = 8};
    mtf_dataset       *d = open_rows(s, o);
    assert_int_equal(mtf_dataset_size(d), 2);
    row_is(d, "input_ids", 0, 8, (int32_t[]){BEGIN, 5, 6, END, 7, END, PAD, PAD});
    row_is(d, "segment_ids", 0, 8, (int32_t[]){0, 0, 0, 0, 1, 1, 0, 0});
    row_is(d, "input_mask", 0, 8, (int32_t[]){1, 1, 1, 1, 1, 1, 0, 0});
    row_is(d, "label_ids", 0, 1, (int32_t[]){2});
    /* The longer text is cut first, then the second. */
    row_is(d, "input_ids", 1, 8, (int32_t[]){BEGIN, 8, 9, 10, END, 12, 13, END});
    row_is(d, "label_ids", 1, 1, (int32_t[]){0});
    /* An empty second text is one. */
    o.files = write_text("pairs.tsv", "no\tw0\t\nyes\t\tw1\n");
    o.columns = "1,2,0";
    d = open_rows(s, o);
    row_is(d, "input_ids", 0, 8, (int32_t[]){BEGIN, 5, END, END, PAD, PAD, PAD, PAD});
    row_is(d, "segment_ids", 0, 8, (int32_t[]){0, 0, 0, 1, 0, 0, 0, 0});
    row_is(d, "input_ids", 1, 8, (int32_t[]){BEGIN, END, 6, END, PAD, PAD, PAD, PAD});
    o.columns = "2,1";
    o.files = write_text("single.tsv", "x\tmaybe\tw1 w9 what\n");
    d = open_rows(s, o);
    row_is(d, "input_ids", 0, 8, (int32_t[]){BEGIN, 6, 14, UNKNOWN, END, PAD, PAD, PAD});
    row_is(d, "segment_ids", 0, 8, (int32_t[8]){0});
    close_well(s);
}

/* ---- answers ---- */

/* Twelve words in windows of six, three apart; an accent takes two bytes and is one character. */
static void answers(void **state)
{
    (void)state;
    mtf_session *s = mtf_open_with(NULL);
    const char  *text = "w50 w51\tw0 \xc3\xa9 w2 w3 w4 w5 w6 w7 w8 w9 w10 w11\tw7 w8\t20\n"
                        "w50\tw0 w1\t\t\n"
                        "w50\tw0 w1\t\t-1\n"
                        "w50\tw0 w1\tw1\t3\n";
    mtf_dataset *d = open_rows(s, (mtf_bert_data_opts){.task = MTF_BERT_SPAN,
                                                       .files = write_text("q.tsv", text),
                                                       .length = 11,
                                                       .stride = 3,
                                                       .query = 4});
    assert_int_equal(mtf_dataset_size(d), 6);
    row_is(d, "input_ids", 0, 11, (int32_t[]){BEGIN, 55, 56, END, 5, UNKNOWN, 7, 8, 9, 10, END});
    row_is(d, "segment_ids", 0, 11, (int32_t[]){0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1});
    row_is(d, "input_ids", 1, 11, (int32_t[]){BEGIN, 55, 56, END, 8, 9, 10, 11, 12, 13, END});
    row_is(d, "input_ids", 2, 11, (int32_t[]){BEGIN, 55, 56, END, 11, 12, 13, 14, 15, 16, END});
    const int32_t first[] = {0, 8, 5, 0, 0, 4}, last[] = {0, 9, 6, 0, 0, 4};
    for (int64_t k = 0; k < 6; k++) {
        row_is(d, "start_positions", k, 1, &first[k]);
        row_is(d, "end_positions", k, 1, &last[k]);
    }
    close_well(s);
}

/* ---- records ---- */

static void records(void **state)
{
    (void)state;
    mtf_session *s = mtf_open_with(NULL);
    mtf_dataset *d = mtf_bert_data_open(
        s, &(mtf_bert_data_opts){.files = MTF_SOURCE_DIR "/tests/text/bert.tfrecord", .length = 8});
    assert_string_equal(mtf_error(s), "");
    assert_int_equal(mtf_dataset_size(d), 3);
    for (int32_t i = 0; i < 3; i++) {
        int32_t ids[8], mask[8], segment[8];
        for (int32_t k = 0; k < 8; k++) {
            mask[k] = k < 4 + i;
            ids[k] = mask[k] ? 5 + i + k : 0;
            segment[k] = k >= 2 && mask[k];
        }
        row_is(d, "input_ids", i, 8, ids);
        row_is(d, "input_mask", i, 8, mask);
        row_is(d, "segment_ids", i, 8, segment);
        row_is(d, "masked_lm_positions", i, 3, (int32_t[]){1, 2 + i, 0});
        row_is(d, "masked_lm_ids", i, 3, (int32_t[]){10 + i, 20 + i, 0});
        row_is(d, "masked_lm_weights", i, 3, (int32_t[]){1, 1, 0});
        row_is(d, "next_sentence_labels", i, 1, (int32_t[]){i % 2});
    }
    close_well(s);
    /* The third row has the word 12. */
    int32_t ids[8];
    char    spec[200];
    s = mtf_open_with(NULL);
    snprintf(spec, sizeof spec, "wordpiece:%s",
             write_text("v", "[UNK]\na\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\n"));
    d = mtf_bert_data_open(
        s, &(mtf_bert_data_opts){.files = MTF_SOURCE_DIR "/tests/text/bert.tfrecord",
                                 .length = 8,
                                 .vocabulary = mtf_vocabulary_open(s, spec)});
    assert_true(mtf_dataset_read(d, "input_ids", 1, MTF_I32, 8, ids));
    assert_false(mtf_dataset_read(d, "input_ids", 2, MTF_I32, 8, ids));
    assert_contains(mtf_error(s), "12 is outside of 0 to 11");
    mtf_close(s);
}

/* Copies a file of the test folder. */
static void copy_to(const char *name, const char *from)
{
    char   bytes[4000];
    FILE  *f = fopen(from, "rb");
    size_t n = f ? fread(bytes, 1, sizeof bytes, f) : 0;
    assert_true(n > 0 && n < sizeof bytes && fclose(f) == 0);
    write_plain(name, bytes, n);
}

/* Whether files are records or text, the first that has anything tells. */
static void empty_first(void **state)
{
    (void)state;
    scratch_clear();
    write_text("part-0", "");
    write_text("part-1", "");
    copy_to("part-2", MTF_SOURCE_DIR "/tests/text/bert.tfrecord");
    mtf_session *s = mtf_open_with(NULL);
    mtf_dataset *d =
        mtf_bert_data_open(s, &(mtf_bert_data_opts){.files = scratch_path("part-*"), .length = 8});
    assert_string_equal(mtf_error(s), "");
    assert_int_equal(mtf_dataset_size(d), 3);
    close_well(s);
    scratch_clear();
    write_text("part-0", "");
    write_text("part-1", "w1 w2\t1\n");
    s = mtf_open_with(NULL);
    d = open_rows(s, (mtf_bert_data_opts){
                         .task = MTF_BERT_CLASSIFY, .files = scratch_path("part-*"), .length = 8});
    assert_int_equal(mtf_dataset_size(d), 1);
    close_well(s);
}

/* ---- what is refused ---- */

static void refused_rows(mtf_bert_data_opts o, bool with_words, const char *words)
{
    mtf_session *s = mtf_open_with(NULL);
    char         files[100] = ""; /* the vocabulary is a file, too */
    if (o.files) snprintf(files, sizeof files, "%s", o.files);
    if (o.files) o.files = files;
    if (with_words) o.vocabulary = words_of(s);
    assert_null(mtf_bert_data_open(s, &o));
    assert_contains(mtf_error(s), words);
    mtf_close(s);
}

static void wrong(void **state)
{
    (void)state;
    mtf_bert_data_opts plain = {.files = write_text("plain", "w1 w2\n"), .length = 8}, o = plain;
    refused_rows(plain, false, "need a vocabulary");
    o.length = 7;
    refused_rows(o, true, "8 to 4096 words, not 7");
    o = plain, o.predictions = 9;
    refused_rows(o, true, "--predictions is 9; of rows of 8 words it can be 1 to 8");
    o = plain, o.type_vocab = 1;
    refused_rows(o, true, "rows of two texts need 2 kinds of segments");
    o = plain, o.files = write_text("blank", "\n\n");
    refused_rows(o, true, "has no text to make an example of");
    o = (mtf_bert_data_opts){.task = MTF_BERT_CLASSIFY, .length = 8};
    refused_rows(o, true, "needs files");
    o.files = write_text("one.tsv", "w1\t2\n");
    refused_rows(o, true, "line 1: the class \"2\" is none of 0,1");
    o.files = write_text("one.tsv", "w1\t2\n");
    o.columns = "text,1";
    refused_rows(o, true, "has no column \"text\"");
    o.columns = "0";
    refused_rows(o, true, "the columns \"0\" should be a text or two, and the class");
    o.columns = "0,1,2";
    o.files = write_text("one.tsv", "w1\t2\n");
    refused_rows(o, true, "line 1 has no column 2");
    o.type_vocab = 1, o.columns = "0,1,2";
    o.files = write_text("two.tsv", "w1\tw2\t1\n");
    refused_rows(o, true, "rows of two texts need 2 kinds of segments");
    o.columns = "0,1,2,2";
    refused_rows(o, true, "the columns \"0,1,2,2\" should be a text or two, and the class");
    o.columns = "0,1,2", o.labels = "1,no,1";
    refused_rows(o, true, "--labels has the class \"1\" twice: \"1,no,1\"");
    o = (mtf_bert_data_opts){.task = MTF_BERT_SPAN, .length = 8};
    o.files = write_text("q.tsv", "w1\tw2 w3\tw3\t2\n");
    refused_rows(o, true, "leave no room for a text");
    o.query = 2;
    refused_rows(o, true, "line 1: the text does not have the answer at character 2");
    o.files = write_text("q.tsv", "w1\tw2 w3\tw3\tx\n");
    refused_rows(o, true, "a number of characters, or empty, not \"x\"");
    o.files = write_text("q.tsv", "w1\tw2 w3\t\t-1\nw1\tw2 w3\tw3\t-1\n");
    refused_rows(o, true, "line 2 has an answer without its place");
    o.files = write_text("q.tsv", "w1\tw2 w3\t\t\nw1\tw2 w3\t\t3\n");
    refused_rows(o, true, "line 2 has an answer without its place, or a place without an answer");
    o.type_vocab = 1;
    refused_rows(o, true, "rows of two texts need 2 kinds of segments");
}

/* The rows have 8 words, three of them masked, two kinds of segments, and words up to 12. */
static void wrong_records(void **state)
{
    (void)state;
    mtf_bert_data_opts plain = {.files = MTF_SOURCE_DIR "/tests/text/bert.tfrecord", .length = 8},
                       o = plain;
    o.length = 16;
    refused_rows(o, false, "have 8 numbers in \"input_ids\": --length must be 8");
    o = plain, o.predictions = 2;
    refused_rows(o, false, "have 3 numbers in \"masked_lm_ids\": --predictions must be 3");
    o = plain, o.type_vocab = 1;
    refused_rows(o, false, "rows of two texts need 2 kinds of segments");
}

/* Ids that the model's tables lack are found when a row is read. */
static void unknown_ids(void **state)
{
    (void)state;
    mtf_bert_data_opts o = {.files = MTF_SOURCE_DIR "/tests/text/bert.tfrecord",
                            .length = 8,
                            .vocab_size = 12,
                            .type_vocab = 2};
    int32_t            ids[8];
    mtf_session       *s = mtf_open_with(NULL);
    mtf_dataset       *d = mtf_bert_data_open(s, &o);
    assert_true(mtf_dataset_read(d, "segment_ids", 2, MTF_I32, 8, ids));
    assert_true(mtf_dataset_read(d, "input_ids", 1, MTF_I32, 8, ids));
    assert_false(mtf_dataset_read(d, "input_ids", 2, MTF_I32, 8, ids));
    assert_contains(mtf_error(s), "12 is outside of 0 to 11");
    mtf_close(s);
}

/* Bytes that are no character are left out, as other characters that are no text are. */
static void not_utf8(void **state)
{
    (void)state;
    mtf_session       *s = mtf_open_with(NULL);
    mtf_bert_data_opts o = {.task = MTF_BERT_CLASSIFY,
                            .files = write_text("bytes.tsv", "w1 \xff w\xc3"
                                                             "2 w3\xe2\x82\t1\n"),
                            .type_vocab = 1,
                            .length = 8};
    mtf_dataset       *d = open_rows(s, o);
    row_is(d, "input_ids", 0, 8,
           (int32_t[]){BEGIN, SPECIALS + 1, SPECIALS + 2, SPECIALS + 3, END, PAD, PAD, PAD});
    close_well(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sentences),   cmocka_unit_test(classes),  cmocka_unit_test(answers),
        cmocka_unit_test(records),     cmocka_unit_test(wrong),    cmocka_unit_test(wrong_records),
        cmocka_unit_test(unknown_ids), cmocka_unit_test(not_utf8), cmocka_unit_test(empty_first)};
    return cmocka_run_group_tests_name("bert data", tests, scratch_make, scratch_drop);
}

/* Tests answers to questions: against plain loops over all windows, and against known scores of texts. */
#include <math.h>

#include "model/bert/answer_score.h"
#include "mtf_bert.h"

#include "../data/scratch.h"

/* ---- texts --------------------------------------------------------------------------------------- */

enum {
    LENGTH = 16,
    STRIDE = 3,
    QUERY = 2,
    ROOM = LENGTH - 3 - QUERY,
    QUESTIONS = 12,
    MOST_WORDS = 40
};

static const char *const vocabulary_text =
    "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nred\nblue\ncat\n##s\ncafe\n.\n,\nq\n";

/* Pieces of words as they stand in a text, with what stands before them. */
static const struct {
    const char *before, *piece;
} pieces[] = {{" ", "Red"},          {" ", "cat"},       {"", "S"},  {"  ", "BLUE"},
              {" ", "caf\xc3\xa9"},  {"", "."},          {" ", ","}, {" ", "unheard"},
              {" ", "cafe\xcc\x81"}, {"\xc2\xa0", "red"}};
enum { PIECES = sizeof pieces / sizeof *pieces };

/* A text of pieces, and where each begins and ends. */
typedef struct made_text {
    char text[1000];
    int  words, begin[MOST_WORDS], end[MOST_WORDS];
} made_text;

static uint32_t drawn;
static uint32_t draw(uint32_t below)
{
    drawn = drawn * 1664525u + 1013904223u;
    return (drawn >> 8) % below;
}

static made_text make_text(int words)
{
    made_text t = {.words = words};
    size_t    used = 0;
    for (int k = 0; k < words; k++) {
        uint32_t of = draw(PIECES);
        /* A piece that goes on needs the word that it goes on. */
        if (of == 2 && (k == 0 || strcmp(t.text + t.begin[k - 1], "cat") != 0)) of = 0;
        used += (size_t)sprintf(t.text + used, "%s", k ? pieces[of].before : "");
        t.begin[k] = (int)used;
        used += (size_t)sprintf(t.text + used, "%s", pieces[of].piece);
        t.end[k] = (int)used;
    }
    return t;
}

static mtf_vocabulary *words_of(mtf_session *s)
{
    char spec[300];
    snprintf(spec, sizeof spec, "wordpiece:%s", write_text("vocab.txt", vocabulary_text));
    return mtf_vocabulary_open(s, spec);
}

/* Questions of two words on these texts. */
static mtf_dataset *open_texts(mtf_session *s, int n, const made_text *texts)
{
    static char tsv[QUESTIONS * 1100];
    size_t      used = 0;
    for (int k = 0; k < n; k++) used += (size_t)sprintf(tsv + used, "q q\t%s\n", texts[k].text);
    mtf_dataset *d = mtf_bert_data_open(s, &(mtf_bert_data_opts){.task = MTF_BERT_SPAN,
                                                                 .files = write_text("q.tsv", tsv),
                                                                 .vocabulary = words_of(s),
                                                                 .columns = "0,1",
                                                                 .length = LENGTH,
                                                                 .stride = STRIDE,
                                                                 .query = QUERY,
                                                                 .texts = true});
    assert_string_equal(mtf_error(s), "");
    return d;
}

/* ---- the reference ------------------------------------------------------------------------------- */

enum { MOST_ROWS = 200, MOST_LISTED = 4000 };

typedef struct logits {
    float first[LENGTH], last[LENGTH];
} logits;

typedef struct plain_answer {
    char   text[1000];
    double score;
} plain_answer;

typedef struct plain_answers {
    int          count;
    plain_answer best[MOST_LISTED];
    double       lacks;
} plain_answers;

static int windows_of(int words)
{
    int n = 1;
    while ((n - 1) * STRIDE + ROOM < words) n++;
    return n;
}

static int size_of(int words, int window)
{
    int rest = words - window * STRIDE;
    return rest < ROOM ? rest : ROOM;
}

/* Is the position among the n largest, of equal ones the first? */
static bool is_among_best(const float *x, int at, int n)
{
    int before = 0;
    for (int i = 0; i < LENGTH; i++) before += x[i] > x[at] || (x[i] == x[at] && i < at);
    return before < n;
}

static int best_window(int words, int word)
{
    int    best = -1;
    double most = -1;
    for (int w = 0; w < windows_of(words); w++) {
        int left = word - w * STRIDE, right = size_of(words, w) - 1 - left;
        if (left < 0 || right < 0) continue;
        double context = (left < right ? left : right) + 0.01 * size_of(words, w);
        if (context > most) most = context, best = w;
    }
    return best;
}

static void add_plain(plain_answers *to, const char *text, int size, double score)
{
    char copy[1000];
    snprintf(copy, sizeof copy, "%.*s", size, text);
    for (int i = 0; i < to->count; i++)
        if (strcmp(to->best[i].text, copy) == 0) {
            if (score > to->best[i].score) to->best[i].score = score;
            return;
        }
    assert_true(to->count < MOST_LISTED);
    strcpy(to->best[to->count].text, copy);
    to->best[to->count++].score = score;
}

static int by_score(const void *a, const void *b)
{
    const plain_answer *x = a, *y = b;
    return x->score > y->score ? -1 : x->score < y->score;
}

/* All answers of a text, whose rows these are. */
static void plain_search(const made_text *t, const logits *rows, int most, int longest,
                         plain_answers *to)
{
    const int lead = QUERY + 2;
    to->count = 0;
    to->lacks = INFINITY;
    for (int w = 0; w < windows_of(t->words); w++) {
        const logits *l = &rows[w];
        double        lacks = (double)l->first[0] + (double)l->last[0];
        if (lacks < to->lacks) to->lacks = lacks;
        for (int i = 0; i < size_of(t->words, w); i++)
            for (int k = i; k < size_of(t->words, w) && k - i + 1 <= longest; k++) {
                int from = w * STRIDE + i, until = w * STRIDE + k;
                if (!is_among_best(l->first, lead + i, most) ||
                    !is_among_best(l->last, lead + k, most) || best_window(t->words, from) != w)
                    continue;
                add_plain(to, t->text + t->begin[from], t->end[until] - t->begin[from],
                          (double)l->first[lead + i] + (double)l->last[lead + k]);
            }
    }
    qsort(to->best, (size_t)to->count, sizeof *to->best, by_score);
}

/* What is listed: the best, among which or after which there is no answer. */
static void compare(const mtf_bert_answered *got, plain_answers *wanted, int most, bool may_lack,
                    double threshold)
{
    double margin = wanted->lacks - wanted->best[0].score;
    bool   none = may_lack && margin > threshold;
    char   answer[1000];
    assert_true(wanted->count > 0);
    strcpy(answer, none ? "" : wanted->best[0].text);
    if (may_lack) add_plain(wanted, "", 0, wanted->lacks);
    qsort(wanted->best, (size_t)wanted->count, sizeof *wanted->best, by_score);
    int count = wanted->count < most ? wanted->count : most;
    for (int i = most; i < wanted->count; i++)
        if (!*wanted->best[i].text) wanted->best[most] = wanted->best[i], count = most + 1;
    assert_int_equal(got->count, count);
    assert_near(got->margin, margin, 1e-9);
    assert_string_equal(got->text, answer);
    double sum = 0;
    for (int i = 0; i < count; i++) sum += exp(wanted->best[i].score);
    for (int i = 0; i < count; i++) {
        double probability = exp(wanted->best[i].score) / sum;
        assert_string_equal(got->best[i].text, wanted->best[i].text);
        assert_near(got->best[i].score, wanted->best[i].score, 1e-9);
        assert_near(got->best[i].probability, probability, 1e-12);
        if (strcmp(answer, wanted->best[i].text) == 0)
            assert_near(got->probability, probability, 1e-12);
    }
}

/* ---- against it ---------------------------------------------------------------------------------- */

static void one_search(int most, int longest, bool may_lack, double threshold)
{
    static made_text     texts[QUESTIONS];
    static logits        all[MOST_ROWS];
    static plain_answers wanted;
    mtf_session         *s = mtf_open_with(NULL);
    int                  row = 0, lacking = 0;
    for (int k = 0; k < QUESTIONS; k++) texts[k] = make_text(1 + (int)draw(MOST_WORDS));
    mtf_dataset      *d = open_texts(s, QUESTIONS, texts);
    mtf_bert_answers *a =
        mtf_bert_answers_new(d, &(mtf_bert_answers_opts){most, longest, may_lack, threshold, NULL});
    assert_int_equal(mtf_bert_answers_questions(a), QUESTIONS);
    int64_t rows = mtf_dataset_size(d);
    assert_true(rows > QUESTIONS && rows <= MOST_ROWS);
    /* Rows may come in any order, and again. */
    for (int64_t r = rows - 1; r >= 0; r--)
        for (int again = 0; again < 2; again++) {
            for (int i = 0; i < LENGTH; i++) {
                all[r].first[i] = (float)draw(1000000) * 4e-6F;
                all[r].last[i] = (float)draw(1000000) * 4e-6F;
            }
            assert_true(mtf_bert_answers_add(a, r, LENGTH, all[r].first, all[r].last));
        }
    for (int k = 0; k < QUESTIONS; k++) {
        mtf_bert_answered got;
        plain_search(&texts[k], &all[row], most, longest, &wanted);
        row += windows_of(texts[k].words);
        assert_true(mtf_bert_answers_of(a, k, &got));
        if (wanted.count) compare(&got, &wanted, most, may_lack, threshold);
        lacking += !*got.text;
    }
    assert_int_equal(row, rows);
    if (may_lack) assert_true(lacking > 0 && lacking < QUESTIONS);
    close_well(s);
}

static void searches(void **state)
{
    (void)state;
    one_search(LENGTH, 30, false, 0);
    one_search(5, 3, false, 0);
    one_search(3, 8, true, -3);
    one_search(LENGTH, 4, true, -4);
    one_search(100, 1, true, -2);
}

/* One answer at most, though no answer is likelier by itself; before logits come there is none. */
static void edges(void **state)
{
    (void)state;
    float             first[LENGTH] = {4, 0, 0, 0, 3}, last[LENGTH] = {4, 0, 0, 0, 3};
    made_text         text = {.text = "red cat", .words = 2};
    mtf_session      *s = mtf_open_with(NULL);
    mtf_dataset      *d = open_texts(s, 1, &text);
    mtf_bert_answered got;
    mtf_bert_scores   scores;
    mtf_bert_answers *a = mtf_bert_answers_new(
        d, &(mtf_bert_answers_opts){.most = 1, .may_lack = true, .threshold = 10});
    assert_true(mtf_bert_answers_of(a, 0, &got));
    assert_string_equal(got.text, "");
    first[0] = last[0] = 2;
    assert_true(mtf_bert_answers_add(a, 0, LENGTH, first, last));
    assert_true(mtf_bert_answers_of(a, 0, &got));
    assert_string_equal(got.text, "red");
    assert_int_equal(got.count, 2);
    first[4] = last[4] = 1.5F;
    first[0] = 2;
    assert_true(mtf_bert_answers_add(a, 0, LENGTH, first, last));
    assert_true(mtf_bert_answers_score(a, &scores));
    assert_true(isnan(scores.exact) && isnan(scores.f1));
    assert_false(mtf_bert_answers_add(a, 1, LENGTH, first, last));
    assert_contains(mtf_error(s), "there is no row 1 of answers; there are 1");
    mtf_close(s);
}

/* ---- scores -------------------------------------------------------------------------------------- */

static void agree(const char *answer, const char *right, bool exact, double f1)
{
    fault        why = {0};
    byte_list    scratch = {.why = &why};
    answer_score got;
    assert_true(answer_compare(answer, (int64_t)strlen(answer), right, (int64_t)strlen(right),
                               &scratch, &got));
    if (got.exact != exact || fabs(got.f1 - f1) > 1e-12)
        fail_msg("\"%s\" and \"%s\": %d, %.17g", answer, right, got.exact, got.f1);
    bytes_free(&scratch);
}

static void texts_agree(void **state)
{
    (void)state;
    agree("the Cat", "cat.", true, 1);
    agree("A cat, an owl", "cat owl", true, 1);
    agree("theatre", "atre", false, 0);
    agree("U.S.A.", "usa", true, 1);
    agree("in the  red house", "the red  house", false, 0.8);
    agree("red red cat", "red cat cat", false, 2.0 / 3);
    agree("dog", "cat", false, 0);
    agree("", "the", true, 1);
    agree("", "cat", false, 0);
    agree("cat", "", false, 0);
    agree("", "", true, 1);
    agree("\xc3\x89T\xc3\x89", "\xc3\xa9t\xc3\xa9", true, 1);
    agree("ete", "\xc3\xa9t\xc3\xa9", false, 0);
    agree("the\xe2\x80\x93"
          "cat",
          "\xe2\x80\x93"
          "cat",
          true, 1);
    agree("1,000\xc2\xa0m", "1000 m", true, 1);
}

/* Two questions of three are answered, one of them with a word too many. */
static void texts_are_scored(void **state)
{
    (void)state;
    mtf_session *s = mtf_open_with(NULL);
    mtf_dataset *d = mtf_bert_data_open(
        s, &(mtf_bert_data_opts){.task = MTF_BERT_SPAN,
                                 .files = write_text("q.tsv", "q\tred cat\tcat\t4\n"
                                                              "q\tred cat\tred\t0\n"
                                                              "q\tred cat\t\t\n"),
                                 .vocabulary = words_of(s),
                                 .length = 8,
                                 .query = 2,
                                 .texts = true});
    mtf_bert_answers *a = mtf_bert_answers_new(d, NULL);
    for (int k = 0; k < 3; k++) {
        float first[8] = {0}, last[8] = {0};
        first[k == 0 ? 4 : 3] = last[4] = 5;
        assert_true(mtf_bert_answers_add(a, k, 8, first, last));
    }
    mtf_bert_scores got;
    assert_true(mtf_bert_answers_score(a, &got));
    assert_near(got.exact, 1.0 / 3, 1e-12);
    assert_near(got.f1, (1 + 2.0 / 3) / 3, 1e-12);
    close_well(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(searches), cmocka_unit_test(edges),
                                       cmocka_unit_test(texts_agree),
                                       cmocka_unit_test(texts_are_scored)};
    return cmocka_run_group_tests_name("answers to questions", tests, scratch_make, scratch_drop);
}

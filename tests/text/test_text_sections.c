/* Tests text that is read in sections: what rows it has, and that training can continue anywhere. */
#include <sys/stat.h>

#include "base/crc32c.h"
#include "data/batch_place.h"
#include "data/text/text_dataset.h"
#include "data/text/vocabulary.h"

#include "text_rows.h"

enum { BATCH = 6, LENGTH = 24, PER_BATCH = BATCH * LENGTH * 4, MOST = 400 };

/* ---- corpora ---- */

/* Lines of 1 to 90 letters, some empty, some blank; without a line end after the last. */
static const char *write_corpus(const char *name, int lines, bool pairs, bool packed)
{
    static char text[200000];
    char       *end = text;
    for (int i = 0; i < lines; i++) {
        int n = i % 11 == 3 ? 0 : 1 + i * i % 90;
        for (int k = 0; k < n; k++) *end++ = k % 7 == 6 ? ' ' : (char)('a' + (i + k) % 26);
        if (pairs && n) end += sprintf(end, "\t%d %d", i, i * i);
        if (!pairs && i % 17 == 5) *end++ = '\t';
        if (i % 5 == 0) *end++ = '\r';
        *end++ = '\n';
        if (!pairs && i % 13 == 7) end += sprintf(end, " \n\n");
        if (!pairs && i % 19 == 7) end += sprintf(end, "\r\r\n"); /* not blank */
    }
    size_t size = (size_t)(end - text) - 1;
    assert_true(size < sizeof text);
    return packed ? write_gzip(name, text, size) : write_plain(name, text, size);
}

static mtf_dataset *open_in(mtf_session *s, mtf_text_opts o, int64_t bytes)
{
    if (!o.length) o.length = LENGTH;
    if (!o.inputs_length) o.inputs_length = o.length;
    o.vocabulary = mtf_vocabulary_open(s, "bytes:extra=20");
    mtf_dataset *d = text_open_in_sections(s, &o, bytes);
    assert_string_equal(mtf_error(s), "");
    assert_non_null(d);
    return d;
}

/* ---- the same rows as in memory ---- */

/* Reading all rows ends with a message that has all of these words. */
static void reading_fails(mtf_text_opts o, const char *words)
{
    mtf_session *s = mtf_open_with(NULL);
    mtf_dataset *d = open_in(s, o, 1);
    mtf_dataset_size(d);
    assert_contains(mtf_error(s), words);
    assert_int_equal(mtf_close(s), 1);
}

static void same_rows(mtf_text_opts o, int64_t length)
{
    mtf_session *s = mtf_open_with(NULL);
    o.length = o.inputs_length = length;
    mtf_dataset *whole = open_in(s, o, 1 << 30), *parts = open_in(s, o, 1);
    bool         pairs = o.objective == MTF_TEXT_PAIRS;
    int64_t      rows = mtf_dataset_size(parts);
    assert_string_equal(mtf_error(s), "");
    assert_int_equal(mtf_dataset_size(whole), rows);
    for (int64_t k = 0; k < mtf_dataset_size(whole); k++) {
        assert_string_equal(letters(whole, "targets", k, length),
                            letters(parts, "targets", k, length));
        if (pairs)
            assert_string_equal(letters(whole, "inputs", k, length),
                                letters(parts, "inputs", k, length));
    }
    close_well(s);
}

static void texts_are_whole(void **state)
{
    (void)state;
    same_rows((mtf_text_opts){.files = write_corpus("a.txt", 900, false, false)}, LENGTH);
    same_rows((mtf_text_opts){.files = write_corpus("a.txt", 900, false, false),
                              .documents = MTF_DOCUMENTS_LINE},
              LENGTH);
    same_rows((mtf_text_opts){.files = write_corpus("a.gz", 900, false, true),
                              .documents = MTF_DOCUMENTS_LINE},
              7);
    same_rows((mtf_text_opts){.files = write_corpus("a.tsv", 900, true, false),
                              .objective = MTF_TEXT_PAIRS},
              LENGTH);
    same_rows((mtf_text_opts){.files = write_corpus("a.tsv", 900, true, false),
                              .objective = MTF_TEXT_DELIMITED},
              LENGTH);
}

/* ---- what is tokenised ---- */

static int encoded; /* texts */

static bool count_encoded(const mtf_vocabulary *v, const char *text, size_t n, id_list *out)
{
    encoded++;
    return vocabulary_bytes.encode(v, text, n, out);
}

/* How many texts are tokenised for the first 10 rows, each read twice. */
static int encoded_for_ten(mtf_text_opts o)
{
    mtf_session    *s = mtf_open_with(NULL);
    vocabulary_kind counting = vocabulary_bytes;
    mtf_vocabulary  v = *mtf_vocabulary_open(s, "bytes");
    counting.encode = count_encoded;
    v.kind = &counting;
    o.vocabulary = &v;
    o.length = o.inputs_length = LENGTH;
    encoded = 0;
    mtf_dataset *d = text_open_in_sections(s, &o, 1);
    assert_non_null(d);
    for (int k = 0; k < 20; k++) letters(d, "targets", k % 10, LENGTH);
    close_well(s);
    return encoded;
}

/* A process tokenises the rows that it reads; of rows whose number depends on tokens, whole sections. */
static void only_what_is_read(void **state)
{
    (void)state;
    mtf_text_opts lines = {.files = write_corpus("e.txt", 900, false, false),
                           .documents = MTF_DOCUMENTS_LINE};
    mtf_text_opts pairs = {.files = write_corpus("e.tsv", 900, true, false),
                           .objective = MTF_TEXT_PAIRS};
    assert_true(encoded_for_ten(lines) <= 10 + 2); /* lines that may have no tokens are tried */
    assert_int_equal(encoded_for_ten(pairs), 20);
    pairs.pack = true;
    assert_true(encoded_for_ten(pairs) > 20);
}

/* Texts of blanks have no words: they are left out before their turn comes to be tokenised. */
static void texts_without_tokens(void **state)
{
    (void)state;
    static char text[40000];
    char        spec[300], *end = text;
    for (int i = 0; i < 1000; i++) end += sprintf(end, i % 3 ? "a b\ta\n" : "  \t \n");
    mtf_session *s = mtf_open_with(NULL);
    snprintf(spec, sizeof spec, "words:%s", write_text("words.txt", "a\nb\n"));
    mtf_text_opts o = {.files = write_text("blank.tsv", text),
                       .objective = MTF_TEXT_PAIRS,
                       .vocabulary = mtf_vocabulary_open(s, spec),
                       .length = LENGTH,
                       .inputs_length = LENGTH};
    mtf_dataset  *d = text_open_in_sections(s, &o, 1);
    assert_string_equal(mtf_error(s), "");
    assert_int_equal(mtf_dataset_size(d), 666);
    close_well(s);
}

/* The ids of all rows, one after another; the caller frees them. */
static char *all_letters(mtf_dataset *d)
{
    int64_t rows = mtf_dataset_size(d);
    char   *text = calloc((size_t)(rows * LENGTH + 1), 1), *end = text;
    assert_non_null(text);
    for (int64_t k = 0; k < rows; k++) {
        const char *row = letters(d, "targets", k, LENGTH);
        while (*row && *row != '.') *end++ = *row++;
    }
    return text;
}

static void same_text(mtf_text_opts o)
{
    mtf_session *s = mtf_open_with(NULL);
    o.joined = true;
    mtf_dataset *whole = open_in(s, o, 1 << 30), *parts = open_in(s, o, 1);
    char        *a = all_letters(whole), *b = all_letters(parts);
    assert_string_equal(a, b);
    assert_true(mtf_dataset_size(parts) >= mtf_dataset_size(whole));
    free(a), free(b);
    close_well(s);
}

/* No text is lost, doubled or given another end where sections meet: not even one that is as long as the
 * file, or a line without any blank. */
static void joined_text_is_complete(void **state)
{
    (void)state;
    static char long_line[50000];
    memset(long_line, 'x', sizeof long_line - 1);
    same_text((mtf_text_opts){.files = write_corpus("b.txt", 900, false, false)});
    same_text((mtf_text_opts){.files = write_corpus("b.txt", 900, false, false),
                              .documents = MTF_DOCUMENTS_FILE});
    same_text((mtf_text_opts){.files = write_corpus("b.gz", 900, false, true),
                              .documents = MTF_DOCUMENTS_LINE});
    same_text(
        (mtf_text_opts){.files = write_text("c.txt", long_line), .documents = MTF_DOCUMENTS_LINE});
}

/* A text that is cut to a row loses its rest, however long it is, and no other text. */
static void long_texts_are_cut(void **state)
{
    (void)state;
    static char text[60000];
    char       *end = text + sprintf(text, "first\n\n");
    for (int i = 0; i < 5000; i++) end += sprintf(end, "line %d\n", i);
    sprintf(end, "\nlast\n");
    same_rows((mtf_text_opts){.files = write_text("d.txt", text)}, LENGTH);
}

/* ---- tokens ---- */

/* Texts of 0 to 60 ids, one of 20000, and one without an end. */
static void texts_of_tokens(void **state)
{
    (void)state;
    static uint16_t ids[60000];
    int             n = 0;
    for (int i = 0; i < 1000; i++) {
        for (int k = i == 500 ? 20000 : i * i % 61; k > 0; k--)
            ids[n++] = (uint16_t)('a' + 3 + (i + k) % 26);
        ids[n++] = 1;
    }
    n += 5;
    for (int k = 1; k < 6; k++) ids[n - k] = 'z' + 3;
    const char *path = write_plain("m.u16", ids, (size_t)n * sizeof *ids);
    same_rows((mtf_text_opts){.files = path}, LENGTH);
    same_rows((mtf_text_opts){.files = path, .ensure_end = true}, LENGTH);
    ids[50000] = 5000;
    reading_fails((mtf_text_opts){.files = write_plain("m.u16", ids, (size_t)n * sizeof *ids)},
                  "m.u16\", element 50000: 5000 is not an id of the vocabulary");
}

/* ---- records ---- */

static size_t put_field(uint8_t *to, uint8_t tag, const void *bytes, size_t n)
{
    assert_true(n < 128);
    to[0] = tag;
    to[1] = (uint8_t)n;
    memcpy(to + 2, bytes, n);
    return n + 2;
}

static size_t put_number(uint8_t *to, uint64_t number, int bytes)
{
    for (int i = 0; i < bytes; i++) to[i] = (uint8_t)(number >> 8 * i);
    return (size_t)bytes;
}

/* A record with a tf.Example whose feature "targets" is the text. */
static size_t put_record(const crc32c_tables *crc, uint8_t *to, const char *text)
{
    uint8_t list[128], feature[128], entry[128], features[128], example[128];
    size_t  n = put_field(list, 0x0a, text, strlen(text)), at = 0;
    n = put_field(feature, 0x0a, list, n);
    size_t key = put_field(entry, 0x0a, "targets", 7);
    n = key + put_field(entry + key, 0x12, feature, n);
    n = put_field(features, 0x0a, entry, n);
    n = put_field(example, 0x0a, features, n);
    at += put_number(to, n, 8);
    at += put_number(to + at, crc32c_masked(crc32c(crc, to, 8)), 4);
    memcpy(to + at, example, n);
    return at + n + put_number(to + at + n, crc32c_masked(crc32c(crc, example, n)), 4);
}

static void records(void **state)
{
    (void)state;
    static uint8_t       bytes[200000];
    static crc32c_tables crc;
    size_t               size = 0, late = 0;
    char                 text[100];
    crc32c_fill(&crc);
    for (int i = 0; i < 1500; i++) {
        snprintf(text, sizeof text, "record %d%.*s", i, i % 50,
                 "..................................................");
        if (i == 1234) late = size;
        size += put_record(&crc, bytes + size, text);
    }
    same_rows((mtf_text_opts){.files = write_plain("l.tfrecord", bytes, size)}, LENGTH);
    bytes[late + 20] ^= 1;
    reading_fails((mtf_text_opts){.files = write_plain("l.tfrecord", bytes, size)},
                  "l.tfrecord\" is damaged: record 1234, at byte");
}

/* ---- batches ---- */

typedef struct taker {
    mtf_session *session;
    mtf_program *program;
    mtf_tensor  *results[4];
    int          nresults;
    mtf_batches *batches;
} taker;

static taker make_taker(const char *mesh, const char *layout, mtf_text_opts o, mtf_batches_opts b)
{
    taker      t = {.session = mtf_open_with(
                        &(mtf_session_opts){.threads = 1, .mesh = mesh, .layout = layout})};
    mtf_graph *g = mtf_graph_new(t.session);
    mtf_shape  shape = mtf_shape((mtf_dim){"batch", BATCH}, (mtf_dim){"length", LENGTH});
    static const char *const names[] = {"targets", "targets_position", "inputs",
                                        "inputs_segmentation"};
    bool inputs = o.objective == MTF_TEXT_PAIRS || o.objective == MTF_TEXT_SPANS ||
                  o.objective == MTF_TEXT_PREFIX;
    t.nresults = inputs ? 4 : 2;
    for (int i = 0; i < 4; i++)
        t.results[i] =
            i < t.nresults ? mtf_scale(mtf_input(g, names[i], MTF_I32, shape), 2) : t.results[0];
    t.program = inputs ? mtf_compile(g, t.results[0], t.results[1], t.results[2], t.results[3])
                       : mtf_compile(g, t.results[0], t.results[1]);
    t.batches = mtf_batches_new(open_in(t.session, o, 1), t.program, &b);
    assert_string_equal(mtf_error(t.session), "");
    return t;
}

static void take(const taker *t, int32_t *numbers)
{
    assert_true(mtf_step(t->program));
    memset(numbers, 0, PER_BATCH * sizeof *numbers);
    for (int i = 0; i < t->nresults; i++)
        assert_true(mtf_fetch(t->program, t->results[i], numbers + i * BATCH * LENGTH));
}

typedef struct collected {
    int32_t numbers[MOST][PER_BATCH];
    int64_t real[MOST];
    char    after[MOST + 1][BATCH_PLACE_ROOM];
    int     batches;
} collected;

static void collect(const char *mesh, const char *layout, mtf_text_opts o, mtf_batches_opts b,
                    collected *c)
{
    taker t = make_taker(mesh, layout, o, b);
    batches_place(t.batches, c->after[0]);
    for (c->batches = 0; c->batches < MOST && mtf_batches_next(t.batches);) {
        take(&t, c->numbers[c->batches]);
        c->real[c->batches++] = mtf_batches_real(t.batches);
        batches_place(t.batches, c->after[c->batches]);
    }
    assert_string_equal(mtf_error(t.session), "");
    close_well(t.session);
}

/* From the place after each batch, and from each position alone. */
static void continue_anywhere(mtf_text_opts o, mtf_batches_opts b, const collected *all)
{
    static int32_t numbers[PER_BATCH];
    taker          t = make_taker(NULL, NULL, o, b);
    for (int at = all->batches - 1; at >= 0; at--) {
        assert_true(batches_continue(t.batches, at, at % 4 ? all->after[at] : NULL));
        for (int i = at; i < at + 2 && i < all->batches; i++) {
            assert_true(mtf_batches_next(t.batches));
            assert_int_equal(mtf_batches_real(t.batches), all->real[i]);
            take(&t, numbers);
            assert_memory_equal(numbers, all->numbers[i], sizeof numbers);
        }
        assert_int_equal(mtf_batches_position(t.batches),
                         at + 2 < all->batches ? at + 2 : all->batches);
    }
    close_well(t.session);
}

static void check(mtf_text_opts o, mtf_batches_opts b)
{
    static const char *const places[][2] = {
        {"x:2", "batch:x"}, {"x:3", "batch:x"}, {"x:2", "length:x"}};
    static collected one, other;
    collect(NULL, NULL, o, b, &one);
    assert_true(one.batches > 20 && one.batches < MOST);
    for (int i = 0; i < 3; i++) {
        b.ahead = i - 1;
        collect(places[i][0], places[i][1], o, b, &other);
        assert_int_equal(one.batches, other.batches);
        for (int k = 0; k < one.batches; k++)
            assert_memory_equal(one.numbers[k], other.numbers[k], sizeof one.numbers[k]);
    }
    continue_anywhere(o, b, &one);
}

static const mtf_batches_opts shuffled = {.epochs = 2, .shuffle = true, .seed = 5};

static void language_models(void **state)
{
    (void)state;
    check((mtf_text_opts){.files = write_corpus("e.txt", 400, false, false), .joined = true},
          shuffled);
    check((mtf_text_opts){.files = write_corpus("e.txt", 400, false, false),
                          .overlong = MTF_OVERLONG_SPLIT},
          shuffled);
    check((mtf_text_opts){.files = write_corpus("e.gz", 400, false, true), .joined = true},
          shuffled);
}

static void packed_pairs(void **state)
{
    (void)state;
    mtf_text_opts o = {.files = write_corpus("f.tsv", 700, true, false),
                       .objective = MTF_TEXT_PAIRS,
                       .pack = true};
    check(o, shuffled);
    check(o, (mtf_batches_opts){.epochs = 1, .remainder = MTF_REPEAT});
}

static void spans_and_prefixes(void **state)
{
    (void)state;
    const char   *path = write_corpus("g.txt", 400, false, false);
    mtf_text_opts o = {.files = path,
                       .objective = MTF_TEXT_SPANS,
                       .noise = 0.3,
                       .mean_span = 1.5,
                       .joined = true,
                       .seed = 3};
    check(o, shuffled);
    o.objective = MTF_TEXT_PREFIX;
    check(o, (mtf_batches_opts){.epochs = 2, .shuffle = true, .remainder = MTF_WRAP});
    o.objective = MTF_TEXT_PREFIX_DELIMITED;
    check(o, (mtf_batches_opts){.epochs = 1, .shuffle = true, .remainder = MTF_FILL});
}

static int by_bytes(const void *a, const void *b)
{
    return memcmp(a, b, LENGTH * sizeof(int32_t));
}

/* Every epoch has every row once, in another order. */
static void epochs_are_complete(void **state)
{
    (void)state;
    static collected shuffle, plain;
    static int32_t   rows[3][MOST * BATCH][LENGTH];
    mtf_text_opts    o = {.files = write_corpus("h.txt", 400, false, false), .joined = true};
    collect(NULL, NULL, o, (mtf_batches_opts){.epochs = 2, .shuffle = true, .remainder = MTF_FILL},
            &shuffle);
    collect(NULL, NULL, o, (mtf_batches_opts){.epochs = 1, .remainder = MTF_FILL}, &plain);
    assert_int_equal(shuffle.batches, 2 * plain.batches);
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < plain.batches; k++)
            memcpy(rows[i][k * BATCH],
                   i < 2 ? shuffle.numbers[i * plain.batches + k] : plain.numbers[k],
                   sizeof rows[0][0] * BATCH);
        if (i) assert_memory_not_equal(rows[i], rows[0], sizeof rows[0][0] * BATCH);
    }
    for (int i = 0; i < 3; i++)
        qsort(rows[i], (size_t)plain.batches * BATCH, sizeof rows[0][0], by_bytes);
    for (int i = 1; i < 3; i++)
        assert_memory_equal(rows[i], rows[0], sizeof rows[0][0] * (size_t)plain.batches * BATCH);
}

/* ---- errors ---- */

/* As a checkpoint could have it that was written by hand. */
static void places_are_possible(void **state)
{
    (void)state;
    static const char *const never[] = {
        "0.-1.0", "0.1",     "0.9223372036854775807.0", "9223372036854775807.0.0",
        "-1.0.0", "0.1.0.0", "0.0.9223372036854775807"};
    mtf_text_opts o = {.files = write_corpus("l.txt", 400, false, false), .joined = true};
    for (size_t k = 0; k < sizeof never / sizeof *never; k++) {
        taker t = make_taker(NULL, NULL, o, shuffled);
        assert_false(batches_continue(t.batches, 0, never[k]));
        assert_contains(mtf_error(t.session), "is not a position in the data");
        assert_int_equal(mtf_close(t.session), 1);
    }
    /* A window that no epoch has is the end of this one. */
    taker t = make_taker(NULL, NULL, o, shuffled);
    assert_true(batches_continue(t.batches, 0, "0.100000000000000000.0"));
    assert_true(mtf_batches_next(t.batches));
    assert_string_equal(mtf_error(t.session), "");
    close_well(t.session);
}

static void errors_name_the_line(void **state)
{
    (void)state;
    static char text[40000];
    char       *end = text;
    for (int i = 1; i <= 2000; i++) end += sprintf(end, i == 1777 ? "no tab\n" : "a\tb %d\n", i);
    reading_fails((mtf_text_opts){.files = write_text("i.tsv", text), .objective = MTF_TEXT_PAIRS},
                  "i.tsv\", line 1777 has no column 1");
    size_t size = (size_t)(end - text);
    text[15000] = 0;
    reading_fails(
        (mtf_text_opts){.files = write_plain("i.txt", text, size), .documents = MTF_DOCUMENTS_LINE},
        "i.txt\" is not text: its byte 15000 is zero");
}

static void names_of_columns(void **state)
{
    (void)state;
    static char text[40000];
    char       *end = text + sprintf(text, "n\tde\ten\n");
    for (int i = 1; i <= 2000; i++) end += sprintf(end, "%d\td%d\te%d\n", i, i, i);
    mtf_session *s = mtf_open_with(NULL);
    mtf_dataset *d = open_in(s,
                             (mtf_text_opts){.files = write_text("j.tsv", text),
                                             .objective = MTF_TEXT_PAIRS,
                                             .inputs = "en",
                                             .targets = "de",
                                             .length = 6},
                             1);
    assert_int_equal(mtf_dataset_size(d), 2000);
    assert_string_equal(letters(d, "inputs", 1899, 6), "e1900|");
    assert_string_equal(letters(d, "targets", 0, 6), "d1|...");
    close_well(s);
}

static void changed_files(void **state)
{
    (void)state;
    mtf_session *s = mtf_open_with(NULL);
    const char  *path = write_corpus("k.txt", 900, false, false);
    mtf_dataset *d = open_in(s, (mtf_text_opts){.files = path, .joined = true}, 1);
    struct stat  about;
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(truncate(path, about.st_size / 2), 0);
    assert_int_equal(mtf_dataset_size(d), 0);
    assert_contains(mtf_error(s), "k.txt\" has changed since it was opened");
    assert_int_equal(mtf_close(s), 1);
}

/* The same of a file that is mapped. */
static void changed_tokens(void **state)
{
    (void)state;
    static uint16_t ids[1 << 20];
    for (int i = 0; i < 1 << 20; i++) ids[i] = 5;
    const char *path = write_plain("n.u16", ids, sizeof ids);
    taker       t = make_taker(NULL, NULL, (mtf_text_opts){.files = path, .joined = true},
                               (mtf_batches_opts){.ahead = -1});
    assert_true(mtf_batches_next(t.batches));
    assert_int_equal(truncate(path, sizeof ids / 2), 0);
    int more = 0;
    while (mtf_batches_next(t.batches)) more++;
    assert_true(more < 1000);
    assert_contains(mtf_error(t.session), "n.u16\" has changed since it was opened");
    assert_int_equal(mtf_close(t.session), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_whole),      cmocka_unit_test(only_what_is_read),
        cmocka_unit_test(texts_without_tokens), cmocka_unit_test(records),
        cmocka_unit_test(texts_of_tokens),      cmocka_unit_test(joined_text_is_complete),
        cmocka_unit_test(long_texts_are_cut),   cmocka_unit_test(language_models),
        cmocka_unit_test(packed_pairs),         cmocka_unit_test(spans_and_prefixes),
        cmocka_unit_test(epochs_are_complete),  cmocka_unit_test(errors_name_the_line),
        cmocka_unit_test(names_of_columns),     cmocka_unit_test(changed_files),
        cmocka_unit_test(changed_tokens),       cmocka_unit_test(places_are_possible)};
    return cmocka_run_group_tests_name("text_sections", tests, scratch_make, scratch_drop);
}

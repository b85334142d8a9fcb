/* Tests datasets of text: documents, objectives, packing, bad files. */
#include "data/text/write_tokens.h"

#include "text_rows.h"

/* ---- documents ---- */

static const char poem[] = "\xef\xbb\xbf"
                           "one\r\ntwo\n  \n\nthree\nfour five\n\n\n";

static void targets_are(mtf_text_opts o, int n, const char *const *want)
{
    mtf_session *s = mtf_open_with(NULL);
    mtf_dataset *d = open_text_well(s, o);
    assert_int_equal(mtf_dataset_size(d), n);
    for (int i = 0; i < n; i++) assert_string_equal(letters(d, "targets", i, o.length), want[i]);
    close_well(s);
}

static void documents(void **state)
{
    (void)state;
    const char   *path = write_text("poem.txt", poem);
    mtf_text_opts o = {.files = path, .length = 8};
    targets_are(o, 2, (const char *[]){"one\r\ntwo", "three\nfo"});
    o.ensure_end = true;
    targets_are(o, 2, (const char *[]){"one\r\ntw|", "three\nf|"});
    o.ensure_end = false;
    o.overlong = MTF_OVERLONG_SPLIT;
    targets_are(o, 4, (const char *[]){"one\r\ntwo", "|.......", "three\nfo", "ur five|"});
    o.overlong = MTF_OVERLONG_CUT;
    o.documents = MTF_DOCUMENTS_LINE;
    targets_are(o, 4, (const char *[]){"one|....", "two|....", "three|..", "four fiv"});
    o.joined = true;
    targets_are(o, 3, (const char *[]){"one|two|", "three|fo", "ur five|"});
    o.length = 9;
    targets_are(o, 3, (const char *[]){"one|two|t", "hree|four", " five|..."});
    o.documents = MTF_DOCUMENTS_FILE;
    o.length = 14;
    targets_are(o, 3,
                (const char *[]){"one\r\ntwo\n  \n\nt", "hree\nfour five", "\n\n\n|.........."});
}

/* Several files, one of them packed; a pattern names them in their order. */
static void files(void **state)
{
    (void)state;
    write_text("part-2.txt", "c\n\nd");
    write_gzip("part-1.txt.gz", "a\n\nb\n", 5);
    mtf_text_opts o = {.files = scratch_path("part-*"), .length = 2};
    targets_are(o, 4, (const char *[]){"a|", "b|", "c|", "d|"});
    o.joined = true;
    o.length = 3;
    targets_are(o, 3, (const char *[]){"a|b", "|c|", "d|."});
}

/* ---- pairs ---- */

static const char pairs[] = "ab\tcde\nf\tg\n\nhij\tk\n\tlm\nnopqrst\tu\n";

static void pair_is(mtf_dataset *d, int row, const char *inputs, const char *targets)
{
    assert_string_equal(letters(d, "inputs", row, (int64_t)strlen(inputs)), inputs);
    assert_string_equal(letters(d, "targets", row, (int64_t)strlen(targets)), targets);
}

static void in_two_fields(void **state)
{
    (void)state;
    mtf_session *s = mtf_open_with(NULL);
    const char  *path = write_text("p.tsv", pairs);
    mtf_dataset *d = open_text_well(
        s, (mtf_text_opts){
               .files = path, .objective = MTF_TEXT_PAIRS, .length = 4, .inputs_length = 6});
    assert_int_equal(mtf_dataset_size(d), 5);
    pair_is(d, 0, "ab|...", "cde|");
    pair_is(d, 3, "|.....", "lm|.");
    pair_is(d, 4, "nopqrs", "u|..");
    assert_string_equal(digits(d, "inputs_segmentation", 0, 6), "111...");
    assert_string_equal(digits(d, "inputs_position", 4, 6), ".12345");
    assert_string_equal(digits(d, "targets_segmentation", 3, 4), "111.");
    assert_string_equal(digits(d, "targets_position", 3, 4), ".12.");
    close_well(s);
}

/* Greedy, in order, while both sides fit; an empty text on one side counts as a segment on both. */
static void packed(void **state)
{
    (void)state;
    mtf_session  *s = mtf_open_with(NULL);
    const char   *path = write_text("p.tsv", pairs);
    mtf_text_opts o = {
        .files = path, .objective = MTF_TEXT_PAIRS, .length = 7, .inputs_length = 10, .pack = true};
    mtf_dataset *d = open_text_well(s, o);
    assert_int_equal(mtf_dataset_size(d), 3);
    pair_is(d, 0, "ab|f|.....", "cde|g|.");
    pair_is(d, 1, "hij||.....", "k|lm|..");
    pair_is(d, 2, "nopqrst|..", "u|.....");
    assert_string_equal(digits(d, "inputs_segmentation", 0, 10), "11122.....");
    assert_string_equal(digits(d, "inputs_position", 0, 10), ".12.1.....");
    assert_string_equal(digits(d, "targets_segmentation", 0, 7), "111122.");
    assert_string_equal(digits(d, "targets_position", 0, 7), ".123.1.");
    close_well(s);
}

static void packed_empty(void **state)
{
    (void)state;
    mtf_session  *s = mtf_open_with(NULL);
    const char   *path = write_text("p.tsv", "a\tb\n\tcd\ne\t\nf\tg\n");
    mtf_text_opts o = {.files = path, .objective = MTF_TEXT_PAIRS, .length = 12, .pack = true};
    mtf_dataset  *d = open_text_well(s, o);
    assert_int_equal(mtf_dataset_size(d), 1);
    pair_is(d, 0, "a||e|f|.....", "b|cd||g|....");
    assert_string_equal(digits(d, "inputs_segmentation", 0, 12), "1123344.....");
    assert_string_equal(digits(d, "targets_segmentation", 0, 12), "11222344....");
    close_well(s);
}

static void in_one_sequence(void **state)
{
    (void)state;
    const char   *path = write_text("p.tsv", pairs);
    mtf_text_opts o = {.files = path, .objective = MTF_TEXT_DELIMITED, .length = 7};
    /* A share of 3 with its end is the inputs' in any case, and what targets leave. */
    targets_are(o, 5, (const char *[]){"ab|cde|", "f|g|...", "hij|k|.", "|lm|...", "nopq|u|"});
    o.length = 5;
    targets_are(o, 5, (const char *[]){"a|cd|", "f|g|.", "hi|k|", "|lm|.", "no|u|"});
    o.length = 11;
    o.pack = true;
    targets_are(o, 3, (const char *[]){"ab|cde|f|g|", "hij|k||lm|.", "nopqrst|u|."});
}

/* Inputs of words, targets of bytes; ends are each vocabulary's own. */
static void two_vocabularies(void **state)
{
    (void)state;
    mtf_session *s = mtf_open_with(NULL);
    char         spec[200];
    snprintf(spec, sizeof spec, "words:%s", write_text("w.txt", "old\nnew\n"));
    mtf_text_opts o = {.files = write_text("v.tsv", "new old x\tab\nold\tc\n"),
                       .objective = MTF_TEXT_PAIRS,
                       .inputs_vocabulary = mtf_vocabulary_open(s, spec),
                       .length = 4,
                       .inputs_length = 3,
                       .ensure_end = true};
    mtf_dataset  *d = open_text_well(s, o);
    assert_memory_equal(row_of(d, "inputs", 0, 3), ((int32_t[]){4, 3, 1}), 12);
    assert_memory_equal(row_of(d, "inputs", 1, 3), ((int32_t[]){3, 1, 0}), 12);
    assert_string_equal(letters(d, "targets", 0, 4), "ab|.");
    close_well(s);
}

static void columns(void **state)
{
    (void)state;
    mtf_session  *s = mtf_open_with(NULL);
    const char   *path = write_text("c.tsv", "id\tde\ten\n1\tx\ty\n2\tz\tw\r\n");
    mtf_text_opts o = {
        .files = path, .objective = MTF_TEXT_PAIRS, .inputs = "en", .targets = "de", .length = 2};
    mtf_dataset *d = open_text_well(s, o);
    assert_int_equal(mtf_dataset_size(d), 2);
    pair_is(d, 1, "w|", "z|");
    o.inputs = "2", o.targets = "0";
    d = open_text_well(s, o);
    assert_int_equal(mtf_dataset_size(d), 3);
    pair_is(d, 1, "y|", "1|");
    o = (mtf_text_opts){.files = path, .targets = "2", .length = 3};
    d = open_text_well(s, o);
    assert_string_equal(letters(d, "targets", 0, 3), "en|");
    close_well(s);
}

/* ---- other formats ---- */

static void records(void **state)
{
    (void)state;
    static const char path[] = MTF_SOURCE_DIR "/tests/data/examples.tfrecord";
    mtf_text_opts     o = {.files = path, .targets = "text", .length = 4};
    /* Record i has i letters; the first has none. */
    targets_are(o, 6, (const char *[]){"a|..", "ab|.", "abc|", "abcd", "abcd", "abcd"});
    mtf_session *s = mtf_open_with(NULL);
    o.targets = "list"; /* ids 0 to i - 1: that of 2 ends with an end already */
    mtf_dataset *d = open_text_well(s, o);
    assert_int_equal(mtf_dataset_size(d), 6);
    assert_memory_equal(row_of(d, "targets", 0, 4), ((int32_t[]){0, 1, 0, 0}), 16);
    assert_memory_equal(row_of(d, "targets", 1, 4), ((int32_t[]){0, 1, 0, 0}), 16);
    assert_memory_equal(row_of(d, "targets", 2, 4), ((int32_t[]){0, 1, 2, 1}), 16);
    o = (mtf_text_opts){.files = path,
                        .objective = MTF_TEXT_PAIRS,
                        .inputs = "list",
                        .targets = "text",
                        .length = 5};
    d = open_text_well(s, o);
    assert_memory_equal(row_of(d, "inputs", 1, 5), ((int32_t[]){0, 1, 0, 0, 0}), 20);
    assert_string_equal(letters(d, "targets", 1, 5), "ab|..");
    close_well(s);
}

static void tokens(void **state)
{
    (void)state;
    const uint16_t first[] = {100, 101, 1, 102, 1, 1, 103}, second[] = {104, 105, 106};
    write_plain("t-1.u16", first, sizeof first);
    write_plain("t-2.u16", second, sizeof second);
    mtf_text_opts o = {.files = scratch_path("t-*.u16"), .length = 4};
    targets_are(o, 5, (const char *[]){"ab|.", "c|..", "|...", "d...", "efg."});
    o.joined = true;
    targets_are(o, 3, (const char *[]){"ab|c", "||d.", "efg."});
    o.format = "u32";
    o.files = write_plain("x.bin", (const uint32_t[]){100, 1, 101, 102}, 16);
    targets_are(o, 1, (const char *[]){"a|bc"});
    o.joined = false;
    o.objective = MTF_TEXT_PREFIX_DELIMITED;
    targets_are(o, 2, (const char *[]){"|a|.", "b|c|"});
}

/* What was written is read as the text itself is. */
static void written_tokens(void **state)
{
    (void)state;
    mtf_session  *s = mtf_open_with(NULL);
    const char   *path = scratch_path("w.u16");
    mtf_text_opts o = {.files = write_text("poem.txt", poem),
                       .documents = MTF_DOCUMENTS_LINE,
                       .length = 7,
                       .joined = true};
    assert_int_equal(mtf_text_write_tokens(s, &o, path), 24);
    mtf_dataset *text = open_text_well(s, o);
    o.files = path;
    mtf_dataset *ids = open_text_well(s, o);
    assert_int_equal(mtf_dataset_size(text), 4);
    assert_int_equal(mtf_dataset_size(ids), 4);
    for (int i = 0; i < 4; i++)
        assert_string_equal(letters(ids, "targets", i, 7), letters(text, "targets", i, 7));
    o = (mtf_text_opts){.files = scratch_path("poem.txt"),
                        .vocabulary = mtf_vocabulary_open(s, "bytes:extra=70000")};
    assert_int_equal(mtf_text_write_tokens(s, &o, scratch_path("w.u32")), 8 + 1 + 15 + 1);
    close_well(s);
    s = mtf_open_with(NULL);
    o = (mtf_text_opts){.files = scratch_path("poem.txt")};
    assert_int_equal(mtf_text_write_tokens(s, &o, "/nowhere/x"), -1);
    assert_contains(mtf_error(s), "/nowhere/x");
    mtf_close(s);
}

static size_t read_bytes(const char *path, char *to, size_t room)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t n = fread(to, 1, room, f);
    fclose(f);
    return n;
}

/* Files are read in sections: the size of these changes nothing but the memory that it takes. */
static void tokens_in_sections(void **state)
{
    static const char *const kinds[] = {"many.txt", "many.tsv"};
    char                     text[20000] = "name\tother\n", wanted[50000], got[50000], line[60];
    (void)state;
    for (int k = 0; k < 300; k++) {
        snprintf(line, sizeof line, "line %d\tof text\n%s", k * k, k % 7 || k == 0 ? "" : "\n");
        strcat(text, line);
    }
    for (int kind = 0; kind < 2; kind++) {
        char           path[1000];
        tokens_written whole, parts;
        mtf_session   *s = mtf_open_with(NULL);
        snprintf(path, sizeof path, "%s", write_text(kinds[kind], text));
        mtf_text_opts o = {.files = path, .targets = kind ? "other" : NULL};
        assert_true(tokens_write(s, &o, scratch_path("whole.u16"), &whole));
        assert_int_equal(whole.texts, kind ? 300 : 43);
        size_t n = read_bytes(scratch_path("whole.u16"), wanted, sizeof wanted);
        assert_int_equal(n, 2 * whole.tokens);
        for (int64_t bytes = kind ? 50 : 300; bytes < 10000; bytes *= 3) {
            if (!tokens_write_in_sections(s, &o, scratch_path("parts.u16"), bytes, &parts))
                fail_msg("%s", mtf_error(s));
            assert_true(parts.texts == whole.texts && parts.bytes == whole.bytes);
            assert_int_equal(read_bytes(scratch_path("parts.u16"), got, sizeof got), n);
            assert_memory_equal(got, wanted, n);
        }
        close_well(s);
    }
}

/* Bytes that are taken, and the most of them at a time. */
typedef struct taken {
    size_t now, most;
} taken;

static void *count_alloc(void *context, size_t bytes)
{
    taken  *t = context;
    size_t *block = malloc(bytes + 16);
    if (!block) return NULL;
    *block = bytes;
    t->now += bytes;
    if (t->now > t->most) t->most = t->now;
    return block + 2;
}

static void count_release(void *context, void *memory)
{
    if (!memory) return;
    size_t *block = (size_t *)memory - 2;
    ((taken *)context)->now -= *block;
    free(block);
}

/* The memory does not depend on the size of the file. */
static void tokens_in_little_memory(void **state)
{
    size_t most[2];
    char  *text = malloc(1 << 20);
    (void)state;
    for (int k = 0; k < 2; k++) {
        taken          t = {0};
        tokens_written done;
        size_t         n = k ? (1 << 20) - 1 : 1 << 17;
        for (size_t i = 0; i < n; i++) text[i] = i % 50 == 49 ? '\n' : 'a';
        text[n] = 0;
        mtf_session *s =
            mtf_open_with(&(mtf_session_opts){.allocator = {count_alloc, count_release, &t}});
        mtf_text_opts o = {.files = write_text("size.txt", text), .documents = MTF_DOCUMENTS_LINE};
        size_t        before = t.now;
        assert_true(tokens_write_in_sections(s, &o, scratch_path("size.u16"), 1 << 14, &done));
        most[k] = t.most - before;
        close_well(s);
    }
    assert_true(most[1] < most[0] + most[0] / 4);
    free(text);
}

/* A text longer than a section is divided, and is one text all the same. */
static void long_text_in_sections(void **state)
{
    char           text[3001], got[8000];
    tokens_written done;
    (void)state;
    for (int i = 0; i < 3000; i++) text[i] = i % 50 == 49 ? '\n' : (char)('a' + i % 23);
    text[3000] = 0;
    mtf_session  *s = mtf_open_with(NULL);
    mtf_text_opts o = {.files = write_text("long.txt", text), .documents = MTF_DOCUMENTS_FILE};
    assert_true(tokens_write_in_sections(s, &o, scratch_path("long.u16"), 128, &done));
    assert_true(done.texts == 1 && done.tokens == 3001 && done.bytes == 3000);
    assert_int_equal(read_bytes(scratch_path("long.u16"), got, sizeof got), 6002);
    for (int i = 0; i < 3000; i++) assert_int_equal(got[2 * i] - 3, text[i]);
    close_well(s);
}

/* ---- corrupted spans ---- */

/* The text again: inputs with each sentinel replaced by what the targets have after it. */
static void restored(const char *inputs, const char *targets, char *text)
{
    for (; *inputs != '|'; inputs++) {
        if (*inputs < '0' || *inputs > '9') {
            *text++ = *inputs;
            continue;
        }
        const char *span = strchr(targets, *inputs) + 1;
        while (*span != '|' && (*span < '0' || *span > '9')) *text++ = *span++;
    }
    *text = 0;
}

static void spans(void **state)
{
    (void)state;
    char            text[60], many[3001];
    mtf_session    *s = mtf_open_with(NULL);
    mtf_vocabulary *v = mtf_vocabulary_open(s, "bytes:extra=10");
    for (int i = 0; i < 3000; i++) many[i] = (char)('a' + i % 23);
    many[3000] = 0;
    mtf_text_opts o = {.files = write_text("many.txt", many),
                       .vocabulary = v,
                       .objective = MTF_TEXT_SPANS,
                       .joined = true,
                       .length = 16,
                       .inputs_length = 48,
                       .seed = 3};
    mtf_dataset  *d = open_text_well(s, o);
    /* 52 tokens have 8 of noise in 3 spans: 48 inputs and 12 targets, each with an end. */
    assert_int_equal(mtf_dataset_size(d), 3000 / 52 + 1);
    for (int i = 0; i < 3000 / 52; i++) {
        const char *inputs = letters(d, "inputs", i, 48), *targets = letters(d, "targets", i, 16);
        assert_true(inputs[0] >= 'a' && inputs[47] == '|');
        assert_true(targets[0] == '0' && targets[11] == '|' && targets[12] == '.');
        restored(inputs, targets, text);
        assert_int_equal(strlen(text), 52);
        assert_memory_equal(text, many + 52 * i, 52);
    }
    assert_string_equal(digits(d, "targets_segmentation", 0, 16), "111111111111....");
    close_well(s);
}

/* T5's own sizes: 512 inputs are made of 568 tokens, which give 114 targets. */
static void sizes_of_t5(void **state)
{
    (void)state;
    char           *many = calloc(1, 5681);
    mtf_session    *s = mtf_open_with(NULL);
    mtf_vocabulary *v = mtf_vocabulary_open(s, "bytes:extra=100");
    memset(many, 'x', 5680);
    mtf_dataset *d = open_text_well(s, (mtf_text_opts){.files = write_text("many.txt", many),
                                                       .vocabulary = v,
                                                       .objective = MTF_TEXT_SPANS,
                                                       .joined = true,
                                                       .length = 114,
                                                       .inputs_length = 512});
    assert_int_equal(mtf_dataset_size(d), 10);
    assert_int_equal(row_of(d, "targets_segmentation", 9, 114)[113], 1);
    assert_int_equal(row_of(d, "inputs_segmentation", 9, 512)[511], 1);
    free(many);
    close_well(s);
}

/* Each way to cut is as probable: of 9 tokens with 4 of noise in 2 spans, the first span has 1, 2 or 3
 * alike often. */
static void evenly(void **state)
{
    (void)state;
    char            many[40001];
    int             of_length[5] = {0};
    mtf_session    *s = mtf_open_with(NULL);
    mtf_vocabulary *v = mtf_vocabulary_open(s, "bytes:extra=10");
    for (int i = 0; i < 40000; i++) many[i] = (char)(i % 10 == 9 ? '\n' : 'a');
    many[40000] = 0;
    mtf_dataset *d = open_text_well(s, (mtf_text_opts){.files = write_text("many.txt", many),
                                                       .documents = MTF_DOCUMENTS_LINE,
                                                       .vocabulary = v,
                                                       .objective = MTF_TEXT_SPANS,
                                                       .length = 12,
                                                       .noise = 0.44,
                                                       .mean_span = 2});
    assert_int_equal(mtf_dataset_size(d), 4000);
    for (int i = 0; i < 4000; i++) {
        const char *targets = letters(d, "targets", i, 12);
        of_length[strcspn(targets + 1, "1")]++;
    }
    assert_int_equal(of_length[0] + of_length[4], 0);
    for (int n = 1; n <= 3; n++) assert_true(of_length[n] > 1200 && of_length[n] < 1467);
    close_well(s);
}

/* ---- prefixes ---- */

static void prefixes(void **state)
{
    (void)state;
    mtf_session  *s = mtf_open_with(NULL);
    const char   *path = write_text("p.txt", "abcdefgh\n\na\n\nabcdefghijkl\n");
    mtf_text_opts o = {
        .files = path, .objective = MTF_TEXT_PREFIX, .length = 9, .inputs_length = 10};
    mtf_dataset *d = open_text_well(s, o);
    assert_int_equal(mtf_dataset_size(d), 3);
    const char *inputs = letters(d, "inputs", 0, 10), *targets = letters(d, "targets", 0, 9);
    int         n = (int)strcspn(inputs, "|");
    assert_true(n >= 1 && n <= 7 && targets[0] == 'a' + n && targets[8 - n] == '|');
    assert_int_equal(strspn(digits(d, "inputs_segmentation", 0, 10), "1"), n + 1);
    assert_int_equal(strspn(digits(d, "targets_segmentation", 0, 9), "1"), 9 - n);
    pair_is(d, 1, "|.........", "a|.......");
    close_well(s);
}

/* ---- faults ---- */

static void refused_text(mtf_text_opts o, const char *words)
{
    mtf_session *s = mtf_open_with(NULL);
    if (!o.length) o.length = 8;
    if (o.length < 0) o.length = 0;
    mtf_dataset *d = mtf_text_open(s, &o);
    int32_t      ids[8];
    for (int64_t i = 0; d && i < mtf_dataset_size(d); i++)
        mtf_dataset_read(d, "targets", i, MTF_I32, 8, ids);
    assert_contains(mtf_error(s), words);
    mtf_close(s);
}

static void bad_files(void **state)
{
    (void)state;
    static const char  records_path[] = MTF_SOURCE_DIR "/tests/data/examples.tfrecord";
    mtf_text_objective both = MTF_TEXT_PAIRS;
    refused_text((mtf_text_opts){.files = "/nowhere"}, "No such file");
    refused_text((mtf_text_opts){.files = write_text("e.txt", "")},
                 "has no text to make an example of");
    refused_text((mtf_text_opts){.files = write_text("e.txt", "\n \n\t\n")}, "has no text");
    refused_text((mtf_text_opts){.files = write_plain("b.txt", "ab\0c", 4)}, "its byte 2 is zero");
    refused_text(
        (mtf_text_opts){.files = write_plain("b.tsv", "a\tb\nc\td\0\n", 9), .objective = both},
        "line 2 is not text");
    refused_text((mtf_text_opts){.files = write_text("s.tsv", "a\tb\nc\n"), .objective = both},
                 "line 2 has no column 1");
    refused_text(
        (mtf_text_opts){.files = write_text("s.tsv", "a\tb\n"), .objective = both, .inputs = "x"},
        "no column \"x\"");
    refused_text((mtf_text_opts){.files = write_text("s.txt", "a\tb\n"), .objective = both},
                 "the format tsv or tfrecord has both");
    refused_text((mtf_text_opts){.files = write_text("s.u16", "abc")},
                 "3 bytes are not a multiple of 2");
    refused_text((mtf_text_opts){.files = write_text("s.u16", "abcd"), .objective = both},
                 "single texts");
    refused_text((mtf_text_opts){.files = write_plain("s.u16", "\1\0\xff\1", 4)},
                 "element 1: 511 is not an id");
    refused_text((mtf_text_opts){.files = write_plain("s.u32", "\1\0\0\0\0\0\0\x80", 8)},
                 "element 1: 2147483648 is not an id");
    refused_text((mtf_text_opts){.files = records_path, .targets = "none"},
                 "has no feature \"none\"");
    refused_text((mtf_text_opts){.files = records_path, .targets = "real"}, "floating numbers");
    refused_text((mtf_text_opts){.files = records_path, .targets = "whole"}, "too large for ids");
    refused_text((mtf_text_opts){.files = write_text("s", "x"), .format = "txt"},
                 "none of text, tsv");
    refused_text((mtf_text_opts){.files = write_text("s", "x"), .format = "tfrecord"}, "cut short");
}

static void bad_options(void **state)
{
    (void)state;
    const char *path = write_text("x.txt", "some text\n");
    refused_text((mtf_text_opts){0}, "needs files");
    refused_text((mtf_text_opts){.files = path, .length = -1}, "the length of a row of text is 0");
    refused_text((mtf_text_opts){.files = path, .inputs_length = -1}, "that of inputs -1");
    refused_text((mtf_text_opts){.files = path, .objective = (mtf_text_objective)9},
                 "no objective 9");
    refused_text((mtf_text_opts){.files = path, .objective = MTF_TEXT_SPANS},
                 "it should end in :extra=1");
    refused_text((mtf_text_opts){.files = path, .objective = MTF_TEXT_SPANS, .noise = 1},
                 "noise is 1");
    refused_text((mtf_text_opts){.files = path, .objective = MTF_TEXT_SPANS, .length = 2},
                 "rows of 2 inputs and 2 targets");
    refused_text((mtf_text_opts){.files = path, .objective = MTF_TEXT_PREFIX, .pack = true},
                 "cannot be packed");
    refused_text((mtf_text_opts){.files = path, .objective = MTF_TEXT_PAIRS, .joined = true},
                 "cannot be joined");
    refused_text((mtf_text_opts){.files = path, .joined = true, .pack = true}, "nothing to pack");
    mtf_session *s = mtf_open_with(NULL);
    assert_null(mtf_text_open(
        s, &(mtf_text_opts){
               .files = path, .length = 3, .inputs_vocabulary = mtf_vocabulary_open(s, NULL)}));
    assert_contains(mtf_error(s), "only the inputs of pairs");
    mtf_close(s);
}

/* Bytes that are not UTF-8 are kept by the vocabulary of bytes; a line may be of any length. */
static void any_bytes(void **state)
{
    (void)state;
    mtf_session *s = mtf_open_with(NULL);
    char        *line = malloc(3000000);
    memset(line, 'y', 3000000);
    memcpy(line, "\xff\xfe\x80", 3);
    mtf_dataset *d = open_text_well(
        s, (mtf_text_opts){.files = write_plain("long.txt", line, 3000000), .length = 5});
    assert_int_equal(mtf_dataset_size(d), 1);
    assert_memory_equal(row_of(d, "targets", 0, 5), ((int32_t[]){258, 257, 131, 124, 124}), 20);
    free(line);
    close_well(s);
}

static void batch_sizes(void **state)
{
    (void)state;
    mtf_session *s = mtf_open_with(NULL);
    assert_int_equal(mtf_text_batch_size(s, "sequences_per_batch:12", 100, 4), 12);
    assert_int_equal(mtf_text_batch_size(s, "tokens_per_batch:4096", 512, 4), 8);
    assert_int_equal(mtf_text_batch_size(s, "sequences_per_replica:3", 100, 4), 12);
    assert_int_equal(mtf_text_batch_size(s, "tokens_per_replica:2048", 512, 8), 32);
    assert_int_equal(mtf_text_batch_size(s, "tokens_per_batch:1000", 512, 4), 0);
    close_with(s, "usage: the batch size \"tokens_per_batch:1000\" is not a multiple of 512, the "
                  "length of a sequence");
    s = mtf_open_with(NULL);
    assert_int_equal(mtf_text_batch_size(s, "tokens:5", 5, 1), 0);
    assert_contains(mtf_error(s), "should be sequences_per_batch:N");
    mtf_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(documents),
                                       cmocka_unit_test(files),
                                       cmocka_unit_test(in_two_fields),
                                       cmocka_unit_test(packed),
                                       cmocka_unit_test(packed_empty),
                                       cmocka_unit_test(in_one_sequence),
                                       cmocka_unit_test(columns),
                                       cmocka_unit_test(records),
                                       cmocka_unit_test(tokens),
                                       cmocka_unit_test(spans),
                                       cmocka_unit_test(sizes_of_t5),
                                       cmocka_unit_test(evenly),
                                       cmocka_unit_test(prefixes),
                                       cmocka_unit_test(bad_files),
                                       cmocka_unit_test(bad_options),
                                       cmocka_unit_test(any_bytes),
                                       cmocka_unit_test(batch_sizes),
                                       cmocka_unit_test(two_vocabularies),
                                       cmocka_unit_test(written_tokens),
                                       cmocka_unit_test(tokens_in_sections),
                                       cmocka_unit_test(tokens_in_little_memory),
                                       cmocka_unit_test(long_text_in_sections)};
    return cmocka_run_group_tests_name("text_dataset", tests, scratch_make, scratch_drop);
}

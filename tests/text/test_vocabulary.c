/* Tests vocabularies against the libraries that define them. */
#include <sys/stat.h>
#include <zlib.h>

#include "mtf_build.h"
#include "mtf_text.h"

#include "../data/scratch.h"

#define HERE MTF_SOURCE_DIR "/tests/text/"

static mtf_vocabulary *open_well(mtf_session *s, const char *spec)
{
    mtf_vocabulary *v = mtf_vocabulary_open(s, spec);
    assert_string_equal(mtf_error(s), "");
    assert_non_null(v);
    return v;
}

/* The text that a stream gives, piece by piece. */
static void stream_equals(mtf_text_stream *t, const int32_t *ids, int64_t n, const char *text)
{
    char   got[20000] = "";
    size_t used = 0;
    for (int64_t i = 0; i <= n; i++) {
        const char *more = i < n ? mtf_text_stream_add(t, ids[i]) : mtf_text_stream_end(t);
        assert_non_null(more);
        assert_true(used + strlen(more) < sizeof got);
        strcpy(got + used, more);
        used += strlen(more);
    }
    assert_string_equal(got, text);
}

/* ---- what other libraries gave ---- */

enum { MOST = 8000 };

static size_t from_hex(const char *digits, char *bytes)
{
    size_t n = strcspn(digits, "\t\n") / 2;
    for (size_t i = 0; i < n; i++) {
        unsigned byte;
        assert_int_equal(sscanf(digits + 2 * i, "%2x", &byte), 1);
        bytes[i] = (char)byte;
    }
    bytes[n] = 0;
    return n;
}

static int64_t numbers(const char *text, int32_t *ids)
{
    int64_t n = 0;
    char   *end;
    while (*text && *text != '\t') {
        ids[n++] = (int32_t)strtol(text, &end, 10);
        text = end + strspn(end, " ");
    }
    return n;
}

static void check_row(mtf_vocabulary *v, mtf_text_stream *stream, char *row)
{
    static char    text[MOST], decoded[MOST], got[MOST];
    static int32_t want[MOST], ids[MOST];
    char          *second = strchr(row, '\t') + 1, *third = strchr(second, '\t') + 1;
    size_t         size = from_hex(row, text), decoded_size = from_hex(third, decoded);
    int64_t        n = numbers(second, want);
    int64_t        count = mtf_vocabulary_encode(v, text, (int64_t)size, ids, MOST);
    if (count != n || memcmp(ids, want, (size_t)n * sizeof *ids) != 0)
        fail_msg("\"%s\" has other ids", text);
    int64_t got_size = mtf_vocabulary_decode(v, want, n, got, MOST);
    if (got_size != (int64_t)decoded_size || memcmp(got, decoded, decoded_size) != 0)
        fail_msg("\"%s\" is decoded as \"%s\"", decoded, got);
    if (!memchr(decoded, 0, decoded_size)) stream_equals(stream, want, n, decoded);
}

static bool is_built(const char *kind)
{
    if (strcmp(kind, "wordpiece") == 0) return true;
    return strcmp(kind, "sentencepiece") == 0 ? MTF_HAVE_SENTENCEPIECE : MTF_HAVE_PCRE2;
}

/* Each row of the file; returns how many there are. */
static int check_rows(const char *path)
{
    mtf_session     *s = mtf_open_with(NULL);
    mtf_vocabulary  *v = NULL;
    mtf_text_stream *stream = NULL;
    char             line[40000], now[100] = "", spec[300];
    int              rows = 0;
    gzFile           f = gzopen(path, "rb");
    assert_non_null(f);
    while (gzgets(f, line, sizeof line)) {
        char *tab = strchr(line, '\t'), *colon = strchr(line, ':');
        *tab = *colon = 0;
        if (!is_built(line)) continue;
        if (strcmp(now, colon + 1) != 0) {
            snprintf(now, sizeof now, "%s", colon + 1);
            snprintf(spec, sizeof spec, "%.20s:%s%s", line, HERE, now);
            v = open_well(s, spec);
            stream = mtf_text_stream_new(v);
        }
        check_row(v, stream, tab + 1);
        rows++;
    }
    gzclose(f);
    close_well(s);
    return rows;
}

static void as_others_do(void **state)
{
    (void)state;
    int rows = check_rows(HERE "vocabularies.tsv.gz");
    assert_true(rows > 250 || !MTF_HAVE_PCRE2 || !MTF_HAVE_SENTENCEPIECE);
    assert_true(check_rows(HERE "wordpieces.tsv.gz") > 700);
}

/* ---- bytes ---- */

static void bytes(void **state)
{
    (void)state;
    mtf_session    *s = mtf_open_with(NULL);
    mtf_vocabulary *v = open_well(s, NULL);
    int32_t         ids[300];
    char            all[256], text[900];
    assert_int_equal(mtf_vocabulary_size(v), 259);
    assert_int_equal(mtf_vocabulary_padding(v), 0);
    assert_int_equal(mtf_vocabulary_end(v), 1);
    assert_int_equal(mtf_vocabulary_unknown(v), 2);
    assert_int_equal(mtf_vocabulary_sentinel(v, 0), -1);
    for (int i = 0; i < 256; i++) all[i] = (char)i;
    assert_int_equal(mtf_vocabulary_encode(v, all, 256, ids, 300), 256);
    for (int i = 0; i < 256; i++) assert_int_equal(ids[i], i + 3);
    /* 128 characters of ASCII, then bytes none of which makes one. */
    assert_int_equal(mtf_vocabulary_decode(v, ids, 256, text, sizeof text), 128 + 3 * 128);
    /* Room for less than all there is. */
    assert_int_equal(mtf_vocabulary_encode(v, "abc", -1, ids, 2), 3);
    assert_true(ids[0] == 'a' + 3 && ids[1] == 'b' + 3 && ids[2] == 2 + 3);
    assert_int_equal(mtf_vocabulary_decode(v, (int32_t[]){100, 101, 102}, 3, text, 3), 3);
    assert_string_equal(text, "ab");
    assert_int_equal(mtf_vocabulary_decode(v, ids, 0, NULL, 0), 0);
    close_well(s);
}

/* Characters come when their last byte does; what is not UTF-8 is U+FFFD, grouped as Python does. */
static void streams(void **state)
{
    (void)state;
    mtf_session     *s = mtf_open_with(NULL);
    mtf_vocabulary  *v = open_well(s, "bytes:extra=2");
    mtf_text_stream *t = mtf_text_stream_new(v);
    const uint8_t    euro[] = {0xe2, 0x82, 0xac};
    assert_string_equal(mtf_text_stream_add(t, 'a' + 3), "a");
    assert_string_equal(mtf_text_stream_add(t, euro[0] + 3), "");
    assert_string_equal(mtf_text_stream_add(t, euro[1] + 3), "");
    assert_string_equal(mtf_text_stream_add(t, euro[2] + 3), "\xe2\x82\xac");
    assert_string_equal(mtf_text_stream_add(t, euro[0] + 3), "");
    assert_string_equal(mtf_text_stream_add(t, euro[1] + 3), "");
    assert_string_equal(mtf_text_stream_add(t, 'b' + 3), "\xef\xbf\xbd"
                                                         "b");
    assert_string_equal(mtf_text_stream_add(t, 0), "");
    assert_string_equal(mtf_text_stream_add(t, 1), "");
    assert_string_equal(mtf_text_stream_add(t, 2), "");
    assert_string_equal(mtf_text_stream_add(t, -5), "");
    assert_string_equal(mtf_text_stream_add(t, 261), "");
    assert_string_equal(mtf_text_stream_add(t, 260), "<extra_id_0>");
    assert_string_equal(mtf_text_stream_add(t, 259), "<extra_id_1>");
    assert_string_equal(mtf_text_stream_add(t, 0xf0 + 3), "");
    assert_string_equal(mtf_text_stream_end(t), "\xef\xbf\xbd");
    assert_string_equal(mtf_text_stream_end(t), "");
    mtf_text_stream_free(t);
    assert_null(mtf_text_stream_add(t, 70));
    assert_int_equal(mtf_vocabulary_sentinel(v, 0), 260);
    assert_int_equal(mtf_vocabulary_sentinel(v, 1), 259);
    assert_int_equal(mtf_vocabulary_sentinel(v, 2), -1);
    assert_int_equal(mtf_vocabulary_size(v), 261);
    close_well(s);
}

/* ---- lists of words ---- */

static void words(void **state)
{
    (void)state;
    char         spec[200], text[100];
    int32_t      ids[10];
    mtf_session *s = mtf_open_with(NULL);
    snprintf(spec, sizeof spec, "words:%s", write_text("w.txt", "the\r\nwhale\nthe sea\n\nship"));
    mtf_vocabulary *v = open_well(s, spec);
    assert_int_equal(mtf_vocabulary_size(v), 8);
    assert_int_equal(mtf_vocabulary_encode(v, "  the ship\tsank\n whale", -1, ids, 10), 4);
    assert_true(ids[0] == 3 && ids[1] == 7 && ids[2] == 2 && ids[3] == 4);
    assert_int_equal(mtf_vocabulary_decode(v, ids, 4, text, sizeof text), 20);
    assert_string_equal(text, "the ship <unk> whale");
    snprintf(spec, sizeof spec, "words:%s", write_text("n.txt", "<pad>\n<EOS>\na\nUNK\nb\n"));
    v = open_well(s, spec);
    assert_int_equal(mtf_vocabulary_size(v), 5);
    assert_int_equal(mtf_vocabulary_unknown(v), 3);
    assert_int_equal(mtf_vocabulary_encode(v, "b x a", -1, ids, 10), 3);
    assert_true(ids[0] == 4 && ids[1] == 3 && ids[2] == 2);
    close_well(s);
}

/* ---- pieces of words ---- */

static void word_pieces(void **state)
{
    (void)state;
    char         spec[200], text[100];
    int32_t      ids[10];
    mtf_session *s = mtf_open_with(NULL);
    const char  *lines = "[PAD]\n[UNK]\n[SEP]\nwhale\n##s\n##ing\nwhal\nWhale\n";
    snprintf(spec, sizeof spec, "wordpiece:%s:extra=2", write_text("p.txt", lines));
    mtf_vocabulary *v = open_well(s, spec);
    assert_int_equal(mtf_vocabulary_size(v), 10);
    assert_int_equal(mtf_vocabulary_padding(v), 0);
    assert_int_equal(mtf_vocabulary_unknown(v), 1);
    assert_int_equal(mtf_vocabulary_end(v), 2);
    /* The last word begins with a piece, and does not end with one. */
    assert_int_equal(mtf_vocabulary_encode(v, "Whales\xff whaling WHALE whalez", -1, ids, 10), 6);
    assert_true(ids[0] == 3 && ids[1] == 4 && ids[2] == 6 && ids[3] == 5 && ids[4] == 3 &&
                ids[5] == 1);
    assert_int_equal(mtf_vocabulary_decode(v, ids, 6, text, sizeof text), 26);
    assert_string_equal(text, "whales whaling whale [UNK]");
    snprintf(spec, sizeof spec, "wordpiece:%s:cased", scratch_path("p.txt"));
    v = open_well(s, spec);
    assert_int_equal(mtf_vocabulary_encode(v, "Whales WHALE", -1, ids, 10), 3);
    assert_true(ids[0] == 7 && ids[1] == 4 && ids[2] == 1);
    close_well(s);
}

/* ---- byte pairs ---- */

/* Ids of 200 kB without a blank, whose pairs overlap everywhere, in time that is not its square. */
static void long_words(void **state)
{
    (void)state;
    if (!MTF_HAVE_PCRE2) return;
    enum { N = 200000 };
    mtf_session    *s = mtf_open_with(NULL);
    mtf_vocabulary *v = open_well(s, "gpt2:" HERE "pairs");
    char           *text = malloc(N), *back = malloc(N + 1);
    int32_t        *ids = malloc(N * sizeof *ids);
    for (const char *letters = "aeth  \n\xff"; *letters; letters++) {
        memset(text, *letters, N);
        int64_t n = mtf_vocabulary_encode(v, text, N, ids, N);
        assert_true(n > 0 && n <= N);
        if (*letters == '\xff') continue;
        assert_int_equal(mtf_vocabulary_decode(v, ids, n, back, N + 1), N);
        assert_memory_equal(text, back, N);
    }
    free(text), free(back), free(ids);
    close_well(s);
}

/* ---- faults ---- */

static void refused_vocabulary(const char *spec, const char *words)
{
    mtf_session *s = mtf_open_with(NULL);
    assert_null(mtf_vocabulary_open(s, spec));
    assert_contains(mtf_error(s), words);
    assert_null(mtf_vocabulary_open(s, "bytes"));
    mtf_close(s);
}

static const char *spec_of(const char *kind, const char *path)
{
    static char spec[300];
    snprintf(spec, sizeof spec, "%s:%s", kind, path);
    return spec;
}

static void wrong_specs(void **state)
{
    (void)state;
    refused_vocabulary("byte", "did you mean \"bytes\"?");
    refused_vocabulary("bytes:x", "should be bytes");
    refused_vocabulary("words", "should be words:FILE");
    refused_vocabulary("words:", "should be words:FILE");
    refused_vocabulary("bytes:extra=", ":extra=N");
    refused_vocabulary("bytes:extra=-1", ":extra=N");
    refused_vocabulary("bytes:extra=1x", ":extra=N");
    refused_vocabulary("bytes:extra=99999999999", ":extra=N");
    refused_vocabulary("words:/nowhere", "No such file");
    refused_vocabulary("words:/tmp", "is a folder");
    refused_vocabulary(spec_of("words", write_text("empty", "")), "has no words");
    refused_vocabulary("wordpiece:", "should be wordpiece:FILE");
    refused_vocabulary(spec_of("wordpiece", write_text("none", "a\n##b\n")), "no line \"[UNK]\"");
    refused_vocabulary(spec_of("words", write_plain("nul", "a\nb\0c\n", 6)), "line 2");
}

static void wrong_files(void **state)
{
    (void)state;
#if MTF_HAVE_SENTENCEPIECE
    refused_vocabulary(spec_of("sentencepiece", write_text("m", "")), "not a SentencePiece model");
    refused_vocabulary(spec_of("sentencepiece", write_text("m", "hello")),
                       "not a SentencePiece model");
#else
    refused_vocabulary("sentencepiece:x", "libsentencepiece-dev");
#endif
#if MTF_HAVE_PCRE2
    refused_vocabulary(spec_of("subwords", write_text("empty", "")), "has no subwords");
    const char *json = "vocab.json";
    write_text("merges.txt", "");
    refused_vocabulary(spec_of("gpt2", "/nowhere"), "vocab.json\": No such file");
    write_text(json, "[1]");
    refused_vocabulary(spec_of("gpt2", scratch_folder), "is not a JSON object");
    write_text(json, "{\"a\": 0, \"b\": 0.5}");
    refused_vocabulary(spec_of("gpt2", scratch_folder), "as the id of \"b\"");
    write_text(json, "{\"a\": 0, \"b\": 5}");
    refused_vocabulary(spec_of("gpt2", scratch_folder), "has 2 pieces, but ids up to 5");
    write_text(json, "{\"a\": 1, \"b\": 1}");
    refused_vocabulary(spec_of("gpt2", scratch_folder), "gives a second piece the id of \"b\"");
    write_text(json, "{\"a\": 1, \"b\": 0}");
    refused_vocabulary(spec_of("gpt2", scratch_folder), "no id for the byte 0");
    char *all = read_text(HERE "pairs/vocab.json");
    write_text(json, all);
    free(all);
    write_text("merges.txt", "#version: 0.2\na  b\n");
    refused_vocabulary(spec_of("gpt2", scratch_folder), "line 2: a merge is two pieces");
    write_text("merges.txt", "zq zq\n");
    refused_vocabulary(spec_of("gpt2", scratch_folder), "line 1: \"zq zq\" merges what");
#else
    refused_vocabulary("gpt2:x", "libpcre2-dev");
    refused_vocabulary("subwords:x", "libpcre2-dev");
#endif
}

/* A word that the list has not, and a list that cannot spell everything. */
static void no_such_piece(void **state)
{
    (void)state;
    int32_t         id;
    mtf_session    *s = mtf_open_with(NULL);
    mtf_vocabulary *v = open_well(s, spec_of("words", write_text("n.txt", "<pad>\n<EOS>\na\n")));
    assert_int_equal(mtf_vocabulary_encode(v, "a zebra", -1, &id, 1), -1);
    assert_contains(mtf_error(s), "has neither \"zebra\" nor a word <unk>");
    mtf_close(s);
    if (!MTF_HAVE_PCRE2) return;
    s = mtf_open_with(NULL);
    v = open_well(s, spec_of("subwords", write_text("n.txt", "'<pad>'\n'<EOS>'\n'a'\n'_'\n")));
    assert_int_equal(mtf_vocabulary_encode(v, "a aa", -1, &id, 1), 5);
    assert_int_equal(mtf_vocabulary_encode(v, "ab", -1, &id, 1), -1);
    assert_contains(mtf_error(s), "no subword that \"\\98;_\" begins with");
    mtf_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_others_do), cmocka_unit_test(bytes),
        cmocka_unit_test(streams),      cmocka_unit_test(words),
        cmocka_unit_test(long_words),   cmocka_unit_test(wrong_specs),
        cmocka_unit_test(wrong_files),  cmocka_unit_test(no_such_piece),
        cmocka_unit_test(word_pieces)};
    return cmocka_run_group_tests_name("vocabulary", tests, scratch_make, scratch_drop);
}

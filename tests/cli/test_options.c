/* Tests tables of options: bare commands, shared tables, choices, help. */
#include "cli/options.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ground.h"

static const option_spec inner[] = {
    OPTION_GROUP("inner"),
    {"deep", "N", false, "a number"},
    {0},
};
static const option_spec shared[] = {
    OPTION_GROUP("shared"),
    {"kind", "NAME", false, "one of a few", "red|green|blue"},
    OPTION_TABLE(inner),
    {"last", NULL, false, "of the shared ones"},
    {0},
};
static const option_spec table[] = {
    {"first", "X", true, "comes first"},
    OPTION_TABLE(shared),
    OPTION_GROUP("nothing here"),
    {0},
};

static bool only_first(const option_spec *spec, const char *word, char *more, size_t room)
{
    if (word) snprintf(more, room, "; for %s", word);
    return strcmp(spec->name, "first") == 0;
}

static const command full = {
    .name = "full", .says = "has all", .words = "A B", .most = 2, .options = table};
static const command bare = {.name = "bare", .says = "has nothing"};

/* ---- help ---- */

/* What a call prints on a stream, in a text that the caller frees. */
typedef struct capture {
    FILE *stream;
    int   kept;
    FILE *file;
} capture;

static capture capture_begin(FILE *stream)
{
    capture c = {stream, dup(fileno(stream)), tmpfile()};
    fflush(stream);
    assert_non_null(c.file);
    assert_true(dup2(fileno(c.file), fileno(stream)) >= 0);
    return c;
}

static const char *capture_end(capture *c, char *text, size_t room)
{
    fflush(c->stream);
    dup2(c->kept, fileno(c->stream));
    close(c->kept);
    rewind(c->file);
    text[fread(text, 1, room - 1, c->file)] = 0;
    fclose(c->file);
    return text;
}

static int parse(const command *c, options *o, char *said, size_t room, int argc, ...)
{
    char   *words[10];
    va_list list;
    va_start(list, argc);
    for (int i = 0; i < argc; i++) words[i] = va_arg(list, char *);
    va_end(list);
    capture out = capture_begin(stdout), err = capture_begin(stderr);
    int     status = options_parse(c, argc, words, o);
    capture_end(&err, said, room);
    size_t used = strlen(said);
    capture_end(&out, said + used, room - used);
    return status;
}

static void test_bare_command(void **state)
{
    (void)state;
    options o;
    char    said[4000];
    assert_int_equal(parse(&bare, &o, said, sizeof said, 1, "--help"), STATUS_DONE);
    assert_non_null(strstr(said, "usage: mtf bare [OPTION]...\n"));
    assert_non_null(strstr(said, "--help"));
    assert_null(strstr(said, "examples"));
    options_free(&o);
    assert_int_equal(parse(&bare, &o, said, sizeof said, 1, "word"), STATUS_USAGE);
    options_free(&o);
    assert_int_equal(parse(&bare, &o, said, sizeof said, 1, "--x"), STATUS_USAGE);
    options_free(&o);
    assert_int_equal(parse(&bare, &o, said, sizeof said, 0), -1);
    options_free(&o);
}

static void test_help_of_tables(void **state)
{
    (void)state;
    options o;
    char    said[4000];
    assert_int_equal(parse(&full, &o, said, sizeof said, 1, "-h"), STATUS_DONE);
    options_free(&o);
    const char *expected[] = {"\noptions\n", "  --first X", "\nshared\n", "  --kind NAME",
                              "\ninner\n",   "  --deep N",  "  --last",   "  --help"};
    const char *at = said;
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        at = strstr(at, expected[i]);
        assert_non_null(at);
    }
    assert_null(strstr(said, "nothing here")); /* no row follows */
}

static void test_help_for_a_word(void **state)
{
    (void)state;
    options o;
    char    said[4000];
    command picky = full;
    picky.concerns = only_first;
    assert_int_equal(parse(&picky, &o, said, sizeof said, 2, "it", "--help"), STATUS_DONE);
    options_free(&o);
    assert_non_null(strstr(said, "comes first; for it; may be repeated"));
    assert_null(strstr(said, "shared"));
}

/* ---- values ---- */

static void test_values(void **state)
{
    (void)state;
    options  o;
    char     said[4000];
    uint64_t n = 0;
    assert_int_equal(parse(&full, &o, said, sizeof said, 7, "--deep=3", "a", "--first", "x",
                           "--last", "--first=y", "--kind=green"),
                     -1);
    assert_string_equal(option_nth(&o, "first", 1), "y");
    assert_string_equal(option_nth(&o, "kind", 0), "green");
    assert_true(option_given(&o, "last") && option_number(&o, "deep", 1, 9, &n) && n == 3);
    assert_int_equal(o.nwords, 1);
    options_free(&o);
    assert_int_equal(parse(&full, &o, said, sizeof said, 2, "--kind", "gren"), STATUS_USAGE);
    assert_non_null(
        strstr(said, "--kind takes red, green or blue, not \"gren\"; did you mean \"green\"?"));
    assert_non_null(strstr(said, "see mtf full --help"));
    options_free(&o);
    assert_int_equal(parse(&full, &o, said, sizeof said, 1, "--dep"), STATUS_USAGE);
    assert_non_null(strstr(said, "mtf full has no option --dep; did you mean \"--deep\"?"));
    options_free(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bare_command),
        cmocka_unit_test(test_help_of_tables),
        cmocka_unit_test(test_help_for_a_word),
        cmocka_unit_test(test_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

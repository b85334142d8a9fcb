/* Tests how text from files is made printable. */
#include "base/printable.h"

#include "base/session.h"
#include "base/textbuf.h"
#include "ground.h"

static void test_escapes(void **state)
{
    (void)state;
    static const struct {
        const char *text, *shown;
    } cases[] = {
        {"layer/w", "layer/w"},
        {"", ""},
        {"a\x1b[31mred", "a\\x1b[31mred"},
        {"two\nlines\t\r\x7f", "two\\x0alines\\x09\\x0d\\x7f"},
        {"Stra\xc3\x9f"
         "e \xe5\xb1\xa4 \xf0\x9f\x98\x80",
         "Stra\xc3\x9f"
         "e \xe5\xb1\xa4 \xf0\x9f\x98\x80"},
        {"\xc2\x9b"
         "31m",
         "\\xc2\\x9b31m"}, /* a control character of one code above 127 */
        {"\xe2\x80\xae"
         "txt",
         "\\xe2\\x80\\xaetxt"},                       /* turns the direction of writing */
        {"\xff\xc3(", "\\xff\\xc3("},                 /* no UTF-8 */
        {"\xc0\xaf", "\\xc0\\xaf"},                   /* longer than it need be */
        {"\xed\xa0\x80", "\\xed\\xa0\\x80"},          /* half of a pair */
        {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"}, /* beyond the last character */
        {"cut \xe5\xb1", "cut \\xe5\\xb1"},
    };
    mtf_session *s = mtf_open_with(NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(text_printable(&s->arena, cases[i].text), cases[i].shown);
    const char *plain = "plain";
    assert_ptr_equal(text_printable(&s->arena, plain), plain);
    close_well(s);
}

static void collect(void *all, const char *text)
{
    strcat(all, text);
}

/* Messages and tables keep ends of lines and tabs, and are shown whole, however long. */
static void test_shown(void **state)
{
    (void)state;
    char long_text[3000], all[8000] = "", wanted[8000] = "", cut[20];
    for (int i = 0; i < 2990; i++) long_text[i] = i % 50 ? 'x' : '\x1b';
    long_text[2990] = 0;
    for (const char *p = long_text; *p; p++) strcat(wanted, *p == 'x' ? "x" : "\\x1b");
    printable_show(long_text, collect, all);
    assert_string_equal(all, wanted);
    all[0] = 0;
    printable_show("a\tb\nc\r\x1b[0m\n", collect, all);
    assert_string_equal(all, "a\tb\nc\\x0d\\x1b[0m\n");
    printable_copy("12345\x1b\x1b\x1b\x1b\x1b", cut, sizeof cut);
    assert_string_equal(cut, "12345\\x1b\\x1b\\x1b");
}

/* Names in messages come from outside. */
static void test_messages(void **state)
{
    (void)state;
    char         said[200] = "";
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.say = collect, .say_context = said});
    (fail)(&s->fault, ERR_NAME, "no \"%s\"", "a\x1b[31m");
    fault_more(&s->fault, ERR_NAME, " in \"%s\"", "\x07");
    assert_string_equal(mtf_error(s), "name: no \"a\\x1b[31m\" in \"\\x07\"");
    session_say(s, "summary \x1b[m\n");
    assert_string_equal(said, "summary \\x1b[m\n");
    assert_int_not_equal(mtf_close(s), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_escapes), cmocka_unit_test(test_shown),
                                       cmocka_unit_test(test_messages)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

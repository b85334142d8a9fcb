/* Tests how text from files is made printable. */
#include "base/printable.h"

#include "base/session.h"
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
        {"Stra\xc3\x9f" "e \xe5\xb1\xa4 \xf0\x9f\x98\x80", "Stra\xc3\x9f" "e \xe5\xb1\xa4 \xf0\x9f\x98\x80"},
        {"\xc2\x9b" "31m", "\\xc2\\x9b31m"},             /* a control character of one code above 127 */
        {"\xe2\x80\xae" "txt", "\\xe2\\x80\\xaetxt"},    /* turns the direction of writing */
        {"\xff\xc3(", "\\xff\\xc3("},                    /* no UTF-8 */
        {"\xc0\xaf", "\\xc0\\xaf"},                      /* longer than it need be */
        {"\xed\xa0\x80", "\\xed\\xa0\\x80"},             /* half of a pair */
        {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},    /* beyond the last character */
        {"cut \xe5\xb1", "cut \\xe5\\xb1"},
    };
    mtf_session *s = mtf_open_with(NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(text_printable(&s->arena, cases[i].text), cases[i].shown);
    const char *plain = "plain";
    assert_ptr_equal(text_printable(&s->arena, plain), plain);
    close_well(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_escapes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

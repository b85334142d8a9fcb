/* Tests characters to bytes and back. */
#include "base/utf8.h"

#include <string.h>

#include "ground.h"

static void test_every_character(void **state)
{
    (void)state;
    for (uint32_t c = 0; c <= 0x10ffff; c++) {
        char     bytes[UTF8_MOST];
        uint32_t back = 0;
        size_t   taken = 0;
        if (c == 0xd800) c = 0xe000;
        size_t n = utf8_put(c, bytes);
        assert_int_equal(n, c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4);
        assert_int_equal(utf8_take(bytes, n, &taken, &back), UTF8_CHARACTER);
        assert_true(taken == n && back == c && utf8_begins(bytes[0]));
        for (size_t k = 1; k < n; k++) {
            assert_false(utf8_begins(bytes[k]));
            assert_int_equal(utf8_take(bytes, k, &taken, &back), UTF8_INCOMPLETE);
        }
    }
}

static void test_damage(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t      taken;
    } cases[] = {{"\x80", 1},         {"\xc0\xaf", 1},     {"\xff", 1},     {"\xed\xa0\x80", 1},
                 {"\xf4\x90\x80", 1}, {"\xe0\x9f\x80", 1}, {"\xc3(", 1},    {"\xe5\xb1", 2},
                 {"\xf0\x9f\x98", 3}, {"\xf0\x8f\xbf", 1}, {"\xf5\x80", 1}, {"\xe5\xb1z", 2}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        uint32_t c;
        size_t   taken = 0;
        /* The zero byte at the end of a string ends a character, too. */
        assert_int_equal(utf8_take(cases[k].text, UTF8_MOST, &taken, &c), UTF8_INVALID);
        assert_int_equal(taken, cases[k].taken);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_character),
                                       cmocka_unit_test(test_damage)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

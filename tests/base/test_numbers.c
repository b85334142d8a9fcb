/* Tests numbers as text, under the locale of the environment. */
#include "base/numbers.h"

#include <limits.h>
#include <locale.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ground.h"

static void test_reading(void **state)
{
    static const struct {
        const char *text;
        double      value;
        size_t      length;
    } rows[] = {{"0.5", 0.5, 3},        {"-12.25e-1x", -1.225, 9}, {"3", 3, 1},     {"1,5", 1, 1},
                {"inf", INFINITY, 3},   {"0x1.8p1", 0, 1},         {".5.", 0.5, 2}, {"x", 0, 0},
                {"1e999", INFINITY, 5}, {" -0X10", 0, 3},          {"+0x", 0, 2},   {"00x1", 0, 2}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char  *end;
        double value = number_read(rows[i].text, &end);
        assert_true(value == rows[i].value);
        assert_int_equal(end - rows[i].text, rows[i].length);
    }
    assert_true(number_read("2.5", NULL) == 2.5);
}

/* Every kind of conversion beside a floating one, so that all are taken one by one. */
static void test_writing(void **state)
{
    char text[200];
    (void)state;
    int n = number_format(text, sizeof text, "%g|%s|%d|%5d|%-5d|%05d|%c|%%|%x", 0.5, "a%b", -7, 42,
                          42, 42, 'z', 255u);
    assert_string_equal(text, "0.5|a%b|-7|   42|42   |00042|z|%|ff");
    assert_int_equal(n, strlen(text));
    number_format(text, sizeof text, "%lld %ld %zu %llu %jd %td %.1f", LLONG_MIN, LONG_MAX,
                  SIZE_MAX, ULLONG_MAX, INTMAX_MIN, PTRDIFF_MAX, 1.25);
    assert_string_equal(text, "-9223372036854775808 9223372036854775807 18446744073709551615 "
                              "18446744073709551615 -9223372036854775808 9223372036854775807 1.2");
    number_format(text, sizeof text, "%*d|%-*s|%.*s|%.*g|%-9.5g|%7.0f|%.17g", 4, 7, 4, "ab", 2,
                  "xyz", 3, 1.23456, 2.5, 1234567.5, 0.1);
    assert_string_equal(text, "   7|ab  |xy|1.23|2.5      |1234568|0.10000000000000001");
    number_format(text, sizeof text, "%s of %lld", "no floating number", 3LL);
    assert_string_equal(text, "no floating number of 3");
}

static void test_no_room(void **state)
{
    char text[8];
    (void)state;
    assert_int_equal(number_format(NULL, 0, "%g and %g", 0.25, 0.5), 12);
    for (size_t room = 1; room < sizeof text; room++) {
        memset(text, '?', sizeof text);
        assert_int_equal(number_format(text, room, "%g and %g", 0.25, 0.5), 12);
        assert_memory_equal(text, "0.25 and 0.5", room - 1);
        assert_int_equal(text[room - 1], 0);
        assert_int_equal(text[room], '?');
    }
}

static void test_no_sign_for_what_is_no_number(void **state)
{
    char   text[80];
    double none = copysign((double)NAN, -1);
    (void)state;
    number_format(text, sizeof text, "%g %5f|%-6.3g|%G %g %g", none, none, none, none, -INFINITY,
                  copysign(0, -1));
    assert_string_equal(text, "nan   nan|nan   |NAN -inf -0");
}

static void test_the_locale_stays(void **state)
{
    char before[20], after[20];
    (void)state;
    snprintf(before, sizeof before, "%.1f", 0.5);
    number_format(after, sizeof after, "%g", 0.5);
    number_read("0.5", NULL);
    snprintf(after, sizeof after, "%.1f", 0.5);
    assert_string_equal(before, after);
    const char *wanted = getenv("MTF_DECIMAL_SIGN"); /* what the environment's locale should give */
    if (wanted) assert_int_equal((unsigned char)before[1], (unsigned char)*wanted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reading),
        cmocka_unit_test(test_writing),
        cmocka_unit_test(test_no_room),
        cmocka_unit_test(test_no_sign_for_what_is_no_number),
        cmocka_unit_test(test_the_locale_stays),
    };
    setlocale(LC_ALL, "");
    return cmocka_run_group_tests(tests, NULL, NULL);
}

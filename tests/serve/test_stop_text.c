/* Tests stop strings in texts that arrive in pieces. */
#include "serve/stop_text.h"

#include "ground.h"

/* Gives the text in pieces of n bytes; what was said, to be freed. */
static char *said(const char *text, size_t n, const char *const *stops, bool *found)
{
    stop_text s = {.stops = stops};
    char     *all = calloc(1, strlen(text) + 1), piece[16];
    size_t    length = strlen(text);
    for (size_t at = 0; at < length; at += n) {
        snprintf(piece, sizeof piece, "%.*s", (int)n, text + at);
        strcat(all, stop_text_add(&s, piece));
        assert_true(strncmp(all, text, strlen(all)) == 0);
    }
    strcat(all, stop_text_end(&s));
    *found = s.found;
    stop_text_free(&s);
    return all;
}

static void test_text_ends_before_a_stop_string(void **state)
{
    static const char *const stops[] = {"END", "\n\n", "abab", NULL}, *const none[] = {NULL};
    static const struct {
        const char *text, *want;
        bool        found;
    } rows[] = {{"one END two", "one ", true},
                {"one EN", "one EN", false},
                {"ENEND", "EN", true},
                {"a\n\nb", "a", true},
                {"a\n\nEND", "a", true},
                {"aababa", "a", true},
                {"abaEND", "aba", true},
                {"", "", false},
                {"END", "", true},
                {"x\nEND\n\n", "x\n", true},
                {"ababEND", "", true},
                {"E\nN\nD aba", "E\nN\nD aba", false}};
    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        for (size_t n = 1; n < 9; n++) {
            bool  found;
            char *got = said(rows[k].text, n, stops, &found);
            assert_string_equal(got, rows[k].want);
            assert_int_equal(found, rows[k].found);
            free(got);
            got = said(rows[k].text, n, none, &found);
            assert_string_equal(got, rows[k].text);
            assert_false(found);
            free(got);
        }
}

static void test_nothing_is_held_back_without_need(void **state)
{
    static const char *const stops[] = {"END", NULL};
    stop_text                s = {.stops = stops};
    (void)state;
    assert_string_equal(stop_text_add(&s, "abc"), "abc");
    assert_string_equal(stop_text_add(&s, "dE"), "d");
    assert_string_equal(stop_text_add(&s, "Nx"), "ENx");
    stop_text_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_text_ends_before_a_stop_string),
                                       cmocka_unit_test(test_nothing_is_held_back_without_need)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

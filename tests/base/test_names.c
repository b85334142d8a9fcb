/* Tests suggestions for misspelt names. */
#include "base/names.h"

#include "ground.h"

typedef struct offer_row {
    const char *wanted, *expected; /* NULL: no hint */
    const char *names[6];
} offer_row;

static void test_nearest(void **state)
{
    (void)state;
    static const offer_row rows[] = {
        {"mnsit", "mnist", {"toy", "mnist", "mnist-conv"}},
        {"los", "loss", {"log", "cos", "loss"}},
        {"data", "eval-data", {"state", "eval-data", "device"}},
        {"data", "data-dir", {"eval-data", "data-dir"}},
        {"decay", "weight-decay", {"delay_all", "weight-decay"}},
        {"losses", "loss", {"classes", "loss"}},
        {"LOSS", "loss", {"logs", "loss"}},
        {"xy", "xx", {"axyz", "xx"}},
        {"frobnicate", NULL, {"run", "show", "plan"}},
        {"a", NULL, {"b", "c"}},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        nearest n = {.wanted = rows[r].wanted};
        for (int i = 0; rows[r].names[i]; i++) nearest_offer(&n, rows[r].names[i]);
        if (rows[r].expected) {
            assert_non_null(n.best);
            assert_string_equal(n.best, rows[r].expected);
        } else {
            assert_null(n.best);
        }
    }
}

static void test_own_names_come_first(void **state)
{
    (void)state;
    char    hint[100];
    nearest n = {.wanted = "los"};
    nearest_offer_foreign(&n, "loss_1");
    nearest_offer(&n, "loss");
    assert_string_equal(nearest_hint(&n, hint, sizeof hint), "; did you mean \"loss\"?");
    nearest m = {.wanted = "reduce_sun", .before = "--"};
    nearest_offer(&m, "rows");
    nearest_offer_foreign(&m, "reduce_sum"); /* but a likely one goes before another word */
    assert_string_equal(nearest_hint(&m, hint, sizeof hint), "; did you mean \"--reduce_sum\"?");
    nearest none = {.wanted = "x"};
    assert_string_equal(nearest_hint(&none, hint, sizeof hint), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_own_names_come_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

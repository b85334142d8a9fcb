/* Tests patterns: matching anywhere, anchors, errors. */
#include "base/pattern.h"

#include "ground.h"

static void test_matches(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *text;
        bool        found;
    } rows[] = {
        {"bias", "layer/bias", true},
        {"bias", "layer/kernel", false},
        {"^bias", "layer/bias", false},
        {"bias$", "layer/bias_1", false},
        {"bias|scale", "norm/scale", true},
        {"block_00[0-3]/.*/kernel", "block_002/layer_001/kernel", true},
        {"block_00[0-3]/.*/kernel", "block_004/layer_001/kernel", false},
        {"", "anything", true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fault f = {0};
        assert_int_equal(pattern_matches(rows[i].pattern, rows[i].text, &f), rows[i].found);
        assert_int_equal(f.kind, ERR_NONE);
    }
}

static void test_wrong_pattern(void **state)
{
    (void)state;
    fault f = {0};
    assert_false(pattern_matches("layer_[0-9", "layer_0", &f));
    assert_contains(f.text, "syntax: pattern \"layer_[0-9\": ");
    assert_contains(f.text, "; write an extended regular expression, as in \"bias|norm/scale$\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_matches),
                                       cmocka_unit_test(test_wrong_pattern)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

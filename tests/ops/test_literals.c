/* Tests what numbers in a text mean, and which are refused. */
#include "graph/node.h"

#include "ground.h"

/* Reads a text and gives what it prints, to be freed. */
static char *printed(const char *text)
{
    mtf_session *s = mtf_open_with(NULL);
    mtf_graph   *g = mtf_parse(s, text, "t");
    if (!g) fail_msg("%s", mtf_error(s));
    char *copy = strdup(mtf_print(g));
    close_well(s);
    return copy;
}

static void assert_prints_line(const char *text, const char *line)
{
    char *got = printed(text);
    assert_contains(got, line);
    free(got);
}

/* Lines that may use x: f32[a=3], n: i32[a=3], h: f16[a=3], c: bool[a=3]. */
static const char inputs[] = "x: f32[a=3] = input\nn: i32[a=3] = input\nh: f16[a=3] = input\n"
                             "c: bool[a=3] = input\n";

static void assert_each(size_t count, const char *const (*rows)[2], bool fails)
{
    for (size_t i = 0; i < count; i++) {
        char text[400];
        snprintf(text, sizeof text, "%s%s", inputs, rows[i][0]);
        if (!fails) {
            assert_prints_line(text, rows[i][1]);
            continue;
        }
        mtf_session *s = mtf_open_with(NULL);
        assert_null(mtf_parse(s, text, "t"));
        close_with(s, rows[i][1]);
    }
}
#define ASSERT_EACH(rows, fails) assert_each(sizeof rows / sizeof *rows, rows, fails)

/* ---- the type of a number ---- */

/* Of the annotation or of what it stands beside; the condition says nothing. */
static void test_where(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"y: i32[a=3] = where(c, 1, 0)", "constant: i32[] = constant(value=1)"},
        {"y: f16 = where(c, 0.5, 0)", "constant: f16[] = constant(value=0.5)"},
        {"y: bool[a=3] = where(c, 1, 0)", "constant: bool[] = constant(value=1)"},
        {"y = where(c, 1, 0)", "y: f32[a=3] = where(c, constant, constant_1)"},
        {"y = where(c, 2.5, 0)", "constant: f32[] = constant(value=2.5)"},
        {"y = where(c, n, 7)", "constant: i32[] = constant(value=7)"},
        {"y = where(c, 7, h)", "constant: f16[] = constant(value=7)"},
        {"y = where(c, c, 0)", "constant: bool[] = constant\n"},
        {"y = where(1, n, 7)", "y: i32[a=3] = where(constant, n, constant_1)"},
        {"y = where(1, n, 7)", "constant: bool[] = constant(value=1)"},
        {"y = n * where(c, 1, n)", "constant: i32[] = constant(value=1)"},
        {"y: i32[a=3] = where(c, 1, 0) + n", "constant: i32[] = constant(value=1)"},
    };
    ASSERT_EACH(rows, false);
}

static void test_indices_are_integers(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"y = gather(x, 2, dim=a)", "constant: i32[] = constant(value=2)"},
        {"y = gather(c, 2, dim=a)", "y: bool[] = gather(c, constant, dim=a)"},
        {"y = dynamic_shift(x, 1, dim=a)", "constant: i32[] = constant(value=1)"},
        {"y = scatter_add(x, 1, dim=[b=4])", "constant: i32[] = constant(value=1)"},
        {"y = scatter_add(2.5, n, dim=[b=4])", "constant: f32[] = constant(value=2.5)"},
        {"y = one_hot(1, dim=[b=4])", "y: f32[b=4]"},
    };
    ASSERT_EACH(rows, false);
    static const char *const wrong[][2] = {
        {"y = gather(x, 1.5, dim=a)",
         "syntax: t:5:15: i32 takes whole numbers in its range, not 1.5"},
    };
    ASSERT_EACH(wrong, true);
}

static void test_constant_true(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"y: bool[a=2] = constant(value=true)", "y: bool[a=2] = constant(value=1)"},
        {"y: bool[a=2] = constant(value=false)", "y: bool[a=2] = constant\n"},
        {"y = pad(c, dim=a, after=1, value=true)",
         "y: bool[a=4] = pad(c, dim=a, after=1, value=1)"},
    };
    ASSERT_EACH(rows, false);
    static const char *const wrong[][2] = {
        {"y: f32[a=2] = constant(value=true)",
         "syntax: t:5:30: true is a bool; an element of f32 is a number"},
        {"y = pad(x, dim=a, after=1, value=false)",
         "syntax: t:5:34: false is a bool; an element of f32 is a number"},
        {"y = clip(x, low=true, high=1)", "syntax: t:5:17: expected a number, found \"true\""},
    };
    ASSERT_EACH(wrong, true);
}

/* ---- numbers that the type does not have ---- */

static void test_out_of_range(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"y: i32[] = constant(value=3e9)",
         "value: t:5:12: constant: i32 takes whole numbers in its range, not 3000000000"},
        {"y: i64[] = constant(value=1e19)",
         "value: t:5:12: constant: i64 takes whole numbers in its range, not 1e+19"},
        {"y: i32[] = constant(value=0.5)",
         "value: t:5:12: constant: i32 takes whole numbers in its range, not 0.5"},
        {"y: i32[] = constant(value=nan)",
         "value: t:5:12: constant: i32 takes whole numbers in its range, not nan"},
        {"y: bool[] = constant(value=2)", "value: t:5:13: constant: a bool is 0 or 1, not 2"},
        {"y: f16[] = constant(value=1e6)",
         "value: t:5:12: constant: f16 has no number as large as 1000000; write inf for infinity"},
        {"y: f32[] = constant(value=-1e39)",
         "value: t:5:12: constant: f32 has no number as large as -1e+39; write inf for infinity"},
        {"y = h * 1e6",
         "syntax: t:5:9: f16 has no number as large as 1000000; write inf for infinity"},
        {"y: bf16[b=1] = constant(data={1e39})",
         "syntax: t:5:31: bf16 has no number as large as 1e+39; write inf for infinity"},
        {"y = pad(n, dim=a, after=1, value=0.5)",
         "value: t:5:5: pad: i32 takes whole numbers in its range, not 0.5"},
        {"y = pad(n, dim=a, after=1, value=-3e9)",
         "value: t:5:5: pad: i32 takes whole numbers in its range, not -3000000000"},
        {"y = pad(c, dim=a, after=1, value=2)", "value: t:5:5: pad: a bool is 0 or 1, not 2"},
        {"y: i32[b=2] = variable(init=\"constant(0.5)\")",
         "value: t:5:15: variable: i32 takes whole numbers in its range, not 0.5"},
        {"y: i32[b=2] = random_uniform(low=0.5, high=7)",
         "value: t:5:15: random_uniform: low is 0.5 and high 7; i32 takes whole numbers in its "
         "range"},
        {"y: i32[b=2] = random_uniform(low=0, high=7.5)",
         "value: t:5:15: random_uniform: low is 0 and high 7.5; i32 takes whole numbers in its "
         "range"},
        {"y: i32[b=2] = random_uniform(low=0, high=3e9)",
         "value: t:5:15: random_uniform: low is 0 and high 3000000000; i32 takes whole numbers in "
         "its range"},
        {"y: f16[b=2] = random_uniform(low=0, high=1e6)",
         "value: t:5:15: random_uniform: f16 has no number as large as 1000000; write inf for "
         "infinity"},
        {"y: bool[b=2] = random_uniform(high=2)",
         "value: t:5:16: random_uniform: high is 2; a bool is true with a probability from 0 to 1"},
        {"y: i64[b=2] = random_uniform(low=0, high=9007199254740994)",
         "value: t:5:15: random_uniform: high is 9007199254740994; bounds of i64 are whole numbers "
         "between -2^53 and 2^53, or -2^63 and 2^63"},
        {"y: i64[b=2] = random_uniform(low=-4611686018427387904, high=1)",
         "value: t:5:15: random_uniform: low is -4.611686018427388e+18; bounds of i64 are whole "
         "numbers "
         "between -2^53 and 2^53, or -2^63 and 2^63"},
        {"y: i64[b=2] = random_uniform(low=0, high=1e300)",
         "value: t:5:15: random_uniform: high is 1e+300; bounds of i64 are whole numbers "
         "between -2^53 and 2^53, or -2^63 and 2^63"},
        {"y: i64[b=2] = random_uniform(low=0.5, high=2)",
         "value: t:5:15: random_uniform: low is 0.5; bounds of i64 are whole numbers "
         "between -2^53 and 2^53, or -2^63 and 2^63"},
        {"y: f32[b=2] = random_normal(stddev=-1)",
         "value: t:5:15: random_normal: stddev is -1; a standard deviation is 0 or more"},
        {"y: f32[b=2] = truncated_normal(stddev=nan)",
         "value: t:5:15: truncated_normal: stddev is nan; a standard deviation is 0 or more"},
        {"k: i32[] = constant(value=1)\ny: f32[b=2] = random_normal(k, once=true)",
         "usage: t:6:15: random_normal: once=true gives the same numbers in every iteration, so it "
         "takes no iteration; leave out \"k\""},
    };
    ASSERT_EACH(wrong, true);
    static const char *const rows[][2] = {
        {"y: i32[b=2] = random_uniform(low=-2147483648, high=2147483648)",
         "random_uniform(low=-2147483648, high=2147483648"},
        {"y: i64[b=2] = random_uniform(low=0, high=9223372036854775808)", "y: i64[b=2] = random_"},
        {"y: i64[b=2] = random_uniform(low=-9007199254740991, high=9007199254740991)",
         "y: i64[b=2] = random_"},
        {"y: f32[b=2] = random_normal(stddev=0)", "y: f32[b=2] = random_normal"},
        {"y: f32[b=2] = random_normal(once=true)", "y: f32[b=2] = random_normal"},
        {"y: i32[] = constant(value=-2147483648)", "constant(value=-2147483648)"},
        {"y: f16[] = constant(value=inf)", "constant(value=inf)"},
        {"y = clip(h, low=-1e9, high=1e9)", "y: f16[a=3] = minimum("},
    };
    ASSERT_EACH(rows, false);
}

/* From C a bound is a double, in which a larger whole number may have lost digits already. */
static void test_bounds_from_c(void **state)
{
    (void)state;
    const mtf_dim a = {"a", 2};
    mtf_session  *s = mtf_open_with(&(mtf_session_opts){.threads = 1});
    mtf_graph    *g = mtf_graph_new(s);
    assert_non_null(mtf_random_uniform(g, MTF_I64, mtf_shape(a), -0x1p63, 0x1p63));
    assert_non_null(mtf_random_uniform(g, MTF_I64, mtf_shape(a), 1 - 0x1p53, 0x1p53 - 1));
    assert_null(mtf_random_uniform(g, MTF_I64, mtf_shape(a), 0, (double)9007199254740993));
    close_with(s,
               "value: random_uniform: high is 9007199254740992; bounds of i64 are whole numbers "
               "between -2^53 and 2^53, or -2^63 and 2^63");
}

/* ---- dimensions and loops ---- */

static void test_one_hot_needs_a_new_dimension(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"y = one_hot(n, dim=[a=3])",
         "shape: t:5:5: one_hot: \"n\" [a=3] has a dimension \"a\" already; dim names a new one"},
        {"y = one_hot(n, dim=[a=5])",
         "shape: t:5:5: one_hot: \"n\" [a=3] has a dimension \"a\" already; dim names a new one"},
    };
    ASSERT_EACH(wrong, true);
}

static void test_trips(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"y = loop(x, trips=3000000000) { body(p) { yield p } }",
         "value: t:5:5: loop: trips is from 1 to 2147483647, not 3000000000"},
        {"y = loop(x, trips=0) { body(p) { yield p } }",
         "value: t:5:5: loop: trips is from 1 to 2147483647, not 0"},
    };
    ASSERT_EACH(wrong, true);
}

/* ---- names and the beginning of a text ---- */

/* Every name of an outermost line is kept, also where the line adds no operation. */
static void test_second_names(void **state)
{
    (void)state;
    char *got = printed("x: f32[a=3] = input\ny = identity(x)\nz = exp(y)\nw = z\nv = w * y\n"
                        "same = dropout(v, rate=0)\n");
    assert_string_equal(got, "x: f32[a=3] = input\n"
                             "y: f32[a=3] = identity(x)\n"
                             "z: f32[a=3] = exp(x)\n"
                             "w: f32[a=3] = identity(z)\n"
                             "v: f32[a=3] = multiply(z, x)\n"
                             "same: f32[a=3] = identity(v)\n");
    char *again = printed(got);
    assert_string_equal(again, got);
    free(got);
    free(again);
}

static void test_byte_order_mark(void **state)
{
    (void)state;
    char *got = printed("\xef\xbb\xbfx: f32[a=3] = input\n");
    assert_string_equal(got, "x: f32[a=3] = input\n");
    free(got);
    got = printed("\xef\xbb\xbf");
    assert_string_equal(got, "");
    free(got);
    mtf_session *s = mtf_open_with(NULL);
    assert_null(mtf_parse(s, "\xef\xbb\xbfx @", "t")); /* columns are those that an editor shows */
    close_with(s, "syntax: t:1:3: \"@\" does not belong here");
    s = mtf_open_with(NULL);
    assert_null(mtf_parse(s, "x: f32[] = input\n\xef\xbb\xbfy = x", "t")); /* only at the start */
    close_with(s, "syntax: t:2:1: the byte 0xef does not belong here");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_where),
        cmocka_unit_test(test_indices_are_integers),
        cmocka_unit_test(test_constant_true),
        cmocka_unit_test(test_out_of_range),
        cmocka_unit_test(test_one_hot_needs_a_new_dimension),
        cmocka_unit_test(test_trips),
        cmocka_unit_test(test_bounds_from_c),
        cmocka_unit_test(test_second_names),
        cmocka_unit_test(test_byte_order_mark),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Tests sizes beyond i32, and too many dimensions. */
#include "ground.h"

/* What reading the text says; "": all is well.  Nothing runs, so sizes may be any. */
static void assert_says(const char *text, const char *sentence)
{
    mtf_session *s = mtf_open_with(NULL);
    mtf_parse(s, text, "t");
    assert_string_equal(mtf_ok(s) ? "" : mtf_error(s), sentence);
    mtf_close(s);
}

/* ---- positions are i32 ---- */

#define LARGE "x: f32[a=2147483649] = input\n"
#define MOST "x: f32[a=2147483648] = input\n"
#define SENTENCE                                                                                   \
    ": its positions are i32, at most 2147483647, and there are 2147483649 elements; take parts "  \
    "of them"

static void test_positions(void **state)
{
    (void)state;
    assert_says(LARGE "y = argmax(x, dim=a)", "shape: t:2:5: argmax_over" SENTENCE);
    assert_says(LARGE "y, i = sort(x, dim=a)", "shape: t:2:8: sort" SENTENCE);
    assert_says(LARGE "y, i = top_k(x, dim=a, k=[k=2])", "shape: t:2:8: top_k" SENTENCE);
    assert_says(LARGE "m = reduce_max(x)\ny = gradients(m; x)",
                "shape: t:3:5: reduce_max" SENTENCE);
    assert_says(LARGE "m = reduce_min(x)\ny = gradients(m; x)",
                "shape: t:3:5: reduce_min" SENTENCE);
    assert_says("x: f32[a=65536, b=65537] = input\nm = reduce_max(x)\ny = gradients(m; x)",
                "shape: t:3:5: reduce_max: its positions are i32, at most 2147483647, and there "
                "are 4295032832 elements; take parts of them");
    assert_says("y: i32[a=2147483649] = range",
                "type: t:1:24: range: i32 ends at 2147483647; a range of 2147483649 needs i64");
    assert_says(MOST "y = argmax(x, dim=a)", "");
    assert_says(MOST "y, i = sort(x, dim=a)", "");
    assert_says(MOST "m = reduce_max(x)\ny = gradients(m; x)", "");
    assert_says("y: i32[a=2147483648] = range", "");
    assert_says("y: i64[a=2147483649] = range", "");
}

/* The gradient of a slice pads by where it began. */
static void test_far_slice(void **state)
{
    (void)state;
    assert_says("x: f32[a=8589934592] = input\ns = slice(x, dim=a, begin=4294967296, size=2)\n"
                "y = gradients(s; x)",
                "");
    assert_says("x: f32[a=2] = input\ny = pad(x, dim=a, before=-1)",
                "shape: t:2:5: pad: padding of -1; it must be 0 or more");
    assert_says("x: f32[a=2] = input\ny = pad(x, dim=a, before=9223372036854775807, after=3)",
                "shape: t:2:5: pad: with dimension \"a\" of size 9223372036854775807 the shape has "
                "2^59 elements or more, which is too many");
}

/* ---- room ---- */

static void test_unstack(void **state)
{
    (void)state;
    mtf_session *s = mtf_open_with(NULL);
    mtf_graph   *g = mtf_graph_new(s);
    mtf_dim      three = {"a", 3}, two = {"a", 2};
    mtf_tensor  *x = mtf_input(g, "x", MTF_F32, mtf_shape(three));
    mtf_tensor  *parts[3] = {x, x, x};
    mtf_unstack(x, two, parts);
    assert_string_equal(mtf_error(s), "shape: unstack: dimension \"a\" is 3 in \"x\", not 2");
    assert_null(parts[0]);
    assert_null(parts[1]);
    assert_ptr_equal(parts[2], x); /* is beyond what the caller has room for */
    mtf_close(s);
}

/* Five factors, each pair of which shares four dimensions: the product of any two has 24. */
static void test_wide_products(void **state)
{
    (void)state;
    char text[2000], *at = text;
    for (int i = 0; i < 5; i++) {
        at += sprintf(at, "x%d: f32[", i);
        for (int j = 0, n = 0; j < 5; j++)
            for (int k = 0; k < 4 && j != i; k++, n++)
                at += sprintf(at, "%sd%d%d%d=1", n ? ", " : "", i < j ? i : j, i < j ? j : i, k);
        at += sprintf(at, "] = input\n");
    }
    sprintf(at, "y: [] = einsum(x0, x1, x2, x3, x4)");
    mtf_session *s = mtf_open_with(NULL);
    mtf_graph   *g = mtf_parse(s, text, "t");
    mtf_compile(g, mtf_find(g, "y"));
    close_with(s, "shape: einsum: in whatever order its 5 inputs are multiplied, some intermediate "
                  "product has more than 16 dimensions; sum some of them first");
    assert_says(
        "x: f32[a=1, b=1, c=1, d=1, e=1, f=1, g=1, h=1, i=1, j=1, k=1, l=1] = input\n"
        "n: i32[a=1, m=1, n=1, o=1, p=1, q=1] = input\ny = scatter_add(x, n, dim=[v=3])",
        "shape: t:3:5: scatter_add: \"x\" and the indices \"n\" have more than 16 dimensions "
        "together");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_positions),
        cmocka_unit_test(test_far_slice),
        cmocka_unit_test(test_unstack),
        cmocka_unit_test(test_wide_products),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Tests shapes: making, reading, printing, and their algebra.
 *
 * The facts about text and cumulative products are those of the original's own tests.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "space/internal.h"
#include "space/shape.h"

#include <cmocka.h>

#define BIG ((int64_t)1 << 40)

static const mtf_dim x = {"x", 4}, y = {"y", 8}, z = {"z", 3}, one = {"one", 1};

static void assert_shape(mtf_shape s, const char *text)
{
    char got[SHAPE_TEXT];
    assert_true(s.ndims >= 0);
    mtf_shape_print(s, got, sizeof got);
    assert_string_equal(got, text);
}

/* ---- making ---- */

static void test_making(void **state)
{
    (void)state;
    assert_shape(mtf_shape(x, y), "Shape[x=4, y=8]");
    assert_shape(mtf_shape(y), "Shape[y=8]");
    assert_shape(mtf_shape(), "Shape[]");
    assert_shape((mtf_shape){0}, "Shape[]");
    assert_shape(mtf_shape_of(2, (mtf_dim[]){x, y}), "Shape[x=4, y=8]");
    assert_shape(mtf_shape_of(0, NULL), "Shape[]");
}

static void test_refusing(void **state)
{
    (void)state;
    assert_int_equal(mtf_shape(x, x).ndims, SHAPE_DUPLICATE);
    assert_int_equal(mtf_shape(x, y, ((mtf_dim){"x", 5})).ndims, SHAPE_DUPLICATE);
    assert_int_equal(mtf_shape(((mtf_dim){"x", 0})).ndims, SHAPE_BAD_SIZE);
    assert_int_equal(mtf_shape(((mtf_dim){"x", -1})).ndims, SHAPE_BAD_SIZE);
    assert_int_equal(mtf_shape(((mtf_dim){NULL, 2})).ndims, SHAPE_BAD_NAME);
    assert_int_equal(mtf_shape_of(-2, NULL).ndims, -2);
    static const char *const no_names[] = {"",   "a b", "a,b", "a.b", "a;b", "a:b", "a+b",
                                           "a?", "a=b", "(a",  "a)",  "[a",  "a]",  "{a",
                                           "a}", "a\"", "#a",  "a|b", "a\n"};
    for (size_t i = 0; i < sizeof no_names / sizeof *no_names; i++)
        assert_int_equal(mtf_shape(((mtf_dim){no_names[i], 2})).ndims, SHAPE_BAD_NAME);
    assert_shape(mtf_shape(((mtf_dim){"a/b-c_d'", 2})), "Shape[a/b-c_d'=2]");
}

static void test_seventeen(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i",
                                        "j", "k", "l", "m", "n", "o", "p", "q"};
    mtf_dim                  dims[17];
    for (int i = 0; i < 17; i++) dims[i] = (mtf_dim){names[i], 1};
    assert_int_equal(mtf_shape_of(16, dims).ndims, 16);
    assert_int_equal(mtf_shape_of(17, dims).ndims, SHAPE_TOO_MANY);
    assert_int_equal(mtf_shape_plus(mtf_shape_of(16, dims), mtf_shape_of(1, dims + 16)).ndims,
                     SHAPE_TOO_MANY);
    assert_int_equal(mtf_shape_plus(mtf_shape_of(16, dims), mtf_shape_of(16, dims)).ndims, 16);
    mtf_shape full = mtf_shape_of(16, dims);
    assert_int_equal(mtf_shape_replace(full, mtf_shape_of(1, dims), mtf_shape(x, y)).ndims,
                     SHAPE_TOO_MANY);
}

/* Dimensions of the library's own: no user can name one, and sixteen others leave room for it. */
static void test_internal(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h",
                                        "i", "j", "k", "l", "m", "n", "o", "p"};
    mtf_dim                  dims[16];
    for (int i = 0; i < 16; i++) dims[i] = (mtf_dim){names[i], 1};
    mtf_shape full = mtf_shape_of(16, dims);
    for (internal_kind kind = 0; kind < INTERNAL_KINDS; kind++) {
        mtf_shape s = full;
        for (int i = 0; i < MTF_SHAPE_ROOM - MTF_MAX_DIMS; i++) {
            mtf_dim dim = internal_dim(kind, 3, &s);
            assert_true(name_is_internal(dim.name) && shape_find(&s, dim.name) < 0);
            assert_int_equal(mtf_shape_of(1, &dim).ndims, SHAPE_BAD_NAME);
            assert_int_equal(mtf_shape_rename(full, "a", dim.name).ndims, SHAPE_BAD_NAME);
            s = mtf_shape_plus(s, mtf_shape(dim));
            assert_int_equal(shape_of(s.ndims, s.dims).ndims, 17 + i);
        }
        assert_true(shape_find(&s, internal_dim(kind, 3, &s).name) < 0);
        mtf_shape one_more = mtf_shape_plus(s, mtf_shape(internal_dim(kind, 3, &s)));
        assert_int_equal(one_more.ndims, SHAPE_TOO_MANY);
    }
    assert_false(name_is_internal("_tap"));
    assert_int_equal(mtf_shape(((mtf_dim){SLICE_DIM("parts"), 2})).ndims, SHAPE_BAD_NAME);
}

/* Sixteen bytes an element, the most any type could want, must still fit a signed 64-bit count. */
static void test_huge(void **state)
{
    (void)state;
    mtf_dim most = {"most", INT64_MAX / 16}, more = {"more", INT64_MAX / 16 + 1};
    mtf_dim a = {"a", BIG}, b = {"b", BIG};
    assert_int_equal(mtf_shape_size(mtf_shape(most)), INT64_MAX / 16);
    assert_int_equal(mtf_shape(more).ndims, SHAPE_TOO_LARGE);
    assert_int_equal(mtf_shape(a, b).ndims, SHAPE_TOO_LARGE);
    assert_int_equal(mtf_shape_resize(mtf_shape(a, x), "x", BIG).ndims, SHAPE_TOO_LARGE);
    assert_int_equal(mtf_shape_replace(mtf_shape(a, x), mtf_shape(x), mtf_shape(b)).ndims,
                     SHAPE_TOO_LARGE);
}

/* A union need not be a tensor's shape, so it may be larger; its size then stops at the largest
 * number. */
static void test_huge_union(void **state)
{
    (void)state;
    mtf_dim   a = {"a", BIG}, b = {"b", BIG}, c = {"c", BIG};
    mtf_shape all = mtf_shape_plus(mtf_shape_plus(mtf_shape(a), mtf_shape(b)), mtf_shape(c));
    int64_t   products[3];
    assert_int_equal(all.ndims, 3);
    assert_int_equal(mtf_shape_size(all), INT64_MAX);
    mtf_shape_cumprod(all, products);
    assert_int_equal(products[1], BIG);
    assert_int_equal(products[2], INT64_MAX);
    assert_int_equal(mtf_shape(mtf_combined_dimension(all, NULL)).ndims, SHAPE_TOO_LARGE);
}

/* What could not be made stays what it is, so that the first reason is the one reported. */
static void test_broken_stays_broken(void **state)
{
    (void)state;
    mtf_shape twice = mtf_shape(x, x), fine = mtf_shape(x, y);
    assert_int_equal(mtf_shape_plus(twice, fine).ndims, SHAPE_DUPLICATE);
    assert_int_equal(mtf_shape_plus(fine, twice).ndims, SHAPE_DUPLICATE);
    assert_int_equal(mtf_shape_minus(twice, fine).ndims, SHAPE_DUPLICATE);
    assert_int_equal(mtf_shape_minus(fine, twice).ndims, SHAPE_DUPLICATE);
    assert_int_equal(mtf_shape_rename(twice, "x", "y").ndims, SHAPE_DUPLICATE);
    assert_int_equal(mtf_shape_resize(twice, "x", 2).ndims, SHAPE_DUPLICATE);
    assert_int_equal(mtf_shape_replace(twice, fine, fine).ndims, SHAPE_DUPLICATE);
    assert_int_equal(mtf_shape_replace(fine, twice, fine).ndims, SHAPE_DUPLICATE);
    assert_int_equal(mtf_shape_replace(fine, mtf_shape(x), twice).ndims, SHAPE_DUPLICATE);
    assert_int_equal(mtf_shape_find(twice, "x"), -1);
    assert_int_equal(mtf_shape_cumprod_axis(twice, 1), -1);
    assert_null(mtf_combined_dimension(twice, NULL).name);
    assert_false(mtf_shape_equal(twice, fine));
}

/* ---- asking ---- */

static void test_asking(void **state)
{
    (void)state;
    mtf_shape s = mtf_shape(x, y);
    char      other_x[] = "x"; /* names are compared by letters, not by address */
    assert_int_equal(mtf_shape_size(s), 32);
    assert_int_equal(mtf_shape_size(mtf_shape()), 1);
    assert_true(mtf_shape_equal(s, mtf_shape(((mtf_dim){other_x, 4}), y)));
    assert_false(mtf_shape_equal(s, mtf_shape(y, x)));
    assert_false(mtf_shape_equal(s, mtf_shape(x)));
    assert_false(mtf_shape_equal(s, mtf_shape(x, ((mtf_dim){"y", 9}))));
    assert_true(mtf_shape_equal(mtf_shape(), mtf_shape()));
    assert_int_equal(mtf_shape_find(s, other_x), 0);
    assert_int_equal(mtf_shape_find(s, "y"), 1);
    assert_int_equal(mtf_shape_find(s, "Y"), -1);
    assert_int_equal(mtf_shape_find(mtf_shape(), "x"), -1);
    assert_int_equal(mtf_shape_dim(s, "y").size, 8);
    assert_null(mtf_shape_dim(s, "z").name);
    assert_int_equal(mtf_shape_dim(s, "z").size, 0);
}

static void test_printing(void **state)
{
    (void)state;
    char text[20] = "untouched";
    assert_int_equal(mtf_shape_print(mtf_shape(x, y), text, sizeof text), 15);
    assert_string_equal(text, "Shape[x=4, y=8]");
    assert_int_equal(mtf_shape_print(mtf_shape(x, y), text, 10), 15); /* cut, as snprintf does */
    assert_string_equal(text, "Shape[x=4");
    assert_int_equal(mtf_shape_print(mtf_shape(x, y), NULL, 0), 15);
    assert_int_equal(mtf_shape_print(mtf_shape(), text, sizeof text), 7);
    assert_string_equal(text, "Shape[]");
}

static void test_cumulative_products(void **state)
{
    (void)state;
    int64_t   products[3] = {0};
    mtf_shape s = mtf_shape(x, y, z);
    mtf_shape_cumprod(s, products);
    assert_int_equal(products[0], 1);
    assert_int_equal(products[1], 4);
    assert_int_equal(products[2], 32);
    assert_int_equal(mtf_shape_cumprod_axis(s, 1), 0);
    assert_int_equal(mtf_shape_cumprod_axis(s, 4), 1);
    assert_int_equal(mtf_shape_cumprod_axis(s, 32), 2);
    assert_int_equal(mtf_shape_cumprod_axis(s, 96), -1);
    assert_int_equal(mtf_shape_cumprod_axis(s, 5), -1);
    assert_int_equal(mtf_shape_cumprod_axis(mtf_shape(), 1), -1);
}

/* A dimension of size 1 makes two axes begin at one product; the largest is meant. */
static void test_largest_axis(void **state)
{
    (void)state;
    assert_int_equal(mtf_shape_cumprod_axis(mtf_shape(x, one, y), 4), 2);
    assert_int_equal(mtf_shape_cumprod_axis(mtf_shape(one, x, y), 1), 1);
    assert_int_equal(mtf_shape_cumprod_axis(mtf_shape(x, y, one), 32), 2);
}

/* ---- algebra ---- */

static void test_plus_and_minus(void **state)
{
    (void)state;
    assert_shape(mtf_shape_plus(mtf_shape(x), mtf_shape(y)), "Shape[x=4, y=8]");
    assert_shape(mtf_shape_plus(mtf_shape(y, x), mtf_shape(z, x)), "Shape[y=8, x=4, z=3]");
    assert_shape(mtf_shape_plus(mtf_shape(), mtf_shape(x)), "Shape[x=4]");
    assert_shape(mtf_shape_plus(mtf_shape(x), mtf_shape()), "Shape[x=4]");
    assert_shape(mtf_shape_plus(mtf_shape(x), mtf_shape(((mtf_dim){"x", 5}))), "Shape[x=4]");
    assert_shape(mtf_shape_minus(mtf_shape(x, y, z), mtf_shape(y)), "Shape[x=4, z=3]");
    assert_shape(mtf_shape_minus(mtf_shape(x, y), mtf_shape(z)), "Shape[x=4, y=8]");
    assert_shape(mtf_shape_minus(mtf_shape(x, y), mtf_shape(y, x)), "Shape[]");
    assert_shape(mtf_shape_minus(mtf_shape(x, y), mtf_shape(((mtf_dim){"x", 5}))), "Shape[y=8]");
    assert_shape(mtf_shape_minus(mtf_shape(), mtf_shape(x)), "Shape[]");
}

static void test_rename_and_resize(void **state)
{
    (void)state;
    mtf_shape s = mtf_shape(x, y);
    assert_shape(mtf_shape_rename(s, "x", "z"), "Shape[z=4, y=8]");
    assert_shape(mtf_shape_rename(s, "x", "x"), "Shape[x=4, y=8]");
    assert_int_equal(mtf_shape_rename(s, "x", "y").ndims, SHAPE_DUPLICATE);
    assert_int_equal(mtf_shape_rename(s, "z", "w").ndims, SHAPE_MISSING);
    assert_int_equal(mtf_shape_rename(s, "x", "").ndims, SHAPE_BAD_NAME);
    assert_shape(mtf_shape_resize(s, "y", 9), "Shape[x=4, y=9]");
    assert_int_equal(mtf_shape_resize(s, "y", 0).ndims, SHAPE_BAD_SIZE);
    assert_int_equal(mtf_shape_resize(s, "z", 9).ndims, SHAPE_MISSING);
}

static void test_replace(void **state)
{
    (void)state;
    mtf_shape s = mtf_shape(x, y, z);
    mtf_dim   xy = {"xy", 32}, y1 = {"y1", 2}, y2 = {"y2", 4};
    assert_shape(mtf_shape_replace(s, mtf_shape(x, y), mtf_shape(xy)), "Shape[xy=32, z=3]");
    assert_shape(mtf_shape_replace(s, mtf_shape(y), mtf_shape(y1, y2)),
                 "Shape[x=4, y1=2, y2=4, z=3]");
    assert_shape(mtf_shape_replace(s, mtf_shape(x, y, z), mtf_shape()), "Shape[]");
    assert_int_equal(mtf_shape_replace(s, mtf_shape(x, z), mtf_shape(xy)).ndims, SHAPE_MISSING);
    assert_int_equal(mtf_shape_replace(s, mtf_shape(y, x), mtf_shape(xy)).ndims, SHAPE_MISSING);
    assert_int_equal(mtf_shape_replace(s, mtf_shape(z, one), mtf_shape(xy)).ndims, SHAPE_MISSING);
    assert_int_equal(mtf_shape_replace(s, mtf_shape(), mtf_shape(xy)).ndims, SHAPE_MISSING);
    assert_int_equal(mtf_shape_replace(s, mtf_shape(y), mtf_shape(x)).ndims, SHAPE_DUPLICATE);
}

static void test_combined(void **state)
{
    (void)state;
    mtf_dim first = mtf_combined_dimension(mtf_shape(x, y), NULL);
    mtf_dim named = mtf_combined_dimension(mtf_shape(x, y, z), "all");
    assert_string_equal(first.name, "x");
    assert_int_equal(first.size, 32);
    assert_string_equal(named.name, "all");
    assert_int_equal(named.size, 96);
    assert_null(mtf_combined_dimension(mtf_shape(), "all").name);
}

/* ---- text ---- */

static void test_text(void **state)
{
    (void)state;
    mtf_session             *s = mtf_open_with(NULL);
    static const char *const same[] = {"x:4;y:8", "x:4.y:8",      "x:4 y:8",
                                       "x:4,y:8", " x:4 , y:8; ", "x:4\ty:8\n"};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        assert_shape(mtf_shape_parse(s, same[i]), "Shape[x=4, y=8]");
    assert_shape(mtf_shape_parse(s, "x:4"), "Shape[x=4]");
    assert_shape(mtf_shape_parse(s, ""), "Shape[]");
    assert_shape(mtf_shape_parse(s, " ,;. "), "Shape[]");
    assert_true(mtf_ok(s));
    assert_int_equal(mtf_close(s), 0);
}

static void refuse_text(const char *text, const char *sentence)
{
    mtf_session *s = mtf_open_with(NULL);
    assert_true(mtf_shape_parse(s, text).ndims < 0);
    assert_string_equal(mtf_error(s), sentence);
    assert_true(mtf_shape_parse(s, "x:4").ndims < 0); /* nothing works after an error */
    assert_string_equal(mtf_error(s), sentence);
    assert_int_equal(mtf_close(s), 1);
}

static void test_wrong_text(void **state)
{
    (void)state;
    refuse_text("x", "syntax: \"x\" is not a dimension; write name:size");
    refuse_text("x:4,y", "syntax: \"y\" is not a dimension; write name:size");
    refuse_text("x:4:5", "syntax: \"x:4:5\" is not a dimension; write name:size");
    refuse_text("x:", "syntax: the size of dimension \"x\" is \"\"; write a whole number");
    refuse_text("x:four", "syntax: the size of dimension \"x\" is \"four\"; write a whole number");
    refuse_text("x:4k", "syntax: the size of dimension \"x\" is \"4k\"; write a whole number");
    refuse_text(
        "x:99999999999999999999",
        "syntax: the size of dimension \"x\" is \"99999999999999999999\"; write a whole number");
    refuse_text("x:0", "shape: x:0: dimension \"x\" has size 0; sizes are 1 or more");
    refuse_text("x:-4", "shape: x:-4: dimension \"x\" has size -4; sizes are 1 or more");
    refuse_text("x:4;x:8",
                "shape: x:4;x:8: dimension \"x\" occurs twice in one shape; names must differ");
    refuse_text("a:1 b:1 c:1 d:1 e:1 f:1 g:1 h:1 i:1 j:1 k:1 l:1 m:1 n:1 o:1 p:1 q:1",
                "shape: a:1 b:1 c:1 d:1 e:1 f:1 g:1 h:1 i:1 j:1 k:1 l:1 m:1 n:1 o:1 p:1 q:1: "
                "a shape has at most 16 dimensions");
    refuse_text(
        "x:4000000000,y:4000000000",
        "shape: x:4000000000,y:4000000000: with dimension \"y\" of size 4000000000 the shape has "
        "2^59 elements or more, which is too many");
}

/* ---- what only the library uses ---- */

static void test_sets(void **state)
{
    (void)state;
    mtf_shape xy = mtf_shape(x, y), yx = mtf_shape(y, x), xz = mtf_shape(x, z),
              all = mtf_shape(x, y, z);
    mtf_shape none = mtf_shape();
    assert_true(shape_within(&yx, &all));
    assert_false(shape_within(&all, &xy));
    assert_true(shape_within(&none, &none));
    assert_true(shape_same_set(&xy, &yx));
    assert_false(shape_same_set(&xy, &xz));
    assert_true(shape_is_subsequence(&xz, &all));
    assert_false(shape_is_subsequence(&yx, &all));
    assert_true(shape_is_subsequence(&none, &xy));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_making),
        cmocka_unit_test(test_refusing),
        cmocka_unit_test(test_seventeen),
        cmocka_unit_test(test_internal),
        cmocka_unit_test(test_huge),
        cmocka_unit_test(test_huge_union),
        cmocka_unit_test(test_broken_stays_broken),
        cmocka_unit_test(test_asking),
        cmocka_unit_test(test_printing),
        cmocka_unit_test(test_cumulative_products),
        cmocka_unit_test(test_largest_axis),
        cmocka_unit_test(test_plus_and_minus),
        cmocka_unit_test(test_rename_and_resize),
        cmocka_unit_test(test_replace),
        cmocka_unit_test(test_combined),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_wrong_text),
        cmocka_unit_test(test_sets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

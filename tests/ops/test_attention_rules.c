/* Tests the errors of attention, and their messages. */
#include "ground.h"

static const char head[] = "q: f32[b=2, i=3, d=4] = input\n"
                           "k: f32[b=2, m=5, d=4] = input\n"
                           "v: f32[b=2, m=5, d=4] = input\n"
                           "r: i32[b=2, i=3] = input\n"
                           "n: f32[i=3, m=5] = input\n"
                           "z: f32[x=7, m=5] = input\n"
                           "h: bf16[b=2, m=5, d=4] = input\n";

static void refuses(const char *call, const char *sentence)
{
    char         text[800];
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.threads = 1});
    snprintf(text, sizeof text, "%sy, lse = %s\n", head, call);
    assert_null(mtf_parse(s, text, "t"));
    if (!strstr(mtf_error(s), sentence))
        fail_msg("%s: \"%s\", not \"%s\"", call, mtf_error(s), sentence);
    mtf_close(s);
}

#define DIMS "query=i, memory=m, key=d, value=d"

static void test_refusals(void **state)
{
    (void)state;
    refuses("attention(q, k, v, query=i, memory=e, key=d, value=d)", "has no dimension \"e\"");
    refuses("attention(q, k, v, query=x, memory=m, key=d, value=d)", "has no dimension \"x\"");
    refuses("attention(q, k, h, " DIMS ")", "\"h\" is bf16; it must be f32");
    refuses("attention(r, k, v, " DIMS ")", "\"r\" is i32; it must be floating");
    refuses("attention(q, z, v, query=i, memory=m, key=x, value=d)", "has no dimension \"x\"");
    refuses("attention(q, k, v, query=i, memory=m, key=d, value=b)",
            "query, memory, key and value must be different dimensions");
    refuses("attention(q, q, v, query=i, memory=i, key=d, value=d)", "has no dimension \"i\"");
}

static void test_optional(void **state)
{
    (void)state;
    refuses("attention(q, k, v, r, " DIMS ")", "\"with\" names 0 of them");
    refuses("attention(q, k, v, r, " DIMS ", with=(reads))",
            "with: \"reads\"; the further inputs are");
    refuses("attention(q, k, v, r, " DIMS ", with=(query_segment))",
            "query_segment and memory_segment go together");
    refuses("attention(q, k, v, n, " DIMS ", with=(read))", "read \"n\" is f32; it must be i32");
    refuses("attention(q, k, v, r, " DIMS ", with=(write))", "write \"r\" is");
    refuses("attention(q, k, v, z, " DIMS ", with=(bias))", "the bias \"z\" is [x=7, m=5]");
    refuses("attention(q, k, v, n, " DIMS ", with=(bias), bias_relative=m)",
            "with \"m\", whose size must be 7, it has no other dimension of positions");
}

static void test_numbers(void **state)
{
    (void)state;
    refuses("attention(q, k, v, " DIMS ", dropout=1)", "dropout is from 0 to below 1, not 1");
    refuses("attention(q, k, v, " DIMS ", min_relative=2, max_relative=1)",
            "min_relative is 2 and max_relative 1");
    refuses("attention(q, k, v, " DIMS ", dropout=0.5, dropout_over=(d))",
            "dropout_over: \"d\" is not a dimension of the weights");
}

/* What k and v lack they share; nothing else is asked of them. */
static void test_takes(void **state)
{
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.threads = 1});
    char         text[800];
    (void)state;
    snprintf(text, sizeof text,
             "%sy, lse = attention(q, k, z, query=i, memory=m, key=d, value=x)\n", head);
    mtf_graph *g = mtf_parse(s, text, "t");
    assert_string_equal(mtf_error(s), "");
    assert_true(mtf_shape_find(mtf_shape_of_tensor(mtf_find(g, "y")), "x") >= 0);
    close_well(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_optional),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_takes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

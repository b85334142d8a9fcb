/* Tests what refuses f8 tensors, and the messages. */
#include "ground.h"

static const char head[] = "x: f32[a=3, b=4] = input\n"
                           "h: bf16[a=3, b=4] = input\n"
                           "i: i32[a=3, b=4] = input\n"
                           "x4: f8e4m3 = cast(x)\n"
                           "x5: f8e5m2 = cast(x)\n";

static void refuses(const char *line, const char *sentence)
{
    char         text[800];
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.threads = 1});
    snprintf(text, sizeof text, "%s%s\n", head, line);
    assert_null(mtf_parse(s, text, "t"));
    if (!strstr(mtf_error(s), sentence))
        fail_msg("%s: \"%s\", not \"%s\"", line, mtf_error(s), sentence);
    mtf_close(s);
}

static void test_arithmetic_refuses_f8(void **state)
{
    (void)state;
    static const char sentence[] =
        "\"x4\" is f8e4m3, which only einsum multiplies: cast it to f32 or bf16";
    refuses("y = x4 + x4", sentence);
    refuses("y = exp(x4)", sentence);
    refuses("y = reduce_max(x4)", sentence);
    refuses("y = gather(x4, i, dim=a)", sentence);
    refuses("y = concat(x4, x4, dim=a)", sentence);
    refuses("y = softmax(x4, dim=a)", sentence);
    refuses("y = einsum(x4, x)", "\"x4\" is f8e4m3 but \"x\" is f32: cast one of them");
}

static void test_nothing_but_a_cast_makes_f8(void **state)
{
    (void)state;
    refuses("y: f8e4m3[a=3] = input", "its result cannot be f8e4m3: cast it from another type");
    refuses("y: f8e5m2[a=3] = variable", "its result cannot be f8e5m2");
    refuses("y: f8e4m3[a=3] = constant(value=1)", "its result cannot be f8e4m3");
    refuses("y: f8e4m3[a=3] = random_uniform", "its result cannot be f8e4m3");
    refuses("y: f32[a=3] = variable(master=\"f8e4m3\")", "both must be floating, not f8");
}

static void test_einsum_f8_takes_wider_floats(void **state)
{
    (void)state;
    refuses("y: [a] = einsum_f8(x4, x4)",
            "\"x4\" is f8e4m3; this operation takes f32, bf16, f16 and f64");
    refuses("y: [a] = einsum_f8(x, i)",
            "\"i\" is i32; this operation takes f32, bf16, f16 and f64");
    refuses("y: [a] = einsum_f8(x, h)", "\"x\" is f32 but \"h\" is bf16: cast one of them");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arithmetic_refuses_f8),
        cmocka_unit_test(test_nothing_but_a_cast_makes_f8),
        cmocka_unit_test(test_einsum_f8_takes_wider_floats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Tests what print and scalar_summary write. */
#include "ground.h"

enum { ROOM = 1000 };

static void hear(void *context, const char *text)
{
    strncat(context, text, ROOM - 1 - strlen(context));
}

static void assert_says(const char *text, const char *line)
{
    char         heard[ROOM] = "";
    mtf_session *s =
        mtf_open_with(&(mtf_session_opts){.threads = 1, .say = hear, .say_context = heard});
    mtf_graph   *g = mtf_parse(s, text, "said");
    mtf_program *p = mtf_compile(g, mtf_find(g, "y"));
    assert_true(mtf_step(p));
    close_well(s);
    assert_string_equal(heard, line);
}

/* A double, or nine digits, would not hold them. */
static void test_integers_are_exact(void **state)
{
    (void)state;
    assert_says("x: i64[a=4] = constant(data={9223372036854775807, -9223372036854775808, "
                "123456789012345678, 0})\ny = print(x)\n",
                "y: [4] 9223372036854775807 -9223372036854775808 123456789012345678 0\n");
    assert_says("x: i32[a=2] = constant(data={2147483647, -2147483648})\ny = print(x)\n",
                "y: [2] 2147483647 -2147483648\n");
    assert_says("x: i64[] = constant(value=9007199254740993)\ny = scalar_summary(x, name=\"n\")\n",
                "summary n: 9007199254740993\n");
}

static void test_others(void **state)
{
    (void)state;
    assert_says("x: bool[a=2] = constant(data={true, false})\ny = print(x)\n", "y: [2] 1 0\n");
    assert_says("x: f32[a=3] = constant(data={0.5, nan, -inf})\ny = print(x, message=\"m\")\n",
                "m: [3] 0.5 nan -inf\n");
    assert_says("x: bf16[] = constant(value=-0.75)\ny = print(x)\n", "y: -0.75\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integers_are_exact),
        cmocka_unit_test(test_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

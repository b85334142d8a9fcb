/* Tests that a session leaves the host program's libraries unchanged. */
#include <cblas.h>

#include "ground.h"

static const char model[] = "x: f32[n=64, m=64] = random_uniform\n"
                            "y: f32[m=64, k=64] = random_uniform\n"
                            "z: [n, k] = einsum(x, y)\n"
                            "t = print(reduce_sum(z))\n";

typedef struct seen {
    int inside; /* the library's number of threads while a step printed */
} seen;

static void look(void *context, const char *text)
{
    (void)text;
    ((seen *)context)->inside = openblas_get_num_threads();
}

static void test_threads_of_the_library_are_put_back(void **state)
{
    static const char *const devices[] = {"cpu", "check"};
    (void)state;
    int before = openblas_get_num_threads();
    for (int host = 1; host <= 3; host++)
        for (int d = 0; d < 2; d++) {
            seen             now = {0};
            mtf_session_opts opts = {.device = devices[d], .say = look, .say_context = &now};
            openblas_set_num_threads(host);
            mtf_session *s = mtf_open_with(&opts);
            mtf_graph   *g = mtf_parse(s, model, "model.mtf");
            mtf_tensor  *t = mtf_find(g, "t");
            mtf_program *p = mtf_compile(g, t);
            assert_int_equal(openblas_get_num_threads(), host);
            assert_true(mtf_step(p));
            assert_int_equal(now.inside, 1);
            assert_int_equal(openblas_get_num_threads(), host);
            mtf_program_free(p);
            close_well(s);
            assert_int_equal(openblas_get_num_threads(), host);
        }
    openblas_set_num_threads(before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads_of_the_library_are_put_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

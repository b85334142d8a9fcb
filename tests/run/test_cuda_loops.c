/* Loops of captured steps: the GPU repeats them by itself. */
#include "cuda/driver/cuda_device.h"
#include "run/compiled.h"

#include "ground.h"

#include "run/emulated_gpu.h"

/* A loop that a value ends, with a fixed one inside and another one after it. */
static const char nested[] = "x0: f32[a=3] = input\n"
                             "n0: i32[] = input\n"
                             "x, n, s = while(x0, n0) {\n"
                             "    cond(x, n) { yield less(n, 5) }\n"
                             "    body(x, n) {\n"
                             "        y = loop(x, trips=3) {\n"
                             "            body(z) { yield z + 0.5 }\n"
                             "        }\n"
                             "        yield y * 1.5, n + 1; x\n"
                             "    }\n"
                             "}\n"
                             "m = while(n) {\n"
                             "    cond(k) { yield less(k, 9) }\n"
                             "    body(k) { yield k + 2 }\n"
                             "}\n"
                             "r = x + s\n";

typedef struct outcome {
    float   r[3];
    int32_t n, m;
} outcome;

/* Steps of different lengths, the first of them queued, the second captured; how many were replayed. */
static int run_nested(const char *name, const int32_t *from, int steps, outcome *all)
{
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.device = name});
    mtf_graph   *g = mtf_parse(s, nested, "nested.mtf");
    mtf_tensor  *fetched[] = {mtf_find(g, "r"), mtf_find(g, "n"), mtf_find(g, "m")};
    mtf_program *p = mtf_compile_n(g, 3, fetched);
    int          replayed = 0;
    for (int k = 0; k < steps; k++) {
        mtf_feed(p, mtf_find(g, "x0"), (float[]){(float)k, 0.25f, -1});
        mtf_feed(p, mtf_find(g, "n0"), &from[k]);
        mtf_step(p);
        replayed += p->step.replayed;
        mtf_fetch(p, fetched[0], all[k].r);
        mtf_fetch(p, fetched[1], &all[k].n);
        mtf_fetch(p, fetched[2], &all[k].m);
    }
    close_well(s);
    return replayed;
}

static void test_a_value_ends_it(void **state)
{
    static const int32_t from[] = {0, 3, 5, 4, -2, 7};
    enum { STEPS = sizeof from / sizeof *from };
    outcome gpu[STEPS], host[STEPS];
    (void)state;
    assert_int_equal(run_nested("cuda", from, STEPS, gpu), STEPS - 2);
    assert_int_equal(run_nested("cpu", from, STEPS, host), 0);
    assert_memory_equal(gpu, host, sizeof gpu);
}

/* Such a driver has the host read each condition. */
static void test_a_driver_without_loops(void **state)
{
    static const int32_t from[] = {0, 3, 5};
    outcome              gpu[3], host[3];
    (void)state;
    if (asked_real_gpu()) skip();
    setenv("MTF_HOST_CUDA_DRIVER", "12030", 1);
    assert_int_equal(run_nested("cuda", from, 3, gpu), 0);
    unsetenv("MTF_HOST_CUDA_DRIVER");
    run_nested("cpu", from, 3, host);
    assert_memory_equal(gpu, host, sizeof gpu);
}

/* More iterations than a capture has room for, one loop in the other, with random numbers of each iteration. */
static void test_many_iterations(void **state)
{
    static const char many[] = "x0: i32[] = input\n"
                               "f0: f32[] = input\n"
                               "x, f = loop(x0, f0, trips=300) {\n"
                               "    body(x, f) {\n"
                               "        y, h = loop(x, f, trips=70) {\n"
                               "            body(z, i) {\n"
                               "                u: f32[] = random_uniform\n"
                               "                yield z + 3, i * 0.5 + u\n"
                               "            }\n"
                               "        }\n"
                               "        yield y - 200, h\n"
                               "    }\n"
                               "}\n";
    int32_t           got[2];
    double            drawn[2];
    (void)state;
    for (int gpu = 0; gpu < 2; gpu++) {
        mtf_session *s =
            mtf_open_with(&(mtf_session_opts){.device = gpu ? "cuda" : "cpu", .seed = 7});
        mtf_graph   *g = mtf_parse(s, many, "many.mtf");
        mtf_tensor  *fetched[] = {mtf_find(g, "x"), mtf_find(g, "f")};
        mtf_program *p = mtf_compile_n(g, 2, fetched);
        mtf_feed(p, mtf_find(g, "x0"), &(int32_t){11});
        mtf_feed(p, mtf_find(g, "f0"), &(float){0});
        for (int k = 0; k < 3; k++) mtf_step(p);
        assert_int_equal(p->step.replayed, gpu);
        assert_int_equal(p->step.rolled, gpu);
        if (gpu)
            assert_non_null(cuda_of(p->processors[0].context)->mirror); /* fetches copy nothing */
        mtf_fetch(p, fetched[0], &got[gpu]);
        drawn[gpu] = mtf_fetch_scalar(p, fetched[1]);
        close_well(s);
    }
    assert_int_equal(got[1], 11 + 300 * (70 * 3 - 200));
    assert_int_equal(got[0], got[1]);
    assert_true(fabs(drawn[0] - drawn[1]) <= 1e-6);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_value_ends_it),
        cmocka_unit_test(test_a_driver_without_loops),
        cmocka_unit_test(test_many_iterations),
    };
    (void)argc;
    use_emulated_gpu(argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

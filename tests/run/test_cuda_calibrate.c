/* Tests the calibration of GPUs, on an emulated one.
 *
 * What it measures there means nothing: each rate must be there, and the file must be read
 * back as it was written and be used by plans.
 */
#include "measure/calibrate.h"

#include "ground.h"
#include "mtf_build.h"
#include "run/emulated_gpu.h"

static int passes_of(const gpu_rates *c, const char *kind)
{
    int n = 0;
    for (int k = 0; k < c->npasses; k++)
        n += strcmp(c->passes[k].kind, kind) == 0 && c->passes[k].memory > 0;
    return n;
}

static bool has_products(const gpu_rates *c, mtf_dtype type, bool rounded)
{
    for (int k = 0; k < c->nproducts; k++)
        if (c->products[k].type == type && c->products[k].rounded == rounded)
            return c->products[k].flops > 0;
    return false;
}

static bool has_windows(const price_rates *r, mtf_dtype type, bool library)
{
    for (int k = 0; k < r->nwindows; k++)
        if (r->windows[k].type == type && r->windows[k].library == library)
            return r->windows[k].flops > 0;
    return false;
}

static void test_rates_are_measured(void **state)
{
    (void)state;
    static const char *const kinds[] = {"rows",    "fold", "move", "gather",
                                        "scatter", "scan", "draw"};
    static const mtf_dtype   types[] = {MTF_F32, MTF_BF16, MTF_F16, MTF_F64};
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.device = "cuda", .mesh = "x:2"});
    price_rates  r, again;
    disturbance  d;
    bool         ok = calibrate(s, NULL, &r, &d);
    assert_string_equal(mtf_error(s), "");
    assert_true(ok && r.gpu && !calibrate_is_disturbed(&d));
    assert_true(r.start > 0 && r.memory > 0 && r.flops > 0 && r.nwindows > 0);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        assert_int_equal(passes_of(r.gpu, kinds[k]), 1);
    for (size_t k = 0; k < sizeof types / sizeof *types; k++)
        assert_true(has_products(r.gpu, types[k], false));
    assert_true(has_products(r.gpu, MTF_F32, true) && r.gpu->nattentions == 4);
    for (size_t k = 0; k < 3; k++)
        assert_int_equal(has_windows(&r, types[k], true), MTF_HAVE_CUDNN);
    assert_true(has_windows(&r, MTF_F32, false) && has_windows(&r, MTF_BF16, false));
    assert_true(abilities_multiply(r.can, MTF_BF16) && abilities_multiply(r.can, MTF_F16));
    /* The wire between two processors is measured: it is not the default GPU's. */
    assert_true(rates_default(s, &again) && r.wire != again.wire && r.latency != again.latency);
    textbuf t = {.arena = &s->arena};
    rates_write(&r, &t);
    assert_true(rates_read(s, text_done(&t), "written", &again));
    assert_true(again.gpu && again.gpu->nproducts == r.gpu->nproducts);
    assert_true(again.gpu->npasses == r.gpu->npasses && again.capacity > 0);
    assert_int_equal(again.nwindows, r.nwindows);
    close_well(s);
}

/* Too large is refused with the amounts, before memory is asked for; what fits runs. */
static void test_too_large(void **state)
{
    (void)state;
    static const char text[] = "a: f32[n=4000000] = variable(init=\"ones\")\n"
                               "small = reduce_sum(a)\n"
                               "x: f32[k=8, n=4000000] = random_uniform\n"
                               "y = x * a\n";
    setenv("MTF_HOST_CUDA_MEMORY", "100000000", 1);
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.device = "cuda"});
    mtf_graph   *g = mtf_parse(s, text, "large");
    mtf_program *p = mtf_compile(g, mtf_find(g, "small"));
    assert_true(mtf_step(p));
    assert_null(mtf_compile(g, mtf_find(g, "y")));
    assert_non_null(strstr(mtf_error(s), "the program needs"));
    assert_non_null(strstr(mtf_error(s), "of memory on GPU 0"));
    assert_non_null(strstr(mtf_error(s), "left of 100 MB"));
    mtf_close(s);
    /* The second program's variable is there already: only the rest must fit. */
    setenv("MTF_HOST_CUDA_MEMORY", "30000000", 1);
    s = mtf_open_with(&(mtf_session_opts){.device = "cuda"});
    g = mtf_parse(s, text, "twice");
    p = mtf_compile(g, mtf_find(g, "small"));
    mtf_program *again = mtf_compile(g, mtf_find(g, "small"));
    assert_true(p && again && mtf_step(again));
    close_well(s);
    unsetenv("MTF_HOST_CUDA_MEMORY");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rates_are_measured),
        cmocka_unit_test(test_too_large),
    };
    (void)argc;
    insist_on_emulated_gpu(argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

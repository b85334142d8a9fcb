/* Tests the rates of GPUs: interpolation, machine files, prices. */
#include "price/gpu_rates.h"
#include "run/devices.h"

#include "ground.h"
#include "scene.h"

static const char gpu[] = "device cuda\n"
                          "flops 1e12\nmemory 1e12\nstart 1\nwire 1e9\nlatency 1e-6\n"
                          "product bf16 64 1e6 1e10\nproduct bf16 64 1e8 4e10\n"
                          "product bf16 1024 1e6 4e10\n"
                          "product f32 64 1e6 7e9\nproduct tf32 64 1e6 9e9\n"
                          "attention bf16 64 3e10 2e10\nattention bf16 128 5e10 4e10\n"
                          "convolution bf16 64 4e10\nconvolution bf16 16 1e10\n"
                          "convolution tf32 16 3e9\nwindow f16 16 5e9\n"
                          "pass rows 5e11\npass gather 1e11\n"
                          "multiplies bf16\ncapacity 1e9\n";

static double rate_of(const gpu_rates *c, mtf_dtype type, bool rounded, double terms,
                      double results)
{
    gpu_product like = {.type = type, .rounded = rounded, .terms = terms, .results = results};
    return gpu_product_rate(c, &like);
}

/* On rows, half way between two, beyond all of them, and where a row's terms have one row only. */
static void test_products_by_shape(void **state)
{
    (void)state;
    mtf_session *s = mtf_open_with(NULL);
    price_rates  r;
    assert_true(rates_read(s, gpu, "gpu", &r) && r.gpu);
    const gpu_rates *c = r.gpu;
    assert_near(rate_of(c, MTF_BF16, false, 64, 1e6), 1e10, 1e-9);
    assert_near(rate_of(c, MTF_BF16, false, 64, 1e7), 2e10, 1e-9);
    assert_near(rate_of(c, MTF_BF16, false, 64, 1e9), 4e10, 1e-9);
    assert_near(rate_of(c, MTF_BF16, false, 8, 8), 1e10, 1e-9);
    assert_near(rate_of(c, MTF_BF16, false, 256, 1e6), 2e10, 1e-9);
    assert_near(rate_of(c, MTF_BF16, false, 256, 1e7), sqrt(2e10 * 4e10), 1e-9);
    assert_near(rate_of(c, MTF_BF16, false, 1e5, 1e6), 4e10, 1e-9);
    assert_near(rate_of(c, MTF_F32, false, 64, 1e6), 7e9, 1e-9);
    assert_near(rate_of(c, MTF_F32, true, 64, 1e6), 9e9, 1e-9);
    assert_true(rate_of(c, MTF_F64, false, 64, 1e6) == 0);
    assert_near(gpu_best_product(c), 4e10, 1e-9);
    close_well(s);
}

static void test_convolutions_by_channels(void **state)
{
    (void)state;
    mtf_session *s = mtf_open_with(NULL);
    price_rates  r;
    assert_true(rates_read(s, gpu, "gpu", &r) && r.gpu && r.nwindows == 4);
    static const window_rate cases[] = {
        {MTF_BF16, 8, 1e10, true, false},  {MTF_BF16, 16, 1e10, true, false},
        {MTF_BF16, 32, 2e10, true, false}, {MTF_BF16, 64, 4e10, true, false},
        {MTF_BF16, 99, 4e10, true, false}, {MTF_F32, 64, 3e9, true, true},
        {MTF_F16, 64, 5e9, true, false},   {MTF_F16, 64, 5e9, false, false},
        {MTF_BF16, 64, 1e12, false, false}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        assert_near(rates_window(&r, &cases[k]), cases[k].flops, 1e-9);
    assert_near(rates_best_window(&r, &(window_rate){.type = MTF_F16, .channels = 8}), 1e12, 1e-9);
    r.flops = 1;
    assert_near(rates_best_window(&r, &(window_rate){.type = MTF_F16, .channels = 8}), 4e10, 1e-9);
    close_well(s);
}

static void test_file_and_back(void **state)
{
    (void)state;
    mtf_session *s = mtf_open_with(NULL);
    price_rates  r, again;
    textbuf      t = {.arena = &s->arena}, u = {.arena = &s->arena};
    assert_true(rates_read(s, gpu, "gpu", &r));
    rates_write(&r, &t);
    assert_true(rates_read(s, text_done(&t), "again", &again));
    assert_non_null(again.gpu);
    rates_write(&again, &u);
    assert_string_equal(text_done(&t), text_done(&u));
    assert_int_equal(again.gpu->nproducts, 5);
    assert_true(again.start == r.start && again.can.products == r.can.products);
    close_well(s);
}

/* What is embedded, until another machine is chosen; a file without the line changes nothing. */
static void test_multiprocessors(void **state)
{
    (void)state;
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.device = "cuda"});
    price_rates  r;
    assert_true(rates_default(s, &r) && r.gpu);
    assert_int_equal(r.gpu->multiprocessors, s->can.multiprocessors);
    assert_true(s->can.multiprocessors > 1);
    assert_true(rates_read(s, "device cuda\nmultiprocessors 78\n", "m", &r));
    textbuf t = {.arena = &s->arena};
    rates_write(&r, &t);
    assert_non_null(strstr(text_done(&t), "multiprocessors 78\n"));
    rates_plan_for(&r, s);
    assert_int_equal(s->can.multiprocessors, 78);
    assert_true(rates_read(s, gpu, "gpu", &r));
    rates_plan_for(&r, s);
    assert_int_equal(s->can.multiprocessors, 78);
    mtf_session *cpu = mtf_open_with(NULL);
    assert_int_equal(cpu->can.multiprocessors, 0);
    close_well(cpu);
    close_well(s);
}

/* Of the last instruction. */
static double seconds_on(const char *name, const char *text, const price_rates *r)
{
    scene c;
    scene_open(&c, text, "", "");
    assert_true(devices_use(c.s, name));
    estimate *e = scene_priced(&c, r);
    double    seconds = e->price.lines[e->program->ninstrs - 1].seconds;
    estimate_free(e);
    mtf_close(c.s);
    return seconds;
}

static double seconds_of(const char *text, const price_rates *r)
{
    return seconds_on("cpu", text, r);
}

/* What the library computes has its rates; other convolutions are elementwise work. */
static void test_prices_of_convolutions(void **state)
{
    (void)state;
    static const struct {
        int    channels;
        double rate;
    } cases[] = {{64, 4e10}, {63, 1e12}};
    mtf_session *s = mtf_open_with(NULL);
    price_rates  r;
    assert_true(rates_read(s, gpu, "gpu", &r));
    for (int k = 0; k < 2; k++) {
        int  c = cases[k].channels;
        char text[200];
        snprintf(text, sizeof text,
                 "x: bf16[n=8, h=34, w=34, c=%d] = input\nf: bf16[fh=3, fw=3, c=%d, o=%d] = input\n"
                 "y = conv2d(x, f, padding=valid)\n",
                 c, c, c);
        assert_near(seconds_on("cuda", text, &r), 1 + 2.0 * 8 * 32 * 32 * 9 * c * c / cases[k].rate,
                    1e-6);
    }
    close_well(s);
}

/* Tiles are computed whole; work and memory overlap; passes have rates of their own. */
static void test_prices(void **state)
{
    (void)state;
    mtf_session *s = mtf_open_with(NULL);
    price_rates  r;
    assert_true(rates_read(s, gpu, "gpu", &r));
    double product =
        seconds_of("a: f32[b=2, m=100, k=64] = input\nw: f32[b=2, k=64, n=128] = input\n"
                   "y: [b, m, n] = einsum(a, w)\n",
                   &r);
    assert_near(product, 1 + 2.0 * 2 * 128 * 128 * 64 / 7e9, 1e-9);
    double map = seconds_of("a: f32[m=1000, n=1000] = input\ny = a * 2\n", &r);
    assert_near(map, 1 + 8e6 / 1e12, 1e-12);
    double rows = seconds_of("a: f32[m=1000, n=1000] = input\nq: [m] = reduce_sum(square(a))\n"
                             "y = a * rsqrt(q)\n",
                             &r);
    assert_near(rows, 1 + 8e6 / 5e11, 1e-12);
    close_well(s);
}

/* A plan for cuda has a GPU's rates, and takes no others. */
static void test_device_and_machine(void **state)
{
    (void)state;
    price_rates  r;
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.device = "cuda"});
    assert_true(rates_default(s, &r) && r.gpu && r.gpu->nproducts > 0 && r.capacity > 1e11);
    assert_string_equal(r.named, "h200, the default");
    assert_true(rates_choose(s, MTF_SOURCE_DIR "/share/machines/h100-node.machine", &r) && r.gpu);
    assert_true(rates_default(s, &r) && rates_choose(s, "flops=7", &r) && r.flops == 7 && r.gpu);
    assert_false(rates_choose(s, MTF_SOURCE_DIR "/share/machines/cpu-cluster.machine", &r));
    assert_non_null(strstr(mtf_error(s), "describes no GPU, and the device is cuda"));
    mtf_close(s);
    s = mtf_open_with(NULL);
    assert_true(rates_default(s, &r) && !r.gpu && r.flops == PRICE_RATES.flops);
    assert_true(rates_choose(s, MTF_SOURCE_DIR "/share/machines/h200.machine", &r) && r.gpu);
    close_well(s);
}

static void refuse(const char *text, const char *why)
{
    mtf_session *s = mtf_open_with(NULL);
    price_rates  r;
    assert_false(rates_read(s, text, "m", &r));
    if (!strstr(mtf_error(s), why)) fail_msg("%s\nsays: %s", text, mtf_error(s));
    mtf_close(s);
}

static void test_bad_lines(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"device abacus", "is not a line of a machine file"},
        {"product bf16 64 64 1e9 1", "is not a line of a machine file"},
        {"product bf16 64 0 1e9",
         "\"product TYPE TERMS RESULTS FLOPS\": types are those of elements or tf32"},
        {"product u9 64 64 1e9", "is not a line \"product TYPE TERMS RESULTS FLOPS\""},
        {"product tf32 64 1e9", "\"product TYPE SIDE FLOPS\": types are those of elements, and"},
        {"multiprocessors 0", "is not a line \"multiprocessors COUNT\""},
        {"multiprocessors 2000", "is not a line \"multiprocessors COUNT\""},
        {"pass rows fast", "is not a line \"pass KIND MEMORY\""},
        {"pass a-name-far-too-long-for-it 1", "is not a line \"pass KIND MEMORY\""},
        {"attention bf16 64 1e9 0", "is not a line \"attention TYPE KEY FORWARD BACKWARD\""},
        {"convolution u8x 4 1", "is not a line \"convolution TYPE CHANNELS FLOPS\""},
        {"convolution tf32 4 0", "and numbers from 1e-30 to 1e30"},
        {"convolution bf16 4 1e-308", "and numbers from 1e-30 to 1e30"},
        {"flops 1e-308", "flops takes a number from 1e-30 to 1e30, not \"1e-308\""}};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        char text[200];
        snprintf(text, sizeof text, "device cuda\n%s\n", bad[k][0]);
        refuse(text, bad[k][1]);
    }
}

static void test_lines_of_gpus(void **state)
{
    (void)state;
    static const char *const lines[] = {"product bf16 64 64 1e9", "pass rows 1e9",
                                        "attention bf16 64 1e9 1e9", "convolution bf16 64 1e9"};
    for (size_t k = 0; k < sizeof lines / sizeof *lines; k++)
        refuse(lines[k], "is a line of GPUs: write \"device cuda\" above it");
}

static void test_too_many_lines(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "product bf16 64 64 1e9\n",  "pass rows 1e9\n", "attention bf16 64 1e9 1e9\n",
        "convolution bf16 64 1e9\n", "cache 1e6 1e9\n", "axis x 1e9 1e-6\n"};
    for (size_t k = 0; k < sizeof lines / sizeof *lines; k++) {
        char text[4000] = "device cuda\n";
        for (int n = 0; n < 100; n++) strcat(text, lines[k]);
        refuse(text, ", and this is one more");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products_by_shape),
        cmocka_unit_test(test_convolutions_by_channels),
        cmocka_unit_test(test_prices_of_convolutions),
        cmocka_unit_test(test_file_and_back),
        cmocka_unit_test(test_prices),
        cmocka_unit_test(test_device_and_machine),
        cmocka_unit_test(test_bad_lines),
        cmocka_unit_test(test_lines_of_gpus),
        cmocka_unit_test(test_multiprocessors),
        cmocka_unit_test(test_too_many_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

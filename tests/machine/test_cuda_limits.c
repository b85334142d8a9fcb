/* What GPUs keep in memory has a limit, and what programs use is never dropped. */
#include "cuda/driver/cuda_device.h"
#include "cuda/driver/cuda_use.h"
#include "cuda/library/dnn_plans.h"
#include "machine/gpu_product.h"
#include "machine/trial.h"
#include "mtf_build.h"

static int compiled,
    asked; /* programs that NVRTC compiled, products that the library was asked about */
static nvrtcResult (*real_compile)(nvrtcProgram p, int n, const char *const *options);
static cuda_products library;

static nvrtcResult count_and_compile(nvrtcProgram p, int n, const char *const *options)
{
    __atomic_fetch_add(&compiled, 1, __ATOMIC_SEQ_CST);
    return real_compile(p, n, options);
}

static cublasStatus_t count_and_ask(cublasLtHandle_t h, cublasLtMatmulDesc_t how,
                                    cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                    cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                    cublasLtMatmulPreference_t wish, int most,
                                    cublasLtMatmulHeuristicResult_t found[], int *n)
{
    asked++;
    return library.cublasLtMatmulAlgoGetHeuristic(h, how, a, b, c, d, wish, most, found, n);
}

static cuda_device *device_here(void)
{
    return (cuda_device *)cuda;
}

static int modules(void)
{
    return cuda_of(context)->gpu->nmodules;
}

/* The library multiplies no integers: a kernel does. */
static trial whole_product(uint64_t seed)
{
    seed_state = seed;
    return random_product(MTF_I32, MTF_I32, 0);
}

static void assert_multiplies(loaded *l, trial *t)
{
    char *got = malloc(bytes_of(t, 0));
    step(l);
    cuda->read(context, got, l->base[0], bytes_of(t, 0));
    run_once(t, kernel_contract, 1, 1);
    assert_near(t->operands[0].type, t->count[0], got, t->memory[0]);
    free(got);
}

static void test_modules(void **state)
{
    loaded a, b;
    trial  t = whole_product(5), u = whole_product(6);
    (void)state;
    device_here()->most.modules = 1;
    load(&a, &t);
    load(&b, &u);
    assert_int_equal(modules(), 2); /* more than the limit, but both are used */
    assert_multiplies(&a, &t);
    assert_multiplies(&b, &u);
    unload(&a);
    assert_int_equal(modules(), 1);
    assert_multiplies(&b, &u);
    assert_int_equal(compiled, 2);
    load(&a, &t); /* it is compiled again */
    assert_int_equal(compiled, 3);
    assert_multiplies(&a, &t);
    unload(&b);
    unload(&a);
    assert_int_equal(modules(), 1); /* one that nothing uses is kept */
    load(&a, &t);
    assert_int_equal(compiled, 3);
    assert_multiplies(&a, &t);
    unload(&a);
    trial_free(&t);
    trial_free(&u);
}

/* What the GPU had when a program was announced is unloaded before the program is prepared. */
static void test_unloaded_after_announcing(void **state)
{
    loaded a, b;
    trial  t = whole_product(5), u = whole_product(6);
    (void)state;
    device_here()->most.modules = 1;
    load(&a, &t);
    unload(&a);
    a = (loaded){.program = {.session = session, .instrs = &t.i, .ninstrs = 1, .nbuffers = 3}};
    a.program.buffers = a.buffers;
    cuda->announce(context, &a.program);
    assert_int_equal(compiled, 1);
    load(&b, &u);
    assert_int_equal(modules(), 1);
    load(&a, &t);
    assert_int_equal(compiled, 3);
    assert_multiplies(&a, &t);
    unload(&a);
    unload(&b);
    trial_free(&t);
    trial_free(&u);
}

/* Multiplies; how often was the library asked for algorithms? */
static int choices(uint64_t seed)
{
    loaded l;
    int    before = asked;
    seed_state = seed;
    trial t = random_product(MTF_F32, MTF_F32, 3);
    load(&l, &t);
    assert_multiplies(&l, &t);
    unload(&l);
    trial_free(&t);
    return asked - before;
}

static void test_products(void **state)
{
    (void)state;
    device_here()->most.products = 2;
    assert_int_equal(choices(5), 1);
    assert_int_equal(choices(6), 1);
    assert_int_equal(choices(5), 0);
    assert_int_equal(choices(7), 1); /* in place of the second */
    assert_int_equal(device_here()->nproducts, 2);
    assert_int_equal(choices(5), 0);
    assert_int_equal(choices(6), 1);
    assert_int_equal(device_here()->nproducts, 2);
}

#if MTF_HAVE_CUDNN
static void build_nothing(dnn_graph *g, const int64_t *problem)
{
    (void)g, (void)problem;
}

static dnn_request request(int64_t number)
{
    return (dnn_request){.kind = "nothing", .problem = {number}, .build = build_nothing};
}

static bool is_kept(int64_t number)
{
    dnn_request r = request(number);
    return dnn_plans_is_begun(cuda_of(context), &r);
}

static dnn_made *begin_plan(int64_t number)
{
    dnn_request r = request(number);
    return dnn_plans_begin(cuda_of(context), &r);
}

static void test_plans(void **state)
{
    cuda_context *c = cuda_of(context);
    (void)state;
    device_here()->most.plans = 2;
    assert_true(cuda_use(c) && dnn_plans_open(c));
    dnn_made *one = begin_plan(1), *two = begin_plan(2), *three = begin_plan(3);
    assert_true(one && two && three);
    assert_true(is_kept(1) && is_kept(2) && is_kept(3)); /* they are held */
    assert_ptr_equal(begin_plan(2), two);
    dnn_plans_let(c, two);
    dnn_plans_let(c, two);
    assert_false(is_kept(2));
    dnn_plans_let(c, three);
    dnn_plans_let(c, one);
    assert_true(is_kept(1) && is_kept(3)); /* as many as the limit */
    dnn_plans_let(c, begin_plan(1));
    dnn_plans_let(c, begin_plan(4)); /* the third was not used for the longest time */
    assert_true(is_kept(1) && is_kept(4));
    assert_false(is_kept(3));
}
#endif

static int begin(void **state)
{
    (void)state;
    gpu_open();
    cuda_nvrtc *n = &device_here()->api.nvrtc;
    real_compile = n->nvrtcCompileProgram;
    n->nvrtcCompileProgram = count_and_compile;
    library = device_here()->api.products;
    device_here()->api.products.cublasLtMatmulAlgoGetHeuristic = count_and_ask;
    compiled = asked = 0;
    return 0;
}

static int end(void **state)
{
    (void)state;
    gpu_close();
    return 0;
}

static int set_up(void **state)
{
    (void)state;
    unsetenv("MTF_TEST_GPU");
    setenv("MTF_CACHE_DIR", "/proc/nowhere", 1);
    load_emulated_gpu();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_modules, begin, end),
        cmocka_unit_test_setup_teardown(test_unloaded_after_announcing, begin, end),
        cmocka_unit_test_setup_teardown(test_products, begin, end),
#if MTF_HAVE_CUDNN
        cmocka_unit_test_setup_teardown(test_plans, begin, end),
#endif
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}

/* Kernels of programs that are announced are compiled once. */
#include "cuda/driver/cuda_device.h"

#include "machine/trial.h"

#include "machine/gpu_product.h"

static int compiled;
static nvrtcResult (*real_compile)(nvrtcProgram p, int n, const char *const *options);

static nvrtcResult count_and_compile(nvrtcProgram p, int n, const char *const *options)
{
    __atomic_fetch_add(&compiled, 1, __ATOMIC_SEQ_CST);
    return real_compile(p, n, options);
}

/* The library multiplies no integers: a kernel does. */
static trial whole_product(uint64_t seed)
{
    seed_state = seed;
    return random_product(MTF_I32, MTF_I32, 0);
}

/* Announces the program that `load` makes. */
static void announce(loaded *l, trial *t)
{
    t->i.out = t->operands, t->i.nout = 1;
    t->i.in = t->operands + 1, t->i.nin = 2;
    *l = (loaded){.program = {.session = session, .instrs = &t->i, .ninstrs = 1, .nbuffers = 3}};
    l->program.buffers = l->buffers;
    cuda->announce(context, &l->program);
}

static void assert_multiplies(loaded *l, trial *t)
{
    char *got = malloc(bytes_of(t, 0));
    step(l);
    cuda->read(context, got, l->base[0], bytes_of(t, 0));
    run_once(t, kernel_contract, 1, 1);
    assert_memory_equal(got, t->memory[0], bytes_of(t, 0));
    free(got);
}

static void test_announced_kernels_are_compiled_once(void **state)
{
    loaded first, other;
    trial  t = whole_product(5), u = whole_product(6);
    (void)state;
    announce(&first, &t);
    load(&other, &u); /* its kernel is another */
    assert_int_equal(compiled, 2);
    load(&first, &t);
    assert_int_equal(compiled, 2);
    assert_multiplies(&first, &t);
    assert_multiplies(&other, &u);
    unload(&first);
    announce(&first, &t); /* the GPU has the kernel */
    load(&first, &t);
    assert_int_equal(compiled, 2);
    unload(&first);
    unload(&other);
    trial_free(&t);
    trial_free(&u);
}

static void test_announced_programs_may_end(void **state)
{
    loaded    l;
    run_state none = {0};
    trial     t = whole_product(7), u = whole_product(8);
    (void)state;
    announce(&l, &t);
    cuda->forget(context, &l.program, &none);
    assert_null(cuda_of(context)->announced);
    announce(&l, &t);
    announce(&l, &u); /* instead of the first, which has been waited for */
    assert_true(__atomic_load_n(&compiled, __ATOMIC_SEQ_CST) >= 2);
    assert_true(mtf_ok(session)); /* the context is closed with the last one */
    trial_free(&t);
    trial_free(&u);
}

static int begin(void **state)
{
    (void)state;
    gpu_open();
    cuda_nvrtc *n = &((cuda_device *)cuda)->api.nvrtc;
    real_compile = n->nvrtcCompileProgram;
    n->nvrtcCompileProgram = count_and_compile;
    compiled = 0;
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
        cmocka_unit_test_setup_teardown(test_announced_kernels_are_compiled_once, begin, end),
        cmocka_unit_test_setup_teardown(test_announced_programs_may_end, begin, end),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}

/* The GPU that is the host: threads that wait, guards, captures. */
#include "cuda/driver/cuda_device.h"
#include "cuda/driver/kernel_compile.h"
#include "cuda/step/cuda_loops.h"
#include "ground.h"
#include "machine/host_gpu.h"
#include "machine/stops.h"

enum { ROOM = 64 * 4 };

#define PARAMETERS "(i32 *out0, const i32 *in0, char *scratch, const step_words *words)\n"

static const char kernels[] =
    /* each block's numbers reversed through shared memory, plus their sum */
    "KERNEL void __launch_bounds__(64) reversed" PARAMETERS "{\n"
    "    i32 *kept = (i32 *)DYNAMIC_SHARED;\n"
    "    kept[THREAD] = in0[BLOCK * 64 + THREAD];\n"
    "    SYNC();\n"
    "    out0[BLOCK * 64 + THREAD] = kept[63 - THREAD] + group_sum<64>(kept[THREAD]);\n"
    "}\n"
    "\nKERNEL void __launch_bounds__(32) voted" PARAMETERS "{\n"
    "    u32 odd = warp_ballot(in0[THREAD] % 2 != 0);\n"
    "    out0[THREAD] = (i32)odd + shuffle_xor(in0[THREAD], 1) - shuffle(in0[THREAD], 5);\n"
    "    WARP_SYNC();\n"
    "    if (THREAD == 0) out0[32] = 0;\n"
    "    WARP_SYNC();\n"
    "    atomic_add(&out0[32], in0[THREAD]);\n"
    "}\n"
    "\nKERNEL void __launch_bounds__(64) ends_early" PARAMETERS "{\n"
    "    if (THREAD < 40) SYNC();\n"
    "}\n"
    "\nKERNEL void __launch_bounds__(64) disagrees" PARAMETERS "{\n"
    "    if (LANE < 4) WARP_SYNC();\n"
    "    else SYNC();\n"
    "}\n"
    "\nKERNEL void __launch_bounds__(64) goes_beyond" PARAMETERS "{\n"
    "    out0[THREAD + 200] = 1;\n"
    "}\n"
    "\nKERNEL void __launch_bounds__(32) is_not_aligned" PARAMETERS "{\n"
    "    store_pack<4>(out0 + 1, load_pack<4>(in0));\n"
    "}\n";

static host_gpu gpu;
static int     *in, *out;

static void launch(const char *name, int64_t blocks, int threads, int shared)
{
    char *scratch = NULL;
    void *pointers[] = {&out, &in, &scratch, &gpu.words};
    host_gpu_launch(&gpu, &(kernel_launch){name, blocks, threads, shared}, pointers);
}

static int set_up(void **state)
{
    CUdeviceptr memory[2];
    (void)state;
    unsetenv("MTF_TEST_GPU");
    gpu = host_gpu_open();
    host_gpu_load(&gpu, kernels);
    for (int k = 0; k < 2; k++)
        assert_int_equal(gpu.api.driver.cuMemAlloc(&memory[k], ROOM * sizeof(int)), 0);
    in = (int *)memory[0], out = (int *)memory[1];
    for (int k = 0; k < ROOM; k++) in[k] = k * 7919 % 997;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    gpu.api.driver.cuMemFree((CUdeviceptr)in);
    gpu.api.driver.cuMemFree((CUdeviceptr)out);
    host_gpu_close(&gpu);
    return 0;
}

static void assert_reversed(void)
{
    for (int b = 0; b < 4; b++) {
        int sum = 0;
        for (int k = 0; k < 64; k++) sum += in[b * 64 + k];
        for (int k = 0; k < 64; k++) assert_int_equal(out[b * 64 + k], in[b * 64 + 63 - k] + sum);
    }
}

static void test_threads_wait_for_one_another(void **state)
{
    (void)state;
    launch("reversed", 4, 64, 64 * sizeof(int));
    assert_reversed();
}

static void test_warps_work_together(void **state)
{
    unsigned odd = 0;
    int      sum = 0;
    (void)state;
    for (int k = 0; k < 32; k++) odd |= (unsigned)(in[k] % 2) << k, sum += in[k];
    launch("voted", 1, 32, 0);
    for (int k = 0; k < 32; k++) assert_int_equal(out[k], (int)odd + in[k ^ 1] - in[5]);
    assert_int_equal(out[32], sum);
}

typedef struct mistake {
    const char *name;
    int         threads;
    const char *sentence;
} mistake;

static void make_mistake(void *context)
{
    const mistake *m = context;
    launch(m->name, 1, m->threads, 0);
}

static void test_mistakes_end_with_a_sentence(void **state)
{
    mistake mistakes[] = {
        {"ends_early", 64, "thread 0 waits in SYNC()"},
        {"disagrees", 64, "for threads that never come"},
        {"goes_beyond", 64, "written after a piece of 1024 bytes, 0 bytes off"},
        {"is_not_aligned", 32, "not aligned"},
    };
    (void)state;
    for (size_t k = 0; k < sizeof mistakes / sizeof *mistakes; k++) {
        char said[2000];
        if (!stops(make_mistake, &mistakes[k], said, sizeof said) ||
            !strstr(said, mistakes[k].sentence))
            fail_msg("%s said: %s", mistakes[k].name, said);
    }
}

/* What two streams do is captured in the order of calls, and done when it is replayed. */
static void test_captures_are_replayed(void **state)
{
    const cuda_driver *d = &gpu.api.driver;
    CUstream           other, first = gpu.stream;
    CUevent            fork, join;
    CUgraph            graph;
    CUgraphExec        made;
    (void)state;
    assert_int_equal(d->cuStreamCreate(&other, 0), 0);
    assert_int_equal(d->cuEventCreate(&fork, 0), 0);
    assert_int_equal(d->cuEventCreate(&join, 0), 0);
    for (int k = 0; k < ROOM; k++) out[k] = -1;

    assert_int_equal(d->cuStreamBeginCapture(first, CU_STREAM_CAPTURE_MODE_RELAXED), 0);
    d->cuEventRecord(fork, first);
    d->cuStreamWaitEvent(other, fork, 0);
    gpu.stream = other;
    launch("reversed", 4, 64, 64 * sizeof(int));
    gpu.stream = first;
    d->cuEventRecord(join, other);
    d->cuStreamWaitEvent(first, join, 0);
    assert_int_not_equal(d->cuStreamSynchronize(first), 0);
    assert_int_equal(d->cuStreamEndCapture(first, &graph), 0);
    assert_int_equal(d->cuGraphInstantiate(&made, graph, 0), 0);
    assert_int_equal(d->cuGraphDestroy(graph), 0);
    assert_int_equal(out[0], -1);

    for (int round = 0; round < 2; round++) {
        in[3] += 5;
        assert_int_equal(d->cuGraphLaunch(made, first), 0);
        assert_reversed();
    }
    d->cuGraphExecDestroy(made);
    d->cuEventDestroy(fork);
    d->cuEventDestroy(join);
    launch("voted", 1, 32, 0); /* nothing is captured any more */
    assert_int_not_equal(out[32], -1);
    d->cuStreamDestroy(other);
}

static void test_text_that_is_wrong_is_refused(void **state)
{
    kernel_images images;
    fault         f = {0};
    (void)state;
    assert_false(kernel_compile(
        &gpu.api, &f, &gpu.arena,
        "KERNEL void __launch_bounds__(32) wrong(i32 *out0) { no_such(); }\n", "sm_90a", &images));
    assert_non_null(strstr(f.text, "no_such"));
}

/* A plan has room for so many kernels, and no more are written beside it. */
static void test_launches_have_a_bound(void **state)
{
    (void)state;
    mtf_session  *s = gpu.session;
    kernel_source source = kernel_source_for(&s->arena, s);
    struct {
        kernel_plan   plan;
        kernel_launch beyond;
    } room = {0};
    for (int k = 0; k < MOST_LAUNCHES; k++)
        assert_true(kernel_launch_add(&source, &room.plan, (kernel_launch){.name = "reversed"}));
    assert_false(kernel_launch_add(&source, &room.plan, (kernel_launch){.name = "one_more"}));
    assert_contains(mtf_error(s), "kernel \"one_more\" would be number 7 of an instruction");
    assert_int_equal(room.plan.nlaunches, MOST_LAUNCHES);
    assert_null(room.beyond.name);
    fault_clear(&s->fault);
}

static void test_same_text_compiles_for_a_gpu(void **state)
{
    (void)state;
    host_gpu_compile_for_real(&gpu, kernels);
}

/* The driver, not a library, has the function that it calls. */
static void test_the_kernel_of_loops_compiles_for_a_gpu(void **state)
{
    (void)state;
    host_gpu_compile_for_real(&gpu, cuda_loop_kernel);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads_wait_for_one_another),
        cmocka_unit_test(test_warps_work_together),
        cmocka_unit_test(test_mistakes_end_with_a_sentence),
        cmocka_unit_test(test_captures_are_replayed),
        cmocka_unit_test(test_text_that_is_wrong_is_refused),
        cmocka_unit_test(test_launches_have_a_bound),
        cmocka_unit_test(test_same_text_compiles_for_a_gpu),
        cmocka_unit_test(test_the_kernel_of_loops_compiles_for_a_gpu),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

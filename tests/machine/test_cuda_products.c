/* Products of the device cuda against those of the CPU.
 *
 * The GPU is the host (tests/host_cuda/README.md): shapes, strides and types are what is
 * tested here, and that a choice between algorithms changes nothing else.
 */
#include "cuda/driver/cuda_device.h"
#include "cuda/library/products.h"
#include "cuda/step/cuda_scratch.h"
#include "machine/gpu_product.h"
#include "machine/trial.h"

/* `got` is what the GPU wrote; the CPU's product comes to the trial's own memory.  Elements beside
 * the product are not touched by either. */
static void assert_same_product(trial *t, char *got)
{
    const access *c = &t->operands[0], *a = &t->operands[1], *b = &t->operands[2];
    int           k = t->i.nloops - 1;
    int64_t       results = iterations_of(t) / t->i.size[k];
    size_t        each = mtf_dtype_bytes(c->type);
    /* Only GPUs multiply f16 and f8 to f32; elements beside such a product stay as they were. */
    bool alone = (a->type == MTF_F16 || dtype_is_f8(a->type)) && c->type == MTF_F32;
    if (!alone) run_once(t, kernel_contract, 1, 1);
    for (int64_t r = 0; r < results; r++) {
        total   s = {0};
        int64_t at = offset_at(t, c, 1, r);
        for (int64_t j = 0; j < t->i.size[k]; j++)
            add_mixed_product(&s, a->type, t->memory[1], offset_at(t, a, 1, r) + j * a->stride[k],
                              b->type, t->memory[2], offset_at(t, b, 1, r) + j * b->stride[k]);
        assert_total(c->type, got, at, &s);
        if (alone) memcpy((char *)t->memory[0] + (size_t)at * each, got + (size_t)at * each, each);
        assert_total(c->type, t->memory[0], at, &s);
        memcpy(got + (size_t)at * each, (char *)t->memory[0] + (size_t)at * each, each);
    }
    assert_memory_equal(got, t->memory[0], bytes_of(t, 0));
}

static void check_product(trial *t)
{
    loaded l;
    char  *got = malloc(bytes_of(t, 0));
    load(&l, t);
    step(&l);
    cuda->read(context, got, l.base[0], bytes_of(t, 0));
    assert_same_product(t, got);
    unload(&l);
    free(got);
    trial_free(t);
}

static void test_floats(void **state)
{
    static const mtf_dtype types[] = {MTF_F32, MTF_F64, MTF_BF16, MTF_F16};
    (void)state;
    seed_state = 1;
    for (int round = 0; round < 160; round++) {
        trial t = random_product(types[round / 8 % 4], types[round / 8 % 4], round);
        check_product(&t);
    }
}

static void test_short_floats_to_f32(void **state)
{
    (void)state;
    seed_state = 2;
    for (int round = 0; round < 80; round++) {
        trial t = random_product(MTF_F32, round < 40 ? MTF_BF16 : MTF_F16, round);
        check_product(&t);
    }
}

/* One operand of batch x rows x k, contiguous along k, or `transposed`. */
static void f8_operand(trial *t, mtf_dtype type, int row, bool transposed, int64_t before)
{
    int64_t *size = t->i.size, rows = size[1 + row], k = size[3];
    access  *x = add_operand(t, type, before + size[0] * rows * k, false);
    x->offset = before;
    x->stride[0] = rows * k;
    x->stride[1 + row] = transposed ? 1 : k;
    x->stride[3] = transposed ? rows : 1;
}

/* The library makes products as the manual says that it does; a kernel of our own makes the others:
 * sizes that are not multiples of 16, other orders, odd addresses, both factors e5m2. */
static void test_f8(void **state)
{
    static const mtf_dtype pairs[][2] = {{MTF_F8E4M3, MTF_F8E4M3},
                                         {MTF_F8E4M3, MTF_F8E5M2},
                                         {MTF_F8E5M2, MTF_F8E4M3},
                                         {MTF_F8E5M2, MTF_F8E5M2}};
    (void)state;
    seed_state = 7;
    for (int round = 0; round < 96; round++) {
        const mtf_dtype *types = pairs[round % 4];
        int              odd = round / 4 % 6; /* 0, 5: none */
        int64_t          size[] = {pick(1, 3), 16 * pick(1, 4), 16 * pick(1, 4), 16 * pick(1, 5)};
        if (odd == 1) size[pick(1, 3)] -= 3;
        trial   t = trial_of(INSTR_CONTRACT, 4, size);
        access *c = add_operand(&t, MTF_F32, size[0] * size[1] * size[2], true);
        c->stride[0] = size[1] * size[2];
        c->stride[1] = round & 16 ? 1 : size[2];
        c->stride[2] = round & 16 ? size[1] : 1;
        f8_operand(&t, types[0], 0, odd == 2, odd == 4 ? 8 : 0);
        f8_operand(&t, types[1], 1, odd == 3, 0);
        t.i.out = t.operands, t.i.in = t.operands + 1;
        bool plain = (odd == 0 || odd == 5) && round % 4 != 3;
        assert_true(product_suits(&t.i) == plain);
        check_product(&t);
    }
}

/* Programs for GPUs before compute capability 8.9 have no f8 products. */
static void test_older_gpus(void **state)
{
    static const struct {
        const char *capability;
        bool        multiplies;
    } gpus[] = {{"80", false}, {"86", false}, {"89", true}, {"90", true}, {"120", true}};
    (void)state;
    if (asked_real_gpu()) skip();
    for (size_t k = 0; k < sizeof gpus / sizeof *gpus; k++) {
        setenv("MTF_HOST_CUDA_CAPABILITY", gpus[k].capability, 1);
        mtf_session *s = mtf_open_with(&(mtf_session_opts){.threads = 1, .device = "cuda"});
        assert_true(abilities_multiply(s->can, MTF_F8E4M3)); /* planned for any GPU */
        device *d = device_cuda.open(s);
        assert_non_null(d);
        assert_int_equal(abilities_multiply(s->can, MTF_F8E4M3), gpus[k].multiplies);
        assert_int_equal(abilities_multiply(s->can, MTF_F8E5M2), gpus[k].multiplies);
        assert_true(abilities_multiply(s->can, MTF_BF16));
        d->close(d);
        mtf_close(s);
    }
    unsetenv("MTF_HOST_CUDA_CAPABILITY");
}

static void test_integers_and_flags(void **state)
{
    static const mtf_dtype types[] = {MTF_I32, MTF_I64, MTF_BOOL};
    (void)state;
    seed_state = 4;
    for (int round = 0; round < 24; round++) {
        trial t = random_product(types[round / 8], types[round / 8], round);
        check_product(&t);
    }
}

/* Strides that the library cannot express: repeated, overlapping, reversed. */
static void test_odd_strides(void **state)
{
    (void)state;
    seed_state = 5;
    for (int kind = 0; kind < 4; kind++)
        for (int round = 0; round < ARITHMETIC_TYPES; round++) {
            mtf_dtype type = all_types[round];
            int64_t   size[3] = {pick(2, 70), pick(2, 70), pick(2, 140)};
            trial     t = trial_of(INSTR_CONTRACT, 3, size);
            product_operand(&t, type, 0, 1, round & 1, true);
            access *a = add_operand(&t, type, size[0] * size[2], false);
            a->stride[0] = kind == 0 ? 0 : kind == 2 ? -size[2] : kind == 3 ? size[2] : 1;
            a->stride[2] = kind == 3 ? 0 : 1;
            if (kind == 2) a->offset = (size[0] - 1) * size[2];
            product_operand(&t, type, 2, 1, round & 2, false);
            check_product(&t);
        }
}

/* Many small products between loops that the library does not run in one call. */
static void test_many_small(void **state)
{
    static const int64_t shapes[][3] = {{3, 5, 7}, {2, 3, 100}, {20, 18, 33}, {50, 49, 20}};
    (void)state;
    seed_state = 6;
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
        for (int type = 0; type < ARITHMETIC_TYPES; type++) {
            int64_t size[5] = {4, 5, shapes[k][0], shapes[k][1], shapes[k][2]};
            trial   t = trial_of(INSTR_CONTRACT, 5, size);
            product_operand(&t, all_types[type], 0, 1, k & 1, true);
            product_operand(&t, all_types[type], 0, 2, false, false);
            product_operand(&t, all_types[type], 2, 1, true, false);
            check_product(&t);
        }
}

/* Products with few columns: all transpositions, alignments and types; `slim` counts those that have
 * kernels of their own. */
static void check_few_columns(mtf_dtype out, mtf_dtype in, int rounds, int *slim)
{
    static const int64_t sizes[] = {128, 130, 132, 200, 257, 320, 520};
    for (int round = 0; round < rounds; round++) {
        int64_t size[4] = {pick(1, 2), sizes[pick(0, 6)], pick(1, in == MTF_F32 ? 8 : 4),
                           sizes[pick(0, 6)]};
        if (round & 8) {
            int64_t rows = size[1];
            size[1] = size[2], size[2] = rows;
        }
        trial t = trial_of(INSTR_CONTRACT, 4, size);
        product_operand(&t, out, 0, 1, round & 1, true);
        product_operand(&t, in, 0, 2, round & 2, false);
        product_operand(&t, in, 2, 1, round & 4, false);
        t.i.out = t.operands, t.i.nout = 1;
        t.i.in = t.operands + 1, t.i.nin = 2;
        *slim += strcmp(cuda_way(&t.i), "slim") == 0;
        check_product(&t);
    }
}

static void test_few_columns(void **state)
{
    static const mtf_dtype types[][2] = {{MTF_F32, MTF_F32},
                                         {MTF_BF16, MTF_BF16},
                                         {MTF_F32, MTF_BF16},
                                         {MTF_F16, MTF_F16},
                                         {MTF_F32, MTF_F16}};
    (void)state;
    seed_state = 7;
    for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
        int slim = 0, rounds = asked_real_gpu() || k == 1 ? 16 : 6; /* compiling takes its time */
        check_few_columns(types[k][0], types[k][1], rounds, &slim);
        if (slim < rounds / 4)
            fail_msg("only %d of %d products had kernels of their own", slim, rounds);
    }
}

/* A product that is captured is made when the capture is replayed, each time anew. */
static void test_captured(void **state)
{
    const cuda_driver *d = &cuda_of(context)->device->api.driver;
    CUstream           stream = cuda_of(context)->stream;
    CUgraph            graph;
    CUgraphExec        replayed;
    loaded             l;
    (void)state;
    seed_state = 3;
    trial t = random_product(MTF_F32, MTF_F32, 0);
    char *got = malloc(bytes_of(&t, 0));
    load(&l, &t);
    cuda->write(context, l.base[0], t.memory[0], bytes_of(&t, 0));
    /* Kernels are waited for until a step has shown that none fails. */
    assert_well(cuda->run(context, &l.program, 0, &l.run) &&
                cuda->end(context, &l.program, &l.run));
    cuda->write(context, l.base[0], t.memory[0], bytes_of(&t, 0));
    assert_int_equal(d->cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED), 0);
    assert_well(cuda->run(context, &l.program, 0, &l.run));
    assert_int_equal(d->cuStreamEndCapture(stream, &graph), 0);
    cuda->read(context, got, l.base[0], bytes_of(&t, 0));
    assert_memory_equal(got, t.memory[0], bytes_of(&t, 0)); /* nothing yet */
    assert_int_equal(d->cuGraphInstantiate(&replayed, graph, 0), 0);
    for (int round = 0; round < 2; round++) {
        fill(MTF_F32, t.memory[1], t.count[1]);
        cuda->write(context, l.base[1], t.memory[1], bytes_of(&t, 1));
        assert_int_equal(d->cuGraphLaunch(replayed, stream), 0);
        cuda->read(context, got, l.base[0], bytes_of(&t, 0));
        assert_same_product(&t, got);
    }
    d->cuGraphExecDestroy(replayed);
    d->cuGraphDestroy(graph);
    unload(&l);
    free(got);
    trial_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_floats),
        cmocka_unit_test(test_short_floats_to_f32),
        cmocka_unit_test(test_f8),
        cmocka_unit_test(test_older_gpus),
        cmocka_unit_test(test_integers_and_flags),
        cmocka_unit_test(test_odd_strides),
        cmocka_unit_test(test_many_small),
        cmocka_unit_test(test_few_columns),
        cmocka_unit_test(test_captured),
    };
    return cmocka_run_group_tests(tests, gpu_set_up, gpu_tear_down);
}

/* Products with epilogues on a GPU, by the library and in parts.
 *
 * The GPU is the host (tests/host_cuda/README.md).  With MTF_TEST_GPU=real it is this
 * machine's own, and the table of what the library accepted says something about it.
 */
#include "cuda/driver/cuda_device.h"
#include "cuda/library/products.h"
#include "program/epilogue.h"

#include "machine/trial.h"

#include "machine/gpu_product.h"

typedef struct epilogue_case {
    const char *name;
    bool        add, bias, kept, total;
    total_of    of;
    scalar_fn   activation;
} epilogue_case;

static const epilogue_case cases[] = {
    {"add", true, false, false, false, 0, 0},
    {"bias", false, true, false, false, 0, 0},
    {"add bias", true, true, false, false, 0, 0},
    {"relu", false, false, false, false, 0, FN_relu},
    {"bias relu", false, true, false, false, 0, FN_relu},
    {"gelu", false, false, false, false, 0, FN_gelu},
    {"bias gelu", false, true, false, false, 0, FN_gelu},
    {"kept gelu", false, false, true, false, 0, FN_gelu},
    {"bias kept gelu", false, true, true, false, 0, FN_gelu},
    {"gelu_grad", false, false, false, false, 0, FN_gelu_grad},
    {"gelu_grad total of c", false, false, false, true, TOTAL_OF_C, FN_gelu_grad},
    {"total of a", false, false, false, true, TOTAL_OF_A, 0},
    {"total of b", false, false, false, true, TOTAL_OF_B, 0},
};
enum { CASES = sizeof cases / sizeof *cases };

/* ---- one product ---- */

/* A dense operand along two of the loops; `transposed`: the first is innermost. */
static access *add_matrix(trial *t, mtf_dtype type, int p, int q, bool transposed, bool out)
{
    access *a = add_operand(t, type, t->i.size[p] * t->i.size[q], out);
    a->stride[p] = transposed ? 1 : t->i.size[q];
    a->stride[q] = transposed ? t->i.size[p] : 1;
    return a;
}

static access *add_vector(trial *t, mtf_dtype type, int loop, bool out)
{
    access *a = add_operand(t, type, t->i.size[loop], out);
    a->stride[loop] = 1;
    return a;
}

/* Bits of `transposed`: the result, a, b. */
static void make(trial *to, const epilogue_case *c, mtf_dtype type, const int64_t size[3],
                 int transposed)
{
    trial         t = trial_of(INSTR_CONTRACT, 3, size);
    contract_args e = {.activation = c->activation, .total_of = c->of};
    int           nin = 2, nout = 1;
    t.i.out = add_matrix(&t, type, 0, 1, transposed & 1, true);
    int row = epilogue_row(&t.i), totalled = c->of == TOTAL_OF_C ? row : c->of == TOTAL_OF_B;
    if (c->kept) add_matrix(&t, type, 0, 1, transposed & 1, true), e.kept = nout++;
    if (c->total) add_vector(&t, type, totalled, true), e.total = nout++;
    add_matrix(&t, type, 0, 2, transposed & 2, false);
    add_matrix(&t, type, 2, 1, transposed & 4, false);
    if (c->add) add_matrix(&t, type, 0, 1, transposed & 1, false), e.add = nin++;
    if (c->bias) add_vector(&t, type, row, false), e.bias = nin++;
    if (c->activation == FN_gelu_grad)
        add_matrix(&t, type, 0, 1, transposed & 1, false), e.at = nin++;
    *to = t;
    to->i.contract = e;
    to->i.out = to->operands, to->i.nout = nout;
    to->i.in = to->operands + nout, to->i.nin = nin;
}

static double value(const trial *t, int operand, int m, int64_t i, int n, int64_t j)
{
    const access *a = &t->operands[operand];
    return dtype_load(a->type, t->memory[operand], i * a->stride[m] + j * a->stride[n]);
}

static double gelu(double x)
{
    return x / (1 + exp(-2 * sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

static double gelu_slope(double x)
{
    return (gelu(x + 1e-5) - gelu(x - 1e-5)) / 2e-5;
}

/* What is stored, before any rounding, and the input of gelu. */
static double expected(const trial *t, int64_t i, int64_t j, double *kept)
{
    const contract_args *c = &t->i.contract;
    int                  in = t->i.nout;
    double               v = 0;
    for (int64_t k = 0; k < t->i.size[2]; k++)
        v += value(t, in, 0, i, 2, k) * value(t, in + 1, 2, k, 1, j);
    if (c->add) v += value(t, in + c->add, 0, i, 1, j);
    if (c->bias) v += value(t, in + c->bias, 0, i, 1, j);
    *kept = v;
    if (c->at) return v * gelu_slope(value(t, in + c->at, 0, i, 1, j));
    return c->activation == FN_gelu ? gelu(v) : c->activation == FN_relu ? fmax(v, 0) : v;
}

static void assert_value(const char *name, mtf_dtype type, const void *got, int64_t at, double want,
                         double size)
{
    /* Plans ask for gelu in short floats only: the library's is less accurate than f32. */
    double in_f32 = strstr(name, "gelu") ? 1e-4 : 1e-5;
    double rounding = type == MTF_F32 ? in_f32 : type == MTF_BF16 ? 0x1p-6 : 0x1p-9;
    double x = dtype_load(type, got, at);
    if (!(fabs(x - want) <= rounding * fmax(size, fabs(want))))
        fail_msg("%s, %s: %g, not %g", name, mtf_dtype_name(type), x, want);
}

static void check_totals(const epilogue_case *c, const trial *t, char *const *got)
{
    int64_t       rows = t->i.size[0], columns = t->i.size[1], terms = t->i.size[2];
    const access *sums = &t->operands[t->i.contract.total];
    int           along = sums->stride[0] ? 0 : 1;
    double        kept;
    for (int64_t r = 0; r < t->i.size[along]; r++) {
        double sum = 0, size = 1;
        for (int64_t k = 0; k < (c->of == TOTAL_OF_C ? along ? rows : columns : terms); k++) {
            double v = c->of == TOTAL_OF_A   ? value(t, t->i.nout, 0, r, 2, k)
                       : c->of == TOTAL_OF_B ? value(t, t->i.nout + 1, 2, k, 1, r)
                       : along               ? expected(t, k, r, &kept)
                                             : expected(t, r, k, &kept);
            sum += v, size += fabs(v);
        }
        assert_value(c->name, sums->type, got[t->i.contract.total], r, sum, size);
    }
}

static void check(const epilogue_case *c, mtf_dtype type, const int64_t size[3], int transposed)
{
    trial  t;
    loaded l;
    char  *got[MAX_OPERANDS];
    make(&t, c, type, size, transposed);
    load_all(&l, &t);
    step(&l);
    for (int o = 0; o < t.i.nout; o++) {
        got[o] = malloc(bytes_of(&t, o));
        cuda->read(context, got[o], l.base[o], bytes_of(&t, o));
    }
    for (int64_t i = 0; i < size[0]; i++)
        for (int64_t j = 0; j < size[1]; j++) {
            double  kept, want = expected(&t, i, j, &kept);
            int64_t at = i * t.operands[0].stride[0] + j * t.operands[0].stride[1];
            double  terms = 1 + (double)size[2] / 4; /* the size of what cancels */
            assert_value(c->name, type, got[0], at, want, terms);
            if (c->kept) assert_value(c->name, type, got[t.i.contract.kept], at, kept, terms);
        }
    if (c->total) check_totals(c, &t, got);
    for (int o = 0; o < t.i.nout; o++) free(got[o]);
    unload(&l);
    trial_free(&t);
}

static const mtf_dtype types[] = {MTF_F32, MTF_BF16, MTF_F16};

/* The second is one whose rows the library does not take, so that it is made in parts. */
static const int64_t sizes[][3] = {{16, 24, 40}, {7, 13, 5}, {1, 8, 3}, {64, 1, 9}, {1, 1, 1}};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* Every size, type and order of memory, not all with each other: in parts, each is compiled. */
static void check_all(bool in_parts)
{
    for (int c = 0; c < CASES; c++)
        for (int type = 0; type < 3; type++)
            for (int transposed = 0; transposed < 8; transposed++)
                if (!in_parts || transposed == (c + type) % 8)
                    check(&cases[c], types[type],
                          sizes[transposed == c % 8 ? (c + type) % SIZES : 0], transposed);
}

static void test_by_the_library(void **state)
{
    (void)state;
    seed_state = 1;
    check_all(false);
}

static void test_in_parts(void **state)
{
    (void)state;
    seed_state = 2;
    setenv("MTF_HOST_CUDA_PLAIN", "1", 1);
    gpu_close(); /* the device remembers what was accepted */
    gpu_open();
    check_all(true);
    unsetenv("MTF_HOST_CUDA_PLAIN");
    gpu_close();
    gpu_open();
}

/* ---- what the library accepts ---- */

static bool is_accepted(const epilogue_case *c, mtf_dtype type, const int64_t size[3],
                        int transposed)
{
    trial  t;
    loaded l;
    void  *at[MAX_OPERANDS];
    make(&t, c, type, size, transposed);
    load_all(&l, &t);
    for (int o = 0; o < t.noperands; o++) at[o] = l.base[o];
    product_plan *p =
        product_prepare(cuda_of(context), &session->arena, &t.i, at, true, l.run.scratch);
    assert_non_null(p);
    bool accepted = !product_is_refused(p);
    product_forget(cuda_of(context), p);
    unload(&l);
    trial_free(&t);
    return accepted;
}

/* What a real GPU does in a large model's products, after measuring. */
static void list_used(void)
{
    static const int64_t wide[3] = {3072, 8192, 768}, deep[3] = {768, 768, 32768};
    for (int c = 0; c < CASES; c++) {
        const int64_t *size = cases[c].total && cases[c].of != TOTAL_OF_C ? deep : wide;
        printf("%-22s bf16 [%lld %lld %lld] %s\n", cases[c].name, (long long)size[0],
               (long long)size[1], (long long)size[2],
               is_accepted(&cases[c], MTF_BF16, size, 1) ? "by the library" : "in parts");
    }
}

static void test_accepted(void **state)
{
    static const int64_t size[3] = {64, 128, 192};
    bool                 real = asked_real_gpu();
    (void)state;
    setenv("MTF_NO_MEASURE", "1", 1);
    for (int c = 0; c < CASES; c++)
        for (int type = 0; type < 3; type++) {
            int n = 0;
            for (int transposed = 0; transposed < 8; transposed++)
                n += is_accepted(&cases[c], types[type], size, transposed);
            printf("%-22s %-5s accepted for %d of 8 orders of memory\n", cases[c].name,
                   mtf_dtype_name(types[type]), n);
            if (!real) assert_int_equal(n, 8);
        }
    unsetenv("MTF_NO_MEASURE");
    if (real) list_used();
}

/* An epilogue that takes longer than other kernels would is not used, also by the next process. */
static void test_slow_ones(void **state)
{
    static const int64_t size[3] = {8, 16, 24};
    static const char    folder[] = HOST_CUDA_FOLDER "/slow";
    (void)state;
    if (asked_real_gpu()) skip();
    setenv("MTF_CACHE_DIR", folder, 1);
    for (int round = 0; round < 3; round++) {
        if (round == 0) assert_int_equal(system("rm -rf " HOST_CUDA_FOLDER "/slow"), 0);
        if (round == 0) setenv("MTF_HOST_CUDA_SLOW", "1", 1);
        if (round == 2) assert_int_equal(system("rm -rf " HOST_CUDA_FOLDER "/slow"), 0);
        gpu_close();
        gpu_open();
        assert_int_equal(is_accepted(&cases[1], MTF_F32, size, 0), round == 2);
        unsetenv("MTF_HOST_CUDA_SLOW");
    }
    setenv("MTF_CACHE_DIR", HOST_CUDA_FOLDER "/cache", 1);
    gpu_close();
    gpu_open();
}

/* ---- whole programs ---- */

/* Two layers with gelu, and the gradients of all that they read. */
static const char network[] =
    "x: f32[r=%d, c=%d] = input()\nw: f32[c=%d, d=%d] = input()\nb: f32[d=%d] = input()\n"
    "v: f32[d=%d, c=%d] = input()\na: f32[c=%d] = input()\n"
    "in = cast(x, type=%s) * 0.5\nw_in = cast(w, type=%s)\n"
    "h: [r, d] = einsum(in, w_in) + cast(b, type=%s)\n"
    "y: [r, c] = einsum(gelu(h), cast(v, type=%s)) + cast(a, type=%s)\n"
    "other: [r, d] = einsum(in, relu(w_in))\nthird: [r, d] = einsum(in, square(w_in))\n"
    "loss = reduce_sum(square(y)) + reduce_sum(square(other)) + reduce_sum(third)\n"
    "dx, dw, db, dv, da = gradients(loss; x, w, b, v, a)\n";

enum { RESULTS = 5 };
static const char *const inputs[RESULTS] = {"x", "w", "b", "v", "a"};
static const char *const results[RESULTS] = {"dx", "dw", "db", "dv", "da"};

static int64_t elements(const mtf_tensor *x)
{
    return mtf_shape_size(mtf_shape_of_tensor(x));
}

static void feed_random(mtf_program *p, mtf_tensor *x)
{
    float *values = malloc(sizeof *values * (size_t)elements(x));
    for (int64_t e = 0; e < elements(x); e++) values[e] = (float)pick(-16, 16) / 16;
    assert_true(mtf_feed(p, x, values));
    free(values);
}

static void run_network(const char *device_name, const char *type, const int size[3],
                        float *got[RESULTS], int64_t n[RESULTS])
{
    char         text[1000];
    mtf_tensor  *out[RESULTS];
    int          r = size[0], c = size[1], d = size[2];
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.threads = 1, .device = device_name});
    snprintf(text, sizeof text, network, r, c, c, d, d, d, c, c, type, type, type, type, type);
    mtf_graph *g = mtf_parse(s, text, "network");
    if (!g) fail_msg("%s", mtf_error(s));
    for (int k = 0; k < RESULTS; k++) out[k] = mtf_find(g, results[k]);
    mtf_program *p = mtf_compile_n(g, RESULTS, out);
    if (!p) fail_msg("%s", mtf_error(s));
    seed_state = 9;
    for (int k = 0; k < RESULTS; k++) feed_random(p, mtf_find(g, inputs[k]));
    if (!mtf_step(p)) fail_msg("%s", mtf_error(s));
    for (int k = 0; k < RESULTS; k++) {
        got[k] = malloc(sizeof(float) * (size_t)(n[k] = elements(out[k])));
        assert_true(mtf_fetch(p, out[k], got[k]));
    }
    assert_string_equal(mtf_error(s), "");
    mtf_close(s);
}

static void assert_close(int64_t n, const float *got, const float *want, double relative)
{
    double largest = 0;
    for (int64_t k = 0; k < n; k++) largest = fmax(largest, fabs((double)want[k]));
    for (int64_t k = 0; k < n; k++)
        if (!(fabs((double)got[k] - (double)want[k]) <= relative * largest))
            fail_msg("%g, not %g", (double)got[k], (double)want[k]);
}

static void compare_network(const char *type, const int size[3], double relative)
{
    float  *on_gpu[RESULTS], *on_cpu[RESULTS];
    int64_t n[RESULTS];
    run_network("cuda", type, size, on_gpu, n);
    run_network("cpu", type, size, on_cpu, n);
    for (int k = 0; k < RESULTS; k++) {
        assert_close(n[k], on_gpu[k], on_cpu[k], relative);
        free(on_gpu[k]);
        free(on_cpu[k]);
    }
}

static void test_network(void **state)
{
    static const int sizes_of[][3] = {{64, 16, 32}, {5, 7, 3}};
    (void)state;
    for (int parts = 0; parts < 2; parts++)
        for (int k = 0; k < 2; k++) {
            if (parts) setenv("MTF_HOST_CUDA_PLAIN", "1", 1);
            compare_network("f32", sizes_of[k], 1e-5);
            compare_network("bf16", sizes_of[k], 0.04);
            compare_network("f16", sizes_of[k], 0.005);
            unsetenv("MTF_HOST_CUDA_PLAIN");
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accepted), cmocka_unit_test(test_by_the_library),
        cmocka_unit_test(test_in_parts), cmocka_unit_test(test_slow_ones),
        cmocka_unit_test(test_network),
    };
    return cmocka_run_group_tests(tests, gpu_set_up, gpu_tear_down);
}

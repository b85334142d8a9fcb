/* Tests initial values of variables, on any mesh. */
#include "ground.h"

enum { MOST = 1 << 16 };

static const mtf_dim a = {"a", 60}, b = {"b", 40}, k = {"k", 3};

/* The first value of a variable in a session of its own. */
static void first_value(const char *init, mtf_shape shape, const mtf_session_opts *opts,
                        double *out)
{
    mtf_session      *s = open_as_asked(opts);
    mtf_variable_opts how = {.type = MTF_F64, .init = init};
    mtf_tensor       *w = mtf_variable(mtf_graph_new(s), "layer/w", shape, &how);
    assert_true(mtf_variable_get(w, out));
    close_well(s);
}

typedef struct spread {
    const char *init;
    double      deviation, most; /* of [k, a, b]; the largest magnitude */
} spread;

/* fan_in is 3 * 60, fan_out 3 * 40, fan_avg 150 */
static const spread spreads[] = {
    {"uniform(-1, 1)", 0.57735027, 1},
    {"normal(0, 0.5)", 0.5, 5},
    {"truncated_normal(0, 1)", 0.87962566, 2},
    {"glorot_uniform", 0.08164966, 0.14142136},
    {"glorot_normal", 0.08164966, 0.185646},
    {"he_uniform", 0.10540926, 0.18257419},
    {"he_normal", 0.10540926, 0.239668},
    {"lecun_uniform", 0.07453560, 0.12909945},
    {"lecun_normal", 0.07453560, 0.169471},
    {"variance_scaling(1, fan_in, normal)", 0.87962566 * 0.07453560, 2 * 0.0745357},
    {"variance_scaling(2, fan_out, uniform)", 0.12909944, 0.22360680},
    {"variance_scaling(0.5, fan_avg, untruncated_normal)", 0.05773503, 0.4},
};

static void test_spread(void **state)
{
    (void)state;
    double *w = malloc(MOST * sizeof *w);
    int64_t n = mtf_shape_size(mtf_shape(k, a, b));
    for (size_t i = 0; i < sizeof spreads / sizeof *spreads; i++) {
        const spread *s = &spreads[i];
        double        sum = 0, squares = 0, most = 0;
        first_value(s->init, mtf_shape(k, a, b), &(mtf_session_opts){.threads = 2}, w);
        for (int64_t j = 0; j < n; j++) {
            sum += w[j];
            squares += w[j] * w[j];
            most = fmax(most, fabs(w[j]));
        }
        assert_true(fabs(sum / (double)n) < 0.05 * s->deviation);
        double deviation = sqrt(squares / (double)n);
        if (fabs(deviation - s->deviation) > 0.03 * s->deviation || most > s->most)
            fail_msg("%s: deviation %g, at most %g", s->init, deviation, most);
    }
    free(w);
}

/* Rows or columns, whichever are shorter in number, are orthogonal and of length `gain`. */
static void check_orthogonal(const double *w, int64_t rows, int64_t cols, double gain)
{
    bool    tall = rows >= cols;
    int64_t count = tall ? cols : rows, length = tall ? rows : cols;
    for (int64_t p = 0; p < count; p++)
        for (int64_t q = 0; q <= p; q++) {
            double dot = 0;
            for (int64_t i = 0; i < length; i++)
                dot += tall ? w[i * cols + p] * w[i * cols + q] : w[p * cols + i] * w[q * cols + i];
            assert_near(dot, p == q ? gain * gain : 0, 1e-13);
        }
}

static void test_orthogonal(void **state)
{
    (void)state;
    double          *w = malloc(MOST * sizeof *w);
    mtf_session_opts plain = {.threads = 1};
    first_value("orthogonal", mtf_shape(a, b), &plain, w);
    check_orthogonal(w, 60, 40, 1);
    first_value("orthogonal(1.5)", mtf_shape(b, a), &plain, w);
    check_orthogonal(w, 40, 60, 1.5);
    first_value("orthogonal", mtf_shape(k, b, a), &plain, w);
    check_orthogonal(w, 120, 60, 1);
    first_value("orthogonal", mtf_shape(a), &plain, w);
    check_orthogonal(w, 60, 1, 1);
    free(w);
}

static void test_meshes(void **state)
{
    (void)state;
    static const char *const inits[] = {"orthogonal(0.5)", "normal_each(1, 2, 0.25)", "he_normal",
                                        "truncated_normal(1, 2)"};
    static const mtf_session_opts meshes[] = {
        {.mesh = "p:2", .layout = "a:p"},
        {.mesh = "p:2", .layout = "k:p"},
        {.mesh = "p:3", .layout = "b:p"},
        {.mesh = "p:2,q:2", .layout = "k:q,a:p"},
        {.mesh = "p:2,q:2", .layout = "b:p", .state_layout = "a:q!"},
        {.mesh = "p:5", .layout = "k:p", .device = "check"}, /* some have nothing */
    };
    double *one = malloc(MOST * sizeof *one), *many = malloc(MOST * sizeof *many);
    int64_t n = mtf_shape_size(mtf_shape(k, a, b));
    for (int i = 0; i < 4; i++) {
        first_value(inits[i], mtf_shape(k, a, b), &(mtf_session_opts){.threads = 1}, one);
        for (size_t m = 0; m < sizeof meshes / sizeof *meshes; m++) {
            first_value(inits[i], mtf_shape(k, a, b), &meshes[m], many);
            assert_memory_equal(one, many, (size_t)n * sizeof *one);
        }
    }
    free(one);
    free(many);
}

/* Each index of the first dimension has its own deviation. */
static void test_each(void **state)
{
    (void)state;
    static const double wanted[] = {1, 2, 0.25};
    double             *w = malloc(MOST * sizeof *w);
    first_value("normal_each(1, 2, 0.25)", mtf_shape(k, a, b), &(mtf_session_opts){.threads = 1},
                w);
    for (int i = 0; i < 3; i++) {
        double squares = 0;
        for (int j = 0; j < 2400; j++) squares += w[i * 2400 + j] * w[i * 2400 + j];
        assert_true(fabs(sqrt(squares / 2400) / wanted[i] - 1) < 0.05);
    }
    free(w);
}

static void refuse(const char *init, const char *part)
{
    mtf_session *s = open_two_threads();
    assert_null(
        mtf_variable(mtf_graph_new(s), "w", mtf_shape(k, a), &(mtf_variable_opts){.init = init}));
    assert_contains(mtf_error(s), part);
    assert_int_equal(mtf_close(s), 1);
}

/* A double would round the first. */
static void test_constants(void **state)
{
    (void)state;
    static const struct {
        const char *init;
        int64_t     value;
    } all[] = {{"constant(9007199254740993)", 9007199254740993},
               {"constant( -9223372036854775808 )", INT64_MIN},
               {"constant(1e3)", 1000},
               {"ones", 1}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        mtf_session      *s = open_two_threads();
        mtf_variable_opts how = {.type = MTF_I64, .init = all[i].init};
        mtf_tensor       *w = mtf_variable(mtf_graph_new(s), "w", mtf_shape(), &how);
        int64_t           got = 0;
        assert_true(mtf_variable_get(w, &got));
        if (got != all[i].value) fail_msg("%s: %lld", all[i].init, (long long)got);
        close_well(s);
    }
}

static void test_refused(void **state)
{
    (void)state;
    static const char *const none[] = {"he",
                                       "normal",
                                       "normal(1",
                                       "uniform(0, 1, 2)",
                                       "variance_scaling(1, fan, normal)",
                                       "variance_scaling(-1, fan_in, normal)",
                                       "variance_scaling(1, fan_in, cauchy)",
                                       "orthogonal(x)",
                                       "normal_each()",
                                       "normal_each(1, 2, 3, 4, 5, 6, 7, 8, 9)",
                                       "constant(inf)"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        refuse(none[i], "is not an initialiser; write one of zeros, ");
    refuse("normal_each(1, 2)",
           "shape: variable: normal_each has 2 deviations; it needs one for each index of the "
           "first dimension");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spread),    cmocka_unit_test(test_orthogonal),
        cmocka_unit_test(test_meshes),    cmocka_unit_test(test_each),
        cmocka_unit_test(test_constants), cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Tests what the device "check" reports, and what not. */
#include "run/compiled.h"

#include "ground.h"

/* ---- mistakes of ours ---- */

/* The largest of cumulated sums: two instructions, which are spoilt before they run. */
static void refuse_spoilt(void (*spoil)(program *p), const char *sentence)
{
    const float  values[12] = {1, 2, 3, 4};
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.device = "check"});
    mtf_graph   *g = mtf_graph_new(s);
    mtf_dim      rows = {"rows", 3}, n = {"n", 4};
    mtf_tensor  *x = mtf_input(g, "x", MTF_F32, mtf_shape(rows, n));
    mtf_program *p = mtf_compile(g, mtf_reduce_max(mtf_cumsum(x, n, false, false), MTF_ALL));
    program     *q = p->processors[0].program;
    assert_int_equal(q->ninstrs, 2);
    assert_true(mtf_feed(p, x, values) && mtf_step(p));
    spoil(q);
    assert_false(mtf_step(p));
    assert_contains(mtf_error(s), sentence);
    assert_int_equal(mtf_close(s), 1);
}

static void swap_instructions(program *p)
{
    instr first = p->instrs[0];
    p->instrs[0] = p->instrs[1];
    p->instrs[1] = first;
}

static void lengthen_loop(program *p)
{
    p->instrs[0].size[0]++;
}

static void test_mistakes(void **state)
{
    (void)state;
    refuse_spoilt(swap_instructions, "reads memory that nothing has written");
    refuse_spoilt(lengthen_loop, "wrote beyond its buffer");
}

/* ---- numbers that are none ---- */

/* Where a text has a line for it, with what was infinite: an input, a variable, what was computed. */
static void refuse_infinite(const char *text, float given, const char *sentence)
{
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.device = "check"});
    mtf_graph   *g = mtf_parse(s, text, "model.mtf");
    mtf_tensor  *z = mtf_find(g, "z");
    mtf_program *p = mtf_compile(g, z);
    if (strstr(text, "variable"))
        assert_true(mtf_variable_set(mtf_find(g, "w"), &(float){INFINITY}));
    assert_true(mtf_feed(p, mtf_find(g, "x"), (float[]){1, given}));
    assert_false(mtf_step(p));
    assert_contains(mtf_error(s), sentence);
    assert_int_equal(mtf_close(s), 1);
}

static void test_first_infinity(void **state)
{
    (void)state;
    refuse_infinite("x: f32[n=2] = input\n\ny = x * 2.0\nz = y - y * 3.0\n", INFINITY,
                    "made the first NaN, in \"z\" (model.mtf:4), in step 1; the input \"x\" "
                    "(model.mtf:1) holds an infinity");
    refuse_infinite("w: f32[] = variable\nx: f32[n=2] = input\nz = w * x\n", 0,
                    "made the first NaN, in \"z\" (model.mtf:3), in step 1; the variable \"w\" "
                    "(model.mtf:1) holds an infinity");
    refuse_infinite(
        "x: f32[n=2] = input\ny = exp(x)\nh: [] = reduce_sum(y)\nz = h - h * 2.0\n", 1000,
        "made the first NaN, in \"z\" (model.mtf:4), in step 1; \"y\" (model.mtf:2) had "
        "become infinite before");
}

/* All bits of a NaN may be set, as in the memory that the device poisons: the user's are his own, on
 * whichever processor, and on whatever way they take. */
static void pass_given(mtf_dtype type, const void *bits, const char *rules, bool constant)
{
    mtf_session *s =
        mtf_open_with(&(mtf_session_opts){.device = "check", .mesh = "x:2", .layout = rules});
    mtf_graph   *g = mtf_graph_new(s);
    mtf_dim      n = {"n", 4}, k = {"k", 2};
    mtf_tensor  *x = constant ? mtf_constant_data(g, bits, type, mtf_shape(n))
                              : mtf_input(g, "x", type, mtf_shape(n));
    mtf_tensor  *row = mtf_constant_data(g, (int32_t[]){3, 3}, MTF_I32, mtf_shape(k));
    mtf_tensor  *values[] = {mtf_add(mtf_scale(mtf_reverse(x, n), 2), x),
                             mtf_multiply(mtf_rename_dimension(x, "n", "m"), x),
                             mtf_cast(mtf_cast(mtf_scale(x, 3), MTF_F16), MTF_F32),
                             mtf_scale(mtf_gather(x, row, n), 2), mtf_softmax(x, n, NULL)};
    mtf_program *p = mtf_compile_n(g, 5, values);
    assert_non_null(p);
    if (!constant) assert_true(mtf_feed(p, x, bits));
    assert_true(mtf_step(p));
    close_well(s);
}

static void test_poison_of_a_user(void **state)
{
    (void)state;
    const char *const layouts[] = {"", "n:x", "m:x"};
    uint32_t          single[4] = {0, 0x3f800000, 0, UINT32_MAX};
    uint64_t          wide[4] = {0, 0, 0, UINT64_MAX}, payload[4] = {0, 0, 0, 0xffffffffe0000000};
    uint16_t          half[4] = {0, 0x3c00, 0, UINT16_MAX};
    for (int i = 0; i < 6; i++) {
        pass_given(MTF_F32, single, layouts[i / 2], i % 2);
        pass_given(MTF_F64, wide, layouts[i / 2], i % 2);
        pass_given(MTF_F64, payload, layouts[i / 2], i % 2);
        pass_given(MTF_F16, half, layouts[i / 2], i % 2);
        pass_given(MTF_BF16, half, layouts[i / 2], i % 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_mistakes),
                                       cmocka_unit_test(test_first_infinity),
                                       cmocka_unit_test(test_poison_of_a_user)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

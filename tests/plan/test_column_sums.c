/* Tests that maps add up columns in passing. */
#include "mtf_nn.h"
#include "plan/plan.h"
#include "program/map_form.h"

#include "ground.h"

typedef struct counts {
    int folds, maps, sums, most; /* sums in all, and in one map */
} counts;

/* The program of everything that `text` calls y, y1, y2, for a device that can. */
static counts plan(const char *text)
{
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.threads = 1});
    s->can.sums_columns = s->can.recomputes = true;
    mtf_graph  *g = mtf_parse(s, text, "sums");
    mtf_tensor *all[3] = {NULL};
    int         n = 0;
    counts      c = {0};
    assert_string_equal(mtf_error(s), "");
    for (int k = 0; k < 3; k++) {
        static const char *const names[] = {"y", "y1", "y2"}, *const lines[] = {"\ny: ", "\ny1",
                                                                                "\ny2"};
        if (strstr(text, lines[k])) all[n++] = mtf_find(g, names[k]);
    }
    program *p = plan_program(g, n, all, NULL);
    assert_string_equal(mtf_error(s), "");
    for (int k = 0; k < p->ninstrs; k++) {
        int sums = 0;
        c.folds += p->instrs[k].kind == INSTR_FOLD;
        if (p->instrs[k].kind != INSTR_MAP) continue;
        for (int o = 0; o < p->instrs[k].nout; o++) sums += map_sums(&p->instrs[k], o);
        c.maps++;
        c.sums += sums;
        if (sums > c.most) c.most = sums;
    }
    program_free(p);
    close_well(s);
    return c;
}

static void test_a_fold_of_columns_is_part_of_the_map(void **state)
{
    (void)state;
    counts c = plan("x: f32[r=64, c=48] = input\ny: [c] = reduce_sum(exp(x), over=(r))\n");
    assert_int_equal(c.folds, 0);
    assert_int_equal(c.maps, 1);
    assert_int_equal(c.sums, 1);
    /* The map's own result is still wanted. */
    c = plan("x: f32[a=8, b=8, c=48] = input\ny1 = exp(x)\ny: [c] = reduce_sum(y1, over=(a, b))\n");
    assert_int_equal(c.folds, 0);
    assert_int_equal(c.sums, 1);
}

/* Sums of different things that are made of the same operand are one pass over it. */
static void test_sums_of_one_operand_join(void **state)
{
    (void)state;
    counts c = plan("x: f32[r=64, c=48] = input\nm: f32[r=64] = input\n"
                    "y: [c] = reduce_sum(exp(x) * m, over=(r))\n"
                    "y1: [c] = reduce_sum(x, over=(r))\ny2 = x * x + 1\n");
    assert_int_equal(c.folds, 0);
    assert_int_equal(c.maps, 1);
    assert_int_equal(c.most, 2);
}

/* A norm's gradient: its scale, its bias and what comes before are one map. */
static void test_the_gradient_of_a_norm_is_one_map(void **state)
{
    (void)state;
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.threads = 1});
    s->can.sums_columns = s->can.recomputes = true;
    mtf_graph  *g = mtf_graph_new(s);
    mtf_dim     rows = {"rows", 64}, model = {"model", 256}, other = {"other", 256};
    mtf_tensor *x = mtf_input(g, "x", MTF_F32, mtf_shape(rows, model));
    mtf_tensor *w = mtf_variable(g, "w", mtf_shape(model, other), NULL);
    mtf_tensor *b = mtf_variable(g, "b", mtf_shape(model), NULL);
    mtf_tensor *h = mtf_layer_norm(mtf_add(x, b), model, NULL);
    mtf_tensor *y = mtf_reduce_sum(mtf_square(mtf_einsum(mtf_shape(rows, other), h, w)), MTF_ALL);
    mtf_tensor *of[8], *grads[8];
    int         n = mtf_variables(g, of, 8), most = 0, folds = 0;
    mtf_gradients(1, &y, n, of, NULL, grads);
    program *p = plan_program(g, n, grads, NULL);
    assert_string_equal(mtf_error(s), "");
    for (int k = 0; k < p->ninstrs; k++) {
        int sums = 0;
        folds += p->instrs[k].kind == INSTR_FOLD;
        for (int o = 0; p->instrs[k].kind == INSTR_MAP && o < p->instrs[k].nout; o++)
            sums += map_sums(&p->instrs[k], o);
        if (sums > most) most = sums;
    }
    assert_int_equal(n, 4); /* w, b, and the norm's two */
    assert_int_equal(most, 3);
    assert_int_equal(folds, 0);
    program_free(p);
    close_well(s);
}

/* Few rows, long rows, other folds, products that no map reads. */
static void test_what_stays_a_fold(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "x: f32[r=16, c=48] = input\ny: [c] = reduce_sum(exp(x), over=(r))\n",
        "x: f32[r=64, c=5000] = input\ny: [c] = reduce_sum(exp(x), over=(r))\n",
        "x: f32[r=64, c=48] = input\ny: [c] = reduce_max(exp(x), over=(r))\n",
        "x: f64[r=64, c=48] = input\ny: [c] = reduce_sum(exp(x), over=(r))\n",
        "x: f32[a=8, b=64, c=48] = input\ny: [a, c] = reduce_sum(exp(x), over=(b))\n",
        ("x: f32[r=64, k=40] = input\nw: f32[k=40, c=48] = input\nz: [r, c] = einsum(x, w)\n"
         "y: [c] = reduce_sum(z, over=(r))\ny1 = z\n"),
        "x: f32[r=64, c=48] = input\ny: [c] = reduce_sum(x, over=(r))\n",
    };
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        counts c = plan(texts[k]);
        assert_int_equal(c.sums, 0);
    }
}

/* Who reads a sum reads it when it is complete. */
static void test_a_sum_is_read_after_all_rows(void **state)
{
    (void)state;
    counts c = plan("x: f32[r=64, c=48] = input\ns: [c] = reduce_sum(exp(x), over=(r))\n"
                    "y: [r, c] = exp(x) / s\ny1: [c] = cast(s, type=bf16)\n");
    assert_int_equal(c.sums, 1);
    assert_int_equal(c.folds, 0);
    assert_true(c.maps >= 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_fold_of_columns_is_part_of_the_map),
        cmocka_unit_test(test_sums_of_one_operand_join),
        cmocka_unit_test(test_the_gradient_of_a_norm_is_one_map),
        cmocka_unit_test(test_what_stays_a_fold),
        cmocka_unit_test(test_a_sum_is_read_after_all_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

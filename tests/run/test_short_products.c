/* Products of bf16 with and without the chip's own instructions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/session.h"
#include "plan/plan.h"
#include "price/rates.h"

#include <cmocka.h>

enum { ROWS = 40, INNER = 36, COLS = 28 };

/* A product, one that sums what the layout cuts, and the gradients of both. */
static const char text[] = "x: bf16[rows=40, inner=36] = input\n"
                           "w: bf16[inner=36, cols=28] = input\n"
                           "v: bf16[cols=28, rows=40] = input\n"
                           "y: [rows, cols] = einsum(x, w)\n"
                           "z: [inner] = einsum(x, y, v)\n"
                           "loss = reduce_sum(z)\n"
                           "dx, dw = gradients(loss; x, w)\n";

static void fill(uint16_t *to, int n, unsigned seed)
{
    for (int k = 0; k < n; k++) {
        seed = seed * 1664525u + 1013904223u;
        to[k] = (uint16_t)(0x3f00u | (seed >> 16 & 0x807fu));
    }
}

/* The fetches one after the other, widened; `can`: what the device multiplies itself. */
static int run(const char *const cut[2], unsigned can, float *to)
{
    static const struct {
        const char *name;
        int         size;
    } feeds[] = {{"x", ROWS * INNER}, {"w", INNER * COLS}, {"v", COLS * ROWS}},
      fetched[] = {{"y", ROWS * COLS}, {"z", INNER}, {"dx", ROWS * INNER}, {"dw", INNER * COLS}};
    uint16_t     data[ROWS * INNER];
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.mesh = cut[0], .layout = cut[1]});
    mtf_graph   *g = mtf_parse(s, text, NULL);
    mtf_tensor  *t[4];
    int          n = 0;
    s->can.products = can;
    for (int k = 0; k < 4; k++) t[k] = mtf_find(g, fetched[k].name);
    mtf_program *p = mtf_compile_n(g, 4, t);
    for (int k = 0; k < 3; k++) {
        fill(data, feeds[k].size, (unsigned)k + 7);
        mtf_feed(p, mtf_find(g, feeds[k].name), data);
    }
    mtf_step(p);
    for (int k = 0; k < 4; k++) {
        mtf_fetch(p, t[k], data);
        for (int i = 0; i < fetched[k].size; i++) to[n++] = bf16_to_f32(data[i]);
    }
    assert_true(mtf_ok(s));
    mtf_close(s);
    return n;
}

/* Each result is rounded to bf16 once, from sums that differ in their last bits: mostly the same, and
 * never farther than what one rounding makes of it further on. */
static void assert_close(int n, const float *a, const float *b)
{
    int other = 0;
    for (int k = 0; k < n; k++) {
        float size = a[k] < 0 ? -a[k] : a[k], apart = a[k] < b[k] ? b[k] - a[k] : a[k] - b[k];
        assert_true(apart <= 0x1p-6f * size + 0x1p-4f);
        other += apart > 0;
    }
    assert_true(other < n / 20);
}

static void test_both_ways(void **state)
{
    (void)state;
    static const char *const layouts[][2] = {
        {NULL, NULL}, {"p:2", "rows:p"}, {"p:2", "inner:p"}, {"p:2,q:2", "rows:p,inner:q"}};
    static float one[4 * ROWS * INNER], other[4 * ROWS * INNER];
    unsigned     bf16 = 1u << MTF_BF16;
    for (size_t k = 0; k < sizeof layouts / sizeof *layouts; k++) {
        int n = run(layouts[k], bf16, one);
        assert_int_equal(run(layouts[k], 0, other), n);
        assert_close(n, one, other);
    }
}

/* How many instructions of a kind the text's programs have, and how many bf16 products. */
static int count(unsigned can, int *shorts)
{
    mtf_session *s = mtf_open_with(NULL);
    mtf_graph   *g = mtf_parse(s, text, NULL);
    mtf_tensor  *y = mtf_find(g, "y");
    int          maps = 0;
    s->can.products = can;
    program *p = plan_program(g, 1, &y, NULL);
    assert_non_null(p);
    *shorts = 0;
    for (int k = 0; k < p->ninstrs; k++) {
        maps += p->instrs[k].kind == INSTR_MAP;
        *shorts += p->instrs[k].kind == INSTR_CONTRACT && p->instrs[k].in[0].type == MTF_BF16;
    }
    program_free(p);
    mtf_close(s);
    return maps;
}

/* Operands and result are widened and rounded only for a device that cannot. */
static void test_nothing_widened(void **state)
{
    (void)state;
    int shorts;
    assert_int_equal(count(1u << MTF_BF16, &shorts), 0);
    assert_int_equal(shorts, 1);
    assert_int_equal(count(0, &shorts), 3);
    assert_int_equal(shorts, 0);
}

/* A machine file says what programs are planned for; rates alone say nothing about it. */
static void test_other_machines(void **state)
{
    (void)state;
    mtf_session *s = mtf_open_with(NULL);
    price_rates  r;
    abilities    here = s->can;
    assert_true(rates_read(s, "flops 1e9\nmultiplies f16\n", "m", &r));
    rates_plan_for(&r, s);
    assert_true(abilities_multiply(s->can, MTF_F16) && !abilities_multiply(s->can, MTF_BF16));
    assert_true(rates_read(s, "flops 1e9\n", "m", &r));
    rates_plan_for(&r, s);
    assert_int_equal(s->can.products, 0);
    s->can = here, r = PRICE_RATES;
    assert_true(rates_choose(s, "flops=1e9", &r));
    rates_plan_for(&r, s);
    assert_int_equal(s->can.products, here.products);
    assert_false(rates_read(s, "multiplies bf17\n", "m", &r));
    assert_non_null(
        strstr(mtf_error(s), "m:1: \"multiplies bf17\" is not a line \"multiplies TYPE\""));
    mtf_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_both_ways),
                                       cmocka_unit_test(test_nothing_widened),
                                       cmocka_unit_test(test_other_machines)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

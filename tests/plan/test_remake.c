/* Tests values that are recomputed instead of being kept. */
#include <math.h>

#include "run/compiled.h"

#include "ground.h"

enum { ROWS = 64, COLS = 512, LAYERS = 4, BYTES = ROWS * COLS * 4 };

/* Norms and products, one after the other; then, from the last, what each norm gave and what it had
 * is used again, as gradients do it, but not its bias.  At the end a loop, whose brackets know each
 * other by number. */
static void write_graph(char *text, size_t room, bool loop_between)
{
    static const char loop[] = "%s, n%d = loop(%s, n, trips=2) {\n    body(v, m) {\n"
                               "        yield v * 0.5, m + 1\n    }\n}\n";
    size_t            n = 0;
#define ADD(...) n += (size_t)snprintf(text + n, room - n, __VA_ARGS__)
    ADD("a: f32[r=%d, c=%d] = input()\nn = 0\nx0 = exp(a)\n", ROWS, COLS);
    ADD("f: f32[k=3, c=%d] = variable(init=\"normal(0, 0.05)\")\n", COLS);
    ADD("bias: [c] = reduce_sum(f, over=(k))\n");
    for (int k = 0; k < LAYERS; k++) {
        ADD("w%d: f32[c=%d, d=%d] = variable(init=\"normal(0, 0.05)\")\n", k, COLS, COLS);
        ADD("s%d: [r] = rsqrt(reduce_sum(square(x%d), over=(c)))\nh%d = x%d * s%d + bias\n", k, k,
            k, k, k);
        ADD("z%d: [r, d] = einsum(h%d, w%d)\n", k, k, k);
        ADD("x%d = x%d + rename_dimension(z%d, from=d, to=c)\n", k + 1, k, k);
    }
    ADD("y%d = reduce_sum(x%d)\n", LAYERS, LAYERS);
    if (loop_between) ADD(loop, "u", 1, "y4");
    for (int k = LAYERS - 1; k >= 0; k--) {
        ADD("g%d: [c, e] = einsum(h%d, rename_dimension(h%d, from=c, to=e))\n", k, k, k);
        ADD("y%d = y%d + reduce_sum(square(g%d)) + reduce_sum(sin(x%d)) + reduce_sum(s%d)\n", k,
            k + 1, k, k, k);
    }
    ADD(loop, "last", 2, "y0");
    if (loop_between)
        ADD("y = last + u\n");
    else
        ADD("y = last\n");
#undef ADD
}

static int run(bool check, bool loop_between, float *y, int64_t *peak)
{
    static float a[ROWS * COLS];
    char         text[4000];
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.threads = 2, .seed = 7});
    write_graph(text, sizeof text, loop_between);
    mtf_graph *g = mtf_parse(s, text, "norms");
    for (int k = 0; k < ROWS * COLS; k++) a[k] = (float)(k % 29) / 29 - 0.5f;
    mtf_tensor  *out = g ? mtf_find(g, "y") : NULL;
    mtf_program *p = check ? compile_checked(g, 1, &out) : mtf_compile(g, out);
    assert_non_null(p);
    assert_true(mtf_feed(p, mtf_find(g, "a"), a) && mtf_step(p) && mtf_fetch(p, out, y));
    const program *q = first_program(p);
    int            remade = 0;
    for (int k = 0; k < q->ninstrs; k++) remade += q->instrs[k].remade;
    *peak = q->slab_bytes;
    close_well(s);
    return remade;
}

/* All but the last, which is wanted at once.  The plain way keeps all. */
static void test_norms_are_made_again(void **state)
{
    (void)state;
    float   y, plain;
    int64_t peak, other;
    assert_int_equal(run(false, false, &y, &peak), LAYERS - 1);
    assert_int_equal(run(true, false, &plain, &other), 0);
    assert_true(fabsf(y - plain) <= 1e-5f * fabsf(plain));
    /* The input, x of each layer, the largest product, and no more than three others beside. */
    assert_in_range(peak, 0, (1 + LAYERS + 3) * BYTES + COLS * COLS * 4 + 64 * 1024);
}

/* What comes after a loop is not made from what was there before it. */
static void test_not_across_loops(void **state)
{
    (void)state;
    float   y, plain;
    int64_t peak, other;
    assert_int_equal(run(false, true, &y, &peak), 0);
    assert_int_equal(run(true, true, &plain, &other), 0);
    assert_true(fabsf(y - plain) <= 1e-5f * fabsf(plain));
}

/* h = 2 x + x turned, from one buffer in two orders; wanted by a product at once, and by another one
 * after all that fills memory. */
static void test_two_views_of_one_buffer(void **state)
{
    (void)state;
    enum { SIDE = 160, WIDE = 1000 };
    static const char text[] =
        "a: f32[i=160, j=160] = input()\n"
        "w: f32[j=160, k=1000] = variable(init=\"normal(0, 0.1)\")\n"
        "x = sin(a)\nt = rename_dimension(rename_dimension(rename_dimension("
        "x, from=i, to=l), from=j, to=i), from=l, to=j)\n"
        "h = x + x + t\nz: [i, k] = einsum(h, w)\ny1 = reduce_sum(square(z))\n"
        "g: [j, m] = einsum(h, rename_dimension(h, from=j, to=m))\n"
        "y = y1 + reduce_sum(square(g)) + reduce_sum(cos(x))\n";
    static float a[SIDE * SIDE];
    float        y[2];
    int          remade = 0;
    for (int k = 0; k < SIDE * SIDE; k++) a[k] = (float)(k % 31) / 31 - 0.3f;
    for (int check = 0; check < 2; check++) {
        mtf_session *s = mtf_open_with(&(mtf_session_opts){.threads = 1, .seed = 3});
        mtf_graph   *g = mtf_parse(s, text, "views");
        mtf_tensor  *out = g ? mtf_find(g, "y") : NULL;
        mtf_program *p = check ? compile_checked(g, 1, &out) : mtf_compile(g, out);
        assert_non_null(p);
        assert_true(mtf_feed(p, mtf_find(g, "a"), a) && mtf_step(p) &&
                    mtf_fetch(p, out, &y[check]));
        const program *q = first_program(p);
        for (int k = 0; k < q->ninstrs; k++) remade += q->instrs[k].remade;
        close_well(s);
    }
    assert_int_equal(remade, 1);
    assert_true(fabsf(y[0] - y[1]) <= 1e-5f * fabsf(y[1]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_norms_are_made_again),
        cmocka_unit_test(test_not_across_loops),
        cmocka_unit_test(test_two_views_of_one_buffer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Tests that rows of matrices are put apart as a device wants them. */
#include "base/whole.h"
#include "run/compiled.h"

#include "ground.h"

enum { ROWS = 30, COLUMNS = 49, APART = 52, TERMS = 8, UNIT = 16 };

typedef struct outcome {
    int64_t apart[4]; /* rows of the results of the first products */
    int     products;
    int64_t bytes; /* of all temporaries */
    float   y[ROWS * COLUMNS];
} outcome;

static void feed_both(mtf_program *p, mtf_graph *g)
{
    float values[ROWS * COLUMNS];
    for (int k = 0; k < ROWS * COLUMNS; k++) values[k] = (float)(k * 5 % 17) / 17 - 0.4f;
    assert_true(mtf_feed(p, mtf_find(g, "x"), values) && mtf_feed(p, mtf_find(g, "w"), values));
}

static void run(const char *text, int row_bytes, outcome *o)
{
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.threads = 1});
    s->can.row_bytes = row_bytes;
    mtf_graph   *g = mtf_parse(s, text, "rows");
    mtf_tensor  *y = g ? mtf_find(g, "y") : NULL;
    mtf_program *p = mtf_compile(g, y);
    memset(o, 0, sizeof *o);
    assert_string_equal(mtf_error(s), "");
    const program *q = first_program(p);
    feed_both(p, g);
    assert_true(mtf_step(p) && mtf_fetch(p, y, o->y));
    for (int k = 0; k < q->ninstrs; k++) {
        const instr *i = &q->instrs[k];
        if (i->kind == INSTR_CONTRACT)
            o->apart[o->products++] =
                max_of(i->out[0].stride[i->nloops - 3], i->out[0].stride[i->nloops - 2]);
    }
    for (int b = 0; b < q->nbuffers; b++)
        if (q->buffers[b].kind == BUFFER_TEMPORARY) o->bytes += q->buffers[b].bytes;
    close_well(s);
}

/* The rows of the first product are so far apart; results are the same. */
static void expect(const char *text, int64_t apart)
{
    static outcome plain, o;
    run(text, 0, &plain);
    run(text, UNIT, &o);
    for (int k = 0; k < ROWS * COLUMNS; k++) assert_float_equal(o.y[k], plain.y[k], 1e-5);
    assert_int_equal(o.products, plain.products);
    assert_int_equal(o.apart[0], apart);
    if (apart == plain.apart[0]) assert_int_equal(o.bytes, plain.bytes);
}

#define PRODUCT                                                                                    \
    "x: f32[row=30, k=8] = input\nw: f32[k=8, column=49] = input\nt: [row, column] = einsum(x, "   \
    "w)\n"

/* As the logits of an odd vocabulary: a softmax, and products with what follows. */
static void test_rows_of_a_product(void **state)
{
    (void)state;
    expect(PRODUCT "y = softmax(t, dim=column)\n", APART);
    expect(PRODUCT "s = softmax(t, dim=column)\nz: [k, column] = einsum(x, s)\ny = exp(z)\n",
           APART);
    expect(PRODUCT "y: [row] = reduce_sum(exp(t))\n", APART);
}

static void test_parts_of_rows(void **state)
{
    (void)state;
    expect(PRODUCT "u = exp(t)\ny = slice(u, dim=column, begin=3, size=40)\n", APART);
    expect(PRODUCT "u: [column, row] = transpose(t)\ny = exp(u)\n", APART);
    expect(PRODUCT "y = exp(reverse(t, dim=row))\n", APART);
}

/* What goes over the ends of rows, walks along them by itself, or reads them backwards. */
static void test_rows_that_stay(void **state)
{
    (void)state;
    expect(PRODUCT "y = cumsum(t, dim=column)\n", COLUMNS);
    expect(PRODUCT "r: [all=1470] = reshape(t)\ny = exp(r) * reverse(r, dim=all)\n", COLUMNS);
    expect(PRODUCT "y = exp(reverse(t, dim=column))\n", COLUMNS);
    expect(PRODUCT "y = t\n", COLUMNS); /* who fetches it wants it as it is */
}

/* A few columns would become too many, and 48 are right. */
static void test_rows_that_need_nothing(void **state)
{
    (void)state;
    expect("x: f32[row=30, k=8] = input\nw: f32[k=8, column=5] = input\n"
           "t: [row, column] = einsum(x, w)\ny = exp(t)\n",
           5);
    expect("x: f32[row=30, k=8] = input\nw: f32[k=8, column=48] = input\n"
           "t: [row, column] = einsum(x, w)\ny = exp(t)\n",
           48);
}

/* What a loop adds up lies as the products that add to it. */
static void test_sums_of_loops(void **state)
{
    (void)state;
    expect(
        "x: f32[row=30, k=8] = input\nw: f32[k=8, column=49] = input\n"
        "n, total = loop(w, trips=3) {\n    body(v; i) {\n        t: [row, column] = einsum(x, v)\n"
        "        yield v * 0.5; t\n    }\n}\ny = exp(total)\n",
        APART);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_of_a_product), cmocka_unit_test(test_parts_of_rows),
        cmocka_unit_test(test_rows_that_stay),    cmocka_unit_test(test_rows_that_need_nothing),
        cmocka_unit_test(test_sums_of_loops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

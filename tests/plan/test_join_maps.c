/* Tests that maps of one large operand are joined. */
#include "run/compiled.h"

#include "ground.h"

enum { ROWS = 128, COLS = 256, MOST = ROWS * COLS };

typedef struct outcome {
    int     maps;                      /* over all of an input */
    int     products, products_before; /* all, and those before the last such map */
    int64_t peak;
    float   y[2][MOST];
} outcome;

static bool is_large(const instr *i)
{
    return i->kind == INSTR_MAP && instr_elements(i) == MOST;
}

static void fill(mtf_program *p, mtf_graph *g, const char *name, int n)
{
    static float values[MOST];
    mtf_tensor  *x = mtf_find(g, name);
    for (int k = 0; k < MOST; k++) values[k] = (float)((k * n) % 37) / 37 - 0.4f;
    if (x) assert_true(mtf_feed(p, x, values));
}

/* What `text` calls y1 and y2, from inputs a and b, on a device that joins maps or does not. */
static outcome *run(const char *text, bool joins)
{
    outcome     *o = calloc(1, sizeof *o);
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.threads = 2, .seed = 3});
    s->can.recomputes = joins;
    mtf_graph  *g = mtf_parse(s, text, "joining");
    mtf_tensor *all[2] = {g ? mtf_find(g, "y1") : NULL, g ? mtf_find(g, "y2") : NULL};
    assert_string_equal(mtf_error(s), "");
    mtf_program *p = mtf_compile_n(g, 2, all);
    assert_string_equal(mtf_error(s), "");
    fill(p, g, "a", 5);
    fill(p, g, "b", 7);
    assert_true(mtf_step(p) && mtf_fetch(p, all[0], o->y[0]) && mtf_fetch(p, all[1], o->y[1]));
    const program *q = first_program(p);
    o->peak = q->slab_bytes;
    for (int k = 0; k < q->ninstrs; k++) {
        o->products += q->instrs[k].kind == INSTR_CONTRACT;
        o->maps += is_large(&q->instrs[k]);
        if (is_large(&q->instrs[k])) o->products_before = o->products;
    }
    close_well(s);
    return o;
}

/* So many large maps become so many, and no bit changes. */
static void expect(const char *text, int apart, int joined)
{
    outcome *plain = run(text, false), *o = run(text, true);
    assert_memory_equal(o->y, plain->y, sizeof o->y);
    assert_int_equal(plain->maps, apart);
    assert_int_equal(o->maps, joined);
    assert_true(o->peak <= plain->peak);
    free(plain);
    free(o);
}

#define INPUTS                                                                                     \
    "a: f32[r=128, c=256] = input\nb: f32[r=128, c=256] = input\n"                                 \
    "w: f32[c=256, d=256] = variable(init=\"normal(0, 0.1)\")\n"
/* Takes so much memory that what follows does not matter for the peak. */
#define PEAK                                                                                       \
    "v: f32[c=256, k=4096] = variable(init=\"normal(0, 0.1)\")\nbig: [d, k] = einsum(w, v)\n"      \
    "s = reduce_sum(square(big))\n"

/* As gelu and its derivative: a product has to wait for the joint map. */
static void test_two_maps_of_one_operand(void **state)
{
    (void)state;
    static const char text[] =
        INPUTS        PEAK "h = gelu(a)\ny1: [r, d] = einsum(h, w)\ny2 = tanh(a) * b + s\n";
    expect(text, 2, 1);
    outcome *o = run(text, true);
    assert_int_equal(o->products, 2);
    assert_int_equal(o->products_before, 1);
    free(o);
}

/* As a norm and its gradient: products in between depend on the first map, or the second on them. */
static void test_what_depends_on_the_first_map_follows(void **state)
{
    (void)state;
    static const char text[] = INPUTS PEAK
        "t = rename_dimension(w, from=c, to=e)\nh = gelu(a)\n"
        "g1: [c, e] = einsum(h, rename_dimension(b, from=c, to=e))\n"
        "d1: [r, d] = einsum(b, w)\ng2: [c, e] = einsum(h, rename_dimension(a, from=c, to=e))\n"
        "d2: [r, e] = einsum(d1, t)\ny2 = tanh(a) * rename_dimension(d2, from=e, to=c) + s\n"
        "y1 = g1 + g2\n";
    expect(text, 2, 1);
    outcome *o = run(text, true);
    assert_int_equal(o->products, 5);
    assert_int_equal(o->products_before, 3);
    free(o);
}

/* What the first map computes is read, too; rows may be folded by one of them. */
static void test_results_and_folds(void **state)
{
    (void)state;
    expect(INPUTS PEAK "h = gelu(a)\ny1: [r, d] = einsum(h, w)\ny2 = h * b + s\n", 2, 1);
    expect(INPUTS PEAK "h = gelu(a)\ny1: [r, d] = einsum(h, w)\n"
                       "y2 = a - reduce_sum(a * b, over=(c)) * s\n",
           2, 1);
}

/* As a loss and its gradient: a small map between them goes on with numbers of rows, which something
 * else has read before. */
static void test_what_goes_on_with_rows(void **state)
{
    (void)state;
    expect(INPUTS PEAK "l: [r] = log(reduce_sum(exp(a), over=(c)))\ny1 = reduce_sum(l)\n"
                       "t = reciprocal(l + 20.0) * s\ny2 = exp(a) * t\n",
           2, 1);
}

/* One map's loop is two of the other's. */
static void test_other_loops(void **state)
{
    (void)state;
    expect(INPUTS PEAK "x: [i=8, j=16, c=256] = reshape(a)\nh = gelu(x)\n"
                       "y1: [i, j, d] = einsum(h, w)\ny2 = tanh(a) * b + s\n",
           2, 1);
    expect(INPUTS PEAK "h = gelu(a)\ny1: [r, d] = einsum(h, w)\n"
                       "x: [i=8, j=16, c=256] = reshape(a)\ny: [i=8, j=16, c=256] = reshape(b)\n"
                       "y2 = tanh(x) * y + s\n",
           2, 1);
}

static void test_what_stays_apart(void **state)
{
    (void)state;
    static const char *const texts[] = {
        /* The peak of memory would rise. */
        INPUTS "h = gelu(a)\ny1: [r, d] = einsum(h, w)\ny2 = tanh(a) * b\n",
        /* The second depends on the product of the first. */
        INPUTS PEAK "h = gelu(a)\ny1: [r, d] = einsum(h, w)\n"
                    "y2 = tanh(a) * rename_dimension(y1, from=d, to=c) + s\n",
        /* Other operands. */
        INPUTS PEAK "h = gelu(a)\ny1: [r, d] = einsum(h, w)\ny2 = tanh(b) + s\n",
        /* Both fold rows. */
        INPUTS PEAK "h = a * reduce_sum(a, over=(c))\ny1: [r, d] = einsum(h, w)\n"
                    "y2 = a - reduce_max(a, over=(c)) + s\n",
        /* A loop lies between them. */
        INPUTS PEAK "h = gelu(a)\ny1: [r, d] = einsum(h, w)\nz, n = loop(s, 0, trips=2) {\n"
                    "    body(v, m) {\n        yield v * 0.5, m + 1\n    }\n}\n"
                    "y2 = tanh(a) * b + z\n",
        /* In another order. */
        INPUTS PEAK "h = gelu(a)\ny1: [r, d] = einsum(h, w)\nf: [p=256, q=128] = reshape(a)\n"
                    "u: [q, p] = transpose(f)\ny2 = tanh(u) + s\n",
    };
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) expect(texts[k], 2, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_maps_of_one_operand),
        cmocka_unit_test(test_what_depends_on_the_first_map_follows),
        cmocka_unit_test(test_results_and_folds),
        cmocka_unit_test(test_what_goes_on_with_rows),
        cmocka_unit_test(test_other_loops),
        cmocka_unit_test(test_what_stays_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Tests that maps of variables are put first. */
#include "run/compiled.h"

#include "ground.h"

typedef struct outcome {
    int     first; /* maps before anything else */
    int     moves;
    int64_t peak;
    float   y[64], w[64 * 512];
} outcome;

static void run(const char *text, bool groups, outcome *o)
{
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.threads = 1, .seed = 9});
    s->can.groups = groups;
    mtf_graph   *g = mtf_parse(s, text, "hoisting");
    mtf_tensor  *y = g ? mtf_find(g, "y") : NULL;
    mtf_program *p = mtf_compile(g, y);
    float        a[64];
    memset(o, 0, sizeof *o);
    for (int k = 0; k < 64; k++) a[k] = (float)(k * 5 % 17) / 17 - 0.4f;
    assert_string_equal(mtf_error(s), "");
    assert_true(mtf_feed(p, mtf_find(g, "a"), a));
    for (int k = 0; k < 2; k++) assert_true(mtf_step(p));
    assert_true(mtf_fetch(p, y, o->y) && mtf_variable_get(mtf_find(g, "w0"), o->w));
    const program *q = first_program(p);
    while (q->instrs[o->first].kind == INSTR_MAP) o->first++;
    for (int k = 0; k < q->ninstrs; k++) o->moves += q->instrs[k].kind == INSTR_MOVE;
    o->peak = q->slab_bytes;
    close_well(s);
}

/* So many maps come first; no bit changes, and memory does not grow. */
static void expect(const char *text, int first)
{
    static outcome plain, o;
    run(text, false, &plain);
    run(text, true, &o);
    assert_memory_equal(o.y, plain.y, sizeof o.y);
    assert_memory_equal(o.w, plain.w, sizeof o.w);
    assert_int_equal(o.first, first);
    assert_int_equal(o.moves, plain.moves);
    assert_true(o.peak <= plain.peak + plain.peak / 256);
}

#define WEIGHTS                                                                                    \
    "a: f32[d=64] = input\n"                                                                       \
    "w0: f32[d=64, e=64] = variable(init=\"normal(0, 0.1)\")\n"                                    \
    "w1: f32[e=64, d=64] = variable(init=\"normal(0, 0.1)\")\n"                                    \
    "b0: f32[e=64] = variable(init=\"normal(0, 0.1)\")\n"
/* Two maps of variables, whose results are read again at the end, as a gradient does. */
#define STEP                                                                                       \
    "h0: [e] = einsum(a, sin(w0))\nh1 = h0 + b0\nh2: [d] = einsum(h1, sin(w1))\n"                  \
    "h3: [e] = einsum(h2, sin(w0))\nh4: [d] = einsum(h3 * b0, sin(w1))\n"

static void test_maps_of_variables_come_first(void **state)
{
    (void)state;
    expect(WEIGHTS STEP "y = h4\n", 2);
}

/* A variable's new value takes the place of the old one, after that was read. */
static void test_new_values_stay(void **state)
{
    (void)state;
    expect(WEIGHTS STEP "n = assign(w0, w0 * 0.5)\nm = assign(b0, b0 * 0.5)\ny = h4\n", 2);
}

/* Casts that are needed but for a moment would be kept for long. */
static void test_memory_does_not_grow(void **state)
{
    static const char text[] = "a: f32[d=64] = input\n"
                               "w0: f32[d=64, e=512] = variable(init=\"normal(0, 0.1)\")\n"
                               "w1: f32[e=512, d=64] = variable(init=\"normal(0, 0.1)\")\n"
                               "w2: f32[d=64, e=512] = variable(init=\"normal(0, 0.1)\")\n"
                               "h0: [e] = einsum(a, sin(w0))\nh1: [d] = einsum(h0, sin(w1))\n"
                               "h2: [e] = einsum(h1, sin(w2))\ny: [d] = einsum(h2, cos(w1))\n";
    (void)state;
    expect(text, 1); /* the one that was first before */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_maps_of_variables_come_first),
        cmocka_unit_test(test_new_values_stay),
        cmocka_unit_test(test_memory_does_not_grow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

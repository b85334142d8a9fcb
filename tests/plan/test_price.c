/* Tests prices: duplicates, memory, sums over the mesh. */
#include "price/estimate.h"
#include "price/hints.h"

#include "ground.h"
#include "scene.h"

/* ---- whole estimates ---- */

static estimate *estimated(scene *c, int processor)
{
    estimate_opts o = {.mesh = &c->mesh, .layout = &c->layout, .rates = PRICE_RATES};
    o.processor = processor;
    estimate *e = estimate_graph(c->g, 1, &c->last, &o);
    assert_string_equal(mtf_error(c->s), "");
    assert_non_null(e);
    return e;
}

static const char product[] = "a: f32[m=10, k=12] = input\n"
                              "b: f32[k=12, n=14] = input\n"
                              "y: [m, n] = einsum(a, b)\n";

static void test_product(void **state)
{
    (void)state;
    scene c;
    scene_open(&c, product, "x:2", "k:x");
    estimate *e = estimated(&c, -1);
    /* 2*10*6*14 to multiply, 10*14 to combine; an all-reduce of 140 elements between two. */
    assert_int_equal(e->price.flops, 2 * 10 * 6 * 14 + 140);
    assert_int_equal(e->flops, 2 * e->price.flops);
    assert_int_equal(e->price.sent_bytes, 140 * 4);
    assert_int_equal(e->sent_bytes, 2 * 140 * 4);
    assert_int_equal(e->price.collectives, 1);
    assert_int_equal(e->memory.inputs, (10 * 6 + 6 * 14) * 4);
    assert_int_equal(e->memory.peak, e->memory.inputs + e->memory.activations);
    assert_true(e->duplicate == 0);
    estimate_free(e);
    close_well(c.s);
}

static void test_duplicates(void **state)
{
    (void)state;
    scene c;
    scene_open(&c, product, "x:2,y:3", "m:x");
    estimate *e = estimated(&c, -1);
    assert_int_equal(e->price.flops, 2 * 5 * 12 * 14);
    assert_near(e->duplicate, (double)e->price.flops * 2 / 3, 1e-12);
    assert_near(e->duplicate_along[1], (double)e->price.flops * 2 / 3, 1e-12);
    assert_true(e->duplicate_along[0] == 0);
    estimate_free(e);
    close_well(c.s);

    /* Gathered, then computed by all; then cut, and each has its own again. */
    scene_open(&c, "x: f32[a=8] = input\nz, i = sort(x, dim=a)\ny = exp(z)\n", "x:4", "a:x");
    e = estimated(&c, 0);
    int order = -1, last = -1, norders = 0, nlast = 0;
    for (int k = 0; k < e->program->ninstrs; k++) {
        const instr *i = &e->program->instrs[k];
        if (i->kind == INSTR_ORDER) order = k, norders++;
        if (i->cause == c.last) last = k, nlast++;
    }
    assert_true(norders == 1 && nlast == 1);
    assert_int_equal(e->price.lines[order].duplicate, 1);
    assert_int_equal(e->price.lines[last].duplicate, 0);
    estimate_free(e);
    close_well(c.s);

    /* Random numbers of other places are other work, although the instructions are alike. */
    scene_open(&c, "x: f32[a=8] = random_uniform\ny = exp(x)\n", "x:4", "a:x");
    e = estimated(&c, 0);
    assert_true(e->duplicate == 0);
    estimate_free(e);
    close_well(c.s);
}

/* Indices that are sums are paid; the table, which is one too, is not: what was gathered is. */
static void test_owed_table_and_indices(void **state)
{
    (void)state;
    scene c;
    scene_open(&c,
               "t: f32[s=4, v=100, h=8] = input\ni: i32[s=4, n=3] = input\n"
               "table: [v, h] = reduce_sum(t)\nat: [n] = reduce_sum(i)\n"
               "y = gather(table, at, dim=v)\n",
               "x:2", "s:x");
    estimate *e = estimated(&c, -1);
    assert_int_equal(e->price.collectives, 2);
    assert_int_equal(e->price.sent_bytes, (3 + 3 * 8) * 4);
    estimate_free(e);
    close_well(c.s);
}

/* Partial sums are divided as well: the means of both are paid once. */
static void test_owed_means(void **state)
{
    (void)state;
    scene c;
    scene_open(&c,
               "a: f32[k=12, n=14] = input\nb: f32[k=12, n=14] = input\n"
               "y = reduce_mean(a, over=(k)) + reduce_mean(b, over=(k))\n",
               "x:2", "k:x");
    estimate *e = estimated(&c, -1);
    assert_int_equal(e->price.collectives, 1);
    assert_int_equal(e->price.sent_bytes, 14 * 4);
    estimate_free(e);
    close_well(c.s);
}

/* Two of m on four processors: who has none reads nothing, either. */
static void test_empty_parts(void **state)
{
    (void)state;
    scene c;
    scene_open(&c,
               "a: f32[m=2, k=12] = input\nb: f32[k=12, n=14] = input\n"
               "y: [m, n] = einsum(a, b)\n",
               "x:4", "m:x");
    int64_t bytes = 0;
    for (int n = 0; n < 4; n++) {
        estimate *e = estimated(&c, n);
        assert_true(e->price.flops > 0 ? e->price.bytes == (12 + 12 * 14 + 14) * 4
                                       : e->price.bytes == 0);
        bytes += e->price.bytes;
        estimate_free(e);
    }
    assert_int_equal(bytes, 2 * (12 + 12 * 14 + 14) * 4);
    close_well(c.s);
}

static void test_loops(void **state)
{
    (void)state;
    scene c;
    scene_open(&c,
               "x: f32[a=8] = input\n"
               "y = loop(x, trips=5) {\n body(v) {\n yield v * reduce_sum(v)\n}\n}\n",
               "x:2", "a:x");
    estimate *e = estimated(&c, 0);
    assert_int_equal(e->price.collectives, 5);
    assert_int_equal(e->price.sent_bytes, 5 * 4); /* one element between two: one read in all */
    estimate_free(e);
    close_well(c.s);
}

static const char network[] = "x: f32[batch=1000, d=77] = input\n"
                              "w: f32[d=77, hidden=303] = variable\n"
                              "v: f32[hidden=303, out=5] = variable(trainable=false)\n"
                              "h: [batch, hidden] = einsum(x, w)\n"
                              "z: [batch, out] = einsum(relu(h), v)\n"
                              "loss = reduce_sum(z * z)\n"
                              "dw = gradients(loss; w)\n"
                              "y = w - dw\n";

/* Shards and parts are uneven, processors come in kinds; the sums are known all the same. */
static void test_many_processors(void **state)
{
    (void)state;
    scene c;
    scene_open(&c, network, "p:200,q:200", "batch:p,hidden:q");
    estimate *e = estimated(&c, -1);
    assert_true(e->kinds < e->processors);
    assert_false(e->approximate);
    /* z over q, in 200 groups of 200; dw over p, likewise. */
    int64_t z = 2 * 199 * (1000 * 5), dw = 2 * 199 * (77 * 303);
    assert_int_equal(e->sent_bytes, 4 * (z + dw));
    assert_int_equal(e->memory.parameters, 77 * 2 * 4);
    assert_int_equal(e->memory.state, 2 * 5 * 4);
    estimate_free(e);
    close_well(c.s);
}

/* The same by kinds and one by one. */
static void test_few_processors(void **state)
{
    (void)state;
    scene c;
    scene_open(&c, network, "p:7,q:5", "batch:p,hidden:q");
    estimate *e = estimated(&c, -1);
    int64_t   flops = 0, sent = 0, peak = 0;
    for (int n = 0; n < e->processors; n++) {
        estimate *one = estimated(&c, n);
        assert_int_equal(one->price.memory.alive, one->program->live_bytes);
        flops += one->price.flops;
        sent += one->price.sent_bytes;
        if (one->price.memory.peak > peak) peak = one->price.memory.peak;
        assert_true(one->price.seconds <= e->price.seconds + 1e-15);
        estimate_free(one);
    }
    assert_int_equal(e->flops, flops);
    assert_int_equal(e->sent_bytes, sent);
    assert_int_equal(e->memory.peak, peak);
    estimate_free(e);
    close_well(c.s);
}

static void test_hint(void **state)
{
    (void)state;
    scene c;
    hint  h;
    scene_open(&c, product, "x:2", "");
    estimate_opts o = {.mesh = &c.mesh, .layout = &c.layout, .rates = PRICE_RATES};
    o.rates.flops = 1e6; /* slow enough to be worth cutting */
    assert_true(hint_find(c.g, 1, &c.last, &o, &h));
    assert_true(h.found && h.add && !h.remove && h.tried == 3);
    assert_string_equal(h.add, "n:x");
    assert_true(h.seconds < h.seconds_now);
    o.rates = (price_rates){.flops = 1e15, .memory = 1e15, .wire = 1, .latency = 1};
    /* a wire so slow that nothing may be sent */
    assert_true(layout_parse(c.s, "k:x", &c.mesh, &c.layout));
    assert_true(hint_find(c.g, 1, &c.last, &o, &h));
    assert_true(h.found && h.remove);
    assert_string_equal(h.remove, "k:x");
    close_well(c.s);
}

/* ---- measured ---- */

static const char grouped[] = "x: f32[r=512, k=48] = input\n"
                              "w: f32[g=8, k=48, n=80] = input\n"
                              "ends: i32[g=8] = input\n"
                              "y: [r, n] = grouped_einsum(x, w, ends, rows=r)\n";

/* The grouped product's seconds on the first processor. */
static double grouped_seconds(const char *axes, const char *rules, int64_t flops)
{
    scene c;
    scene_open(&c, grouped, axes, rules);
    estimate *e = estimated(&c, 0);
    double    seconds = 0;
    for (int k = 0; k < e->program->ninstrs; k++)
        if (e->program->instrs[k].kind == INSTR_GROUPED) {
            assert_int_equal(e->price.lines[k].flops, flops);
            seconds = e->price.lines[k].seconds;
        }
    estimate_free(e);
    close_well(c.s);
    return seconds;
}

/* Flops and memory are those of all rows, which may have one group; time is that of an even share. */
static void test_grouped(void **state)
{
    (void)state;
    int64_t all = 2 * 512 * 48 * 80;
    double  one = grouped_seconds("x:4", "", all), groups = grouped_seconds("x:4", "g:x", all);
    double  rows = grouped_seconds("x:4", "r:x", all / 4);
    assert_true(groups < 0.3 * one && groups > 0.2 * one);
    assert_true(rows < 0.3 * one && rows > 0.2 * one);
}

static void test_measured(void **state)
{
    (void)state;
    mtf_session *s = mtf_open_with(
        &(mtf_session_opts){.threads = 1, .mesh = "x:2", .layout = "k:x", .measure = true});
    mtf_graph   *g = mtf_parse(s, product, "test");
    mtf_tensor  *y = mtf_find(g, "y");
    mtf_program *p = mtf_compile(g, y);
    float        zeros[168] = {0};
    assert_true(mtf_feed(p, mtf_find(g, "a"), zeros) && mtf_feed(p, mtf_find(g, "b"), zeros));
    double first[2][10];
    assert_true(mtf_step(p));
    for (int n = 0; n < 2; n++) {
        mtf_measured m = mtf_program_measured(p, n);
        assert_in_range(m.instructions, 1, 10);
        for (int64_t k = 0; k < m.instructions; k++) first[n][k] = m.seconds[k];
    }
    assert_true(mtf_step(p));
    for (int n = 0; n < 2; n++) {
        mtf_measured m = mtf_program_measured(p, n);
        for (int64_t k = 0; k < m.instructions; k++) {
            assert_true(m.first_seconds[k] == first[n][k]);
            assert_true(m.seconds[k] >= first[n][k]);
        }
        assert_int_equal(m.steps, 2);
        assert_int_equal(m.collectives, 2);
        assert_int_equal(m.received_bytes, 2 * 140 * 4);
        assert_int_equal(m.flops, 2 * (2 * 10 * 6 * 14 + 140));
        assert_int_equal(m.peak_bytes, mtf_program_cost(p).peak_bytes);
        for (int64_t k = 0; k < m.instructions; k++) assert_int_equal(m.executions[k], 2);
    }
    assert_int_equal(mtf_program_measured(p, 2).steps, 0);
    assert_int_equal(mtf_program_measured(NULL, 0).steps, 0);
    close_well(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_product),
        cmocka_unit_test(test_duplicates),
        cmocka_unit_test(test_owed_table_and_indices),
        cmocka_unit_test(test_owed_means),
        cmocka_unit_test(test_empty_parts),
        cmocka_unit_test(test_loops),
        cmocka_unit_test(test_many_processors),
        cmocka_unit_test(test_few_processors),
        cmocka_unit_test(test_hint),
        cmocka_unit_test(test_grouped),
        cmocka_unit_test(test_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

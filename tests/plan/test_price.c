/* Tests prices: duplicates, memory, seconds, sums over the mesh. */
#include "plan/estimate.h"
#include "plan/hints.h"

#include "ground.h"

/* ---- whole estimates ---- */

typedef struct scene {
    mtf_session *s;
    mtf_graph   *g;
    mtf_tensor  *last;
    mesh         mesh;
    layout       layout;
} scene;

static void scene_open(scene *c, const char *text, const char *mesh_text, const char *layout_text)
{
    c->s = mtf_open_with(&(mtf_session_opts){.threads = 1});
    c->g = mtf_parse(c->s, text, "test");
    assert_true(mesh_parse(c->s, mesh_text, &c->mesh));
    assert_true(layout_parse(c->s, layout_text, &c->mesh, &c->layout));
    c->last = mtf_find(c->g, "y");
    assert_string_equal(mtf_error(c->s), "");
}

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
    for (int k = 0; k < e->program->ninstrs; k++) {
        instr_kind kind = e->program->instrs[k].kind;
        if (kind == INSTR_ORDER) assert_int_equal(e->price.lines[k].duplicate, 1);
        if (e->program->instrs[k].cause == c.last) assert_int_equal(e->price.lines[k].duplicate, 0);
    }
    estimate_free(e);
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

/* ---- waiting ---- */

/* Beside the longest sum of pauses that one of a group had, less the mean: drawn here, many times. */
static double drawn_wait(double often, double each, double work, int group)
{
    enum { DRAWS = 4000 };
    uint64_t seed = 7;
    double   total = 0;
    for (int draw = 0; draw < DRAWS; draw++) {
        double most = 0, mean = 0;
        for (int k = 0; k < group; k++) {
            double lost = 0;
            for (double at = 0;;) {
                seed = seed * 6364136223846793005u + 1442695040888963407u;
                at -= log(((double)(seed >> 40) + 0.5) / (1 << 24)) / often;
                if (at > work) break;
                seed = seed * 6364136223846793005u + 1442695040888963407u;
                lost -= log(((double)(seed >> 40) + 0.5) / (1 << 24)) * each;
            }
            most = fmax(most, lost), mean += lost / group;
        }
        total += most - mean;
    }
    return total / DRAWS;
}

static void test_waiting(void **state)
{
    (void)state;
    price_rates r = PRICE_RATES;
    assert_true(rates_wait(&r, 1, 16) == 0);
    r.pauses = 200, r.pause = 1e-4;
    assert_true(rates_wait(&r, 1e-3, 1) == 0);
    static const int    groups[] = {2, 4, 16};
    static const double works[] = {1e-4, 5e-4, 2e-3, 1e-2};
    for (int g = 0; g < 3; g++)
        for (int w = 0; w < 4; w++) {
            double drawn = drawn_wait(r.pauses, r.pause, works[w], groups[g]);
            assert_true(fabs(rates_wait(&r, works[w], groups[g]) - drawn) < 0.25 * drawn);
        }
}

/* A sum waits for what was done since the one before; the program's time has it once. */
static void test_waiting_is_priced(void **state)
{
    (void)state;
    scene c;
    scene_open(&c, product, "x:2", "k:x");
    estimate_opts o = {.mesh = &c.mesh, .layout = &c.layout, .rates = PRICE_RATES};
    estimate     *calm = estimate_graph(c.g, 1, &c.last, &o);
    o.rates.pauses = 1e3, o.rates.pause = 1e-3;
    estimate *busy = estimate_graph(c.g, 1, &c.last, &o);
    double    work = 0, waiting = 0;
    for (int k = 0; k < busy->program->ninstrs; k++) {
        const price_line *line = &busy->price.lines[k];
        if (!line->collective) {
            work += line->seconds;
            continue;
        }
        assert_true(fabs(line->spare - rates_wait(&o.rates, work, 2)) < 1e-12);
        waiting += line->spare, work = 0;
    }
    assert_true(waiting > 0);
    assert_true(fabs(busy->price.seconds - calm->price.seconds - waiting) < 1e-12);
    estimate_free(calm);
    estimate_free(busy);
    close_well(c.s);
}

/* ---- uneven parts ---- */

/* Five of m on four processors: the last has two, and five eighths of the machine are busy. */
static void test_uneven_parts_are_faster(void **state)
{
    (void)state;
    static const char *const text = "a: f32[m=5, k=64] = input()\nb: f32[k=64, n=64] = input()\n"
                                    "y: [m, n] = einsum(a, b)\n";
    static const struct {
        const char *layout;
        double      alone, speed;
    } cases[] = {{"m:x", 0, 1},      {"m:x", 1.25, 1.25}, {"m:x", 1.6, 1.6},
                 {"m:x", 3, 8 / 5.}, {"n:x", 3, 1},       {"", 3, 1}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        scene c;
        scene_open(&c, text, "x:4", cases[k].layout);
        estimate_opts o = {
            .mesh = &c.mesh, .layout = &c.layout, .processor = 3, .rates = PRICE_RATES};
        o.rates.flops = 1e6, o.rates.start = 1;
        estimate *all = estimate_graph(c.g, 1, &c.last, &o);
        o.rates.alone = cases[k].alone;
        estimate *e = estimate_graph(c.g, 1, &c.last, &o);
        assert_int_equal(e->program->ninstrs, 1);
        assert_true(fabs((all->price.seconds - 1) / (e->price.seconds - 1) - cases[k].speed) <
                    1e-9);
        estimate_free(all);
        estimate_free(e);
        close_well(c.s);
    }
}

/* ---- flat products ---- */

/* As many flops as a cube of 16, and bytes beyond its own. */
static void test_flat_products_take_longer(void **state)
{
    (void)state;
    static const struct {
        int m, n, k;
    } cases[] = {{16, 16, 16}, {4, 64, 16}, {4, 4, 256}, {1, 64, 64}};
    price_rates r = {.flops = 1, .memory = 1e6, .wire = 1, .nproducts = 1};
    r.products[0] = (product_rate){MTF_F32, 0, 1e6};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char  text[200];
        int   m = cases[k].m, n = cases[k].n, sum = cases[k].k;
        scene c;
        snprintf(text, sizeof text,
                 "a: f32[m=%d, k=%d] = input()\nb: f32[k=%d, n=%d] = input()\n"
                 "y: [m, n] = einsum(a, b)\n",
                 m, sum, sum, n);
        scene_open(&c, text, "x:1", "");
        estimate_opts o = {.mesh = &c.mesh, .layout = &c.layout, .rates = r};
        estimate     *e = estimate_graph(c.g, 1, &c.last, &o);
        double        beyond = 4 * (m * sum + sum * n + m * n) - 4 * 3 * 256;
        assert_int_equal(e->program->ninstrs, 1);
        /* Not where one is a vector: it passes by the matrix. */
        double seconds = m > 1 ? (2 * 4096 + beyond) / 1e6 : (double)e->price.bytes / 1e6;
        assert_true(fabs(e->price.seconds - seconds) < 1e-12);
        estimate_free(e);
        close_well(c.s);
    }
}

/* A norm of 8 rows of 32: its own flops, and then its memory; what sums nothing up, the longer; what
 * changes a variable, its memory. */
static void test_rows_hide_nothing(void **state)
{
    (void)state;
    enum { OTHER, ROWS, UPDATE };
    static const struct {
        const char *text;
        int         kind, operands;
    } cases[] = {
        {"a: f32[m=8, n=32] = input()\nq: [m] = reduce_sum(square(a))\ny = a * rsqrt(q)\n", ROWS,
         2},
        {"a: f32[m=8, n=32] = input()\ny = a * a + a\n", OTHER, 2},
        {"b: f32[k=2] = variable()\ny = b + 1\na: f32[m=8, n=32] = input()\n"
         "v: f32[m=8, n=32] = variable()\nz = assign(v, v * 0.5 + a * a + a)\n",
         UPDATE, 3},
    };
    for (int k = 0; k < 6; k++) {
        scene       c;
        price_rates r = {.flops = 1e4, .memory = 1e6, .wire = 1, .rows = k < 3 ? 1e5 : 0};
        int         kind = cases[k % 3].kind;
        bool        rows = kind == ROWS && r.rows > 0;
        scene_open(&c, cases[k % 3].text, "x:1", "");
        estimate_opts     o = {.mesh = &c.mesh, .layout = &c.layout, .rates = r};
        estimate         *e = estimate_graph(c.g, 1, &c.last, &o);
        const price_line *line = &e->price.lines[e->program->ninstrs - 1];
        double            flops = (double)line->flops / (rows ? r.rows : r.flops);
        double            memory = (double)line->bytes / r.memory;
        assert_true(line->flops > 0 && line->bytes == cases[k % 3].operands * 4 * 8 * 32);
        assert_near(line->seconds,
                    rows             ? flops + memory
                    : kind == UPDATE ? memory
                                     : fmax(flops, memory),
                    1e-9);
        estimate_free(e);
        close_well(c.s);
    }
}

/* ---- caches ---- */

static const price_rates cached = {
    .flops = 1e30, .memory = 1, .wire = 1, .ncaches = 2, .caches = {{100, 16}, {400, 4}}};

static void test_near_memory_is_faster(void **state)
{
    (void)state;
    static const struct {
        double reach, memory;
    } cases[] = {{0, 16}, {100, 16}, {200, 8}, {400, 4}, {800, 2}, {1600, 1}, {1e9, 1}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        assert_near(rates_memory(&cached, cases[k].reach), cases[k].memory, 1e-9);
    /* Where more threads help with longer operands, further away may be faster. */
    price_rates odd = cached;
    odd.caches[0].memory = 2;
    assert_near(rates_best_memory(&odd, 50), 4, 1e-9);
    assert_near(rates_best_memory(&odd, 800), 2, 1e-9);
    assert_near(rates_best_memory(&PRICE_RATES, 800), 10e9, 1e-9);
}

/* Variable v has 50 elements, which the last instruction reads and writes, as in the step before;
 * what was used meanwhile is all memory of the processor, at least 200 bytes and `more`. */
static void check_update(const char *text, double more)
{
    scene c;
    scene_open(&c, text, "x:1", "");
    estimate_opts     o = {.mesh = &c.mesh, .layout = &c.layout, .rates = cached};
    estimate         *e = estimate_graph(c.g, 1, &c.last, &o);
    const price_line *line = &e->price.lines[e->program->ninstrs - 1];
    double            memory = (double)e->memory.peak;
    double            seconds = 400 / rates_memory(&cached, memory);
    assert_true(memory > 200 + more && memory < 300 + more);
    assert_near(line->seconds, seconds, 1e-9);
    assert_near(line->spare, seconds - 400 / rates_memory(&cached, 200), 1e-9);
    estimate_free(e);
    close_well(c.s);
}

static void test_reach_is_priced(void **state)
{
    (void)state;
    check_update("a: f32[k=2] = variable()\ny = a + 1\n"
                 "v: f32[n=50] = variable()\nz = assign(v, v * 0.5)\n",
                 0);
    check_update("a: f32[k=2] = variable()\ny = a + 1\n"
                 "w: f32[m=150] = variable()\nu = assign(w, w * 0.5)\n"
                 "v: f32[n=50] = variable()\nz = assign(v, v * 0.5)\n",
                 600);
}

/* ---- measured ---- */

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
        for (int64_t k = 0; k < m.instructions; k++) assert_int_equal(m.turns[k], 2);
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
        cmocka_unit_test(test_loops),
        cmocka_unit_test(test_many_processors),
        cmocka_unit_test(test_few_processors),
        cmocka_unit_test(test_hint),
        cmocka_unit_test(test_waiting),
        cmocka_unit_test(test_waiting_is_priced),
        cmocka_unit_test(test_uneven_parts_are_faster),
        cmocka_unit_test(test_flat_products_take_longer),
        cmocka_unit_test(test_rows_hide_nothing),
        cmocka_unit_test(test_near_memory_is_faster),
        cmocka_unit_test(test_reach_is_priced),
        cmocka_unit_test(test_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Tests the predicted seconds of instructions and collectives. */
#include "price/rates.h"

#include "ground.h"
#include "scene.h"

static const char product[] = "a: f32[m=10, k=12] = input\n"
                              "b: f32[k=12, n=14] = input\n"
                              "y: [m, n] = einsum(a, b)\n";

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

/* A sum waits for what was done since the one before, the end of a step for what was done since the
 * last; the program's time has it once. */
static void test_waiting_is_priced(void **state)
{
    (void)state;
    static const char *const text = "a: f32[m=10, k=12] = input\n"
                                    "b: f32[k=12, n=14] = input\n"
                                    "x: [m, n] = einsum(a, b)\n"
                                    "y = exp(x)\n";
    scene                    c;
    scene_open(&c, text, "x:2", "k:x");
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
    assert_true(waiting > 0 && work > 0);
    assert_true(fabs(busy->price.end_seconds - rates_wait(&o.rates, work, 2)) < 1e-12);
    waiting += busy->price.end_seconds;
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

/* As many flops as a cube of 16, and bytes beyond its own, each side's at a rate of its own. */
static void test_flat_products_take_longer(void **state)
{
    (void)state;
    static const struct {
        int m, n, k;
    } cases[] = {{16, 16, 16}, {4, 64, 16}, {64, 64, 1}, {4, 4, 256}, {64, 32, 2},
                 {1, 64, 64},  {64, 4, 16}, {64, 16, 4}, {16, 64, 4}};
    price_rates r = {.flops = 1, .memory = 1e6, .wire = 1, .nproducts = 1};
    r.flat.left = 2e6, r.flat.result = 0.5e6; /* the right one's: at once */
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
        estimate *e = scene_priced(&c, &r);
        double    beyond = 2 * fmax(m * sum - 256, 0) + 8 * fmax(m * n - 256, 0);
        assert_int_equal(e->program->ninstrs, 1);
        /* Not where one is a vector: it passes by the matrix. */
        bool   vector = m == 1 || sum == 1;
        double memory = (double)e->price.bytes / 1e6;
        double seconds = vector ? memory : fmax((2 * 4096 + beyond) / 1e6, memory);
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
        estimate         *e = scene_priced(&c, &r);
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

/* ---- convolutions ---- */

static void test_channels_matter(void **state)
{
    (void)state;
    price_rates r = {.flops = 7, .nwindows = 3};
    r.windows[0] = (window_rate){.type = MTF_F32, .channels = 4, .flops = 10};
    r.windows[1] = (window_rate){.type = MTF_F32, .channels = 16, .flops = 40};
    r.windows[2] = (window_rate){.type = MTF_F32, .channels = 64, .flops = 30};
    static const struct {
        double inputs, outputs, rate, best;
    } cases[] = {{1, 1, 10, 10},      {4, 4, 10, 10},       {8, 8, 20, 20},
                 {64, 4, 25.2, 25.2}, {16, 16, 40, 40},     {64, 64, 30, 40},
                 {512, 512, 30, 40},  {32, 32, 34.641, 40}, {0, 8, 10, 10}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        window_rate like = {.type = MTF_F32,
                            .channels = rates_channels(cases[k].inputs, cases[k].outputs)};
        assert_near(rates_window(&r, &like), cases[k].rate, 1e-3);
        assert_near(rates_best_window(&r, &like), cases[k].best, 1e-3);
        like.type = MTF_F64;
        assert_near(rates_window(&r, &like), 7, 1e-9);
    }
}

/* A convolution whose outputs are cut in two has half the flops, at the rate of fewer channels; its
 * gradients, too. */
static void test_convolutions_are_priced(void **state)
{
    (void)state;
    static const char *const text = "x: f32[b=4, h=6, w=6, c=16] = input\n"
                                    "f: f32[u=3, v=3, c=16, o=16] = input\n"
                                    "g: f32[b=4, h=6, w=6, o=16] = input\n"
                                    "z = conv2d(x, f)\n"
                                    "l = reduce_sum(z * g)\n"
                                    "df = gradients(l; f)\n"
                                    "y = df * reduce_sum(square(z))\n";
    price_rates              r = {.flops = 1e3, .memory = 1e30, .wire = 1e30, .nwindows = 2};
    r.windows[0] = (window_rate){.type = MTF_F32, .channels = 1, .flops = 1e6};
    r.windows[1] = (window_rate){.type = MTF_F32, .channels = 16, .flops = 16e6};
    for (int cut = 0; cut < 2; cut++) {
        scene c;
        int   found = 0;
        scene_open(&c, text, "x:2", cut ? "o:x" : "");
        estimate *e = scene_priced(&c, &r);
        double    rate = cut ? cbrt(16 * 8 * 8) * 1e6 : 16e6;
        for (int k = 0; k < e->program->ninstrs; k++) {
            if (e->program->instrs[k].kind != INSTR_WINDOW) continue;
            assert_near(e->price.lines[k].seconds / ((double)e->price.lines[k].flops / rate), 1,
                        1e-9);
            found++;
        }
        assert_int_equal(found, 2);
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
 * what was used meanwhile, by then, are its own 200 bytes, 16 of others, and `more`. */
static void check_update(const char *text, double more)
{
    scene c;
    scene_open(&c, text, "x:1", "");
    estimate         *e = scene_priced(&c, &cached);
    const price_line *line = &e->price.lines[e->program->ninstrs - 1];
    double            seconds = 400 / rates_memory(&cached, 216 + more);
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

/* What comes after a sum finds its 560 bytes so far away: the sum's operands, and what it has read of
 * the other processor's. */
static void test_sums_pass_through_caches(void **state)
{
    (void)state;
    scene c;
    scene_open(&c,
               "a: f32[m=10, k=12] = input\nb: f32[k=12, n=14] = input\n"
               "x: [m, n] = einsum(a, b)\ny = exp(x)\n"
               "w: f32[q=1000] = variable()\nu = assign(w, w * 0.5)\n",
               "x:2", "k:x");
    estimate *e = scene_priced(&c, &cached);
    int       found = 0;
    for (int k = 1; k < e->program->ninstrs; k++) {
        if (!e->price.lines[k - 1].collective) continue;
        assert_near(e->price.lines[k].seconds, 2 * 560 / rates_memory(&cached, 2 * 560 + 2 * 560),
                    1e-9);
        found++;
    }
    assert_int_equal(found, 1);
    estimate_free(e);
    close_well(c.s);
}

/* A product writes 140 numbers, and a sum over both processors reads them at once; it writes as many,
 * where nobody has been since the step before.  Without caches all of that is in the wire. */
static void test_sums_fetch_their_operands(void **state)
{
    (void)state;
    for (int caches = 0; caches < 2; caches++) {
        scene       c;
        price_rates r = cached;
        r.ncaches = caches ? 2 : 0, r.latency = 7;
        scene_open(&c, product, "x:2", "k:x");
        estimate         *e = scene_priced(&c, &r);
        const price_line *sum = &e->price.lines[1];
        double            wire = 7 + 560 / r.wire, slab = (double)e->program->slab_bytes;
        double            near = 560 / rates_memory(&r, 560 + 4 * (60 + 84)),
               far = 560 / rates_memory(&r, slab);
        double least = 2 * 560 / rates_best_memory(&r, 560);
        assert_int_equal(e->program->ninstrs, 2);
        assert_non_null(sum->collective);
        assert_near(sum->seconds, wire + (caches ? near + far : 0), 1e-9);
        assert_near(sum->spare, caches ? near + far - least : 0, 1e-9);
        estimate_free(e);
        close_well(c.s);
    }
}

/* A product's flops and its memory, which nothing hides; with a vector, or where nothing is known of
 * caches, the longer. */
static void test_products_fetch_their_operands(void **state)
{
    (void)state;
    for (int k = 0; k < 4; k++) {
        bool        caches = k & 1, vector = k & 2;
        price_rates r = {.flops = 1, .memory = 1e6, .wire = 1, .nproducts = 1};
        char        text[200];
        scene       c;
        r.products[0] = (product_rate){MTF_F32, 0, 1e7};
        r.ncaches = caches, r.caches[0] = (cache_rate){1e9, 1e6};
        snprintf(text, sizeof text,
                 "a: f32[m=16, k=16] = input()\nb: f32[k=16, n=%d] = input()\n"
                 "y: [m, n] = einsum(a, b)\n",
                 vector ? 1 : 16);
        scene_open(&c, text, "x:1", "");
        estimate         *e = scene_priced(&c, &r);
        const price_line *line = &e->price.lines[0];
        double            flops = (double)line->flops / 1e7, memory = (double)line->bytes / 1e6;
        assert_int_equal(e->program->ninstrs, 1);
        assert_near(line->seconds, caches && !vector ? flops + memory : fmax(flops, memory), 1e-9);
        assert_near(line->spare, 0, 1e-9);
        estimate_free(e);
        close_well(c.s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_waiting),
        cmocka_unit_test(test_waiting_is_priced),
        cmocka_unit_test(test_uneven_parts_are_faster),
        cmocka_unit_test(test_flat_products_take_longer),
        cmocka_unit_test(test_rows_hide_nothing),
        cmocka_unit_test(test_channels_matter),
        cmocka_unit_test(test_convolutions_are_priced),
        cmocka_unit_test(test_near_memory_is_faster),
        cmocka_unit_test(test_reach_is_priced),
        cmocka_unit_test(test_sums_pass_through_caches),
        cmocka_unit_test(test_sums_fetch_their_operands),
        cmocka_unit_test(test_products_fetch_their_operands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

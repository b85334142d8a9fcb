/* Tests sums over kinds of processors against all processors. */
#include "plan/plan.h"
#include "price/representatives.h"
#include "price/traffic_sums.h"
#include "scene.h"

#include "ground.h"

/* ---- whole programs ---- */

static const char network[] = "x: f32[batch=100, d=77] = input\n"
                              "w: f32[d=77, hidden=303] = variable\n"
                              "v: f32[hidden=303, out=50] = variable\n"
                              "h: [batch, hidden] = einsum(x, w)\n"
                              "z: [batch, out] = einsum(softmax(h, dim=hidden), v)\n"
                              "dw = gradients(reduce_sum(z * z); w)\n"
                              "y = w - dw\n";
static const char moves[] = "x: f32[a=29, b=31] = input\n"
                            "s = shift(x, dim=a, offset=2)\n"
                            "p = pad(s, dim=a, before=3, after=4)\n"
                            "q = slice(p, dim=a, begin=2, size=29)\n"
                            "r: [n=899] = reshape(x)\n"
                            "t: [a=29, b=31] = reshape(r * 2.0)\n"
                            "k = cumsum(t, dim=b)\n"
                            "c = concat(x, k, dim=b)\n"
                            "m = reduce_max(c, over=(b))\n"
                            "y = q * m\n";
static const char pictures[] =
    "x: f32[b=20, h=40, w=37, c=6] = input\n"
    "f: f32[fh=3, fw=5, c=6, o=8] = variable\n"
    "z = max_pool(conv2d(x, f), window=(3, 2), stride=(1, 2), padding=same)\n"
    "y = gradients(reduce_sum(z * z); f)\n";

static const char sums[] = "x: f32[a=80, b=31] = input\n"
                           "k = cumsum(x, dim=b)\n"
                           "y = cumsum(exp(k), dim=b)\n";

static const char tables[] = "w: f32[vocab=60, heads=240] = variable\n"
                             "i: i32[batch=60] = input\n"
                             "x: [batch, heads] = gather(w, i, dim=vocab)\n"
                             "h: [batch=60, heads=60, kv=4] = reshape(x)\n"
                             "g: [batch=60, heads=240] = reshape(exp(h))\n"
                             "l: [batch, vocab] = einsum(g, w)\n"
                             "b: [batch] = argmax(l, dim=vocab)\n"
                             "dw = gradients(reduce_sum(l * l); w)\n"
                             "y = reduce_sum(dw * w) + reduce_sum(cast(b, type=f32))\n";

static void add_processor(const scene *c, int number, estimate *sum)
{
    plan_opts how = {.layout = &c->layout, .here = mesh_place(&c->mesh, number)};
    program  *q = plan_program(c->g, 1, &c->last, &how);
    assert_non_null(q);
    price p = {.program = q,
               .mesh = &c->mesh,
               .layout = &c->layout,
               .here = how.here,
               .rates = PRICE_RATES};
    assert_true(price_program(&p, &q->arena));
    sum->flops += p.flops;
    sum->sent_bytes += p.received_bytes;
    if (p.memory.peak > sum->memory.peak) sum->memory.peak = p.memory.peak;
    sum->price.seconds = fmax(sum->price.seconds, p.seconds);
    program_free(q);
}

static estimate *price_slowest(scene *c)
{
    estimate_opts o = {
        .mesh = &c->mesh, .layout = &c->layout, .rates = PRICE_RATES, .processor = -1};
    estimate *e = estimate_graph(c->g, 1, &c->last, &o);
    assert_non_null(e);
    return e;
}

/* Returns how many kinds there are. */
static int check_kinds(const char *text, const char *mesh_text, const char *layout_text)
{
    scene    c;
    estimate sum = {0};
    scene_open(&c, text, mesh_text, layout_text);
    estimate *e = price_slowest(&c);
    assert_false(e->approximate);
    int kinds = e->kinds;
    for (int n = 0; n < e->processors; n++) add_processor(&c, n, &sum);
    assert_int_equal(e->flops, sum.flops);
    assert_int_equal(e->sent_bytes, sum.sent_bytes);
    assert_int_equal(e->memory.peak, sum.memory.peak);
    estimate_free(e);
    close_well(c.s);
    return kinds;
}

static void test_programs(void **state)
{
    (void)state;
    /* Of hidden, two sizes, and the first and the last apart: a softmax may have less to do there. */
    assert_int_equal(check_kinds(network, "p:16,q:13", "batch:p,hidden:q"), 2 * 4);
    assert_int_equal(check_kinds(network, "p:32,q:13", "batch:p+q"), 2);
    check_kinds(network, "p:16,q:13", "d:q,out:p");
    assert_int_equal(check_kinds(network, "p:400", "batch:p"), 2);
    check_kinds(network, "p:7,q:6,r:5", "batch:r+p,hidden:q");
    check_kinds(moves, "p:10,q:31", "a:p,b:q");
    check_kinds(moves, "p:10,q:31", "a:p,n:q");
    check_kinds(pictures, "p:10,q:8,r:2", "h:p,w:q,o:r");
    check_kinds(pictures, "p:10,q:16", "b:p,h:q");
    /* Tables, and groups of equal parts of a dimension, are cut alike everywhere. */
    assert_int_equal(check_kinds(tables, "p:15,q:12", "batch:p,heads:q"), 1);
    assert_int_equal(check_kinds(tables, "p:15,q:12", "batch:q,vocab:p"), 1);
    assert_int_equal(check_kinds(tables, "p:15,q:12", "heads:p,vocab:q"), 1);
    check_kinds(tables, "p:13,q:16", "batch:p,heads:q");
    check_kinds(tables, "p:7,q:25", "heads:p,vocab:q");
    check_kinds(tables, "p:150",
                "heads:p"); /* more parts than heads, not more than all their elements */
    check_kinds(tables, "p:2,q:150", "heads:q+p");
    /* A part of a running sum adds up all parts before it: each has something else to do, along b. */
    assert_int_equal(check_kinds(sums, "p:40,q:9", "a:p,b:q"), 9);
}

/* ---- too many kinds ---- */

/* Each processor has another running sum to add up: more kinds than are planned. */
static void test_some_kinds(void **state)
{
    (void)state;
    static const char text[] = "x: f32[a=4, b=40000] = input\n"
                               "k = cumsum(x, dim=b)\n"
                               "l = cumsum(exp(k), dim=b)\n"
                               "m = cumsum(exp(l), dim=b)\n"
                               "n = cumsum(exp(m), dim=b)\n"
                               "y = cumsum(exp(n), dim=b)\n";
    scene             c;
    estimate          sum = {0};
    scene_open(&c, text, "p:10000,q:2", "a:q,b:p");
    estimate *e = price_slowest(&c);
    assert_true(e->approximate);
    assert_true(e->kinds < 10000);
    for (int n = 0; n < e->processors; n++) add_processor(&c, n, &sum);
    assert_true(llabs(e->flops - sum.flops) < sum.flops / 1000);
    assert_true(llabs(e->sent_bytes - sum.sent_bytes) < sum.sent_bytes / 1000);
    assert_int_equal(e->memory.peak, sum.memory.peak);
    assert_true(e->price.seconds == sum.price.seconds);
    estimate_free(e);
    close_well(c.s);
}

static void test_samples(void **state)
{
    (void)state;
    static int count[1000], stands_for[1000];
    for (int n = SAMPLE_LEAST; n <= 1000; n = 3 * n / 2)
        for (int taken = SAMPLE_LEAST; taken <= n; taken++) {
            double all = 0, moment = 0, taken_moment = 0;
            int    taken_all = 0;
            for (int k = 0; k < n; k++)
                count[k] = 1 + k % 7, all += count[k], moment += k * count[k];
            sample_share(n, taken, count, stands_for);
            for (int k = 0; k < taken; k++) {
                int at = sample_place(n, taken, k);
                assert_true(stands_for[k] > 0 && at < n);
                assert_true(k == 0 || at > sample_place(n, taken, k - 1));
                taken_all += stands_for[k], taken_moment += (double)at * stands_for[k];
            }
            assert_true(taken_all == all);
            assert_true(fabs(taken_moment - moment) <=
                        n); /* half of a processor in each stands_for */
            assert_int_equal(sample_place(n, taken, 0), 0);
            assert_int_equal(sample_place(n, taken, 1), 1);
            assert_int_equal(sample_place(n, taken, taken - 2), n - 2);
            assert_int_equal(sample_place(n, taken, taken - 1), n - 1);
        }
}

/* Sums of bf16 are owed in f32, also by a processor whose part is one element, or none. */
static void check_short_kinds(const char *text, const char *mesh_text, const char *layout_text)
{
    char   brief[1000];
    size_t used = 0;
    for (const char *p = text; *p; p++) {
        bool type = strncmp(p, "f32", 3) == 0;
        used += (size_t)snprintf(brief + used, sizeof brief - used, "%.*s", type ? 4 : 1,
                                 type ? "bf16" : p);
        if (type) p += 2;
    }
    assert_true(used < sizeof brief);
    check_kinds(brief, mesh_text, layout_text);
}

static void test_short_floats(void **state)
{
    (void)state;
    check_short_kinds(network, "p:16,q:13", "batch:p,hidden:q");
    check_short_kinds(network, "p:16,q:13", "d:q,out:p");
    check_short_kinds(network, "p:60,q:3", "d:p,batch:q");
    check_short_kinds(network, "p:160", "batch:p");
    check_short_kinds(moves, "p:10,q:31", "a:p,b:q");
    check_short_kinds(pictures, "p:10,q:8,r:2", "h:p,w:q,o:r");
    check_short_kinds(pictures, "p:30,q:4", "b:p,c:q");
    check_short_kinds(sums, "p:40,q:9", "a:p,b:q");
}

/* ---- collectives ---- */

static const mesh cube = {.naxes = 3, .name = {"x", "y", "z"}, .size = {2, 3, 4}};

static unsigned dice(unsigned *seed)
{
    return *seed = *seed * 1664525u + 1013904223u, *seed >> 16;
}

/* Gives each axis to some dimension or to none. */
static void draw_axes(placement *p, int ndims, unsigned *seed)
{
    for (int a = 0; a < cube.naxes; a++) {
        int d = (int)(dice(seed) % (unsigned)(ndims + 1));
        if (d < ndims) p->dim[d].axis[p->dim[d].n++] = (uint8_t)a;
    }
}

static void check_sum(const instr *i)
{
    traffic_sum one_by_one = {0}, together = {0};
    int64_t     sent = 0;
    for (int p = 0; p < 24; p++) {
        mesh_point here = mesh_place(&cube, p);
        traffic    t = traffic_of(NULL, &cube, i, &here);
        sent += traffic_out(&t);
        traffic_sum_add(&one_by_one, NULL, &cube, i, &here);
        traffic_sum_add_kind(&together, NULL, &cube, i, &here, 1);
    }
    traffic_sum_end(&together, &cube, i);
    assert_int_equal(together.received, one_by_one.received);
    assert_int_equal(together.flops, one_by_one.flops);
    assert_int_equal(together.results, one_by_one.results);
    assert_int_equal(sent, one_by_one.received);
}

static void test_collectives(void **state)
{
    (void)state;
    unsigned seed = 11;
    access   f32 = {.type = MTF_F32};
    for (unsigned axes = 0; axes < 8; axes++)
        for (int64_t size = 1; size < 100000; size = size * 7 + 3) {
            instr i = {.kind = INSTR_REDUCE, .nloops = 1, .size = {size}, .out = &f32};
            i.reduce = (reduce_args){FOLD_SUM, axes};
            check_sum(&i);
        }
    for (int trial = 0; trial < 1000; trial++) {
        exchange_args how = {.shape = mtf_shape(((mtf_dim){"a", 1 + dice(&seed) % 40}),
                                                ((mtf_dim){"b", 1 + dice(&seed) % 11}),
                                                ((mtf_dim){"c", 1 + dice(&seed) % 4}))};
        instr         i = {.kind = INSTR_EXCHANGE, .out = &f32};
        i.exchange = &how;
        draw_axes(&how.from, 3, &seed);
        draw_axes(&how.to, 3, &seed);
        if (trial % 3 == 0) how.to = how.from;
        how.mapped = dice(&seed) % 8;
        for (int d = 0; d < 3; d++)
            how.map[d] = (span_map){how.to.dim[d],       1 + dice(&seed) % 40,
                                    1 + dice(&seed) % 2, -(int64_t)(dice(&seed) % 3),
                                    dice(&seed) % 3,     1 + dice(&seed) % 2};
        check_sum(&i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_programs), cmocka_unit_test(test_short_floats),
        cmocka_unit_test(test_some_kinds), cmocka_unit_test(test_samples),
        cmocka_unit_test(test_collectives)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

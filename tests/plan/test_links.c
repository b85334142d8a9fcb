/* Tests the time of collectives inside nodes and between them. */
#include "price/links.h"
#include "price/traffic.h"

#include "ground.h"
#include "scene.h"

static const price_rates eights = {.flops = 1,
                                   .memory = 1,
                                   .wire = 1e12,
                                   .latency = 1e-5,
                                   .message = 1e-6,
                                   .node = 8,
                                   .outer_wire = 5e10,
                                   .outer_latency = 3e-5,
                                   .outer_message = 4e-6};

static void assert_same(double got, double want)
{
    assert_near(got / want, 1, 1e-9);
}

/* ---- who is in a node ---- */

static void test_members_of_nodes(void **state)
{
    (void)state;
    static const struct {
        const char *mesh;
        unsigned    axes;
        int         node, inside, nodes;
    } cases[] = {
        {"x:64", 1, 8, 8, 8},          {"x:64", 1, 0, 64, 1},       {"x:4", 1, 8, 4, 1},
        {"x:8,y:8", 1, 8, 1, 8},       {"x:8,y:8", 2, 8, 8, 1},     {"x:8,y:8", 3, 8, 8, 8},
        {"x:16,y:4", 1, 8, 2, 8},      {"x:16,y:4", 2, 8, 4, 1},    {"x:4,y:16", 2, 8, 8, 2},
        {"x:4,y:2,z:4", 5, 8, 4, 4},   {"x:4,y:2,z:4", 3, 8, 2, 4}, {"x:4,y:2,z:4", 6, 8, 8, 1},
        {"x:8,y:3", 2, 8, 1, 3},       {"x:8,y:3", 1, 8, 1, 8},     {"x:12", 1, 8, 1, 12},
        {"x:1048576", 1, 8, 8, 131072}};
    mtf_session *s = mtf_open_with(NULL);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        mesh        m;
        price_rates r = eights;
        r.node = cases[k].node;
        assert_true(mesh_parse(s, cases[k].mesh, &m));
        links l = links_of(&r, &m, cases[k].axes);
        assert_int_equal(l.inside, cases[k].inside);
        assert_int_equal(l.nodes, cases[k].nodes);
    }
    close_well(s);
}

/* An axis with a line of its own keeps to it; with others it is the slowest of all. */
static void test_axes_with_lines(void **state)
{
    (void)state;
    price_rates r = eights;
    mesh        m = {.naxes = 3, .name = {"x", "y", "far"}, .size = {4, 8, 8}};
    r.naxes = 1;
    r.axes[0] = (axis_rate){"far", 2e12, 7e-5};
    links one = links_of(&r, &m, 4), two = links_of(&r, &m, 6), none = links_of(&r, &m, 2);
    assert_true(one.nodes == 1 && one.inside == 8 && one.inner.wire == 2e12);
    assert_true(one.inner.latency == 7e-5 && one.inner.message == 1e-6);
    assert_true(two.nodes == 1 && two.inside == 64 && two.inner.wire == 5e10);
    assert_true(two.inner.latency == 7e-5 && two.inner.message == 4e-6);
    assert_true(none.nodes == 8 && none.inside == 1);
    assert_true(links_alike(&r, &m, 0, 1) && !links_alike(&r, &m, 1, 2));
}

/* ---- seconds ---- */

/* y is summed over k, which is cut along all axes: B bytes of it on each processor. */
static const char   product[] = "a: f32[m=512, k=64] = input\n"
                                "b: f32[k=64, n=512] = input\n"
                                "y: [m, n] = einsum(a, b)\n";
static const double B = 4.0 * 512 * 512;

static double sum_seconds(const price_rates *r, const char *mesh_text, const char *layout_text)
{
    scene c;
    scene_open(&c, product, mesh_text, layout_text);
    estimate *e = scene_priced(&c, r);
    double    seconds = 0;
    for (int k = 0; k < e->program->ninstrs; k++)
        if (e->price.lines[k].collective) seconds += e->price.lines[k].seconds;
    estimate_free(e);
    close_well(c.s);
    return seconds;
}

/* Eight nodes of eight: all ports of a node together. */
static void test_sums_use_all_ports(void **state)
{
    (void)state;
    price_rates r = eights;
    double      inner = 1e-5 + 1e-6 * (2 * 7 - 1) + 2 * 7 / 8. * B / 1e12;
    double      outer = 3e-5 + 4e-6 * (2 * 7 - 1) + 2 * 7 / 8. * B / 8 / 5e10;
    assert_same(sum_seconds(&r, "x:64", "k:x"), inner + outer);
    assert_same(sum_seconds(&r, "x:8,y:8", "k:x+y"), inner + outer);
    /* Of what a single port would take, a ninth. */
    r.wire = 1e30;
    r.latency = r.outer_latency = r.message = r.outer_message = 0;
    assert_same(sum_seconds(&r, "x:64", "k:x"), 2 * 63 / 64. * B / 5e10 / 9);
    /* One member in each node, or one node: one wire. */
    assert_same(sum_seconds(&eights, "x:8,y:8", "k:x"),
                3e-5 + 4e-6 * (2 * 7 - 1) + 2 * 7 / 8. * B / 5e10);
    assert_same(sum_seconds(&eights, "x:8,y:8", "k:y"), inner);
}

static void test_shipped_nodes(void **state)
{
    (void)state;
    mtf_session *s = mtf_open_with(NULL);
    price_rates  r;
    assert_true(rates_choose(s, MTF_SOURCE_DIR "/share/machines/h100-nodes.machine", &r));
    assert_true(r.node == 8 && r.message > 0 && r.outer_message > 0);
    r.latency = r.outer_latency = r.message = r.outer_message = 0;
    assert_same(sum_seconds(&r, "x:64", "k:x"), 2 * 7 / 8. * (B / r.wire + B / 8 / r.outer_wire));
    close_well(s);
}

/* What goes straight takes the wire that leads there: of 63 partners 56 are outside; of two
 * neighbours one is, for those at the border of a node. */
static void test_straight_ways(void **state)
{
    (void)state;
    mesh   m = {.naxes = 1, .name = {"x"}, .size = {64}};
    links  l = links_of(&eights, &m, 1);
    double all = links_seconds(&l, &(haul){.bytes = 63e6, .messages = 63});
    assert_same(all, 3e-5 + 55 * 4e-6 + 56e6 / 5e10 + 6 * 1e-6 + 7e6 / 1e12);
    double two = links_seconds(&l, &(haul){.bytes = 2e6, .messages = 2});
    assert_same(two, 3e-5 + 1e6 / 5e10 + 1e6 / 1e12);
    l.inside = 1, l.nodes = 64;
    assert_same(links_seconds(&l, &(haul){.bytes = 2e6, .messages = 2}), 3e-5 + 4e-6 + 2e6 / 5e10);
    l.inside = 64, l.nodes = 1;
    /* Where messages cost nothing, nobody counts them. */
    assert_same(links_seconds(&l, &(haul){.bytes = 2e6}), 1e-5 + 2e6 / 1e12);
    assert_same(links_seconds(&l, &(haul){.bytes = 2e6, .messages = 2}), 1e-5 + 1e-6 + 2e6 / 1e12);
}

/* In one stage, each member exchanges with all others: of three in two nodes of two, with two outside. */
static void test_one_stage(void **state)
{
    (void)state;
    price_rates r = eights;
    mesh        m = {.naxes = 1, .name = {"x"}, .size = {4}};
    r.node = 2;
    links  l = links_of(&r, &m, 1);
    haul   h = {.bytes = 6e6, .messages = 6, .way = HAUL_FLAT};
    double want = 3e-5 + 3 * 4e-6 + 4e6 / 5e10 + 1e-6 + 2e6 / 1e12;
    assert_same(links_seconds(&l, &h), want);
    h.way = HAUL_STAGED;
    assert_same(links_seconds(&l, &h), 1e-5 + 1e-6 + 4e6 / 1e12 + 3e-5 + 4e-6 + 2e6 / 5e10);
    /* What is swapped at once takes one stage where ranks are on these hosts, and is priced so. */
    static const char sums[] = "x: f32[a=4, n=100] = input\ny = reduce_sum(x, over=(a))\n";
    for (int hosts = 1; hosts <= 2; hosts++) {
        scene c;
        site  at = {.ranks = 4, .hosts = hosts};
        scene_open(&c, sums, "x:4", "a:x");
        r.site = &at;
        estimate *e = scene_priced(&c, &r);
        double    seconds = e->price.wire_seconds, bytes = 3 * 400;
        double    staged = 1e-5 + bytes * 2 / 3 / 1e12 + 3e-5 + bytes / 3 / 5e10;
        double    flat = 3e-5 + 4e-6 + bytes * 2 / 3 / 5e10 + bytes / 3 / 1e12;
        assert_same(seconds, hosts == 1 ? staged : flat);
        estimate_free(e);
        close_well(c.s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_members_of_nodes),   cmocka_unit_test(test_axes_with_lines),
        cmocka_unit_test(test_sums_use_all_ports), cmocka_unit_test(test_shipped_nodes),
        cmocka_unit_test(test_straight_ways),      cmocka_unit_test(test_one_stage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
